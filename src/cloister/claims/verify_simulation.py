"""An adversary simulated anew, slowly: no kernels, no search, other random numbers than those that chose the release.

Written from the definition: a patient is drawn, and of each column of claims some of the patient's values, without
replacement. The class is the released patients who are like the patient in the quasi-identifiers of patients and have
each value at least as often as it was drawn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
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
    cells: Numbers, known: History, shown: History, power: Numbers, k: int, draws: int, seed: Sequence[int]
) -> Simulated:
    """Attack released patients.

    Parameters
    ----------
    cells : (n_patients,) number of the combination of quasi-identifiers of patients
    known : claims that values are drawn from
    shown : released claims, of the same patients
    power : (n_patients, n_columns) values drawn
    k : smaller classes are flagged
    """
    n = cells.size
    order = np.argsort(cells, kind="stable")
    number = np.empty(n, dtype=np.int64)
    number[order] = np.arange(n)  # patients of one cell are neighbours
    sorted_cells = cells[order]
    low = np.searchsorted(sorted_cells, cells, side="left")
    high = np.searchsorted(sorted_cells, cells, side="right")
    indexes = [
        _Index(number, known.owners, a, shown.owners, b) for a, b in zip(known.columns, shown.columns, strict=True)
    ]
    random = np.random.default_rng([*seed])
    risks, flagged = np.zeros(draws), 0
    for at, patient in enumerate(random.integers(0, n, draws).tolist()):
        wanted: list[Numbers] = []
        for h, index in enumerate(indexes):
            if power[patient, h]:
                wanted += index.fitting(
                    int(number[patient]), int(power[patient, h]), (low[patient], high[patient]), random
                )
        size = _common(wanted, int(number[patient]), int(high[patient] - low[patient]))
        risks[at] = 0.0 if size == 0 else 1.0 / size
        flagged += 0 < size < k
    return Simulated(draws, float(risks.mean()), float(risks.std()), flagged / draws)


def _common(wanted: list[Numbers], patient: int, everybody: int) -> int:
    """Size of the class; 0 where the patient is not in it."""
    if not wanted:
        return everybody
    wanted.sort(key=len)
    found = wanted[0]
    for others in wanted[1:]:
        found = np.intersect1d(found, others, assume_unique=True)
    return int(found.size) if patient in found else 0


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

    def fitting(self, patient: int, power: int, cell: tuple[int, int], random: np.random.Generator) -> list[Numbers]:
        """Draw values of a patient; for each, the patients of the cell who have it as often, in order."""
        own = self.values[self.starts[patient] : self.starts[patient + 1]]
        drawn, often = np.unique(random.choice(own, power, replace=False), return_counts=True)
        found = []
        for value, times in zip(drawn.tolist(), often.tolist(), strict=True):
            begin, end = np.searchsorted(self.keys, (value * self.n + cell[0], value * self.n + cell[1]))
            enough = self.counts[begin:end] >= times
            found.append(self.keys[begin:end][enough] - value * self.n)
        return found
