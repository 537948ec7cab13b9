"""What of the claims is released: which patients, which claims of theirs, which cells."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.kernels.claim_classes import ANY_NUMBER

from .encoded import MISSING, EncodedClaims


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
    def everything(cls, encoded: EncodedClaims, claims: NDArray[np.bool_] | None = None) -> "Released":
        """All patients with all their claims, or those that truncation keeps."""
        return cls(
            encoded,
            np.ones(encoded.n_patients, dtype=np.bool_),
            np.ones(encoded.n_claims, dtype=np.bool_) if claims is None else claims,
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
