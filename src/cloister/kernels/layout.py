"""The arrays that kernels share: distinct rows, maps and costs. A named tuple of arrays is one argument."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CODE = np.uint32
"""Type of all codes. One type for all tables means one compilation; smaller ones gain 5 % in the search."""

WORD = 64
"""Bits of a machine word."""

LARGEST_EXACT_KEY = 2**62


class Rows(NamedTuple):
    """The distinct rows of the quasi-identifiers with how often each occurs.

    codes : (n_attributes, n_groups) uint32, value of each attribute at level 0
    records : (n_groups,) int64, records that have this combination
    """

    codes: NDArray[np.uint32]
    records: NDArray[np.int64]


class LevelMaps(NamedTuple):
    """How codes rise from level to level.

    up : flat table; ``up[start[j, a, b] + c]`` is the code at level b of what has code c at level a <= b
    start : (n_attributes, n_levels, n_levels) int64, offsets into ``up``
    sizes : (n_attributes, n_levels) int64, number of codes at each level; 0 beyond the attribute's top
    heights : (n_attributes,) int64, number of levels of each attribute
    number : (n_attributes, n_levels) int64, what the user calls each level; ranks are added up from these
    stride : (n_attributes,) int64, multipliers that turn a row of codes into one key
    exact : whether different rows always have different keys (else a match of keys is verified code by code)
    """

    up: NDArray[np.uint32]
    start: NDArray[np.int64]
    sizes: NDArray[np.int64]
    heights: NDArray[np.int64]
    number: NDArray[np.int64]
    stride: NDArray[np.int64]
    exact: bool


class Costs(NamedTuple):
    """What a generalized value costs, in whole leaves, so that sums are exact in any order.

    leaves : flat int64; ``leaves[start[j, a] + c]`` is (leaves covered - 1) of code c at level a of attribute j
    start : (n_attributes, n_levels) int64, offsets into ``leaves``
    domain : (n_attributes,) int64, (leaves of the domain - 1), at least 1
    mean : (n_attributes, n_levels) float64, mean loss of a record by generalization alone
    worst : (n_attributes, n_levels) float64, largest loss of a value present
    weight : (n_attributes,) float64, weights of the attributes, adding up to 1
    geometric : aggregate by the geometric mean of (1 + loss), else by the arithmetic mean
    """

    leaves: NDArray[np.int64]
    start: NDArray[np.int64]
    domain: NDArray[np.int64]
    mean: NDArray[np.float64]
    worst: NDArray[np.float64]
    weight: NDArray[np.float64]
    geometric: bool


class Threshold(NamedTuple):
    """When a class is kept: at least ``k`` of ``n_records`` records; at most ``limit`` records may be suppressed."""

    k: int
    n_records: int
    limit: int


class Packing(NamedTuple):
    """Where the code of each attribute stands in the machine words of a row.

    word, shift, mask : (n_attributes,) which word, how far from its lowest bit, and the bits it takes
    n_words : words of a row
    """

    word: NDArray[np.int64]
    shift: NDArray[np.uint64]
    mask: NDArray[np.uint64]
    n_words: int


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
    """What does not change during a search."""

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
