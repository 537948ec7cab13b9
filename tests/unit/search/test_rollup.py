"""Measuring from groupings of other policies gives what measuring from the rows gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases
from tests.oracles.full_domain import at_least, carry_out
from tests.unit.search.tables import problem_of

from cloister.kernels.classes import Grouped, measure_grouped, roll_up
from cloister.kernels.layout import Rows
from cloister.search import search_run
from cloister.search.search_run import RollUp


@examples(60)
@given(case=cases(), data=st.data(), most=st.integers(1, 4), n_bytes=st.sampled_from([40, 200, 1 << 20]))
def test_candidates_are_the_same_in_any_order(case, data, most, n_bytes):
    """Whatever was measured before, and however few groupings are kept, every number is exactly the same."""
    problem = case.problem()
    asked = data.draw(st.lists(st.sampled_from(list(problem.transformations())), max_size=15))
    kept_before = search_run.MOST_GROUPINGS, search_run.MOST_BYTES, search_run.WORTH_KEEPING
    search_run.MOST_GROUPINGS, search_run.MOST_BYTES, search_run.WORTH_KEEPING = most, n_bytes, 1.0
    try:
        measured = RollUp(problem)
        for levels in asked:
            assert problem.measure(levels) == measured.measure(levels)
            assert len(measured._kept) <= most
            assert sum(one.rows.codes.nbytes + one.rows.records.nbytes for one in measured._kept) == measured._bytes
            assert measured._bytes <= n_bytes or len(measured._kept) == 1
    finally:
        search_run.MOST_GROUPINGS, search_run.MOST_BYTES, search_run.WORTH_KEEPING = kept_before


@examples(60)
@given(case=cases(), data=st.data())
def test_rows_grouped_twice_are_the_classes(case, data):
    """Grouped at one policy and then at a coarser one, suppressed records and classes are those of the definition."""
    problem = case.problem()
    task = problem.task
    coarse = data.draw(st.sampled_from(list(problem.transformations())))
    fine = tuple(data.draw(st.integers(0, level)) for level in coarse)
    whole = Grouped(task.rows, np.zeros(len(coarse), dtype=np.int64))
    for exact in (True, False):
        maps = task.maps._replace(exact=exact)
        twice = roll_up(roll_up(whole, maps, np.array(fine)), maps, np.array(coarse))
        expected = carry_out(case.records, case.hierarchies, coarse, at_least(case.k))
        found = measure_grouped(twice, task.costs, case.k)

        assert (expected.suppressed, expected.kept) == (found.suppressed, found.n_classes)
        assert len(case.records) == twice.rows.records.sum()


def test_keys_that_collide_are_told_apart():
    """Where all keys are equal, rows are compared code by code."""
    task = problem_of(2, [("a", "x"), ("b", "x"), ("a", "y"), ("a", "x")]).task
    blind = task.maps._replace(exact=False, stride=np.zeros_like(task.maps.stride))

    grouped = roll_up(Grouped(task.rows, np.zeros(2, dtype=np.int64)), blind, np.array([0, 0]))

    assert sorted(grouped.rows.records.tolist()) == [1, 1, 2]


def test_rows_cannot_be_grouped_at_a_finer_policy():
    """A level below that of the rows, or beyond the hierarchy, is refused before compiled code sees it."""
    task = problem_of(2, [("a", "x"), ("b", "y")]).task
    grouped = Grouped(Rows(task.rows.codes, task.rows.records), np.array([0, 1]))

    with pytest.raises(ValueError, match=r"from \[0, 1\]"):
        roll_up(grouped, task.maps, np.array([0, 0]))
    with pytest.raises(ValueError, match=r"below \[2, 2\]"):
        roll_up(grouped, task.maps, np.array([0, 2]))
