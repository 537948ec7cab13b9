"""The knowledge of adversaries: how many values of each patient they know (step 8), and seeded samples of these.

Samples are the same for every node and number of threads. Base values are renumbered so that those of one label are
neighbours at every level.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 4, equation (1), table 5. Simpson (1949), "Measurement of
diversity", Nature 163:688.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.kernels.claim_draws import Draws, Known, draw_patients, draw_values
from cloister.shapes.claims.format.plan import AdversaryPlan

from .encode import EncodedClaims

Power = NDArray[np.int32]
"""Values that are known, (n_patients, n_columns); of one column (n_patients,)."""

NEARLY_WHOLE = 1e-9
"""What is so close to a whole number is one: 3.0000000001 is not rounded up to 4."""

REPEAT = 10_000
"""Patients drawn in one repeat by default."""

EACH = 1 << 40
"""Draws made patient by patient are numbered from here on, so that none of them is one of the repeats."""


def gather(parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int32]]]) -> Known:
    """Concatenate the values of several columns."""
    begins = np.concatenate([[0], np.cumsum([values.size for _, values in parts])]).astype(np.int64)
    starts = np.stack([starts + begin for (starts, _), begin in zip(parts, begins[:-1], strict=True)])
    return Known(starts, np.concatenate([values for _, values in parts]))


class AdversaryPower:
    """The number of values of each column that the adversary of a plan knows; each column and level is computed once.

    It is larger for patients with many claims of low diversity. With eta the claims of a patient, at most ``cap``, pi
    the diversity and r = eta / pi, it is (p_m - 1) r / max(r) + 1, rounded, where p_m is the ``power`` of the plan and
    the maximum is over patients with pi > 0; p_m where pi = 0; then at most the patient's values that are not missing.

    The paper computes it from the values as generalized. Where codes differ a lot and their groups do not, that is far
    more than by the codes; so with the basis ``raw`` it is the higher of both, with ``node`` the paper's.

    claims : before truncation
    cap : mean + 2 population standard deviations of the claims of patients who have any
    """

    def __init__(self, claims: EncodedClaims, plan: AdversaryPlan) -> None:
        self.claims, self.plan = claims, plan
        counts = np.diff(claims.offsets).astype(np.float64)
        having = counts[counts > 0]
        self.cap = float(having.mean() + 2.0 * having.std()) if having.size else 0.0
        self.eta = np.minimum(counts, self.cap)
        self._columns: dict[tuple[int, int], Power] = {}

    def at(self, levels: Sequence[int] | None = None) -> Power:
        """The power at levels of claims, (n_patients, n_columns); at base values by default."""
        columns = [self._column(h, level) for h, level in enumerate(levels or [0] * len(self.claims.claims))]
        if self.plan.basis == "raw":
            columns = [np.maximum(own, self._column(h, 0)) for h, own in enumerate(columns)]
        return np.stack(columns, axis=1)

    def with_highest(self, power: int) -> "AdversaryPower":
        """The same with another highest power."""
        return AdversaryPower(self.claims, replace(self.plan, power=power))

    def simpson(self, h: int, level: int = 0) -> NDArray[np.float64]:
        """Simpson's index of the values of each patient in a column: 1 where all are one value, nan without any."""
        known, pairs, equal = self._count_pairs(h, level)
        return np.where(known == 0, np.nan, np.where(known == 1, 1.0, equal / np.maximum(pairs, 1)))

    def correlations(self) -> NDArray[np.float64]:
        """(n_columns, n_columns) Pearson correlations between diversities 1 - D, over patients who have values of both.

        nan where one of the two does not vary.
        """
        size = len(self.claims.claims)
        diversity = 1.0 - np.stack([self.simpson(h) for h in range(size)])
        table = np.full((size, size), np.nan)
        for row in range(size):
            for column in range(row, size):
                both = diversity[[row, column]]
                both = both[:, ~np.isnan(both).any(axis=0)]
                if both.shape[1] >= 2 and np.ptp(both, axis=1).all():
                    table[row, column] = table[column, row] = np.corrcoef(both[0], both[1])[0, 1]
        return table

    def _column(self, h: int, level: int) -> Power:
        if (h, level) not in self._columns:
            known, pairs, equal = self._count_pairs(h, level)
            varies = pairs > equal
            ratio = self.eta[varies] * pairs[varies] / (pairs - equal)[varies]
            power = np.full(self.eta.size, float(self.plan.power))
            power[varies] = (self.plan.power - 1) * (ratio / ratio.max(initial=0.0)) + 1.0
            if self.plan.rounding == "ceil":
                whole = np.ceil(power - NEARLY_WHOLE)
            else:
                whole = np.floor(power + (0.5 if self.plan.rounding == "round" else 0.0) + NEARLY_WHOLE)
            self._columns[h, level] = np.minimum(whole.astype(np.int64), known).astype(np.int32)
        return self._columns[h, level]

    def _count_pairs(self, h: int, level: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Values of each patient that are not missing (N), pairs of them, N (N - 1), and pairs of equal ones."""
        ordered = self.claims.sorted_values[h]
        labels = self.claims.claims[h].levels[level][np.argsort(ordered.numbers)][ordered.values]
        known = np.diff(ordered.starts)
        # values of one label are neighbours, so that each run of a patient is of another label
        begins = np.diff(labels, prepend=-1) != 0
        begins[ordered.starts[:-1][known > 0]] = True
        runs = np.flatnonzero(begins)
        times = np.diff(runs, append=labels.size)
        equal = np.diff(np.concatenate([[0], np.cumsum(times * (times - 1))])[np.searchsorted(runs, ordered.starts)])
        return known, known * (known - 1), equal


class DrawnKnowledge:
    """Samples of patients' values before any removal, independent of later generalization.

    Missing values are never known. For each quasi-identifier values are drawn by themselves: which of them was in one
    claim is not known ("inexact knowledge" in the HHP appendix, section 4).

    encoded : untruncated
    power : (n_patients, n_columns) values of each column of claims that are known; at most all there are
    seed : every sample follows from it, the patient and the number of the draw
    eligible : (n_patients,) patients that may be drawn; all by default
    draws : patients drawn in one repeat
    """

    def __init__(
        self,
        encoded: EncodedClaims,
        power: Power,
        seed: int,
        eligible: NDArray[np.bool_] | None = None,
        draws: int = REPEAT,
    ) -> None:
        if power.shape != (encoded.n_patients, len(encoded.claims)):
            raise InternalError("The adversary's power is not one number for each patient and column of claims.")
        self.encoded, self.seed, self.draws = encoded, seed, draws
        self.power = np.ascontiguousarray(power, dtype=np.int32)
        self.eligible = np.ones(encoded.n_patients, dtype=np.bool_) if eligible is None else eligible
        self._last: tuple[int, Draws] | None = None

    @property
    def cap(self) -> int:
        """Most values of one column that are known of one patient."""
        return int(self.power.max(initial=0))

    @cached_property
    def known(self) -> Known:
        """All values, by column and patient."""
        e = self.encoded
        return gather([(own.starts, own.values) for own in e.sorted_values])

    def patients(self, number: int) -> NDArray[np.int64]:
        """The patients drawn in one repeat."""
        return draw_patients(self.seed, number * self.draws, self.draws, np.flatnonzero(self.eligible))

    def repeat(self, number: int) -> Draws:
        """One repeat: ``draws`` patients drawn with replacement, and what is known of each; the last one is kept."""
        if self._last is None or self._last[0] != number:
            own = self.patients(number)
            self._last = number, draw_values(self.known, self.power, self.seed, number * self.draws, own)
        return self._last[1]

    def of_patients(self, patients: NDArray[np.int64], n_draws: int, first: int = 0) -> Draws:
        """So many samples of each of these patients, from number ``first`` on, those of one patient together."""
        parts = [
            draw_values(self.known, self.power, self.seed, EACH + first + one, patients, is_numbered=False)
            for one in range(n_draws)
        ]
        return interleave_draws(parts)

    def with_power(self, power: Power, draws: int | None = None) -> "DrawnKnowledge":
        """Samples by another power; where a patient's power is the same, the same samples. Repeats of so many draws."""
        other = DrawnKnowledge(self.encoded, power, self.seed, self.eligible, draws or self.draws)
        other.__dict__["known"] = self.known
        return other


def interleave_draws(parts: Sequence[Draws]) -> Draws:
    """Draws of several rounds over the same patients, those of one patient together."""
    n_columns = parts[0].starts.shape[1] - 1
    shape = parts[0].patients.size, len(parts), n_columns
    lengths = np.stack([np.diff(part.starts, axis=1) for part in parts], axis=1).reshape(-1, n_columns)
    ends = np.cumsum(lengths.reshape(-1)).reshape(-1, n_columns)
    starts = np.concatenate([(ends[:, :1] - lengths[:, :1]), ends], axis=1)
    values = np.empty(int(lengths.sum()), dtype=np.int32)
    for one, part in enumerate(parts):
        to = starts[:, 0].reshape(shape[:2])[:, one]
        size = part.starts[:, -1] - part.starts[:, 0]
        values[np.repeat(to - part.starts[:, 0], size) + np.arange(part.values.size)] = part.values
    return Draws(np.repeat(parts[0].patients, len(parts)), np.ascontiguousarray(starts), values)


def chosen_draws(draws: Draws, wanted: NDArray[np.bool_]) -> Draws:
    """Some of the draws, with their values alone."""
    starts = draws.starts[wanted]
    sizes = starts[:, -1] - starts[:, 0]
    shift = np.concatenate([[0], np.cumsum(sizes)])[:-1] - starts[:, 0]
    places = np.repeat(-shift, sizes) + np.arange(int(sizes.sum()))
    return Draws(draws.patients[wanted], np.ascontiguousarray(starts + shift[:, None]), draws.values[places])
