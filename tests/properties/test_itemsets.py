"""Mining and counting agree with their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import itemsets as oracle

from cloister import CodeSets
from cloister.shapes.codes.request import index_codes
from cloister.utility import case_counts, frequent_itemsets, maximal
from cloister.utility.case_counts import pair_errors

RECORDS = st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=6), min_size=1, max_size=80)


def code_sets(records):
    """Code sets whose item numbers are these numbers, whether or not all occur."""
    offsets = np.cumsum([0, *map(len, records)]).astype(np.int64)
    items = np.array([code for record in records for code in sorted(record)], dtype=np.int32)
    return CodeSets(tuple("abcdefg"), offsets, items)


@given(RECORDS, st.integers(1, 10), st.sampled_from([None, 1, 2, 4]))
def test_frequent_itemsets_are_those_of_the_definition(records, least, largest):
    """The same sets with the same supports, in order, however long they may be."""
    codes = code_sets(records)
    found = frequent_itemsets(codes.offsets, codes.items, least, largest=largest)

    assert oracle.frequent(records, least, largest) == {itemset.items: itemset.support for itemset in found}
    assert found == sorted(found, key=lambda itemset: itemset.items)


@given(RECORDS, st.integers(1, 10))
def test_maximal_sets_are_those_of_the_definition(records, least):
    """Those that are part of no other, the most frequent first."""
    codes = code_sets(records)
    found = maximal(frequent_itemsets(codes.offsets, codes.items, least))

    assert oracle.maximal(oracle.frequent(records, least)) == {itemset.items for itemset in found}
    assert sorted(-itemset.support for itemset in found) == [-itemset.support for itemset in found]


@given(RECORDS, st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4).map(sorted).map(tuple), max_size=5))
def test_case_counts_are_those_of_the_definition(records, queries):
    """A query is answered by the records that hold all of its codes."""
    expected = [sum(set(query) <= record for record in records) for query in queries]

    assert expected == index_codes(code_sets(records)).counts(queries).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case_counts, "MOST_BITS", 0)
        assert expected == index_codes(code_sets(records)).counts(queries).tolist()


@given(RECORDS, st.lists(st.integers(0, 3), min_size=7, max_size=7))
def test_matches_are_those_of_the_definition(records, numbers):
    """A constraint is matched by the records that hold at least one of its codes."""
    constraints = [tuple(code for code in range(7) if numbers[code] == number) for number in sorted(set(numbers))]
    expected = [sum(bool(set(constraint) & record) for record in records) for constraint in constraints]

    assert expected == index_codes(code_sets(records)).matches(constraints).tolist()


@given(RECORDS, RECORDS)
def test_pair_errors_are_those_of_the_definition(records, others):
    """The mean relative error of the supports of pairs, over all pairs of so few codes."""
    pairs = [(a, b) for a in range(7) for b in range(a + 1, 7)]
    true, found = ([sum({a, b} <= record for record in each) for a, b in pairs] for each in (records, others))
    computed = pair_errors(index_codes(code_sets(records)), [index_codes(code_sets(others))])

    assert abs(oracle.pairs_error(true, found) - computed) < 1e-12
