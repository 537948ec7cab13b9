"""An adversary simulated again, slowly: no kernels, no search, other random numbers than those that chose the release.

Written from the definition: a patient is drawn, and of each column of claims some of the patient's values, without
replacement. The class is the released patients who are like the patient in the quasi-identifiers of patients and have
each value at least as often as it was drawn.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .verify_holders import ColumnHolders, Drawn, Flagged, Numbers, PatientWords, ones

SURE = 4.0
"""Standard errors by which two simulations of the same may differ: one in 16,000 do."""

ALIKE = 1e-9
"""Logarithms of chances that differ by less are of equal chances."""

AT_ONCE = 8_000
"""Draws that are made together."""


@dataclass(frozen=True)
class Simulated:
    """What a simulation found.

    Attributes
    ----------
    mean, deviation : of 1/class, 0 where the released claims do not hold what was drawn
    flag_rate : share of draws whose class is below k, but not 0
    missed : share of draws without a class
    spread : standard deviation of the squared distance from the mean, by which the deviation itself is known
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
        """Standard error of the mean."""
        return self.error_of(self.draws)

    @property
    def flag_error(self) -> float:
        """Standard error of the flag rate."""
        return share_error(self.flag_rate, self.draws)

    def error_of(self, draws: int) -> float:
        """Standard error of the mean of so many draws, a little more where few draws bear all the risk."""
        return self.deviation / math.sqrt(draws) + SURE / draws


def share_error(share: float, draws: int) -> float:
    """Standard error of a share, a little more where few draws bear it."""
    return math.sqrt(share * (1 - share) / draws) + SURE / draws


@dataclass(frozen=True)
class Attacks:
    """What four adversaries find on the same draws.

    Attributes
    ----------
    exact : a draw that the released claims of the patient do not hold is missed
    tolerant : values may be missing where flags say that some were left out
    fallback : the same, but only where nobody fits without
    nearest : the same as the last, but of those tolerated they take only who lack fewest values
    """

    exact: Simulated
    tolerant: Simulated
    fallback: Simulated
    nearest: Simulated

    @classmethod
    def of(cls, sizes: NDArray[np.int64], k: int) -> "Attacks":
        """Figures from the classes that each finds, (4, n_draws)."""
        return cls(*(Simulated.of(own, k) for own in sizes))

    @property
    def believing(self) -> tuple[Simulated, Simulated, Simulated]:
        """What the flag-aware ones find."""
        return self.tolerant, self.fallback, self.nearest


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """The claims of patients: one column of text for each quasi-identifier, and the row of the patient of each."""

    owners: Numbers
    columns: Sequence[pl.Series]


def powers(history: History, n_patients: int, most: int, rounding: str) -> Numbers:
    """How many values of each column somebody knows of each patient, (n_patients, n_columns), by the paper's formula.

    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 4, equation (1).
    """
    claims = np.bincount(history.owners, minlength=n_patients).astype(np.float64)
    having = claims[claims > 0]
    eta = np.minimum(claims, having.mean() + 2 * having.std()) if having.size else claims
    found = np.zeros((n_patients, len(history.columns)), dtype=np.int64)
    for h, column in enumerate(history.columns):
        counts = pl.DataFrame([pl.Series("owner", history.owners), column.alias("value")]).drop_nulls()
        counts = counts.group_by("owner", "value").len().with_columns(pl.col("len").cast(pl.Int64))
        sums = counts.group_by("owner").agg(
            pl.col("len").sum().alias("n"), (pl.col("len") * (pl.col("len") - 1)).sum().alias("equal")
        )
        n, equal = np.zeros(n_patients), np.zeros(n_patients)
        n[sums["owner"].to_numpy()], equal[sums["owner"].to_numpy()] = sums["n"].to_numpy(), sums["equal"].to_numpy()
        # r = eta / pi; where all values are equal the diversity pi is 0, and the highest power is taken
        pairs = n * (n - 1)
        ratio = np.divide(eta * pairs, pairs - equal, out=np.zeros(n_patients), where=pairs > equal)
        power = np.full(n_patients, float(most))
        varied = ratio > 0
        power[varied] = (most - 1) * ratio[varied] / ratio.max(initial=1e-300) + 1
        shift = {"ceil": 1 - 1e-9, "floor": 1e-9, "round": 0.5 + 1e-9}[rounding]
        found[:, h] = np.minimum(np.floor(power + shift), n)
    return found


class Simulation:
    """A release ready to be attacked.

    Parameters
    ----------
    cells : (n_patients,) number of the combination of quasi-identifiers of patients
    known : claims that values are drawn from
    released : claims of the same patients
    k : smaller classes are flagged
    room : (n_patients, n_columns) values that may be missing of each patient, for flag-aware adversaries
    """

    def __init__(self, cells: Numbers, known: History, released: History, k: int, room: Numbers | None = None) -> None:
        n = cells.size
        order = np.argsort(cells, kind="stable")
        # patients are numbered so that those of one cell are neighbours: a cell is a span of numbers
        self.number = np.empty(n, dtype=np.int64)
        self.number[order] = np.arange(n)
        self.low = np.searchsorted(cells[order], cells, side="left")
        self.high = np.searchsorted(cells[order], cells, side="right")
        self.k = k
        self.values, self.holders = [], []
        for pair in zip(known.columns, released.columns, strict=True):
            # the same numbers in both columns, -1 where missing
            texts = pl.Enum(pl.concat([own.alias("text") for own in pair]).drop_nulls().unique().sort())
            one, two = (own.cast(texts).to_physical().cast(pl.Int64).fill_null(-1).to_numpy() for own in pair)
            self.values.append(_Values(self.number[known.owners], one, n))
            self.holders.append(ColumnHolders(self.number[released.owners], two, n))
        self.flagged = None if room is None or not room.any() else Flagged(room[order], self.holders)

    def sizes(self, power: Numbers, draws: int, seed: Sequence[int], *, with_flags: bool = True) -> NDArray[np.int64]:
        """Draw patients, and of each so many values of each column as the power says, (n_patients, n_columns).

        The class that the exact, the tolerant, the fallback and the nearest adversary find, 0 for none, (4, draws).
        Without flags all find what the exact one finds, in less time.
        """
        sizes = np.zeros((4, draws), dtype=np.int64)
        for number, (patient, drawn) in enumerate(self._drawn(power, draws, seed)):
            me, cell = int(self.number[patient]), (int(self.low[patient]), int(self.high[patient]))
            fits = self._fitting(drawn, cell)
            n_fits = fits.count()
            exact = n_fits if fits.holds(me) else 0
            sizes[:, number] = exact
            # only where nobody fits without, the fallback and the nearest differ from the exact adversary
            if with_flags and self.flagged is not None:
                sizes[1, number] = tolerant = self.flagged.count(drawn, cell, fits)
                if not n_fits:
                    sizes[2:, number] = tolerant, self.flagged.nearest(drawn, cell, me)
        return sizes

    def likeliest(self, power: Numbers, draws: int, seed: Sequence[int]) -> NDArray[np.int64]:
        """Draw likewise; of those who fit and of whom a draw is likeliest, how many, 0 where its patient is none.

        The likelihood of a draw is the share of all samples of its size, from the released values of somebody, that
        are this one.
        """
        sizes = np.zeros(draws, dtype=np.int64)
        for number, (patient, drawn) in enumerate(self._drawn(power, draws, seed)):
            me = int(self.number[patient])
            fits = self._fitting(drawn, (int(self.low[patient]), int(self.high[patient])))
            if fits.holds(me):
                those = fits.patients()
                chances = self._chances(drawn, those)
                mine = chances[np.searchsorted(those, me)]
                # somebody else is likelier: the guess is wrong; else it is right by one of those who are equally likely
                if mine >= chances.max() - ALIKE:
                    sizes[number] = int((chances >= mine - ALIKE).sum())
        return sizes

    def run(self, power: Numbers, draws: int, seed: Sequence[int]) -> Attacks:
        """Figures of so many draws."""
        return Attacks.of(self.sizes(power, draws, seed), self.k)

    def _drawn(self, power: Numbers, draws: int, seed: Sequence[int]) -> Iterator[tuple[int, list[Drawn]]]:
        """A patient and some of the patient's values of each column, again and again."""
        random = np.random.default_rng([*seed])
        for begin in range(0, draws, AT_ONCE):
            victims = random.integers(0, self.number.size, min(AT_ONCE, draws - begin))
            drawn = [own.draw(self.number[victims], power[victims, h], random) for h, own in enumerate(self.values)]
            for at, patient in enumerate(victims.tolist()):
                yield patient, [own[at] for own in drawn]

    def _fitting(self, drawn: Sequence[Drawn], cell: tuple[int, int]) -> PatientWords:
        """The patients of a cell who have all that was drawn."""
        found = ones(cell)
        for holder, own in zip(self.holders, drawn, strict=True):
            for value, times in own:
                holder.keep(found, value, times)
        return found

    def _chances(self, drawn: Sequence[Drawn], patients: Numbers) -> NDArray[np.float64]:
        """Logarithm of the chance to draw just this from the released values of each patient, up to a common part."""
        chances = np.zeros(patients.size)
        for holder, own in zip(self.holders, drawn, strict=True):
            chances -= _logs_of_falling(holder.sizes[patients], sum(times for _, times in own))
            for value, times in own:
                chances += _logs_of_falling(holder.often(value, patients), times)
        return chances


def _logs_of_falling(numbers: Numbers, times: int) -> NDArray[np.float64]:
    """Logarithm of n (n - 1) ... with so many factors, of each number n that is no smaller."""
    table = np.arange(int(numbers.max()) + 1.0) if numbers.size else np.zeros(1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(table[1:]))])
    falling: NDArray[np.float64] = logs[numbers] - logs[numbers - times]
    return falling


class _Values:
    """One column: the values of each patient to draw from."""

    def __init__(self, owners: Numbers, values: Numbers, n: int) -> None:
        mine, own = owners[values >= 0], values[values >= 0]
        order = np.argsort(mine, kind="stable")
        self.values = own[order]
        self.starts = np.searchsorted(mine[order], np.arange(n + 1))

    def draw(self, patients: Numbers, power: Numbers, random: np.random.Generator) -> list[Drawn]:
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
