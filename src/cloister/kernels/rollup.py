"""Equivalence classes at a policy, from rows that are already grouped at a finer one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .classes import GOLDEN, Measured
from .layout import Costs, Ladders, Rows


@jit
def _raised(rows, ladders, base, levels, raised):
    """Fill ``raised`` with the codes at the coarser policy; return the key of each row."""
    keys = np.zeros(rows.records.shape[0], dtype=np.int64)
    for j in range(levels.shape[0]):
        rise = ladders.start[j, base[j], levels[j]]
        stride = ladders.stride[j]
        for i in range(keys.shape[0]):
            code = ladders.up[rise + rows.codes[j, i]]
            raised[j, i] = code
            keys[i] += stride * np.int64(code)
    return keys


@jit
def _equal(codes, one, other):
    for j in range(codes.shape[0]):
        if codes[j, one] != codes[j, other]:
            return False
    return True


@jit
def _merge(keys, codes, records, exact):
    """Move the first row of each class to the front and add up its records; return how many classes there are."""
    n = keys.shape[0]
    bits = 4
    while (1 << bits) < 2 * n:
        bits += 1
    mask = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    slots = np.full(1 << bits, -1, dtype=np.int32)
    found = 0
    for i in range(n):
        slot = np.int64((np.uint64(keys[i]) * GOLDEN) >> shift)
        while slots[slot] >= 0:
            seen = slots[slot]
            if keys[seen] == keys[i] and (exact or _equal(codes, seen, i)):
                break
            slot = (slot + 1) & mask
        if slots[slot] >= 0:
            records[slots[slot]] += records[i]
            continue
        slots[slot] = found
        keys[found] = keys[i]
        records[found] = records[i]
        for j in range(codes.shape[0]):
            codes[j, found] = codes[j, i]
        found += 1
    return found


@jit
def _roll_up(rows, ladders, base, levels, codes, records):
    """Group rows at a coarser policy into ``codes`` and ``records``; return how many classes there are."""
    keys = _raised(rows, ladders, base, levels, codes)
    records[:] = rows.records
    return _merge(keys, codes, records, ladders.exact)


@jit
def _cost(classes, costs, levels, k, leaves):
    """Suppressed records, kept classes and smallest class; fills ``leaves`` with what the kept records lose."""
    suppressed = 0
    kept = 0
    smallest = classes.records[0]
    for i in range(classes.records.shape[0]):
        smallest = min(smallest, classes.records[i])
        if classes.records[i] < k:
            suppressed += classes.records[i]
        else:
            kept += 1
    for j in range(levels.shape[0]):
        cost = costs.start[j, levels[j]]
        total = 0
        for i in range(classes.records.shape[0]):
            if classes.records[i] >= k:
                total += classes.records[i] * costs.leaves[cost + classes.codes[j, i]]
        leaves[j] = total
    return suppressed, kept, smallest


class Grouped(NamedTuple):
    """The classes at a policy, as rows with codes at its levels; and the policy, (n_attributes,) int64."""

    rows: Rows
    levels: NDArray[np.int64]


def roll_up(grouped: Grouped, ladders: Ladders, levels: NDArray[np.int64]) -> Grouped:
    """Group rows further, at a coarser policy.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute, none below those that the rows are grouped at

    Raises
    ------
    ValueError
        A level is lower, or does not exist.
    """
    levels = np.ascontiguousarray(levels, dtype=np.int64)
    heights = ladders.heights
    if levels.shape != heights.shape or np.any(levels < grouped.levels) or np.any(levels >= heights):
        raise ValueError(
            f"levels must be one per attribute, from {grouped.levels.tolist()} to below {heights.tolist()}"
        )
    codes = np.empty_like(grouped.rows.codes)
    records = np.empty_like(grouped.rows.records)
    found = int(_roll_up(grouped.rows, ladders, grouped.levels, levels, codes, records))
    return Grouped(Rows(np.ascontiguousarray(codes[:, :found]), records[:found].copy()), levels)


def measure_grouped(grouped: Grouped, costs: Costs, k: int) -> Measured:
    """Suppressed records, kept classes, the smallest class and leaves lost at the policy that rows are grouped at."""
    leaves = np.zeros(grouped.levels.shape[0], dtype=np.int64)
    suppressed, kept, smallest = _cost(grouped.rows, costs, grouped.levels, k, leaves)
    return Measured(int(suppressed), int(kept), int(smallest), leaves)
