"""What is asked of trajectories in a workload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.trajectories import cases, figure_1, numbered
from tests.oracles import trajectories as slow

from cloister.errors import InputError
from cloister.shapes.trajectories.method.figures import frequent_pairs


def count(original, query):
    """How many patients of the original have all pairs of a query."""
    bounds = zip(original.offsets[:-1].tolist(), original.offsets[1:].tolist())
    pairs = list(zip(original.codes.tolist(), original.ages.tolist()))
    return sum(set(query) <= set(pairs[begin:end]) for begin, end in bounds)


def test_a_workload_is_a_percentage():
    """None of the patients is no workload."""
    with pytest.raises(InputError, match="percentage"):
        frequent_pairs(figure_1(), 0)


@examples(40)
@given(cases(most=8), st.sampled_from([1, 25, 50]))
def test_a_workload_is_what_many_patients_have(case, percent):
    """A workload is every set of pairs that enough patients have, with its count."""
    records, codes, ages, _ = case
    original = numbered(records, len(codes[0]), len(ages[0]))
    least = max(1, -(-percent * len(records) // 100))
    workload = frequent_pairs(original, percent)

    found = {frozenset(query): int(times) for query, times in zip(workload.queries, workload.counts)}
    assert slow.frequent_pairs(records, least, 4) == found
    assert all(count(original, query) == times for query, times in zip(workload.queries, workload.counts.tolist()))
