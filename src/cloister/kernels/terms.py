"""Generalized terms as bit rows: count the records that contain a set of codes, and find the cheapest pair of terms.

A *term* is a set of codes that are released as one; it is named by its smallest code. One bit a record.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .words import bits_set

SUPPRESSED = -1
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
LONGEST_EXACT = 53
"""Bits of a float's mantissa: for more codes than that, 2^n is used for 2^n - 1."""


class Terms(NamedTuple):
    """Codes and the terms that they are in.

    level : (n_codes,) int64, height of the lowest node of the hierarchy above all codes of each term; 0 for one code
    """

    term: NDArray[np.int32]  # (n_codes,) smallest code of the term that holds each code, SUPPRESSED where none does
    bits: NDArray[np.uint64]  # (n_codes, n_words) records of the term named by each code; other rows have no meaning
    size: NDArray[np.int64]  # size, support: (n_codes,) codes and records of each term
    support: NDArray[np.int64]
    level: NDArray[np.int64]
    paths: NDArray[np.int32]  # (n_codes, top) the node above each code at heights 1 to top; at the top one for all


class Groups(NamedTuple):
    """Codes by utility constraint: ``codes[starts[g]:starts[g + 1]]``, and the constraint of each code."""

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    group: NDArray[np.int32]


class Waiting(NamedTuple):
    """Sets of codes that are not protected yet."""

    sets: NDArray[np.int64]  # numbers of the sets, those still waiting first
    support: NDArray[np.int64]  # (n_sets,) records that hold each set when last counted, -1 before
    counted: NDArray[np.int64]  # (n_sets,) the step at which that was
    changed: NDArray[np.int64]  # (n_codes,) the step at which the term of each code last changed


@inner
def _count_holders(term, bits, items, first, last, limit):
    """Records that hold the terms of a set of codes, counted up to a limit; the limit where all are suppressed."""
    left = 0
    for i in range(first, last):
        if term[items[i]] >= 0:
            left += 1
    if left == 0:
        return limit
    count = 0
    for w in range(bits.shape[1]):
        word = ONES
        for i in range(first, last):
            row = term[items[i]]
            if row >= 0:
                word &= bits[row, w]
        count += bits_set(word)
        if count >= limit:
            return limit
    return count


@jit
def _supports(term, bits, offsets, items, limit, found):
    """Count each set of codes."""
    for s in range(offsets.shape[0] - 1):
        found[s] = _count_holders(term, bits, items, offsets[s], offsets[s + 1], limit)


@jit
def _any_below(term, bits, codes, starts, set_of, offsets, items, k):
    """Whether some records, but fewer than k, hold a set that one of these codes is in."""
    for i in range(codes.shape[0]):
        for place in range(starts[codes[i]], starts[codes[i] + 1]):
            s = set_of[place]
            if 0 < _count_holders(term, bits, items, offsets[s], offsets[s + 1], k) < k:
                return True
    return False


@jit
def _first_below(term, bits, offsets, items, k, start):
    """The first set from ``start`` on that some records hold, but fewer than k; the number of sets if none."""
    n_sets = offsets.shape[0] - 1
    for s in range(start, n_sets):
        if 0 < _count_holders(term, bits, items, offsets[s], offsets[s + 1], k) < k:
            return s
    return n_sets


@jit
def _most_held_below(term, bits, offsets, items, k, waiting, n_waiting):
    """The set below k that most records hold, the first of these, and how many sets still wait; -1 if none does."""
    best = -1
    kept = 0
    for at in range(n_waiting):
        s = waiting.sets[at]
        stale = waiting.support[s] < 0
        for i in range(offsets[s], offsets[s + 1]):
            stale = stale or waiting.changed[items[i]] > waiting.counted[s]
        if stale:
            waiting.support[s] = _count_holders(term, bits, items, offsets[s], offsets[s + 1], k)
            for i in range(offsets[s], offsets[s + 1]):
                waiting.counted[s] = max(waiting.counted[s], waiting.changed[items[i]])
        # Terms only grow, so that a set that k records hold is protected for good and need not wait.
        if waiting.support[s] == 0 or waiting.support[s] >= k:
            continue
        waiting.sets[kept] = s
        kept += 1
        if best < 0 or waiting.support[s] > waiting.support[best]:
            best = s
    return best, kept


@inner
def _joint_level(terms, a, b):
    """Height of the lowest node above two terms."""
    top = terms.paths.shape[1]
    for height in range(max(1, terms.level[a], terms.level[b]), top):
        if terms.paths[a, height - 1] == terms.paths[b, height - 1]:
            return height
    return top


@inner
def _cost(size, level, support, exponential):
    """What a term loses up to a constant factor, as exponent and mantissa: exact, so that ties are ties."""
    value = np.float64(level * support)
    if not exponential or value == 0.0:
        return 0, value * size
    if size <= LONGEST_EXACT:
        value *= 1.0 - 0.5**size
    exponent = size
    while value >= 2.0:
        value *= 0.5
        exponent += 1
    while 0.0 < value < 1.0:
        value *= 2.0
        exponent -= 1
    return exponent, value


@inner
def _joint_support(bits, a, b):
    """Records that hold one of two terms or both."""
    count = 0
    for w in range(bits.shape[1]):
        count += bits_set(bits[a, w] | bits[b, w])
    return count


@jit
def _cheapest_pair(terms, groups, chosen, exponential):
    """The cheapest pair of a chosen term and a term of the same utility constraint; ties: the smaller names."""
    found = (-1, -1)
    best = (0, 0.0)
    for i in range(chosen.shape[0]):
        a = chosen[i]
        group = groups.group[a]
        for j in range(groups.starts[group], groups.starts[group + 1]):
            b = groups.codes[j]
            if terms.term[b] != b or b == a:
                continue
            size = terms.size[a] + terms.size[b]
            level = _joint_level(terms, a, b)
            least = _cost(size, level, max(terms.support[a], terms.support[b]), exponential)
            # A union has at least the support of either, so that this bounds its cost without counting bits.
            if found[0] >= 0 and least > best:
                continue
            cost = _cost(size, level, _joint_support(terms.bits, a, b), exponential)
            pair = (min(a, b), max(a, b))
            if found[0] < 0 or cost < best or (cost == best and pair < found):
                best = cost
                found = pair
    return found


def _check_sets(n_codes: int, offsets: NDArray[np.int64], items: NDArray[np.int32]) -> None:
    if not offsets.size or offsets[0] != 0 or offsets[-1] != items.size or np.any(np.diff(offsets) < 0):
        raise ValueError("offsets must rise from 0 to the number of items")
    if items.size and not 0 <= int(items.min()) <= int(items.max()) < n_codes:
        raise ValueError("items must be numbers of codes")


def supports(
    term: NDArray[np.int32], bits: NDArray[np.uint64], offsets: NDArray[np.int64], items: NDArray[np.int32], limit: int
) -> NDArray[np.int64]:
    """How many records hold the terms of each set of codes, counted up to a limit: (n_sets,).

    Parameters
    ----------
    term : (n_codes,) row of the bits of each code, below 0 for none; the count of a set without any is the limit
    bits : (n_rows, n_words) uint64, one bit a record
    offsets, items : (n_sets + 1,) and the codes of each set
    """
    _check_sets(term.size, offsets, items)
    found = np.zeros(offsets.size - 1, dtype=np.int64)
    _supports(term, bits, offsets, items, limit, found)
    return found


def any_below(
    term: NDArray[np.int32],
    bits: NDArray[np.uint64],
    codes: NDArray[np.int64],
    starts: NDArray[np.int64],
    set_of: NDArray[np.int64],
    offsets: NDArray[np.int64],
    items: NDArray[np.int32],
    k: int,
) -> bool:
    """Whether 1 to k - 1 records hold a set that one of some codes is in; the sets were checked by `supports`.

    Parameters
    ----------
    codes : whose sets are looked at
    starts, set_of : (n_codes + 1,) and the sets that each code is in; others are those of `supports`
    """
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < starts.size - 1:
        raise ValueError("codes must be numbers of codes")
    return bool(_any_below(term, bits, codes, starts, set_of, offsets, items, k))


def first_below(
    term: NDArray[np.int32],
    bits: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    items: NDArray[np.int32],
    k: int,
    start: int,
) -> int:
    """Number of the first set from ``start`` on that 1 to k - 1 records hold; the number of sets if there is none.

    Parameters are those of `supports`; the sets are checked at the first call, with ``start`` 0.
    """
    if start == 0:
        _check_sets(term.size, offsets, items)
    return int(_first_below(term, bits, offsets, items, k, start))


def most_held_below(
    terms: Terms, offsets: NDArray[np.int64], items: NDArray[np.int32], k: int, waiting: Waiting, n_waiting: int
) -> tuple[int, int]:
    """The set that most records hold, but fewer than k, and how many sets wait; -1 and 0 where all are protected.

    Parameters
    ----------
    waiting : what is known; brought up to date, sets that are protected drop out
    n_waiting : sets that wait
    """
    if not 0 <= n_waiting <= waiting.sets.size:
        raise ValueError("more sets wait than there are")
    best, kept = _most_held_below(terms.term, terms.bits, offsets, items, k, waiting, n_waiting)
    return int(best), int(kept)


def cheapest_pair(terms: Terms, groups: Groups, chosen: NDArray[np.int32], *, exponential: bool) -> tuple[int, int]:
    """The two terms whose union costs least, the smaller name first; (-1, -1) where there is no pair.

    Parameters
    ----------
    chosen : names of terms; one of the pair is among them, and the other is of the same utility constraint
    exponential : whether a term of n codes counts 2^n - 1 instead of n
    """
    if chosen.size and not np.all(terms.term[chosen] == chosen):
        raise ValueError("chosen must be names of terms")
    a, b = _cheapest_pair(terms, groups, chosen, exponential)
    return int(a), int(b)
