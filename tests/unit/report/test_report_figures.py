"""What the report shows beside the manifest: nothing that gives few records away, and nothing that is not so."""

import itertools
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tampering import report_rewritten

import cloister as cl
from cloister.release_folder import read_figures
from cloister.report_figures import banded, differences_told, figures_of


@given(lost=st.lists(st.integers(0, 7), min_size=1, max_size=5), k=st.integers(2, 5))
def test_what_is_kept_back_may_be_anything(lost, k):
    """Of all ways to leave out as many records that fit what is told, each count kept back takes each value below k."""
    told = differences_told(lost, k)
    few = [count for count in lost if 0 < count < k]
    ways = [way for way in itertools.product(range(1, k), repeat=len(few)) if sum(way) == sum(few)]
    hidden = all({way[place] for way in ways} == set(range(1, k)) for place in range(len(few)))

    assert hidden == (told is not None)
    assert told is None or told == [not 0 < count < k for count in lost]


def test_sizes_by_hand():
    """Members of classes, or the classes, by the size of the class."""
    sizes = pl.Series([1, 1, 2, 4, 5, 100, 1000, 3000])

    members, classes = banded(sizes, members=True), banded(sizes, members=False)
    assert {n: c for n, c in members.items() if c} == {
        "1": 2,
        "2-4": 6,
        "5-9": 5,
        "100-499": 100,
        "1000 and more": 4000,
    }
    assert {n: c for n, c in classes.items() if c} == {"1": 2, "2-4": 2, "5-9": 1, "100-499": 1, "1000 and more": 2}


def by_label(column):
    """Counts before and after of a column, by label."""
    return {cell["label"]: (cell["before"], cell["after"]) for cell in column["labels"]}


def test_before_and_after_of_a_table(releases):
    """Six patients of ages that nobody else has are left out: two of one sex are told to the custodian alone."""
    told = read_figures(releases["table"] / "release")["marginals"]
    exact = read_figures(releases["table"] / "secret")["marginals"]
    age, sex = told
    lost = [before - after for before, after in by_label(exact[1]).values()]

    assert (sorted(lost), exact[0]["not_released"]) == ([2, 4], 6)
    assert all(before == after for before, after in by_label(age).values())
    assert (age["not_released"], sex["not_released"]) == (6, None)
    assert {before for before, _ in by_label(sex).values()} == {None}


def test_a_number_kept_back_keeps_all_counts_before_back():
    """Where fewer than k records are left out, no count before is told; where none are, all are as after."""
    ages = [30] * 9 + [40] * 9
    for more, expected in (([50, 51], {None}), ([], {9})):
        frame = pl.DataFrame({"age": ages + more})
        wanted = {"quasi_identifiers": {"age": "interval:10"}, "rules": ["k-anonymity=5"]}
        release = cl.anonymize(frame, **wanted, suppression_limit=0.2, levels={"age": 1})
        (age,) = figures_of(release.shown(), "2026-01-01")["marginals"]
        assert {before for before, _ in by_label(age).values()} == expected


def test_labels_that_nobody_has_are_not_named(releases):
    """No file of the release, nor the custodian's report, names a label that was not released."""
    written = [path.read_text() for path in (releases["table"]).rglob("report.*")]

    assert len(written) == 4
    assert not any(label in text for text in written for label in ("[80-89]", "[90-99]", "[100-109]"))


def test_every_release_verifies_and_shows_the_same_numbers(releases):
    """``report.json`` holds the manifest as it is, and its figures are those of the files."""
    for name, place in releases.items():
        release = place / "release"
        contents = json.loads((release / "report.json").read_text())
        assert contents["release"] == json.loads((release / "release.json").read_text()), name
        assert contents.keys() == {"schema", "release", "figures"}, name
        assert name == "claims" or cl.verify_folder(release).holds, name  # of claims other tests do, for long


def changed_band(figures):
    """One more in the smallest class."""
    figures["class_sizes"]["bands"]["1"] += 1


def changed_label(figures):
    """Another count of a label."""
    figures["marginals"][0]["labels"][0]["after"] += 1


def renamed(figures):
    """Another label."""
    figures["marginals"][0]["labels"][0]["label"] = "x"


def forgotten(figures):
    """A column less."""
    figures["marginals"].pop()


def invented(figures):
    """A sign of an identifier that is not there."""
    sign = {"file": "data", "column": "sex", "letter": "A", "what": "x", "records": 9, "confidence": "certain"}
    figures["identifiers"].append(sign)


def guessed(figures):
    """A count before where none may be told."""
    figures["marginals"][-1]["labels"][0]["before"] = figures["marginals"][-1]["labels"][0]["after"]


def noted(figures):
    """Something else."""
    figures["note"] = "x"


CHANGES = [changed_band, renamed, forgotten, invented, guessed, noted]
ALL = ["table", "mondrian", "table_with_codes", "disassociation", "generalization", "trajectories", "claims"]


@pytest.mark.parametrize(
    ("shape", "change"),
    [*((shape, changed_label) for shape in ALL), *(("disassociation", change) for change in CHANGES)],
)
def test_figures_that_do_not_follow_are_found(releases, shape, change):
    """Whatever is changed in the figures is noticed from the files alone, though page and figures agree."""
    release = releases[shape] / "release"
    kept = {path: path.read_bytes() for path in release.iterdir()}
    figures = read_figures(release)
    change(figures)
    report_rewritten(release, figures)
    with pytest.raises(cl.GuaranteeViolation, match=r"report\.json"):
        cl.verify_folder(release)
    for path, content in kept.items():
        path.write_bytes(content)


def test_counts_before_are_compared_with_the_original(releases, original):
    """A count before that adds up is taken without the original, and refuted with it."""
    release = releases["table"] / "release"
    kept = {path: path.read_bytes() for path in release.iterdir()}
    figures = read_figures(release)
    age = figures["marginals"][0]
    assert age["not_released"] == 6
    age["labels"][0]["before"], age["not_released"] = age["labels"][0]["before"] + 6, 0
    report_rewritten(release, figures)
    assert cl.verify_folder(release).holds
    with pytest.raises(cl.GuaranteeViolation, match="counts before protection"):
        cl.verify_folder(release, original=original)
    for path, content in kept.items():
        path.write_bytes(content)
    assert cl.verify_folder(release, original=original).holds
