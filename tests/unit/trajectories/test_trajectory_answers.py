"""Queries on trajectories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracles import trajectories as slow
from tests.trajectories import FIGURE_3, FIGURE_4, cases, covered, figure_1, numbered, trees

from cloister.errors import InputError
from cloister.hierarchy import suppress
from cloister.trajectories.data import TrajectoriesRequest
from cloister.trajectories.figures import average_relative_error, estimate, frequent_pairs
from cloister.trajectories.protect import anonymize, anonymize_under


def test_the_example_of_appendix_b():
    """How many patients had 401.1 at 39 is answered 1 on Fig. 1(c), which is right."""
    original = figure_1()
    released = anonymize(original, TrajectoriesRequest(2, FIGURE_4, FIGURE_3)).released
    query = ((original.vocabulary.index("401.1"), original.age_values.index("39")),)

    assert estimate(released, [query]).tolist() == [1.0]
    assert count(original, query) == 1


def count(original, query):
    """How many patients of the original have all pairs of a query."""
    bounds = zip(original.offsets[:-1].tolist(), original.offsets[1:].tolist())
    pairs = list(zip(original.codes.tolist(), original.ages.tolist()))
    return sum(set(query) <= set(pairs[begin:end]) for begin, end in bounds)


def test_a_query_has_few_pairs():
    """Too many pairs are no query, and none is no workload."""
    original = figure_1()
    released = anonymize(original, TrajectoriesRequest(2, FIGURE_4, FIGURE_3)).released

    with pytest.raises(InputError, match="12 pairs at most"):
        estimate(released, [tuple((0, age) for age in range(13))])
    with pytest.raises(InputError, match="percentage"):
        frequent_pairs(original, 0)


@examples(60)
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


@examples(40)
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
