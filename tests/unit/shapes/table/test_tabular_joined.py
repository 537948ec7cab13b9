"""Joined intervals: what is released, verified, refused and published."""

import json

import numpy as np
import polars as pl
import pytest

import cloister as cl
from cloister.errors import GuaranteeViolation, InputError
from cloister.io import Tally

RNG = np.random.default_rng(11)
PATIENTS = pl.DataFrame(
    {
        "age": RNG.integers(18, 88, 240),
        "bmi": np.round(RNG.normal(27, 4, 240), 1),
        "sex": RNG.choice(["F", "M"], 240),
        "dx": RNG.choice(["a", "b", "c", "d"], 240),
    }
)
ASKED = {
    "qi": {"age": "interval:5,10,20", "bmi": "interval:1.0,2,10", "sex": "suppress"},
    "sensitive": ["dx"],
    "accept": ["dx"],
    "k": 4,
}


@pytest.fixture(scope="module")
def release():
    """The default release."""
    return cl.protect_table(PATIENTS, **ASKED)


def crossing(release):
    """The labels of BMI that are those of no level."""
    levels = cl.parse_hierarchy(ASKED["qi"]["bmi"]).bind("bmi", PATIENTS["bmi"].cast(pl.String).to_list()).labels
    return set(release.data["bmi"].to_list()) - {label for level in levels for label in level}


def test_labels_cross_the_levels_and_lose_less(release):
    """By default adjacent intervals are joined; the same method with intervals of one level loses more."""
    nested = cl.protect_table(PATIENTS, **ASKED, labels="nested")

    assert crossing(release)
    assert not crossing(nested)
    assert release.summary()["utility"]["loss"] < 0.8 * nested.summary()["utility"]["loss"]
    assert release.summary()["settings"]["labels"] == "joined"
    assert nested.summary()["settings"].get("labels") is None


def test_a_label_that_does_not_cover_its_record_is_found(release):
    """The verifier compares each joined label with the value of its record, and refuses ends within intervals."""
    label = sorted(crossing(release))[0]
    low, high = label.strip("[)").split(", ")
    for forged in (f"[{low}, {float(low) + 1:g})", f"[{float(low) + 0.5}, {high})", f"[{low}, {high}]"):
        changed = release.frame.with_columns(pl.col("bmi").replace(label, forged))
        assert not release._check(Tally(changed)).holds


def test_a_folder_is_verified_with_its_original_alone(release, tmp_path):
    """Nobody says which record is whose: labels are read again, and records assigned."""
    release.write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release", original=PATIENTS).holds
    other = PATIENTS.with_columns(pl.col("bmi") + 3)
    with pytest.raises(GuaranteeViolation, match="labels occur nowhere"):
        cl.verify_folder(tmp_path / "release", original=other)


def test_recipients_and_adversaries_read_joined_labels(release, tmp_path):
    """Bounds hold the true count, drawn values lie inside labels, and an adversary finds at least k records."""
    release.write(tmp_path / "release")
    opened = cl.open(tmp_path / "release")
    bounds = opened.answer({"bmi": (25, 29.9)})
    truth = PATIENTS.filter(pl.col("bmi").is_between(25, 29.9)).height
    found = cl.attack(tmp_path / "release", original=PATIENTS)

    assert bounds.lower <= truth <= bounds.upper
    drawn = opened.impute(n=2, seed=0)[0]
    ends = opened.frame(bounds=True)
    assert (drawn["bmi"] >= ends["bmi_lower"]).all()
    assert (drawn["bmi"] <= ends["bmi_upper"]).all()
    assert json.dumps(found.summary())


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"method": "full-domain"}, "but the method is full-domain"),
        ({"method": "top-down"}, "but the method is top-down"),
        ({"loss": "entropy"}, "but the loss is entropy"),
        ({"qi": {"sex": "suppress"}, "k": 3, "undecided": "drop"}, "No label can be joined at k = 3"),
    ],
    ids=str,
)
def test_a_choice_that_joins_nothing_is_refused_with_its_reason(settings, why):
    """One level a column, losses of whole tables, and categories in classes of three have nothing to join."""
    with pytest.raises(InputError, match=why):
        cl.protect_table(PATIENTS, **ASKED | {"labels": "joined", **settings})


def test_a_lowest_level_is_the_one_that_is_joined():
    """Ends of labels are ends of intervals of the lowest level that is allowed."""
    bounded = {**ASKED, "qi": {**ASKED["qi"], "bmi": "interval:1.0,2,10@2-4"}}
    labels = cl.protect_table(PATIENTS, **bounded).data["bmi"].unique().to_list()
    ends = {end for label in labels if label != "*" for end in label.strip("[)").split(", ")}

    assert ends
    assert all(float(end) % 2 == 0 for end in ends)


def test_a_number_under_a_joined_label_has_not_vanished():
    """No note calls a category lost that a run of intervals covers."""
    children = pl.DataFrame({"age": [*range(6)] * 6, "ward": [*"AABBCC" * 6]}).with_columns(pl.col("ward").sort())
    qi = {"age": "interval:2", "ward": "suppress@0-0"}
    release = cl.protect_table(children, k=6, qi=qi, method="cluster", suppression=0)

    assert release.data["age"].cast(pl.String).str.starts_with("[").any()
    assert not [note for note in release.notes if "nowhere" in note]
