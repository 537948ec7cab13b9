"""The data of a search: distinct rows, maps and costs; lower bounds on losses, and the order of ties.

A named tuple of arrays is one argument of a kernel.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit

CODE = np.uint32
"""Type of all codes. One type for all tables means one compilation; smaller ones gain 5 % in the search."""

FEW_ROWS = 50_000
"""Rows up to which NumPy numbers and compares them as fast as a compiler is loaded."""

WORD = 64
"""Bits of a machine word."""

LARGEST_EXACT_KEY = 2**62


class Rows(NamedTuple):
    """The distinct rows of the quasi-identifiers with how often each occurs."""

    codes: NDArray[np.uint32]  # (n_attributes, n_groups) value of each attribute at level 0
    records: NDArray[np.int64]  # (n_groups,) records that have this combination


class LevelMaps(NamedTuple):
    """Maps of codes from level to level.

    up : flat table; ``up[start[j, a, b] + c]`` is the code at level b of what has code c at level a <= b
    """

    up: NDArray[np.uint32]
    start: NDArray[np.int64]  # (n_attributes, n_levels, n_levels) offsets into ``up``
    sizes: NDArray[np.int64]  # (n_attributes, n_levels) number of codes at each level; 0 beyond the attribute's top
    heights: NDArray[np.int64]  # (n_attributes,) number of levels of each attribute
    number: NDArray[np.int64]  # (n_attributes, n_levels) what the user calls each level; ranks are added up from these
    stride: NDArray[np.int64]  # (n_attributes,) multipliers that turn a row of codes into one key
    exact: bool  # whether different rows always have different keys (else a match of keys is verified code by code)


class Costs(NamedTuple):
    """The cost of each generalized value, in whole leaves, so that sums are exact in any order.

    leaves : flat int64; ``leaves[start[j, a] + c]`` is (leaves covered - 1) of code c at level a of attribute j
    """

    leaves: NDArray[np.int64]
    start: NDArray[np.int64]  # (n_attributes, n_levels) offsets into ``leaves``
    domain: NDArray[np.int64]  # (n_attributes,) (leaves of the domain - 1), at least 1
    mean: NDArray[np.float64]  # (n_attributes, n_levels) mean loss of a record by generalization alone
    worst: NDArray[np.float64]  # (n_attributes, n_levels) largest loss of a value present
    weight: NDArray[np.float64]  # (n_attributes,) weights of the attributes, adding up to 1
    geometric: bool  # aggregate by the geometric mean of (1 + loss), else by the arithmetic mean


class Threshold(NamedTuple):
    """When a class is kept: at least ``k`` of ``n_records`` records; at most ``limit`` records may be suppressed."""

    k: int
    n_records: int
    limit: int


class Packing(NamedTuple):
    """Where the code of each attribute is in the machine words of a row.

    word, shift, mask : (n_attributes,) which word, how far from its lowest bit, and the bits it takes
    """

    word: NDArray[np.int64]
    shift: NDArray[np.uint64]
    mask: NDArray[np.uint64]
    n_words: int  # words of a row


def pack(sizes: NDArray[np.int64]) -> Packing:
    """Give each attribute with this many codes its own bits, first word first."""
    word, shift, mask = [], [], []
    used: list[int] = [0]
    for size in sizes.tolist():
        bits = max(1, (size - 1).bit_length())
        place = next((w for w, taken in enumerate(used) if taken + bits <= WORD), len(used))
        if place == len(used):
            used.append(0)
        word.append(place)
        shift.append(used[place])
        mask.append((1 << bits) - 1)
        used[place] += bits
    return Packing(
        np.array(word, dtype=np.int64), np.array(shift, dtype=np.uint64), np.array(mask, dtype=np.uint64), len(used)
    )


class Task(NamedTuple):
    """The constant data of a search."""

    rows: Rows
    maps: LevelMaps
    costs: Costs
    threshold: Threshold
    packing: Packing


def key_strides(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], bool]:
    """Multipliers that give each combination of codes its own key, and whether 63 bits are enough for that.

    Where they are not, the multipliers are fixed odd numbers whose sums wrap around; keys may then collide and
    kernels compare the codes themselves.
    """
    product = 1
    strides = []
    for size in sizes.tolist():
        strides.append(product)
        product *= max(1, size)
    if product <= LARGEST_EXACT_KEY:
        return np.array(strides, dtype=np.int64), True
    generator = np.random.Generator(np.random.PCG64(0))
    return generator.integers(-(2**62), 2**62, size=sizes.size, dtype=np.int64) | 1, False


def make_task(rows: Rows, maps: LevelMaps, costs: Costs, threshold: Threshold) -> Task:
    """Put a task together; rows are packed by the number of codes at the lowest level."""
    return Task(rows, maps, costs, threshold, pack(maps.sizes[:, 0]))


TOLERANCE = 1e-12
"""Losses no further apart than this are equal."""

NOISE = 1e-14
"""How far rounding can move a loss; much less than the tolerance."""

MOST_FOUND = 64
"""Transformations that one exploration may find before it hands them over."""


class Best(NamedTuple):
    """The best transformations found so far.

    levels : (n_attributes,) the reference: of the transformations found, the one of least loss, ties decided
    found : (MOST_FOUND, n_attributes) transformations found in this exploration, no dearer than the least then known
    uppers, least : (MOST_FOUND, n_attributes), (MOST_FOUND,) where boxes are handed over: ``found`` holds their lower
        transformations, these their upper ones and the records suppressed throughout

    Equality of losses within a tolerance is not transitive, so which transformation wins is decided only at the end,
    among all that were found. The reference only rules transformations out: one with no smaller loss that comes later
    in the tie break can never win.
    """

    loss: NDArray[np.float64]  # (2,) least loss seen, and loss of the reference
    suppressed: NDArray[np.int64]  # (1,) records that the reference suppresses
    levels: NDArray[np.int64]
    found: NDArray[np.int64]
    n_found: NDArray[np.int64]  # (1,) how many
    uppers: NDArray[np.int64]
    least: NDArray[np.int64]
    is_final: bool  # whether class size alone decides what is suppressed; else settled boxes are handed over


def reference(loss: float, suppressed: int, levels: list[int], *, is_final: bool = True) -> Best:
    """Start from one safe transformation; an infinite loss means none."""
    return Best(
        loss=np.array([loss, loss], dtype=np.float64),
        suppressed=np.array([suppressed], dtype=np.int64),
        levels=np.array(levels, dtype=np.int64),
        found=np.zeros((MOST_FOUND, len(levels)), dtype=np.int64),
        n_found=np.zeros(1, dtype=np.int64),
        uppers=np.zeros((MOST_FOUND, len(levels)), dtype=np.int64),
        least=np.zeros(MOST_FOUND, dtype=np.int64),
        is_final=is_final,
    )


@inner
def term(costs, attribute, level, share):
    """What one attribute adds to the bound at a level when this share of the records is suppressed."""
    loss = costs.mean[attribute, level] + share * (1.0 - costs.worst[attribute, level])
    if costs.geometric:
        return costs.weight[attribute] * np.log1p(loss)
    return costs.weight[attribute] * loss


@inner
def aggregate(costs, terms):
    """Return the loss from a sum of terms."""
    return np.expm1(terms) if costs.geometric else terms


@jit
def bound_of(costs, levels, share):
    """Sum of terms of a transformation of which at least this share of the records is suppressed."""
    terms = 0.0
    for j in range(levels.shape[0]):
        terms += term(costs, j, levels[j], share)
    return terms


@inner
def _beats(maps, suppressed, levels, best):
    """Whether this wins a tie of losses: fewer suppressed, lower rank, smaller level vector."""
    if suppressed != best.suppressed[0]:
        return suppressed < best.suppressed[0]
    rank = 0
    for j in range(levels.shape[0]):
        rank += maps.number[j, levels[j]] - maps.number[j, best.levels[j]]
    if rank != 0:
        return rank < 0
    for j in range(levels.shape[0]):
        if levels[j] != best.levels[j]:
            return levels[j] < best.levels[j]
    return False


@inner
def cannot_win(maps, loss, suppressed, lower, best):
    """Whether no transformation with at least this loss and this suppression can beat the best known."""
    # Within the tolerance all stay: which of them wins is decided at the end, whatever the order of the work.
    if loss > best.loss[0] + TOLERANCE:
        return True
    return loss >= best.loss[1] - NOISE and not _beats(maps, suppressed, lower, best)


@inner
def keep(maps, loss, suppressed, levels, best):
    """Note a safe transformation that can win, and make it the reference if it wins against that."""
    if cannot_win(maps, loss, suppressed, levels, best):
        return
    for j in range(levels.shape[0]):
        best.found[best.n_found[0], j] = levels[j]
    best.n_found[0] += 1
    best.loss[0] = min(best.loss[0], loss)
    less = loss < best.loss[1] - NOISE
    if less or (loss <= best.loss[1] + NOISE and _beats(maps, suppressed, levels, best)):
        best.loss[1] = loss
        best.suppressed[0] = suppressed
        for j in range(levels.shape[0]):
            best.levels[j] = levels[j]


@inner
def hand_over(best, lower, upper, suppressed):
    """Note a box whose transformations cannot be distinguished by class sizes."""
    for j in range(lower.shape[0]):
        best.found[best.n_found[0], j] = lower[j]
        best.uppers[best.n_found[0], j] = upper[j]
    best.least[best.n_found[0]] = suppressed
    best.n_found[0] += 1


@inner
def width(costs, attribute, low, high):
    """How much two levels of an attribute differ in cost."""
    return term(costs, attribute, high, 0.0) - term(costs, attribute, low, 0.0)
