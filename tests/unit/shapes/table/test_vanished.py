"""What a released table no longer says."""

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.errors import NoSafeRelease
from cloister.io import Tally
from cloister.shapes.table.format.facts import count_complete

RACES = ["White", "Black", "Asian", "Other"]


def test_notes_name_common_categories_that_vanished():
    """A category of many patients that occurs nowhere is named; one of a few is not, as it is theirs alone."""
    races = ["White"] * 60 + ["Black"] * 9 + ["Rare"] * 2
    frame = pl.DataFrame({"age": [40 + n % 3 for n in range(71)], "race": races})
    asked = {"age": "interval:5", "race": "suppress"}
    release = cl.protect_table(frame, qi=asked, rule=["k-anonymity=10"], method="mondrian")
    notes = " ".join(release.notes)

    assert "Of race, Black (9 records)" not in notes  # fewer than k
    assert "Rare" not in notes


record = st.fixed_dictionaries({"age": st.integers(30, 60), "race": st.sampled_from(RACES)})


@examples(60)
@given(st.lists(record, min_size=10, max_size=60))
def test_counts_are_those_of_the_rows(tmp_path_factory, records):
    """Complete rows are counted one by one, and a category vanishes where no released row has it."""
    frame = pl.DataFrame(records)
    try:
        release = cl.protect_table(
            frame, qi={"age": "interval:10", "race": "suppress"}, rule=["k-anonymity=3"],
            method="mondrian", suppression=0.3, accept_empty=True,
        )  # fmt: skip
    except NoSafeRelease:
        assume(False)
    rows = release.frame.rows(named=True)

    assert count_complete(Tally(release.frame), ["age", "race"]) == sum("*" not in row.values() for row in rows)
    there = {row["race"] for row in rows}
    common = {race for race in RACES if sum(one["race"] == race for one in records) >= 3}
    noted = {race for race in RACES if any(f"{race} (" in note for note in release.notes)}
    assert noted == ((common - there) if there != {"*"} else set())


def test_the_report_of_the_custodian_names_them_and_the_release_does_not(tmp_path):
    """What vanished tells of the original, so that the report in the release says nothing of it."""
    ages = [age for age in range(20, 84) if not 48 <= age < 52 for _ in range(5)] + [50] * 60
    races = ["Black", *["White"] * 4] * 60 + ["White"] * 60
    frame = pl.DataFrame({"age": ages, "race": races})
    asked = {"age": "interval:2,4", "race": "suppress"}
    release = cl.protect_table(frame, qi=asked, rule=["k-anonymity=9"], weight={"age": 50}, method="mondrian")
    release.write(tmp_path / "out", custodian_dir=tmp_path / "own")

    assert release.custody.figures["vanished"] == {"race": [("Black", 60)]}
    assert "Black (60 records)" in (tmp_path / "own" / "report.html").read_text()
    assert "nowhere in the release" not in (tmp_path / "out" / "report.html").read_text()
