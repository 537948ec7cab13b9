"""Labels that join adjacent intervals: the shortest run that a class needs, and never more than a level's label."""

from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.choices import JOINING, chosen
from tests.made.examples import examples
from tests.oracles.joined_intervals import label_of

import cloister as cl
from cloister.shapes.table.format.options import MONDRIAN, NESTED
from cloister.shapes.table.method.data import QuasiIdentifier

NUMBERS = st.one_of(st.none(), st.integers(0, 29), st.integers(0, 29), st.integers(-7, 40))
RECORDS = st.lists(st.tuples(NUMBERS, st.sampled_from(["F", "M"])), min_size=4, max_size=24)
GRIDS = st.sampled_from([((5, 10), None), ((2, 4, 12), 20), ((3,), None), ((5, 20), 20)])


def ages(records, grid, k, lowest=0, **settings):
    """What a method chooses for numbers and names."""
    frame = pl.DataFrame(records, schema={"age": pl.Int64, "sex": pl.String}, orient="row")
    age = QuasiIdentifier(cl.intervals(*grid[0], top=grid[1]), lowest)
    return chosen(frame, {"age": age, "sex": QuasiIdentifier(cl.suppress())}, k, **settings)


@pytest.mark.parametrize("method", JOINING)
@examples(40)
@given(records=RECORDS, grid=GRIDS, k=st.integers(2, 4))
def test_each_class_has_the_shortest_run_of_its_numbers(method, records, grid, k):
    """By definition: the value, the interval, the run from the first interval to the last one, or the root."""
    choice, classes = ages(records, grid, k, **JOINING[method]), defaultdict(list)
    for record, labels, is_released in zip(records, choice.labels.rows(), choice.is_released.tolist(), strict=True):
        if is_released:
            classes[labels].append(record[0])

    assert all(len(members) >= k for members in classes.values())
    for (label, _), members in classes.items():
        assert label == label_of(members, [age for age, _ in records], *grid)


@examples(40)
@given(records=RECORDS, grid=GRIDS, k=st.integers(2, 4), lowest=st.integers(0, 2))
def test_what_is_joined_loses_no_more_than_the_label_of_a_level(records, grid, k, lowest):
    """Of the same classes; those of Mondrian do not depend on what may be joined."""
    lowest = min(lowest, len(grid[0]))
    joined = ages(records, grid, k, lowest, method=MONDRIAN)
    nested = ages(records, grid, k, lowest, method=MONDRIAN, labels=NESTED)

    assert joined.loss <= nested.loss + 1e-12
    assert joined.is_released.tolist() == nested.is_released.tolist()
    if lowest > 0:
        assert not {str(age) for age, _ in records if age is not None and (grid[1] is None or age < grid[1])} & set(
            joined.labels["age"].to_list()
        )
