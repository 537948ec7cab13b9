"""What a release and its report both say is counted once."""

import polars as pl
import pytest

import cloister as cl
from cloister.shapes.table.format import facts
from cloister.shapes.table.method import measure

FRAME = pl.DataFrame({"age": [30, 30, 31, 31] * 5, "ward": ["A", "B", "C", "D"] * 5})


def test_unique_records_are_counted_once(monkeypatch):
    """The note to who protects and the report have one count."""
    counted, count = [], facts.count_unique_records
    monkeypatch.setattr(facts, "count_unique_records", lambda *known: counted.append(known) or count(*known))
    frame = FRAME.with_columns(ward=pl.Series([f"{n}" for n in range(FRAME.height)]))
    asked = {"qi": {"age": "interval:5"}, "rule": ["k-anonymity=5"], "keep": ["ward"]}
    release = cl.protect_table(frame, **asked, accept=["ward"])

    assert any("20 of 20 records are unique" in note for note in release.notes)
    assert release.derived.report_counts().recorded.unique == 20
    assert len(counted) == 1


def test_losses_of_columns_are_measured_once(monkeypatch):
    """What the custodian is told and what is published follow from one measurement of the release."""
    measured, measure_utility = [], measure.measure_utility
    monkeypatch.setattr(measure, "measure_utility", lambda *known: measured.append(known) or measure_utility(*known))
    release = cl.protect_table(FRAME, qi={"age": "interval:5"}, rule=["k-anonymity=5"], sensitive=["ward"])

    losses = release.summary()["utility"]["columns"]
    assert release.custody.figures["mean_loss"] == pytest.approx(losses["age"]["loss"])
    assert len(measured) == 1


def test_a_release_shows_the_mean_loss_first():
    """Whatever weights were minimized, what a release says of itself begins with the mean of the columns."""
    quasi = {"age": "interval:1,5", "ward": "suppress"}
    weighed = {"rule": ["k-anonymity=6"], "weight": {"age": 9}, "purpose": "one-coding"}
    release = cl.protect_table(FRAME, qi=quasi, **weighed)
    utility = release.summary()["utility"]
    mean = sum(one["loss"] for one in utility["columns"].values()) / 2

    assert abs(mean - utility["loss"]) > 0.01
    assert f"loss       mean {mean:.3f}, minimized {utility['loss']:.3f}" in repr(release)
