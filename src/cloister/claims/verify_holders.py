"""Who of the released patients has a value how often: one bit a patient, 64 in a word, patients of a cell together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Bits = NDArray[np.uint64]
Drawn = Sequence[tuple[int, int]]
"""Values of one column, each with how often it was drawn."""

WORD = 64
ALL = np.uint64(2**64 - 1)
MOST_BYTES = 2**28
"""What may be kept of lists that were made once; more, and they are made again."""

UNKNOWN = 10**9
"""Room of a patient of whom claims were left out: nobody knows how many values."""


def bits_of(patients: Numbers, n: int) -> Bits:
    """One bit for each of n patients, set for these."""
    has = np.zeros(-(-n // WORD) * WORD, dtype=np.bool_)
    has[patients] = True
    return np.packbits(has, bitorder="little").view(np.uint64)


class PatientWords:
    """Some of the patients from one number to another."""

    def __init__(self, first: int, bits: Bits) -> None:
        self.first = first
        self.bits = bits

    def keep_few(self, patients: Numbers) -> None:
        """Keep those who are also among a few, ascending."""
        begin, end = self.first * WORD, (self.first + self.bits.size) * WORD
        low, high = np.searchsorted(patients, (begin, end))
        self.bits &= bits_of(patients[low:high] - begin, end - begin)

    def count(self) -> int:
        """How many there are."""
        return int(np.bitwise_count(self.bits).sum())

    def without(self, others: Bits) -> int:
        """How many there are who are not among others."""
        return int(np.bitwise_count(self.bits & ~others[self.first : self.first + self.bits.size]).sum())

    def patients(self) -> Numbers:
        """Their numbers, in order."""
        return self.first * WORD + np.flatnonzero(np.unpackbits(self.bits.view(np.uint8), bitorder="little"))

    def holds(self, patient: int) -> bool:
        """Whether a patient is among them."""
        return bool(int(self.bits[patient // WORD - self.first]) >> (patient % WORD) & 1)


def ones(cell: tuple[int, int]) -> PatientWords:
    """All patients of a cell: those from a number to below another."""
    begin, end = cell
    first, last = begin // WORD, (end - 1) // WORD
    bits = np.full(last - first + 1, ALL)
    bits[0] &= ALL << np.uint64(begin % WORD)
    bits[-1] &= ALL >> np.uint64(WORD - 1 - (end - 1) % WORD)
    return PatientWords(first, bits)


class ColumnHolders:
    """One released column: who has which value how often."""

    def __init__(self, owners: Numbers, values: Numbers, n: int) -> None:
        self.n = n
        has = values >= 0
        keys, self.counts = np.unique(values[has] * n + owners[has], return_counts=True)
        self.patients = keys % n
        self.sizes = np.bincount(owners[has], minlength=n)
        self.starts = np.searchsorted(keys, np.arange(int(values.max(initial=-1)) + 2) * n)
        self._words: dict[tuple[int, int], Bits] = {}
        self._often: dict[int, NDArray[np.int32]] = {}

    def keep(self, found: PatientWords, value: int, times: int) -> None:
        """Keep those who have a value at least so often."""
        if (value, times) not in self._words:
            patients, counts = self.of(value)
            enough = patients[counts >= times]
            if enough.size * WORD < self.n:  # fewer numbers than words: not worth a list of bits
                found.keep_few(enough)
                return
            if len(self._words) * self.n > 8 * MOST_BYTES:
                self._words.clear()
            self._words[value, times] = bits_of(enough, self.n)
        found.bits &= self._words[value, times][found.first : found.first + found.bits.size]

    def often(self, value: int, patients: Numbers) -> Numbers:
        """How often each of some patients has a value."""
        found = self._often.get(value)
        if found is None:
            having, counts = self.of(value)
            found = np.zeros(self.n, dtype=np.int32)
            found[having] = counts
            if len(self._often) * found.nbytes > MOST_BYTES:
                self._often.clear()
            self._often[value] = found
        return found[patients].astype(np.int64)

    def shortage(self, drawn: Drawn, patients: Numbers) -> Numbers:
        """How many of the values drawn each of some patients lacks."""
        lacking = np.zeros(patients.size, dtype=np.int64)
        for value, times in drawn:
            lacking += np.maximum(times - self.often(value, patients), 0)
        return lacking

    def of(self, value: int) -> tuple[Numbers, Numbers]:
        """The patients who have a value, in order, and how often."""
        if value + 1 >= self.starts.size:
            return self.patients[:0], self.counts[:0]
        own = slice(self.starts[value], self.starts[value + 1])
        return self.patients[own], self.counts[own]


class Flagged:
    """The patients of whom something may be missing; ``room``: how many values, (n_patients, n_columns)."""

    def __init__(self, room: Numbers, holders: Sequence[ColumnHolders]) -> None:
        is_open = (room >= UNKNOWN).all(axis=1)
        self.holders = holders
        self.open = np.flatnonzero(is_open)
        self.some = np.flatnonzero(room.any(axis=1) & ~is_open)
        self.room = room[self.some].astype(np.int64)
        self.both = np.flatnonzero(room.any(axis=1))
        self.room_of_both = room[self.both].astype(np.int64)
        self.bits = bits_of(self.both, room.shape[0])

    def count(self, drawn: Sequence[Drawn], cell: tuple[int, int], fits: PatientWords) -> int:
        """How many patients of a cell fit, where each may lack as many values of a column as flags say."""
        left = np.arange(*np.searchsorted(self.some, cell))
        for holder, own, room in zip(self.holders, drawn, self.room.T, strict=True):
            left = left[holder.shortage(own, self.some[left]) <= room[left]]
        # who is not flagged fits or does not; of whom claims were left out, everybody may fit
        n_open = int(np.diff(np.searchsorted(self.open, cell))[0])
        return fits.without(self.bits) + n_open + left.size

    def nearest(self, drawn: Sequence[Drawn], cell: tuple[int, int], patient: int) -> int:
        """Of those tolerated in a cell who lack fewest values, how many; 0 where a patient is none of them.

        For draws that nobody fits, so that everybody tolerated is flagged.
        """
        begin, end = np.searchsorted(self.both, cell).tolist()
        those, room = self.both[begin:end], self.room_of_both[begin:end]
        lacking, is_tolerated = np.zeros(those.size, dtype=np.int64), np.ones(those.size, dtype=np.bool_)
        for h, own in enumerate(drawn):
            short = self.holders[h].shortage(own, those)
            is_tolerated &= short <= room[:, h]
            lacking += short
        # no room for what is lacking: not a candidate, however few are missing
        mine, least = lacking[(those == patient) & is_tolerated], lacking[is_tolerated]
        return int((least == mine[0]).sum()) if mine.size and mine[0] == least.min() else 0
