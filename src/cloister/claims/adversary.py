"""Step 8: how many values of each quasi-identifier an adversary knows of each patient.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 4, equation (1), table 5. Simpson (1949), "Measurement of
diversity", Nature 163:688.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .encoded import MISSING, EncodedClaims, EncodedColumn

Rounding = Literal["ceil", "floor", "round"]
NEARLY_WHOLE = 1e-9
"""What is so close to a whole number is one: 3.0000000001 is not rounded up to 4."""


@dataclass(frozen=True, eq=False, repr=False)
class AdversaryPower:
    """What the adversary knows.

    Attributes
    ----------
    columns : names of the quasi-identifiers of claims
    simpson : (n_columns, n_patients) float64, index D in [0, 1]: 1 where a patient has one value, nan where none
    claims : (n_patients,) float64, claims of each patient, at most ``cap``
    cap : mean + 2 population standard deviations of the claims of patients who have any
    power : (n_columns, n_patients) int32, number of values known; at most the patient's values that are not missing
    """

    columns: tuple[str, ...]
    simpson: NDArray[np.float64]
    claims: NDArray[np.float64]
    cap: float
    power: NDArray[np.int32]

    @property
    def diversity(self) -> NDArray[np.float64]:
        """(n_columns, n_patients) 1 - D, nan where a patient has no value."""
        diversity: NDArray[np.float64] = 1.0 - self.simpson
        return diversity

    @property
    def of_patients(self) -> NDArray[np.int32]:
        """(n_patients, n_columns) the power, patient by patient."""
        return np.ascontiguousarray(self.power.T)

    def correlations(self) -> NDArray[np.float64]:
        """(n_columns, n_columns) Pearson correlations between diversities, over patients who have values of both.

        nan where one of the two does not vary.
        """
        size = len(self.columns)
        table = np.full((size, size), np.nan)
        for row in range(size):
            for column in range(row, size):
                table[row, column] = table[column, row] = _correlation(self.diversity[row], self.diversity[column])
        return table


def adversary_power(
    claims: EncodedClaims,
    highest: int = 5,
    rounding: Rounding = "ceil",
    levels: Sequence[int] | None = None,
) -> AdversaryPower:
    """Return how many values the adversary knows: more of patients with many claims that vary little.

    With eta the claims of a patient, pi the diversity and r = eta / pi, it is (p_m - 1) r / max(r) + 1, rounded, where
    the maximum is over patients with pi > 0; p_m where pi = 0; then at most the patient's values that are not missing.

    Parameters
    ----------
    claims : before truncation
    highest : p_m, at least 1
    rounding : of the formula; halves are rounded up
    levels : of the quasi-identifiers of claims; base values if not given, so that the power is the same at every node
    """
    taken = levels if levels is not None else [0] * len(claims.claims)
    counts = np.diff(claims.offsets).astype(np.float64)
    having = counts[counts > 0]
    cap = float(having.mean() + 2.0 * having.std()) if having.size else 0.0
    eta = np.minimum(counts, cap)
    spread = [_spread(column, level, claims) for column, level in zip(claims.claims, taken, strict=True)]
    power = np.array([_power(one, eta, highest, rounding) for one in spread], dtype=np.int32)
    simpson = np.array([one.simpson() for one in spread])
    shape = (len(spread), claims.n_patients)
    names = tuple(column.name for column in claims.claims)
    return AdversaryPower(names, simpson.reshape(shape), eta, cap, power.reshape(shape))


def power_at(
    claims: EncodedClaims, highest: int, rounding: Rounding, basis: Literal["raw", "node"], levels: Sequence[int]
) -> NDArray[np.int32]:
    """Return the power against a release at some levels of claims, (n_patients, n_columns).

    The paper works the power out of the values as generalized. Where codes differ a lot and their groups do not, that
    is far more than by the codes; so with the basis ``raw`` it is the higher of both, with ``node`` the paper's.
    """
    power = adversary_power(claims, highest, rounding, levels).of_patients
    return power if basis == "node" else np.maximum(power, adversary_power(claims, highest, rounding).of_patients)


@dataclass(frozen=True, eq=False, repr=False)
class _Spread:
    """Of one quasi-identifier, by patient: values not missing (N), and pairs of equal ones, n(n - 1) summed."""

    known: NDArray[np.int64]
    equal: NDArray[np.int64]

    @property
    def pairs(self) -> NDArray[np.int64]:
        """N (N - 1)."""
        return self.known * (self.known - 1)

    def simpson(self) -> NDArray[np.float64]:
        """Simpson's D."""
        index: NDArray[np.float64] = np.where(self.known == 1, 1.0, self.equal / np.maximum(self.pairs, 1))
        return np.where(self.known == 0, np.nan, index)


def _spread(column: EncodedColumn, level: int, claims: EncodedClaims) -> _Spread:
    values = column.at(level).astype(np.int64)
    known = values != MISSING
    size = len(column.labels[level])
    pairs, counts = np.unique(claims.owners[known] * size + values[known], return_counts=True)
    owners = pairs // max(size, 1)
    n_known = np.bincount(owners, weights=counts, minlength=claims.n_patients)
    n_equal = np.bincount(owners, weights=counts * (counts - 1), minlength=claims.n_patients)
    return _Spread(n_known.astype(np.int64), n_equal.astype(np.int64))


def _power(spread: _Spread, eta: NDArray[np.float64], highest: int, rounding: Rounding) -> NDArray[np.int64]:
    differing = spread.pairs - spread.equal
    varies = differing > 0
    ratio = np.zeros(eta.size)
    ratio[varies] = eta[varies] * spread.pairs[varies] / differing[varies]
    largest = ratio.max(initial=0.0)
    power = np.full(eta.size, float(highest))
    power[varies] = (highest - 1) * (ratio[varies] / largest) + 1.0
    limited: NDArray[np.int64] = np.minimum(_rounded(power, rounding), spread.known)
    return limited


def _rounded(power: NDArray[np.float64], rounding: Rounding) -> NDArray[np.int64]:
    if rounding == "ceil":
        whole = np.ceil(power - NEARLY_WHOLE)
    elif rounding == "floor":
        whole = np.floor(power + NEARLY_WHOLE)
    else:
        whole = np.floor(power + 0.5 + NEARLY_WHOLE)
    return whole.astype(np.int64)


def _correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    both = ~np.isnan(left) & ~np.isnan(right)
    if both.sum() < 2 or np.ptp(left[both]) == 0.0 or np.ptp(right[both]) == 0.0:
        return float("nan")
    return float(np.corrcoef(left[both], right[both])[0, 1])
