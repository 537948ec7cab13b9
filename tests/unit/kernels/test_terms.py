"""Kernels over terms as bits: counted and compared as plain Python would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloister.kernels.itemset_support import covered_sets
from cloister.kernels.terms import (
    Groups,
    Terms,
    Waiting,
    any_below,
    cheapest_pair,
    first_below,
    most_held_below,
    supports,
)

N_CODES = 6
ROWS = st.lists(st.integers(0, 2**70 - 1), min_size=N_CODES, max_size=N_CODES)
TERM = st.lists(st.booleans(), min_size=N_CODES, max_size=N_CODES)
SETS = st.lists(st.sets(st.integers(0, N_CODES - 1), max_size=4).map(sorted), min_size=1, max_size=5)


def bits_of(rows):
    """Two words a row."""
    return np.array([[row & (2**64 - 1), row >> 64] for row in rows], dtype=np.uint64)


def flat(sets):
    """Sets as starts and values."""
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
    return offsets, np.array([item for each in sets for item in each], dtype=np.int32)


def held_by(rows, kept, codes, limit):
    """Records of all the codes that are kept; the limit where none is."""
    common = -1
    for code in codes:
        common &= rows[code] if kept[code] else -1
    return limit if common == -1 else min(limit, common.bit_count())


@given(ROWS, TERM, SETS, st.integers(1, 80))
def test_supports_are_counted_up_to_a_limit(rows, kept, sets, limit):
    """Records that hold all terms of a set; suppressed codes are left out."""
    term = np.where(kept, np.arange(N_CODES), -1).astype(np.int32)
    expected = [held_by(rows, kept, codes, limit) for codes in sets]

    assert expected == supports(term, bits_of(rows), *flat(sets), limit).tolist()
    below = [number for number, count in enumerate(expected) if 0 < count < limit]
    assert min(below, default=len(sets)) == first_below(term, bits_of(rows), *flat(sets), limit, 0)


@given(ROWS, TERM, SETS, st.sets(st.integers(0, N_CODES - 1)).map(sorted), st.integers(1, 80))
def test_a_set_of_some_codes_that_few_records_hold_is_found(rows, kept, sets, codes, k):
    """Whether there is one among all sets with one of the codes; others are not looked at."""
    term = np.where(kept, np.arange(N_CODES), -1).astype(np.int32)
    offsets, items = flat(sets)
    order = np.argsort(items, kind="stable")
    set_of = np.repeat(np.arange(len(sets)), np.diff(offsets))[order]
    starts = np.searchsorted(items[order], np.arange(N_CODES + 1))
    expected = any(0 < held_by(rows, kept, own, k) < k for own in sets if {*own} & {*codes})

    asked = np.array(codes, dtype=np.int64)
    assert expected == any_below(term, bits_of(rows), asked, starts, set_of, offsets, items, k)
    with pytest.raises(ValueError, match="numbers of codes"):
        any_below(term, bits_of(rows), np.array([N_CODES]), starts, set_of, offsets, items, k)


@given(ROWS, st.lists(st.integers(1, 40), min_size=N_CODES, max_size=N_CODES), st.booleans(), st.data())
def test_the_cheapest_pair_is_that_of_exact_arithmetic(rows, sizes, exponential, data):
    """Whole numbers decide, to the 53 bits of a float; ties by names; both terms are of one utility constraint."""
    group = data.draw(st.lists(st.integers(0, 1), min_size=N_CODES, max_size=N_CODES))
    own = data.draw(st.sets(st.integers(0, N_CODES - 1), min_size=1).map(sorted))
    paths = np.array([[code // 2, code // 4, 0] for code in range(N_CODES)], dtype=np.int32)
    bits = bits_of(rows)
    terms = Terms(
        np.arange(N_CODES, dtype=np.int32),
        bits,
        np.array(sizes, dtype=np.int64),
        np.bitwise_count(bits).sum(axis=1).astype(np.int64),
        np.zeros(N_CODES, dtype=np.int64),
        paths,
    )

    def cost(a, b):
        height = next(h for h in range(3) if paths[a, h] == paths[b, h]) + 1
        size = sizes[a] + sizes[b]
        return (2**size - 1 if exponential else size) * height * (rows[a] | rows[b]).bit_count()

    pairs = {(min(a, b), max(a, b)) for a in own for b in range(N_CODES) if a != b and group[a] == group[b]}
    expected = min(pairs, key=lambda pair: (float(cost(*pair)), pair), default=(-1, -1))
    order = np.argsort(group, kind="stable").astype(np.int32)
    groups = Groups(np.searchsorted(np.sort(group), [0, 1, 2]).astype(np.int64), order, np.array(group, dtype=np.int32))
    found = cheapest_pair(terms, groups, np.array(own, dtype=np.int32), exponential=exponential)

    assert expected == found


@given(ROWS, SETS, st.integers(1, 80))
def test_the_set_that_most_records_hold_comes_first(rows, sets, k):
    """Of the sets below k, the first of those with the largest support; protected sets stop waiting."""
    offsets, items = flat(sets)
    bits = bits_of(rows)
    void = np.zeros(N_CODES, dtype=np.int64)
    terms = Terms(np.arange(N_CODES, dtype=np.int32), bits, void, void, void, np.zeros((N_CODES, 1), dtype=np.int32))
    waiting = Waiting(np.arange(len(sets)), np.full(len(sets), -1), np.zeros(len(sets), dtype=np.int64), void.copy())
    found = most_held_below(terms, offsets, items, k, waiting, len(sets))
    counts = [held_by(rows, [True] * N_CODES, codes, k) for codes in sets]
    below = [number for number, count in enumerate(counts) if 0 < count < k]

    expected = max(below, key=lambda number: (counts[number], -number), default=-1)
    assert (expected, len(below)) == found
    assert below == waiting.sets[: len(below)].tolist()


@given(SETS)
def test_covered_sets_lie_in_larger_ones(sets):
    """Marked are the sets that are part of a larger one."""
    expected = [any(set(one) < set(other) for other in sets) for one in sets]

    assert expected == covered_sets(*flat(sets)).tolist()


def test_arrays_that_do_not_fit_are_refused():
    """Wrappers check what kernels do not."""
    term, bits = np.arange(2, dtype=np.int32), np.zeros((2, 1), dtype=np.uint64)
    with pytest.raises(ValueError, match="offsets"):
        supports(term, bits, np.array([0, 2]), np.array([0], dtype=np.int32), 1)
    with pytest.raises(ValueError, match="numbers of codes"):
        first_below(term, bits, np.array([0, 1]), np.array([2], dtype=np.int32), 1, 0)
    with pytest.raises(ValueError, match="span"):
        covered_sets(np.array([0, 2]), np.array([0], dtype=np.int32))
