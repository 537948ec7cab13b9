"""The interval for population uniqueness: the same for equal classes, and with the truth in it."""

import json

import numpy as np
import polars as pl
import pytest

from cloister.cli.main import run
from cloister.privacy.uniqueness import Sample
from cloister.risk.assessment import assess_table
from cloister.risk.uniqueness_interval import USED, uniqueness_interval


def sample_of(sizes, people):
    """A sample by its class sizes."""
    return Sample(*np.unique(sizes, return_counts=True), people)


def test_equal_classes_have_equal_intervals():
    """Resampling is seeded, and every estimate is inside."""
    one, two = (uniqueness_interval(sample_of([1] * 40 + [2] * 9 + [4], people=620)) for _ in range(2))

    assert one == two
    assert set(one.estimates) == set(USED)
    assert 0 <= one.lower < min(one.estimates.values()) <= max(one.estimates.values()) < one.upper <= 40 / 62


@pytest.mark.parametrize(
    ("sizes", "people", "expected"),
    [
        ([1, 1, 2], 4, (0.5, 0.5)),  # everybody is in the sample
        ([2, 3, 5], 1_000, (0.0, 0.0)),  # nobody is unique in the sample
        ([1, 1, 1], 1_000, (0.0, 1.0)),  # no two are alike: nothing is known
    ],
)
def test_ends_that_need_no_estimate(sizes, people, expected):
    """Where the sample decides the share, or does not limit it."""
    found = uniqueness_interval(sample_of(sizes, people))
    assert (found.lower, found.upper) == expected


@pytest.mark.parametrize("fraction", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("n_places", [30_000, 200_000])
def test_the_truth_is_inside(fraction, n_places):
    """Of made-up people, few classes having most."""
    random = np.random.default_rng(7)
    classes = (random.pareto(1.2, 60_000) * 500).astype(np.int64) % n_places
    chosen = classes[random.choice(classes.size, round(fraction * classes.size), replace=False)]
    records = np.bincount(chosen)
    found = uniqueness_interval(sample_of(records[records > 0], classes.size))

    assert found.lower <= (np.bincount(classes)[chosen] == 1).mean() <= found.upper
    assert found.is_warned == (fraction < 0.03)


def test_the_threshold_is_compared_with_the_upper_end():
    """The estimate is below it, and the interval reaches beyond."""
    frame = pl.DataFrame({"a": [str(i) for i, n in enumerate([1] * 40 + [2] * 9 + [4] * 10) for _ in range(n)]})
    people = assess_table(frame, frame, ["a"], threshold=0.2, fraction=0.2).summary()["uniqueness"]["population"]

    assert people["shares"][people["chosen"]] < 0.2 < people["interval"][1]
    assert people["above_threshold"]


def test_few_sampled_people_are_warned_of(tmp_path, monkeypatch, capsys):
    """The screen gives the interval, and below 3% a warning; JSON has both."""
    monkeypatch.chdir(tmp_path)
    sizes = [1] * 40 + [2] * 9
    (tmp_path / "p.csv").write_text("ward\n" + "".join(f"w{i}\n" for i, n in enumerate(sizes) for _ in range(n)))
    for fraction, is_warned in (("0.02", True), ("0.1", False)):
        words = ["assess", "table", "p.csv", "--qi", "ward", "--sampling-fraction", fraction]
        assert run(words) == 0
        shown = capsys.readouterr().out
        assert ("less than 3%" in shown) == is_warned
        assert "by the upper end" in " ".join(shown.split())
        assert run([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["uniqueness"]["population"]["few_sampled"] == is_warned
