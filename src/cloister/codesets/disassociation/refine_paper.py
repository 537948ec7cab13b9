"""Refining as the paper sketches it: neighbours are joined in pairs, for comparison with the split tree."""

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.chunking import ITEM_CHUNK
from cloister.kernels.parts import Entries

Held = dict[int, int]


def neighbour_tree(
    entries: Entries, unit: NDArray[np.int32], k: int, is_border: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Depths of a forest over the parts in which neighbours are joined pair by pair, until no pair gains from it.

    Two neighbours are joined if both hold a code in their item chunks that they hold k times together. Refining along
    this forest then keeps the same four rules as along the split tree (`cloister.codesets.disassociation.refine`).

    Parameters
    ----------
    is_border : (n_parts - 1,) whether a part and the next are in different classes, which are never joined

    Returns
    -------
    depths : (n_parts - 1,) int32, -1 between parts that are not joined

    References
    ----------
    Loukides et al. (2014), section 4, "Refining"; the order in which clusters are joined is ours.
    """
    groups = [(part, held) for part, held in enumerate(_held(entries, unit))]
    joins: list[int] = []
    while True:
        joined = _joined_once(groups, k, joins, is_border)
        if len(joined) == len(groups):
            break
        groups = joined
    depths = np.full(max(0, entries.offsets.size - 2), -1, dtype=np.int32)
    depths[joins] = np.arange(len(joins))[::-1]
    return depths


def _held(entries: Entries, unit: NDArray[np.int32]) -> list[Held]:
    pooled = (entries.place == ITEM_CHUNK) & (unit[entries.code] == entries.code)
    part = np.repeat(np.arange(entries.offsets.size - 1), np.diff(entries.offsets))
    held: list[Held] = [{} for _ in range(entries.offsets.size - 1)]
    for owner, code, support in zip(
        part[pooled].tolist(), entries.code[pooled].tolist(), entries.support[pooled].tolist(), strict=True
    ):
        held[owner][code] = support
    return held


def _joined_once(
    groups: list[tuple[int, Held]], k: int, joins: list[int], is_border: NDArray[np.bool_]
) -> list[tuple[int, Held]]:
    """One pass over the groups, each the last of its parts and what is pending; ``joins`` gets the borders joined."""
    found: list[tuple[int, Held]] = []
    at = 0
    while at < len(groups):
        last, held = groups[at]
        if at + 1 < len(groups) and not is_border[last]:
            other_last, other = groups[at + 1]
            if any(held[code] + other[code] >= k for code in held.keys() & other.keys()):
                joins.append(last)
                both = {code: held.get(code, 0) + other.get(code, 0) for code in held.keys() | other.keys()}
                found.append((other_last, {code: count for code, count in both.items() if count < k}))
                at += 2
                continue
        found.append((last, held))
        at += 1
    return found
