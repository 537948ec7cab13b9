"""An adversary simulated anew, slowly: no kernels, no search, other random numbers than those that chose the release.

Written from the definition: a patient is drawn, and of each column of claims some of the patient's values, without
replacement. The class is the released patients who are like the patient in the quasi-identifiers of patients and have
each value at least as often as it was drawn.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .verify_holders import ColumnHolders, Drawn, Flagged, Numbers, PatientWords, ones

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
SURE = 4.0
"""Standard errors by which two simulations of the same may differ: one in 16,000 do."""

WIDE = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

ALIKE = 1e-9
"""Logarithms of chances that differ by less are of equal chances."""

AT_ONCE = 8_000
"""Draws that are made together."""


@dataclass(frozen=True)
class Simulated:
    """What a simulation found.

    Attributes
    ----------
    mean : mean of 1/class, 0 where the released claims do not hold what was drawn
    deviation : its standard deviation
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
        flagged = (sizes > 0) & (sizes < k)
        distance = (risks - mean) ** 2
        return cls(
            sizes.size,
            mean,
            math.sqrt(float(distance.mean())),
            float(flagged.mean()),
            float((sizes == 0).mean()),
            float(distance.std()),
        )

    @property
    def error(self) -> float:
        """Standard error of the mean, a little more where few draws bear all the risk."""
        return self.error_of(self.draws)

    @property
    def flag_error(self) -> float:
        """Standard error of the flag rate, likewise."""
        return share_error(self.flag_rate, self.draws)

    def error_of(self, draws: int) -> float:
        """Standard error of the mean of so many draws."""
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

    @property
    def believing(self) -> tuple[Simulated, Simulated, Simulated]:
        """What they find who believe flags."""
        return self.tolerant, self.fallback, self.nearest

    @classmethod
    def of(cls, sizes: NDArray[np.int64], k: int) -> "Attacks":
        """Figures from the classes that each finds, (4, n_draws)."""
        return cls(*(Simulated.of(own, k) for own in sizes))


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """The claims of patients: one column of text for each quasi-identifier, and the row of the patient of each."""

    owners: Numbers
    columns: Sequence[pl.Series]


def powers(history: History, n_patients: int, most: int, rounding: str) -> Numbers:
    """How many values of each column somebody knows of each patient, (n_patients, n_columns), by the paper's formula.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 4, equation (1).
    """
    claims = np.bincount(history.owners, minlength=n_patients).astype(np.float64)
    having = claims[claims > 0]
    eta = (
        np.minimum(claims, having.mean() + 2 * math.sqrt(((having - having.mean()) ** 2).mean()))
        if having.size
        else claims
    )
    found = np.zeros((n_patients, len(history.columns)), dtype=np.int64)
    for h, column in enumerate(history.columns):
        counts = pl.DataFrame([pl.Series("owner", history.owners), column.alias("value")]).drop_nulls()
        counts = counts.group_by("owner", "value").len().with_columns(pl.col("len").cast(pl.Int64))
        sums = counts.group_by("owner").agg(
            pl.col("len").sum().alias("n"), (pl.col("len") * (pl.col("len") - 1)).sum().alias("equal")
        )
        n, equal = np.zeros(n_patients), np.zeros(n_patients)
        n[sums["owner"].to_numpy()], equal[sums["owner"].to_numpy()] = sums["n"].to_numpy(), sums["equal"].to_numpy()
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
    shown : released claims, of the same patients
    k : smaller classes are flagged
    room : (n_patients, n_columns) values that may be missing of each patient, for adversaries who believe flags
    """

    def __init__(self, cells: Numbers, known: History, shown: History, k: int, room: Numbers | None = None) -> None:
        n = cells.size
        order = np.argsort(cells, kind="stable")
        self.number = np.empty(n, dtype=np.int64)
        self.number[order] = np.arange(n)  # patients of one cell are neighbours
        self.low, self.high = (np.searchsorted(cells[order], cells, side=side) for side in SIDES)
        self.k = k
        pairs = list(zip(known.columns, shown.columns, strict=True))
        codes = [_coded(known_texts, shown_texts) for known_texts, shown_texts in pairs]
        self.values = [_Values(self.number[known.owners], own, n) for own, _ in codes]
        self.holders = [ColumnHolders(self.number[shown.owners], own, n) for _, own in codes]
        self.flagged = None if room is None or not room.any() else Flagged(room[order], self.holders)

    def sizes(self, power: Numbers, draws: int, seed: Sequence[int], *, with_flags: bool = True) -> NDArray[np.int64]:
        """Draw patients, and of each so many values of each column as the power says, (n_patients, n_columns).

        Parameters
        ----------
        with_flags : without, all four adversaries find what the exact one finds, and it takes less long

        Returns
        -------
        NDArray
            (4, draws) the class that the exact, the tolerant, the fallback and the nearest adversary find, 0 where they
            have none
        """
        flagged = self.flagged if with_flags else None
        sizes = np.zeros((4, draws), dtype=np.int64)
        for number, (patient, drawn) in enumerate(self._drawn(power, draws, seed)):
            sizes[:, number] = self._sizes(patient, drawn, flagged)
        return sizes

    def likeliest(self, power: Numbers, draws: int, seed: Sequence[int]) -> NDArray[np.int64]:
        """Draw likewise; of those who fit and of whom a draw is likeliest, how many, 0 where its patient is none.

        The likelihood of a draw is the share of all samples of its size, from the released values of somebody, that
        are this one.
        """
        sizes = np.zeros(draws, dtype=np.int64)
        for number, (patient, drawn) in enumerate(self._drawn(power, draws, seed)):
            me, fits = int(self.number[patient]), _fitting(self.holders, drawn, self._cell(patient))
            if fits.holds(me):
                those = fits.patients()
                chances = _chances(self.holders, drawn, those)
                mine = chances[np.searchsorted(those, me)]
                if mine >= chances.max() - ALIKE:
                    sizes[number] = int((chances >= mine - ALIKE).sum())
        return sizes

    def _drawn(self, power: Numbers, draws: int, seed: Sequence[int]) -> Iterator[tuple[int, list[Drawn]]]:
        """A patient and some of the patient's values of each column, again and again."""
        random = np.random.default_rng([*seed])
        for begin in range(0, draws, AT_ONCE):
            victims = random.integers(0, self.number.size, min(AT_ONCE, draws - begin))
            drawn = [own.draw(self.number[victims], power[victims, h], random) for h, own in enumerate(self.values)]
            for at, patient in enumerate(victims.tolist()):
                yield patient, [own[at] for own in drawn]

    def _cell(self, patient: int) -> tuple[int, int]:
        return int(self.low[patient]), int(self.high[patient])

    def run(self, power: Numbers, draws: int, seed: Sequence[int]) -> Attacks:
        """Figures of so many draws."""
        return Attacks.of(self.sizes(power, draws, seed), self.k)

    def _sizes(self, patient: int, drawn: Sequence[Drawn], flagged: Flagged | None) -> tuple[int, int, int, int]:
        """Class of one draw for each adversary, 0 where it has none."""
        me, cell = int(self.number[patient]), self._cell(patient)
        fits = _fitting(self.holders, drawn, cell)
        n_fits = fits.count()
        exact = n_fits if fits.holds(me) else 0
        if flagged is None:
            return exact, exact, exact, exact
        tolerant = flagged.count(drawn, cell, fits)
        if n_fits:
            return exact, tolerant, exact, exact
        return exact, tolerant, tolerant, flagged.nearest(drawn, cell, me)


def simulate(
    cells: Numbers,
    known: History,
    shown: History,
    power: Numbers,
    k: int,
    draws: int,
    seed: Sequence[int],
    room: Numbers | None = None,
) -> Simulated:
    """Attack released patients; with ``room``, as an adversary who believes flags. See `Simulation`."""
    found = Simulation(cells, known, shown, k, room).run(power, draws, seed)
    return found.exact if room is None else found.tolerant


def _fitting(holders: Sequence[ColumnHolders], drawn: Sequence[Drawn], cell: tuple[int, int]) -> PatientWords:
    """The patients of a cell who have all that was drawn."""
    found = ones(cell)
    for holder, own in zip(holders, drawn, strict=True):
        for value, times in own:
            holder.keep(found, value, times)
    return found


def _chances(holders: Sequence[ColumnHolders], drawn: Sequence[Drawn], patients: Numbers) -> NDArray[np.float64]:
    """Logarithm of the chance to draw just this from the released values of each patient, up to a part all share."""
    chances = np.zeros(patients.size)
    for holder, own in zip(holders, drawn, strict=True):
        size = sum(times for _, times in own)
        n = holder.sizes[patients]
        chances -= _logs_of_falling(n, size)
        for value, times in own:
            often = holder.often(value, patients)
            chances += _logs_of_falling(often, times)
    return chances


def _logs_of_falling(numbers: Numbers, times: int) -> NDArray[np.float64]:
    """Logarithm of n (n - 1) ... with so many factors, of each number n that is no smaller."""
    table = np.arange(int(numbers.max()) + 1.0) if numbers.size else np.zeros(1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(table[1:]))])
    falling: NDArray[np.float64] = logs[numbers] - logs[numbers - times]
    return falling


def _coded(known: pl.Series, shown: pl.Series) -> tuple[Numbers, Numbers]:
    """Both columns in the same numbers, -1 where missing."""
    texts = pl.concat([known.alias("text"), shown.alias("text")]).drop_nulls().unique().sort()
    own, other = (
        series.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy() for series in (known, shown)
    )
    return own, other


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
        order = np.lexsort((random.random(by.size), by))
        chosen = order[place < power[by]]
        width = int(self.values.max(initial=0)) + 1
        keys, often = np.unique(by[chosen] * width + own[chosen], return_counts=True)
        pairs = list(zip((keys % width).tolist(), often.tolist(), strict=True))
        ends = np.searchsorted(keys, np.arange(patients.size + 1) * width).tolist()
        return [pairs[begin:end] for begin, end in itertools.pairwise(ends)]
