"""An adversary simulated anew, slowly: no kernels, no search, other random numbers than those that chose the release.

Written from the definition: a patient is drawn, and of each column of claims some of the patient's values, without
replacement. The class is the released patients who are like the patient in the quasi-identifiers of patients and have
each value at least as often as it was drawn.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Drawn = Sequence[tuple[int, int]]
"""Values of one column, each with how often it was drawn."""

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
SURE = 4.0
"""Standard errors by which two simulations of the same may differ: one in 16,000 do."""


@dataclass(frozen=True)
class Simulated:
    """What a simulation found.

    Attributes
    ----------
    draws : number of draws
    mean : mean of 1/class, 0 where the released claims do not hold what was drawn
    deviation : its standard deviation
    flag_rate : share of draws whose class is below k, but not 0
    """

    draws: int
    mean: float
    deviation: float
    flag_rate: float

    @property
    def error(self) -> float:
        """Standard error of the mean, a little more where few draws bear all the risk."""
        return self.deviation / math.sqrt(self.draws) + SURE / self.draws

    @property
    def flag_error(self) -> float:
        """Standard error of the flag rate, likewise."""
        return math.sqrt(self.flag_rate * (1 - self.flag_rate) / self.draws) + SURE / self.draws


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
    """Attack released patients.

    Parameters
    ----------
    cells : (n_patients,) number of the combination of quasi-identifiers of patients
    known : claims that values are drawn from
    shown : released claims, of the same patients
    power : (n_patients, n_columns) values drawn
    k : smaller classes are flagged
    room : (n_patients, n_columns) values that may be missing of each patient, for an adversary who believes flags
    """
    n = cells.size
    order = np.argsort(cells, kind="stable")
    number = np.empty(n, dtype=np.int64)
    number[order] = np.arange(n)  # patients of one cell are neighbours
    low, high = (np.searchsorted(cells[order], cells, side=side) for side in SIDES)
    indexes = [
        _Index(number, known.owners, a, shown.owners, b) for a, b in zip(known.columns, shown.columns, strict=True)
    ]
    flags = None if room is None else _Flags(room[order])
    random = np.random.default_rng([*seed])
    risks, flagged = np.zeros(draws), 0
    victims = random.integers(0, n, draws)
    known_of = [index.draw(number[victims], power[victims, h], random) for h, index in enumerate(indexes)]
    for at, patient in enumerate(victims.tolist()):
        me, cell = int(number[patient]), (int(low[patient]), int(high[patient]))
        drawn = [own[at] for own in known_of]
        found = _fitting(indexes, drawn, cell)
        size = (found.size if me in found else 0) if flags is None else flags.fitting(indexes, drawn, cell, found)
        risks[at] = 0.0 if size == 0 else 1.0 / size
        flagged += 0 < size < k
    return Simulated(draws, float(risks.mean()), float(risks.std()), flagged / draws)


def _fitting(indexes: Sequence["_Index"], drawn: Sequence[Drawn], cell: tuple[int, int]) -> Numbers:
    """The patients of a cell who have all that was drawn, in order."""
    wanted = [having for index, own in zip(indexes, drawn, strict=True) for having in index.having(own, cell)]
    if not wanted:
        return np.arange(*cell)
    wanted.sort(key=len)
    found = wanted[0]
    for others in wanted[1:]:
        found = np.intersect1d(found, others, assume_unique=True)
    return found


class _Index:
    """One column: the values of each patient to draw from, and who has which value how often."""

    def __init__(
        self, number: Numbers, known_by: Numbers, known: pl.Series, shown_by: Numbers, shown: pl.Series
    ) -> None:
        texts = pl.concat([known.alias("text"), shown.alias("text")]).drop_nulls().unique().sort()
        values = [
            series.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            for series in (known, shown)
        ]
        self.n = number.size
        mine, own = number[known_by][values[0] >= 0], values[0][values[0] >= 0]
        order = np.argsort(mine, kind="stable")
        self.values = own[order]
        self.starts = np.searchsorted(mine[order], np.arange(self.n + 1))
        has = values[1] >= 0
        self.keys, self.counts = np.unique(values[1][has] * self.n + number[shown_by][has], return_counts=True)

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

    def having(self, drawn: Drawn, cell: tuple[int, int]) -> list[Numbers]:
        """For each value drawn, the patients of the cell who have it as often, in order."""
        found = []
        for value, times in drawn:
            begin, end = np.searchsorted(self.keys, (value * self.n + cell[0], value * self.n + cell[1]))
            enough = self.counts[begin:end] >= times
            found.append(self.keys[begin:end][enough] - value * self.n)
        return found

    def missing(self, drawn: Drawn, patients: Numbers) -> Numbers:
        """How many of the values drawn each of some patients does not have."""
        short = np.zeros(patients.size, dtype=np.int64)
        for value, times in drawn:
            keys = value * self.n + patients
            place = np.minimum(np.searchsorted(self.keys, keys), max(self.keys.size - 1, 0))
            has = self.keys[place] == keys if self.keys.size else np.zeros(keys.size, dtype=np.bool_)
            short += np.maximum(times - np.where(has, self.counts[place] if self.keys.size else 0, 0), 0)
        return short


class _Flags:
    """The patients of whom something may be missing, and how much."""

    def __init__(self, room: Numbers) -> None:
        self.patients = np.flatnonzero(room.any(axis=1))
        self.room = room[self.patients]

    def fitting(self, indexes: Sequence[_Index], drawn: Sequence[Drawn], cell: tuple[int, int], exact: Numbers) -> int:
        """How many patients of a cell fit, where each may lack as many values of a column as flags say."""
        begin, end = np.searchsorted(self.patients, cell)
        here = self.patients[begin:end]
        fits = np.ones(here.size, dtype=np.bool_)
        for h, (index, own) in enumerate(zip(indexes, drawn, strict=True)):
            fits &= index.missing(own, here) <= self.room[begin:end, h]
        return int(np.setdiff1d(exact, here, assume_unique=True).size + fits.sum())
