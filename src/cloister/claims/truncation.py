"""Step 7: which claims go first when a patient has too many.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .encoded import MISSING, EncodedClaims, EncodedColumn

Booleans = NDArray[np.bool_]

NO_TRUNCATION = 100.0
"""The percentile at which all claims stay."""


@dataclass(frozen=True, eq=False, repr=False)
class Truncation:
    """The order in which claims are dropped.

    Attributes
    ----------
    scores : (n_claims,) float64, 1 - least support / number of patients, in [0, 1]; higher goes first
    ranks : (n_claims,) int64, how many claims of the same patient (or patient and year) are kept longer
    counts : claims per patient (or patient and year) that has any, in order
    """

    scores: NDArray[np.float64]
    ranks: NDArray[np.int64]
    counts: NDArray[np.int64]

    def limit(self, percentile: float) -> int | None:
        """Claims that a patient may keep: the nearest rank of the percentile; None at 100, which is no truncation."""
        if percentile >= NO_TRUNCATION or not self.counts.size:
            return None
        rank = math.ceil(round(percentile / 100 * self.counts.size, 9))
        return int(self.counts[max(rank, 1) - 1])

    def kept(self, percentile: float) -> Booleans:
        """Whether each claim is kept, (n_claims,)."""
        limit = self.limit(percentile)
        kept: Booleans = np.ones(self.ranks.size, dtype=np.bool_) if limit is None else self.ranks < limit
        return kept

    def truncated(self, percentile: float, claims: EncodedClaims) -> Booleans:
        """Whether each patient lost a claim: the released flag ``claims_truncated``, (n_patients,)."""
        lost = np.bincount(claims.owners[~self.kept(percentile)], minlength=claims.n_patients)
        truncated: Booleans = lost > 0
        return truncated


def truncation(claims: EncodedClaims) -> Truncation:
    """Score the claims of each patient by their rarest value.

    The support of a value is the number of *other* patients who have it; missing values are ignored, and a claim
    without any value is the last to go. Base values are scored, so that the order is the same for every node. Ties are
    broken by the content of the claim: rows are sorted by it.

    Percentiles are over patients (or patients and years) that have claims.
    """
    scores = _scores(claims)
    group = _groups(claims)
    order = np.lexsort((np.arange(scores.size), scores, group))  # within a group, what is kept longest comes first
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    counts = np.diff(starts, append=scores.size)
    ranks = np.empty(scores.size, dtype=np.int64)
    ranks[order] = np.arange(scores.size) - np.repeat(starts, counts)
    return Truncation(scores, ranks, np.sort(counts).astype(np.int64))


def _groups(claims: EncodedClaims) -> NDArray[np.int64]:
    """Number of the patient, or of patient and year, of each claim."""
    if claims.years is None:
        return claims.owners
    years = claims.years.astype(np.int64)
    first = int(years.min(initial=0))
    return claims.owners * (int(years.max(initial=0)) - first + 1) + (years - first)


def _scores(claims: EncodedClaims) -> NDArray[np.float64]:
    least = np.full(claims.n_claims, claims.n_patients, dtype=np.int64)
    for column in claims.claims:
        known = column.values != MISSING
        support = _patients_with(column, claims.owners) - 1
        least[known] = np.minimum(least[known], support[column.values[known]])
    scores: NDArray[np.float64] = 1.0 - least / max(claims.n_patients, 1)
    return scores


def _patients_with(column: EncodedColumn, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Patients who have each base value, (n_values,)."""
    known = column.values != MISSING
    pairs = np.sort(owners[known] * column.n_values + column.values[known])
    first = np.diff(pairs, prepend=-1) != 0  # np.unique hashes, which takes a hundred times as long
    return np.bincount(pairs[first] % max(column.n_values, 1), minlength=column.n_values).astype(np.int64)
