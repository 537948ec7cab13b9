"""What of a set of codes occurs: its maximal parts that some record holds, and parts that few records hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .sets import Integers, Numbers, Sets

WORD = 62
"""Codes whose presence fits into one number."""


@dataclass(frozen=True, eq=False, repr=False)
class Holders:
    """Records by code: those of code ``c`` are ``records[starts[c]:starts[c + 1]]``, ascending."""

    starts: Integers
    records: Integers

    @classmethod
    def of(cls, records: Sets, n_codes: int) -> "Holders":
        """Index records."""
        starts = np.zeros(n_codes + 1, dtype=np.int64)
        np.cumsum(np.bincount(records.items, minlength=n_codes), out=starts[1:])
        return cls(starts, records.owners()[np.argsort(records.items, kind="stable")])

    def intersections(self, codes: Sequence[int]) -> dict[int, int]:
        """Return what records have of some codes, as bits by their place in the list, and how many records each."""
        held = [self.records[self.starts[code] : self.starts[code + 1]] for code in codes]
        record, row = np.unique(np.concatenate(held), return_inverse=True)
        words = np.zeros((len(record), -(-len(codes) // WORD)), dtype=np.int64)
        place = np.repeat(np.arange(len(codes)), [len(found) for found in held])
        np.bitwise_or.at(words, (row, place // WORD), np.int64(1) << (place % WORD))
        distinct, counts = np.unique(words, axis=0, return_counts=True)
        masks = [sum(word << (WORD * at) for at, word in enumerate(words)) for words in distinct.tolist()]
        return dict(zip(masks, counts.tolist(), strict=True))


def maximal_parts(codes: Numbers, holders: Holders) -> list[list[int]]:
    """Return the largest parts of a set of codes that some record holds; none where none of its codes occurs."""
    members = codes.tolist()
    kept: list[int] = []
    for mask in sorted(holders.intersections(members), key=int.bit_count, reverse=True):
        if all(mask & larger != mask for larger in kept):
            kept.append(mask)
    return [_chosen(members, mask) for mask in kept]


def rare_parts(terms: Sequence[int], holders: Holders, k: int) -> list[list[int]]:
    """Return the parts of a set of terms that 1 to k - 1 records hold, of those that are all a record has of it."""
    found = holders.intersections(terms)
    rare = (mask for mask, count in found.items() if count < k and _support(mask, found) < k)
    return [_chosen(terms, mask) for mask in rare]


def _support(mask: int, found: dict[int, int]) -> int:
    return sum(count for other, count in found.items() if other & mask == mask)


def _chosen(members: Sequence[int], mask: int) -> list[int]:
    return [member for place, member in enumerate(members) if mask >> place & 1]
