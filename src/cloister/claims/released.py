"""What of the claims is released: which patients, which claims of theirs, which cells; and truncation (step 7)."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError

from .encoded import MISSING, EncodedClaims

NO_TRUNCATION = 100.0
"""The truncation level at which all claims stay."""

ANY_NUMBER = np.iinfo(np.int32).max
"""Room of a patient whose claims were truncated: nobody knows how many claims are missing."""


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """A part of the patients, of their claims and of the cells of these.

    Attributes
    ----------
    encoded : patients and claims before anything was removed
    patients : (n_patients,) whether each patient is released
    claims : (n_claims,) whether each claim is released; a patient of whom one is not has the flag ``claims_truncated``
    cells : (n_columns, n_claims) whether each cell of a claim is released; one that is not has ``sup_<column>`` set
    """

    encoded: EncodedClaims
    patients: NDArray[np.bool_]
    claims: NDArray[np.bool_]
    cells: NDArray[np.bool_]

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        e = self.encoded
        shapes = self.patients.shape, self.claims.shape, self.cells.shape
        if shapes != ((e.n_patients,), (e.n_claims,), (len(e.claims), e.n_claims)):
            raise InternalError("What is released is not told of each patient, claim and cell.")

    @classmethod
    def everything(cls, encoded: EncodedClaims) -> "Released":
        """All patients with all their claims."""
        return cls(
            encoded,
            np.ones(encoded.n_patients, dtype=np.bool_),
            np.ones(encoded.n_claims, dtype=np.bool_),
            np.ones((len(encoded.claims), encoded.n_claims), dtype=np.bool_),
        )

    def values(self, column: int) -> NDArray[np.int32]:
        """Base value of each claim in a column of claims, -1 where it is missing or not released."""
        e = self.encoded
        shown = self.claims & self.cells[column] & np.repeat(self.patients, np.diff(e.offsets))
        return np.where(shown, e.claims[column].values, np.int32(MISSING))

    @cached_property
    def truncated(self) -> NDArray[np.bool_]:
        """Whether each patient lost a claim, (n_patients,): the released flag ``claims_truncated``."""
        return np.bincount(self.encoded.owners[~self.claims], minlength=self.encoded.n_patients) > 0

    def room(self) -> NDArray[np.int32]:
        """How many values of each column may be missing of each patient, as the flags say; (n_columns, n_patients)."""
        e = self.encoded
        room = np.zeros((len(e.claims), e.n_patients), dtype=np.int32)
        for h, column in enumerate(e.claims):
            hidden = self.claims & ~self.cells[h] & (column.values != MISSING)
            room[h] = np.bincount(e.owners[hidden], minlength=e.n_patients)
        room[:, self.truncated] = ANY_NUMBER
        return room

    def without_claims(self, rows: NDArray[np.bool_]) -> "Released":
        """The same without some claims."""
        return replace(self, claims=self.claims & ~rows)

    def without_cells(self, cells: NDArray[np.bool_]) -> "Released":
        """The same without some cells; a cell that was missing anyhow gets no flag."""
        return replace(self, cells=self.cells & ~cells)

    def without_patients(self, patients: NDArray[np.bool_]) -> "Released":
        """The same without some patients and all of their claims."""
        return replace(self, patients=self.patients & ~patients)


def truncation_limit(encoded: EncodedClaims, percentile: float) -> int:
    """Claims that a patient may keep: a percentile of the number of claims by nearest rank; per year where there are.

    Patients without claims count; patients' years without claims do not.
    """
    counts = np.sort(_counts(encoded)[1])
    if counts.size == 0:
        return 0
    # In millionths of a percent, so that 97.5 % of 40 patients is their 39th whatever floats say.
    rank = -(-round(percentile * 10**6) * counts.size // (100 * 10**6))
    return int(counts[max(1, rank) - 1])


def truncate(encoded: EncodedClaims, order: NDArray[np.int64], percentile: float) -> Released:
    """Drop the claims of highest score of each patient who has more than a percentile of patients have.

    Parameters
    ----------
    order : (n_claims,) the row numbers of all claims, those of one patient together in the order of ``offsets``, and
        of each patient those first that are dropped first
    percentile : of the number of claims, above 0; 100 drops nothing

    Raises
    ------
    InternalError
        The order does not hold each claim once, or mixes patients.

    References
    ----------
    HHP appendix, section 1.
    """
    owners = encoded.owners
    if not np.array_equal(np.sort(order), np.arange(encoded.n_claims)) or not np.array_equal(owners[order], owners):
        raise InternalError("The order of truncation does not hold the claims of each patient once.")
    whole = Released.everything(encoded)
    if percentile >= NO_TRUNCATION:
        return whole
    groups, counts = _counts(encoded)
    excess = np.maximum(counts - truncation_limit(encoded, percentile), 0)
    # Among the claims of one group, in the order in which they are dropped, the first so many go.
    by_group = order[np.argsort(groups[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(counts)])
    place = np.arange(encoded.n_claims) - starts[groups[by_group]]
    dropped = np.zeros(encoded.n_claims, dtype=np.bool_)
    dropped[by_group] = place < excess[groups[by_group]]
    return whole.without_claims(dropped)


def _counts(encoded: EncodedClaims) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group of each claim, and claims of each group: patients, or patients' years."""
    if encoded.years is None:
        return encoded.owners, np.diff(encoded.offsets)
    years, number = np.unique(encoded.years, return_inverse=True)
    keys, groups = np.unique(encoded.owners * years.size + number, return_inverse=True)
    return groups.astype(np.int64), np.bincount(groups, minlength=keys.size).astype(np.int64)
