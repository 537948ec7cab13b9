"""Equivalence classes, counted by kernels as by the plain definition."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases

from cloister.kernels.classes import class_sizes, distinct_rows, measure


@examples(150)
@given(case=cases(), stride=st.integers(0, 3))
def test_colliding_keys_are_told_apart(case, stride):
    """Where keys are not exact the codes themselves decide, so collisions change nothing."""
    task = case.problem().task
    levels = np.zeros(len(case.names), dtype=np.int64)
    colliding = task.maps._replace(stride=np.full_like(task.maps.stride, stride), exact=False)

    assert class_sizes(task.rows, task.maps, levels).tolist() == class_sizes(task.rows, colliding, levels).tolist()


@examples(150)
@given(case=cases())
def test_distinct_rows_count_records(case):
    """Each combination of values is one row, in order of first appearance, with its number of records."""
    problem = case.problem()
    counted = Counter(case.records)

    assert list(counted.values()) == problem.task.rows.records.tolist()
    first = list(counted)
    assert [first.index(record) for record in case.records] == problem.row_of_record.tolist()
    codes = np.ascontiguousarray(problem.task.rows.codes[:, problem.row_of_record])
    for is_exact in {problem.task.maps.exact, False}:
        found = distinct_rows(codes, problem.task.maps._replace(exact=is_exact), few=len(case.records))
        assert found.rows.records.tolist() == list(counted.values())
        assert found.labels.tolist() == problem.row_of_record.tolist()


@given(case=cases(most_records=4))
def test_levels_outside_the_lattice_are_refused(case):
    """A level that does not exist is an error, not a read beyond an array."""
    task = case.problem().task
    beyond = task.maps.heights.copy()

    with pytest.raises(ValueError, match="levels must be"):
        measure(task.rows, task.maps, task.costs, beyond, task.threshold)
    with pytest.raises(ValueError, match="levels must be"):
        class_sizes(task.rows, task.maps, -1 - np.zeros_like(beyond))


def test_counts_of_given_rows_are_added_up():
    """Rows that come with counts are merged with their counts."""
    case_codes = np.array([[0, 1, 0]], dtype=np.uint32)
    from cloister.kernels.layout import LevelMaps

    maps = LevelMaps(
        up=np.array([0, 1], dtype=np.uint32),
        start=np.zeros((1, 1, 1), dtype=np.int64),
        sizes=np.array([[2]]),
        heights=np.array([1]),
        number=np.array([[0]]),
        stride=np.array([1]),
        exact=True,
    )

    found = distinct_rows(case_codes, maps, np.array([2, 5, 3]))

    assert found.rows.records.tolist() == [5, 5]
    assert found.labels.tolist() == [0, 1, 0]
