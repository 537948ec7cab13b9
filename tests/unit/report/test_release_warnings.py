"""Warnings of a release: facts that its manifest and figures state, for every front end in the same words."""

from dataclasses import dataclass, field

import polars as pl
import pytest
from tests.unit.report.conftest import of_table, table

from cloister.release.figures import figures_of
from cloister.release.manifest import parse_manifest
from cloister.report.release_warnings import (
    describe_empty,
    describe_formulas,
    describe_largest_term,
    describe_recorded,
    describe_unique,
    warnings_of,
    warnings_of_job,
)

MANY = [f"g{number}" for number in range(50)]


@dataclass(frozen=True)
class Counts:
    """Records as a manifest counts them."""

    released: int
    suppressed: object


@dataclass(frozen=True)
class Stated:
    """The least that a manifest of an unknown form states."""

    records: Counts
    empty: list = field(default_factory=list)
    form: str = "toy"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (describe_empty([]), None),
        (describe_empty(["state"]), "state is empty in this release: all or almost all of its information is lost"),
        (describe_empty(MANY), "g0, g1, g2, g3, g4 and 45 more are empty"),
        (describe_unique(9, 0, 1, []), None),
        (describe_unique(1000, 1, 1, []), "With the column released as recorded, 1 of 1,000 records is unique"),
        (describe_unique(9, 4, 3, [("a", 3), ("b", 1)]), "With the 3 columns released as recorded, 4 of 9 records are"),
        (describe_unique(9, 4, 3, [("a", 3), ("b", 1)]), "unique; a and b contribute most"),
        (describe_recorded(["dna"]), "the column dna is released as recorded"),
        (describe_formulas({"data.csv": ["a", "b"]}), "cells of a, b as formulas"),
        (describe_formulas({"data.csv": ["a", "b"]}), "read data.csv as text"),
        (describe_largest_term(5, 8), "the largest term contains 5 of 8 codes"),
        (describe_largest_term(3, 8), None),
    ],
)
def test_each_warning_is_one_sentence(found, sentence):
    """Columns are named, five at most, with counts; where there is nothing to warn of, there is no sentence."""
    assert found == [] if sentence is None else (len(found), sentence in found[0]) == (1, True)


def test_warnings_follow_from_what_is_released():
    """The manifest and the figures of the released files are all that is asked; no value is named."""
    named = table().with_row_index("ticket").with_columns(pl.format("t{}", "ticket").alias("ticket"))
    release = of_table(named, keep=["ticket"])
    stated = parse_manifest(release.summary())
    warnings = warnings_of(stated, figures_of(release.derived.report_counts(), stated.created))

    assert [text.partition(",")[0] for text in warnings] == ["With the 2 columns released as recorded"]
    assert not [word for word in ("asthma", "flu", "t95", "[") if word in " ".join(warnings)]


def test_a_part_that_gives_another_away_is_warned_of():
    """Where one part withholds how few it suppresses, and another has more records; with names, as there are two."""
    parts = {"one": (Stated(Counts(90, "<5")), {}), "two": (Stated(Counts(93, 0), ["sex"]), {})}

    empty, withheld = warnings_of_job(parts)
    assert empty.startswith("two: sex is empty")
    assert withheld.startswith("one suppresses few patients and withholds their number, but two has more records")


def test_a_single_part_needs_no_name():
    """The warnings of a job with one part are those of the part."""
    stated = Stated(Counts(93, 0), ["sex"])

    assert warnings_of_job({"one": (stated, {})}) == warnings_of(stated, {})
