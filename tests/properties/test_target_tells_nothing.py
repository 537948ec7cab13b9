"""A target guides the classes and tells nothing by that: every placement of outcomes that fits the release gives it."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from tests.made.examples import PROFILE

import cloister as cl

N, K = 16, 2
MOST = 100  # placements tried of a table, of mostly no more
ASKED = {
    "qi": {"age": "interval:10,20,40", "ward": "interval:10,20,40", "sex": "suppress"},
    "rule": [f"k-anonymity={K}"],
    "accept": ["ill"],
    "undecided": "drop",
    "accept_empty": True,
}


def small_table(seed):
    """Sixteen patients whose outcome depends on their ward."""
    draw = np.random.default_rng(seed)
    frame = {"age": draw.integers(0, 80, N), "ward": draw.integers(0, 80, N), "sex": draw.choice(["F", "M"], N)}
    return pl.DataFrame(frame | {"ill": np.where(frame["ward"] + draw.integers(-9, 9, N) < 35, "yes", "no")})


def released(frame, **more):
    """What a recipient sees: labels and outcomes."""
    return cl.protect_table(frame, **ASKED, **more).data


def placements(frame, seen):
    """Other outcomes of the patients that fit the release, for somebody who knows all quasi-identifiers."""
    labels = [name for name in ("age", "ward", "sex") if name in seen.columns]
    classes = cl.protect_table(frame.with_row_index("mrn"), **ASKED | {"id": "mrn"}, target="ill")
    rows = classes.custody.crosswalk
    joined = classes.data.with_columns(pl.col("mrn").cast(pl.String)).join(
        rows.cast(pl.String), left_on="mrn", right_on="released"
    )
    groups = joined.group_by(labels, maintain_order=True).agg(pl.col("original").cast(pl.Int64))["original"].to_list()
    ill = frame["ill"].to_list()
    ways = [[*combinations(group, sum(ill[row] == "yes" for row in group))] for group in groups]
    gone = sorted({*range(N)} - {row for group in groups for row in group})
    ways += [[(), (row,)] for row in gone]
    shape = [len(way) for way in ways]
    n_all = int(np.prod(shape))
    for number in np.random.default_rng(0).permutation(n_all)[:MOST]:
        places = np.unravel_index(number, shape)
        ill = {row for way, place in zip(ways, places, strict=True) for row in way[place]}
        yield ["yes" if row in ill else "no" for row in range(N)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(27 if PROFILE == "all" else 3))
def test_no_placement_of_the_outcome_is_excluded(seed):
    """Whoever runs the program with other outcomes that the release allows gets the same release."""
    frame = small_table(seed)
    seen = released(frame, target="ill")
    excluded = [
        ill
        for ill in placements(frame, seen)
        if not released(frame.with_columns(pl.Series("ill", ill)), target="ill").equals(seen)
    ]

    assert excluded == []


def test_the_outcome_guides_the_classes():
    """The test above is not about a target that changes nothing."""
    guided = [
        seed
        for seed in range(27)
        if not released(small_table(seed), target="ill").equals(released(small_table(seed), sensitive=["ill"]))
    ]

    assert len(guided) >= 5
