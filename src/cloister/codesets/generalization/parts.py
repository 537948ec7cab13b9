"""What of a set of codes occurs: its maximal parts that some record holds, and parts that few records hold."""

from dataclasses import dataclass

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.kernels.terms import supports

from .combinations import maximal
from .sets import Integers, Numbers, Sets
from .terms import record_bits


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

    def restricted(self, codes: Numbers) -> Sets:
        """Return what records have of some codes, as places in the list, for each record that has any.

        Parameters
        ----------
        codes : ascending
        """
        held = [self.records[self.starts[code] : self.starts[code + 1]] for code in codes.tolist()]
        place = np.repeat(np.arange(len(codes), dtype=np.int32), [len(found) for found in held])
        record = np.concatenate(held) if held else np.empty(0, dtype=np.int64)
        order = np.argsort(record, kind="stable")
        ends = np.flatnonzero(np.diff(record[order], append=-1))
        return Sets(np.concatenate([[0], ends + 1]).astype(np.int64), place[order])


def maximal_parts(codes: Numbers, holders: Holders) -> Sets:
    """Return the largest parts of a set of codes that some record holds; none where none of its codes occurs."""
    parts = maximal(holders.restricted(codes))
    return Sets(parts.offsets, codes[parts.items])


def rare_parts(terms: Numbers, holders: Holders, k: int) -> Sets:
    """Return the parts of a set of terms that 1 to k - 1 records hold, of those that are all a record has of it."""
    records = holders.restricted(terms)
    parts = records.distinct()
    names = tuple(map(str, range(len(terms))))
    every = np.arange(len(terms), dtype=np.int32)
    bits = record_bits(CodeSets(names, records.offsets, records.items))
    rare = parts.chosen(supports(every, bits, parts.offsets, parts.items, k) < k)
    return Sets(rare.offsets, terms[rare.items])


def joined(sets: list[Sets]) -> Sets:
    """Return the sets of all, one after the other."""
    items = [each.items for each in sets]
    sizes = [each.sizes for each in sets]
    return Sets(
        np.concatenate([[0], np.cumsum(np.concatenate([*sizes, np.empty(0, dtype=np.int64)]))]).astype(np.int64),
        np.concatenate([*items, np.empty(0, dtype=np.int32)]),
    )
