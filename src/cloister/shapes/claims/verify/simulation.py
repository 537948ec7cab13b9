"""Simulate an adversary again, slowly: no kernels, no search, and other random numbers than the release used.

Written from the definition: a patient is drawn, and of each column of claims some of the patient's values, without
replacement. The class is the released patients who are like the patient in the quasi-identifiers of patients and have
each value at least as often as it was drawn. Who has a value how often is kept as one bit a patient, 64 in a word,
patients of a cell together.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io.columns import as_numbers

Numbers = NDArray[np.int64]
Integers = NDArray[np.integer]
Bits = NDArray[np.uint64]
Drawn = Sequence[tuple[int, int]]
"""Values of one column, each with how often it was drawn."""

SURE = 4.0
"""Standard errors by which two simulations of the same may differ: one in 16,000 do."""

ALIKE = 1e-9
"""Logarithms of chances that differ by less are of equal chances."""

AT_ONCE = 8_000
"""Draws that are made together."""

WORD = 64
ALL = np.uint64(2**64 - 1)
MOST_BYTES = 2**28
"""What may be kept of lists that were made once; more, and they are made again."""

UNKNOWN = 10**9
"""Room of a patient of whom claims were omitted: nobody knows how many values."""


@dataclass(frozen=True)
class Simulated:
    """What a simulation found: mean and deviation of 1/class, 0 for draws without one, which are missed.

    Flagged are draws whose class is below k, but not 0. ``spread`` is the standard deviation of the squared distance
    from the mean, by which the deviation itself is known.
    """

    draws: int
    mean: float
    deviation: float
    flag_rate: float
    missed: float = 0.0
    spread: float = 0.0

    @classmethod
    def of(cls, sizes: NDArray[np.int64], k: int) -> "Simulated":
        """Figures from the class of each draw."""
        risks = np.divide(1.0, sizes, out=np.zeros(sizes.size), where=sizes > 0)
        mean = float(risks.mean())
        distance = (risks - mean) ** 2
        flag_rate, missed = float(((sizes > 0) & (sizes < k)).mean()), float((sizes == 0).mean())
        return cls(sizes.size, mean, math.sqrt(float(distance.mean())), flag_rate, missed, float(distance.std()))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.error_of(self.draws)

    @property
    def flag_error(self) -> float:
        """The standard error of the flag rate."""
        return share_error(self.flag_rate, self.draws)

    def error_of(self, draws: int) -> float:
        """Standard error of the mean of so many draws, a little more where few draws bear all the risk."""
        return self.deviation / math.sqrt(draws) + SURE / draws


def share_error(share: float, draws: int) -> float:
    """Return the standard error of a share, slightly larger if few draws carry it."""
    return math.sqrt(share * (1 - share) / draws) + SURE / draws


class Attacks(NamedTuple):
    """The results of four adversaries on the same draws.

    ``exact`` misses a draw that the released claims of the patient do not hold. For ``flag_aware`` values may be
    missing where flags say that some were omitted; for ``fallback`` only where nobody fits without; ``nearest`` takes
    then, of those tolerated, only who lack fewest values.
    """

    exact: Simulated
    flag_aware: Simulated
    fallback: Simulated
    nearest: Simulated

    @classmethod
    def of(cls, sizes: NDArray[np.int64], k: int) -> "Attacks":
        """Figures from the classes that each finds, (4, n_draws)."""
        return cls(*(Simulated.of(own, k) for own in sizes))


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """The claims of patients: one column of text for each quasi-identifier, and the row of the patient of each."""

    owners: Integers
    columns: Sequence[pl.Series]


def bits_of(patients: Integers, n: int) -> Bits:
    """One bit for each of n patients, set for these."""
    has = np.zeros(-(-n // WORD) * WORD, dtype=np.bool_)
    has[patients] = True
    return np.packbits(has, bitorder="little").view(np.uint64)


@dataclass(eq=False, repr=False)
class PatientWords:
    """Some of the patients from one number to another."""

    first: int
    bits: Bits

    def count(self) -> int:
        """Return their number."""
        return int(np.bitwise_count(self.bits).sum())

    def without(self, others: Bits) -> int:
        """How many there are who are not among others."""
        return int(np.bitwise_count(self.bits & ~others[self.first : self.first + self.bits.size]).sum())

    def patients(self) -> Numbers:
        """Return their numbers, in order."""
        return self.first * WORD + np.flatnonzero(np.unpackbits(self.bits.view(np.uint8), bitorder="little"))

    def holds(self, patient: int) -> bool:
        """Return whether a patient is among them."""
        return bool(int(self.bits[patient // WORD - self.first]) >> (patient % WORD) & 1)


def ones(cell: tuple[int, int]) -> PatientWords:
    """All patients of a cell: those from a number to below another."""
    begin, end = cell
    first, last = begin // WORD, (end - 1) // WORD
    bits = np.full(last - first + 1, ALL)
    bits[0] &= ALL << np.uint64(begin % WORD)
    bits[-1] &= ALL >> np.uint64(WORD - 1 - (end - 1) % WORD)
    return PatientWords(first, bits)


def _in_few_bytes(numbers: Integers) -> Integers:
    """Numbers from -1 on in as few bytes as hold the largest: there may be one for each of millions of claims."""
    return numbers.astype(np.min_scalar_type(-1 - int(numbers.max(initial=0))))


def number_texts(columns: Sequence[pl.Series]) -> list[Integers]:
    """Columns of text as numbers, the same for the same text in any of them; -1 for missing."""
    return [_in_few_bytes(one.cast(pl.Int32).fill_null(-1).to_numpy()) for one in as_numbers(columns)]


class ColumnHolders:
    """One released column: who has which value how often."""

    def __init__(self, owners: Integers, values: Integers, n: int) -> None:
        self.n = n
        order = np.lexsort((owners, values))[np.count_nonzero(values < 0) :]  # what is missing comes first
        owners, values = owners[order].astype(np.int32), values[order]
        self.sizes = np.bincount(owners, minlength=n)
        firsts = np.flatnonzero((np.diff(owners, prepend=-1) != 0) | (np.diff(values, prepend=-1) != 0))
        self.patients: Integers = owners[firsts]
        self.counts = _in_few_bytes(np.diff(firsts, append=owners.size))
        self.starts = np.searchsorted(values[firsts], np.arange(int(values.max(initial=-1)) + 2))
        self._words: dict[tuple[int, int], Bits] = {}
        self._often: dict[int, Integers] = {}

    def keep(self, found: PatientWords, value: int, times: int) -> None:
        """Keep those who have a value at least so often."""
        if (value, times) not in self._words:
            patients, counts = self.of(value)
            enough = patients[counts >= times]
            if enough.size * WORD < self.n:  # fewer numbers than words: not worth a list of bits
                begin, end = found.first * WORD, (found.first + found.bits.size) * WORD
                low, high = np.searchsorted(enough, (begin, end))
                found.bits &= bits_of(enough[low:high] - begin, end - begin)
                return
            if len(self._words) * self.n > 8 * MOST_BYTES:
                self._words.clear()
            self._words[value, times] = bits_of(enough, self.n)
        found.bits &= self._words[value, times][found.first : found.first + found.bits.size]

    def often(self, value: int, patients: Numbers) -> Numbers:
        """Return how often each of some patients has a value."""
        found = self._often.get(value)
        if found is None:
            having, counts = self.of(value)
            found = np.zeros(self.n, dtype=counts.dtype)
            found[having] = counts
            if len(self._often) * found.nbytes > MOST_BYTES:
                self._often.clear()
            self._often[value] = found
        return found[patients].astype(np.int64)

    def shortage(self, drawn: Drawn, patients: Numbers) -> Numbers:
        """Return how many of the drawn values each of some patients lacks."""
        lacking = np.zeros(patients.size, dtype=np.int64)
        for value, times in drawn:
            lacking += np.maximum(times - self.often(value, patients), 0)
        return lacking

    def of(self, value: int) -> tuple[Integers, Integers]:
        """The patients who have a value, in order, and how often."""
        if value + 1 >= self.starts.size:
            return self.patients[:0], self.counts[:0]
        own = slice(self.starts[value], self.starts[value + 1])
        return self.patients[own], self.counts[own]


class Flagged:
    """The patients of whom something may be missing; ``room``: how many values, (n_patients, n_columns)."""

    def __init__(self, room: Numbers, holders: Sequence[ColumnHolders]) -> None:
        is_open = (room >= UNKNOWN).all(axis=1)
        self.holders, self.open = holders, np.flatnonzero(is_open)
        self.both = np.flatnonzero(room.any(axis=1))
        self.some = np.flatnonzero(room.any(axis=1) & ~is_open)
        self.room, self.room_of_both = (room[those].astype(np.int64) for those in (self.some, self.both))
        self.bits = bits_of(self.both, room.shape[0])

    def count(self, drawn: Sequence[Drawn], cell: tuple[int, int], fits: PatientWords) -> int:
        """How many patients of a cell fit, where each may lack as many values of a column as flags say."""
        left = np.arange(*np.searchsorted(self.some, cell))
        for holder, own, room in zip(self.holders, drawn, self.room.T, strict=True):
            left = left[holder.shortage(own, self.some[left]) <= room[left]]
        # who is not flagged fits or does not; of whom claims were omitted, everybody may fit
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


def number_rows(*frames: pl.DataFrame) -> list[Numbers]:
    """Return numbers of the rows of frames with the same columns, the same for equal rows in any of them."""
    rows: dict[tuple[object, ...], int] = {}
    return [np.array([rows.setdefault(row, len(rows)) for row in one.rows()], dtype=np.int64) for one in frames]


def drawn_patients(random: np.random.Generator, n: int, draws: int) -> Numbers:
    """Draw the patients; they use the first random numbers of the generator."""
    return random.integers(0, n, draws)


class Candidates:
    """Released patients among whom an adversary looks for one.

    They are numbered so that those alike in the quasi-identifiers of patients are neighbours: a cell is a span.

    cells : (n_patients,) number of the combination of quasi-identifiers of patients
    """

    def __init__(self, cells: Numbers) -> None:
        n = cells.size
        self.order = np.argsort(cells, kind="stable")
        self.number = np.empty(n, dtype=np.int32)
        self.number[self.order] = np.arange(n)
        self._cells = cells[self.order]
        self.holders = list[ColumnHolders]()  # by column of claims; patients by their number here
        self._ones: dict[tuple[int, int], PatientWords] = {}  # together a bit a patient and a word a cell

    def spans(self, cells: Numbers) -> tuple[Numbers, Numbers]:
        """Return where the candidates of each cell begin and end."""
        low, high = (np.searchsorted(self._cells, cells, side=side) for side in ("left", "right"))
        return low, high

    def find(self, drawn: Sequence[Drawn], cell: tuple[int, int]) -> PatientWords:
        """Return the candidates of a cell, which is not empty, who have all that was drawn."""
        if cell not in self._ones:
            self._ones[cell] = ones(cell)
        found = PatientWords(self._ones[cell].first, self._ones[cell].bits.copy())
        for holder, own in zip(self.holders, drawn, strict=True):
            for value, times in own:
                holder.keep(found, value, times)
        return found


class Simulation(Candidates):
    """A release ready to be attacked by who knows some of the known claims of its patients.

    cells : (n_patients,) number of the combination of quasi-identifiers of patients
    room : (n_patients, n_columns) values that may be missing of each patient, for flag-aware adversaries
    """

    def __init__(self, cells: Numbers, known: History, released: History, k: int, room: Numbers | None = None) -> None:
        super().__init__(cells)
        self.k, self.values = k, list[_Values]()
        self.low, self.high = self.spans(cells)
        knowing, having = self.number[known.owners], self.number[released.owners]
        by_patient = np.argsort(knowing, kind="stable")
        knowing = knowing[by_patient]
        for one, two in map(number_texts, zip(known.columns, released.columns, strict=True)):
            self.values.append(_Values(knowing, one[by_patient], cells.size))
            self.holders.append(ColumnHolders(having, two, cells.size))
        self.flagged = None if room is None or not room.any() else Flagged(room[self.order], self.holders)
        most = max((int(holder.sizes.max(initial=0)) for holder in self.holders), default=0)
        self._log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1.0, most + 1))))

    def sizes(self, power: Integers, draws: int, seed: Sequence[int], *, with_flags: bool = True) -> NDArray[np.int64]:
        """Draw patients, and of each so many values of each column as the power says, (n_patients, n_columns).

        The class that the exact, the flag-aware, the fallback and the nearest adversary find, 0 for none, (4, draws).
        Without flags all find what the exact one finds, in less time.
        """
        sizes = np.zeros((4, draws), dtype=np.int64)
        for number, (patient, drawn) in enumerate(self._drawn(power, draws, seed)):
            me, cell = int(self.number[patient]), (int(self.low[patient]), int(self.high[patient]))
            fits = self.find(drawn, cell)
            n_fits = fits.count()
            exact = n_fits if fits.holds(me) else 0
            sizes[:, number] = exact
            # only where nobody fits without, the fallback and the nearest differ from the exact adversary
            if with_flags and self.flagged is not None:
                sizes[1, number] = flag_aware = self.flagged.count(drawn, cell, fits)
                if not n_fits:
                    sizes[2:, number] = flag_aware, self.flagged.nearest(drawn, cell, me)
        return sizes

    def likeliest(self, power: Integers, draws: int, seed: Sequence[int]) -> NDArray[np.int64]:
        """Draw likewise; of those who fit and of whom a draw is likeliest, how many, 0 where its patient is none.

        The likelihood of a draw is the share of all samples of its size, from the released values of someone, that
        are this one.
        """
        sizes = np.zeros(draws, dtype=np.int64)
        for number, (patient, drawn) in enumerate(self._drawn(power, draws, seed)):
            me = int(self.number[patient])
            fits = self.find(drawn, (int(self.low[patient]), int(self.high[patient])))
            if fits.holds(me):
                those = fits.patients()
                chances = self._chances(drawn, those)
                mine = chances[np.searchsorted(those, me)]
                # someone else is likelier: the guess is wrong; else it is right by one of those who are equally likely
                if mine >= chances.max() - ALIKE:
                    sizes[number] = int((chances >= mine - ALIKE).sum())
        return sizes

    def anywhere(self) -> "Simulation":
        """The same for who knows nothing of patients but their claims: all patients are of one cell."""
        other = copy(self)
        other.low, other.high = np.zeros_like(self.low), np.full_like(self.high, self.high.size)
        return other

    def run(self, power: Integers, draws: int, seed: Sequence[int]) -> Attacks:
        """Figures of so many draws."""
        return Attacks.of(self.sizes(power, draws, seed), self.k)

    def _drawn(self, power: Integers, draws: int, seed: Sequence[int]) -> Iterator[tuple[int, list[Drawn]]]:
        """A patient and some of the patient's values of each column, again and again."""
        random = np.random.default_rng([*seed])
        everybody = drawn_patients(random, self.number.size, draws)
        for begin in range(0, draws, AT_ONCE):
            victims = everybody[begin : begin + AT_ONCE]
            drawn = [own.draw(self.number[victims], power[victims, h], random) for h, own in enumerate(self.values)]
            for at, patient in enumerate(victims.tolist()):
                yield patient, [own[at] for own in drawn]

    def _chances(self, drawn: Sequence[Drawn], patients: Numbers) -> NDArray[np.float64]:
        """Logarithm of the chance to draw just this from the released values of each patient, up to a common part."""
        chances = np.zeros(patients.size)
        for holder, own in zip(self.holders, drawn, strict=True):
            chances -= self._logs_of_falling(holder.sizes[patients], sum(times for _, times in own))
            for value, times in own:
                chances += self._logs_of_falling(holder.often(value, patients), times)
        return chances

    def _logs_of_falling(self, numbers: Numbers, times: int) -> NDArray[np.float64]:
        """Logarithm of n (n - 1) ... with so many factors, of each number n that is no smaller."""
        falling: NDArray[np.float64] = self._log_factorials[numbers] - self._log_factorials[numbers - times]
        return falling


class _Values:
    """One column: the values of each patient to draw from."""

    def __init__(self, owners: Integers, values: Integers, n: int) -> None:
        has = values >= 0
        self.values, self.starts = values[has], np.searchsorted(owners[has], np.arange(n + 1))

    def draw(self, patients: Integers, power: Integers, random: np.random.Generator) -> list[Drawn]:
        """Draw values of each patient, those with the lowest random numbers; each, and how often it was drawn."""
        n_own = self.starts[patients + 1] - self.starts[patients]
        by = np.repeat(np.arange(patients.size), n_own)
        first = np.cumsum(n_own) - n_own
        place = np.arange(by.size) - first[by]
        own = self.values[self.starts[patients][by] + place]
        # a random order of each patient's values, of which the first are drawn: without replacement
        order = np.lexsort((random.random(by.size), by))
        chosen = order[place < power[by]]
        width = int(self.values.max(initial=0)) + 1
        keys, often = np.unique(by[chosen] * width + own[chosen], return_counts=True)
        pairs = list(zip((keys % width).tolist(), often.tolist(), strict=True))
        ends = np.searchsorted(keys, np.arange(patients.size + 1) * width).tolist()
        return [pairs[begin:end] for begin, end in itertools.pairwise(ends)]
