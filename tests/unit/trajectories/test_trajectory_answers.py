"""Queries on trajectories."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import trajectories as slow
from tests.trajectories import FIGURE_3, FIGURE_4, cases, covered, figure_1, numbered, trees

from cloister.errors import InputError
from cloister.hierarchy import suppress
from cloister.trajectories.data import TrajectoriesRequest
from cloister.trajectories.figures import average_relative_error, count, estimate, frequent_pairs, query_of
from cloister.trajectories.protect import anonymize, anonymize_under


def test_the_example_of_appendix_b():
    """How many patients had 401.1 at 39 is answered 1 on Fig. 1(c), which is right."""
    original = figure_1()
    released = anonymize(original, TrajectoriesRequest(2, FIGURE_4, FIGURE_3)).released
    query = query_of(original, [("401.1", 39)])

    assert estimate(released, [query]).tolist() == [1.0]
    assert count(original, query) == 1


def test_what_nobody_can_have_is_no_query():
    """A code or an age that is not in the domain is no query; neither is nothing, nor too much."""
    original = figure_1()
    released = anonymize(original, TrajectoriesRequest(2, FIGURE_4, FIGURE_3)).released

    assert query_of(original, [("780", 39)]) is None
    with pytest.raises(InputError, match="at least one pair"):
        query_of(original, [])
    with pytest.raises(InputError, match="12 pairs at most"):
        estimate(released, [tuple((0, age) for age in range(13))])
    with pytest.raises(InputError, match="percentage"):
        frequent_pairs(original, 0)


@settings(max_examples=60)
@given(cases(most=8), st.integers(1, 4), st.data())
def test_answers_are_those_of_the_definition(case, k, data):
    """Inclusion and exclusion gives the probability that enumerating all that a trajectory may stand for gives."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    request = TrajectoriesRequest(k, suppress(), suppress(), weights=weights)
    released = anonymize_under(numbered(records, len(codes[0]), len(ages[0])), request, trees(codes, ages)).released
    pair = st.tuples(st.integers(0, len(codes[0]) - 1), st.integers(0, len(ages[0]) - 1))
    query = tuple(sorted(data.draw(st.sets(pair, min_size=1, max_size=3))))
    expected = 0
    for cluster, size in enumerate(released.sizes.tolist()):
        here = slice(*released.offsets[cluster : cluster + 2].tolist())
        sequence = [
            (covered(released.code_tree, code), covered(released.age_tree, age))
            for code, age in zip(released.codes[here].tolist(), released.ages[here].tolist())
        ]
        if np.prod([len(code) * len(age) for code, age in sequence], dtype=float) > 2000:
            return
        expected += size * slow.holds(sequence, query)

    assert estimate(released, [query]).tolist() == [pytest.approx(float(expected), abs=1e-9)]


@settings(max_examples=40)
@given(cases(most=8), st.sampled_from([1, 25, 50]))
def test_a_workload_is_what_many_patients_have(case, percent):
    """A workload is every set of pairs that enough patients have, with its count; with k = 1 no answer is wrong."""
    records, codes, ages, weights = case
    original = numbered(records, len(codes[0]), len(ages[0]))
    least = max(1, -(-percent * len(records) // 100))
    workload = frequent_pairs(original, percent)
    request = TrajectoriesRequest(1, suppress(), suppress(), weights=weights)
    released = anonymize_under(original, request, trees(codes, ages)).released

    found = {frozenset(query): int(times) for query, times in zip(workload.queries, workload.counts)}
    assert slow.frequent_pairs(records, least, 4) == found
    assert all(count(original, query) == times for query, times in zip(workload.queries, workload.counts.tolist()))
    error = average_relative_error(released, workload)
    assert error is None if not found else error == pytest.approx(0, abs=1e-9)
