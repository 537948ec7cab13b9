"""The optimal search when it is cut short, watched, or short of memory."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases

from cloister.errors import InputError, NoSafeRelease
from cloister.search import exhaustive, optimal, search
from cloister.search.greedy import descents

optimal_module = sys.modules["cloister.search.optimal"]


def optimum(problem):
    """Result of the exhaustive search, or None."""
    try:
        return exhaustive(problem)
    except NoSafeRelease:
        return None


@examples(100)
@given(case=cases(), threads=st.integers(1, 3))
def test_many_small_portions_of_work_find_the_optimum(case, threads):
    """Boxes that go back and forth between workers lose nothing."""
    problem = case.problem()
    expected = optimum(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal_module, "FIRST_WORK", 20)
        patch.setattr(optimal_module, "WORK", 40)
        patch.setattr(optimal_module, "WORK_PER_DESCENTS", 60)
        if expected is None:
            with pytest.raises(NoSafeRelease):
                optimal(problem, threads=threads)
            return
        found = optimal(problem, threads=threads)

    assert (expected.levels, expected.suppressed) == (found.levels, found.suppressed)
    assert found.optimal


@examples(100)
@given(case=cases(), seconds=st.sampled_from([1e-9, 1e-3]))
def test_a_search_cut_short_proves_a_true_bound(case, seconds):
    """Bound <= optimum <= loss, and the gap is their relative distance."""
    problem = case.problem()
    expected = optimum(problem)
    if expected is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal_module, "FIRST_WORK", 20)
        patch.setattr(optimal_module, "WORK", 20)
        found = optimal(problem, time_limit=seconds)

    assert found.bound <= expected.loss + 1e-12
    assert expected.loss <= found.loss + 1e-12
    if found.optimal:
        assert (expected.levels, expected.suppressed) == (found.levels, found.suppressed)


@given(case=cases())
def test_descents_are_safe_and_never_better_than_the_optimum(case):
    """Greedy descents end at safe transformations that lose at least as much as the best."""
    problem = case.problem()
    expected = optimum(problem)
    if expected is None:
        return

    for candidate, _ in zip(descents(problem), range(40)):
        assert problem.is_safe(candidate)
        assert candidate.loss >= expected.loss - 1e-12


@examples(20)
@given(case=cases())
def test_progress_is_reported_in_order(case):
    """Loss only falls, and never below the bound."""
    problem = case.problem()
    if optimum(problem) is None:
        return
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal_module, "FIRST_WORK", 20)
        patch.setattr(optimal_module, "WORK", 20)
        optimal(problem, report=seen.append)

    assert [p.loss for p in seen] == sorted((p.loss for p in seen), reverse=True)
    assert all(p.bound <= p.loss + 1e-12 for p in seen)


@given(case=cases(most_records=3))
def test_an_unknown_search_is_refused(case):
    """The message names the nearest search."""
    with pytest.raises(InputError, match="optimal"):
        search("optimum", case.problem())


@examples(20)
@given(case=cases())
def test_an_exhaustive_search_cut_short_proves_nothing(case):
    """Without time there is no answer, and the message says so."""
    with pytest.raises(NoSafeRelease, match="time limit"):
        exhaustive(case.problem(), time_limit=-1.0)
