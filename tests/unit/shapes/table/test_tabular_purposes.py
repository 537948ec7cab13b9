"""What a purpose and a target choose."""

import numpy as np
import polars as pl
import pytest

import cloister as cl
from cloister.shapes.table.method.recoding.mondrian import MOST_RELEVANT, relevance

N = 600
RNG = np.random.default_rng(3)
AGE, WARD = RNG.integers(20, 80, N), RNG.integers(0, 60, N)
PATIENTS = pl.DataFrame(
    {"age": AGE, "ward": WARD, "sex": RNG.choice(["F", "M"], N), "ill": np.where(WARD % 60 < 25, "yes", "no")}
)
ASKED = {
    "qi": {"age": "interval:5,20,40", "ward": "interval:5,20,40", "sex": "suppress"},
    "rule": ["k-anonymity=5"],
    "accept": ["ill"],
}


def test_relevance():
    """What decides the target weighs most; what has nothing to do with it weighs one, however many values it has."""
    columns = [PATIENTS["ward"].cast(pl.String), PATIENTS["sex"], pl.Series(map(str, range(N)))]

    most, little, chance = relevance(columns, PATIENTS["ill"])

    assert most == MOST_RELEVANT
    assert little == pytest.approx(1.0, abs=0.05)
    assert chance == 1.0


def test_relevance_of_nothing():
    """A target of one value makes no column weigh more; a number of many values is taken by tenths."""
    columns = [PATIENTS["ward"].cast(pl.String), PATIENTS["sex"]]

    assert relevance(columns, pl.Series(["no"] * N)).tolist() == [1.0, 1.0]
    assert relevance(columns, PATIENTS["ward"] + RNG.random(N))[0] == MOST_RELEVANT


def test_a_target_keeps_what_says_most_about_it():
    """With a target its column is finer than without; the target is released, the guarantee holds."""
    plain = cl.protect_table(PATIENTS, **ASKED, sensitive=["ill"], weight={"age": 2})
    aimed = cl.protect_table(PATIENTS, **ASKED, target="ill", weight={"age": 2})

    of_aimed, of_plain = (release.summary()["utility"]["columns"]["ward"]["loss"] for release in (aimed, plain))
    assert of_aimed < of_plain
    assert "ill" in aimed.data.columns
    assert aimed.verify().holds
    assert aimed.summary()["settings"]["target"] == "ill"
    assert aimed.summary()["settings"]["weights"] == {"age": 2.0}
    assert "target" not in plain.summary()["settings"]


def test_the_order_of_rows_does_not_matter_to_a_target():
    """A release with a target depends on the records, not on their order."""
    first, again = (
        cl.protect_table(frame, **ASKED, target="ill") for frame in (PATIENTS, PATIENTS.sample(N, shuffle=True, seed=1))
    )

    assert again.data.equals(first.data)


def test_purposes():
    """Counts and one coding have one level a column; age and sex are strata, or weigh more."""
    found = {
        purpose: cl.protect_table(PATIENTS, **ASKED, sensitive=["ill"], purpose=purpose).summary()
        for purpose in ("analysis", "counts", "one-coding")
    }

    assert {purpose: one["method"] for purpose, one in found.items()} == {
        "analysis": "cluster",
        "counts": "full-domain",
        "one-coding": "full-domain",
    }
    assert [set(one["settings"]["weights"]) for one in found.values()] == [set(), {"age", "sex"}, set()]
    assert found["analysis"]["settings"]["strata"] == ["age", "sex"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    {
        "quasi-identifier": ({"target": "age"}, "both quasi-identifier and sensitive"),
        "nowhere": ({"target": "death"}, "'death' was asked for"),
    }.values(),
)
def test_wrong_targets(given, sentence):
    """A target that cannot be released as recorded is refused."""
    with pytest.raises(cl.InputError, match=sentence):
        cl.protect_table(PATIENTS, **ASKED, undecided="drop", **given)


def test_what_is_said_to_keep_a_column_keeps_it():
    """Where a column says nothing a note names it, and a method that keeps it; with that it says something."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(0, n, 400).astype(str) for name, n in (("a", 40), ("b", 9), ("c", 2))})
    asked = {"qi": dict.fromkeys(frame.columns, "suppress"), "rule": ["k-anonymity=5"]}
    release = cl.protect_table(frame, **asked, purpose="one-coding", suppression=0)
    warning, note = release.notes
    again = cl.protect_table(frame, **asked, method="cluster", suppression=0)

    assert warning.startswith("a is empty in this release")
    assert 'method="cluster" keeps a' in note
    assert (again.data["a"] != "*").mean() > 0.1
    assert not any("says nothing" in note for note in again.notes)


def test_a_target_that_guides_nothing_is_said():
    """Only splits are guided by a target; a method without any says so, and releases what it would without."""
    guided, plain = (
        cl.protect_table(PATIENTS, **ASKED, undecided="drop", sensitive=["ill"], purpose="counts", **more)
        for more in ({"target": "ill"}, {})
    )
    assert [note for note in guided.notes if "guides the method mondrian alone" in note]
    assert guided.data.equals(plain.data)
