"""What of the claims is released (which patients, claims and cells), and what the release loses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.kernels.claim_matches import ANY_NUMBER

from .encode import MISSING, EncodedClaims, EncodedColumn


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedClaims:
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
            raise InternalError("What is released is not given for each patient, claim and cell.")

    @classmethod
    def everything(cls, encoded: EncodedClaims, claims: NDArray[np.bool_] | None = None) -> "ReleasedClaims":
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
        is_there = self.claims & self.cells[column] & np.repeat(self.patients, np.diff(e.offsets))
        return np.where(is_there, e.claims[column].values, np.int32(MISSING))

    @cached_property
    def truncated(self) -> NDArray[np.bool_]:
        """Whether each patient lost a claim, (n_patients,): the released flag ``claims_truncated``."""
        return np.bincount(self.encoded.owners[~self.claims], minlength=self.encoded.n_patients) > 0

    @cached_property
    def room(self) -> NDArray[np.int32]:
        """How many values of each column may be missing of each patient, as the flags say; (n_columns, n_patients)."""
        e = self.encoded
        room = np.zeros((len(e.claims), e.n_patients), dtype=np.int32)
        for h, column in enumerate(e.claims):
            hidden = self.claims & ~self.cells[h] & (column.values != MISSING)
            room[h] = np.bincount(e.owners[hidden], minlength=e.n_patients)
        room[:, self.truncated] = ANY_NUMBER
        return room

    def without_claims(self, rows: NDArray[np.bool_]) -> "ReleasedClaims":
        """The same without some claims."""
        return replace(self, claims=self.claims & ~rows)

    def without_cells(self, cells: NDArray[np.bool_]) -> "ReleasedClaims":
        """The same without some cells; a cell that was missing anyhow gets no flag."""
        return replace(self, cells=self.cells & ~cells)

    def without_patients(self, patients: NDArray[np.bool_]) -> "ReleasedClaims":
        """The same without some patients and all of their claims."""
        return replace(self, patients=self.patients & ~patients)


@dataclass(frozen=True, eq=False, repr=False)
class LevelLosses:
    """The loss of a node: ``fixed``, for what is not released, and what the level of each column adds, (n_levels,)."""

    fixed: float
    by_level: tuple[NDArray[np.float64], ...]

    def of(self, levels: Sequence[int]) -> float:
        """Loss of a node in [0, 1]."""
        return self.fixed + float(sum(own[level] for own, level in zip(self.by_level, levels, strict=True)))


def level_losses(released: ReleasedClaims, weights: Sequence[float] | None = None) -> LevelLosses:
    """What each level of each column loses, over all cells that are not missing in the original, by column weights."""
    encoded = released.encoded
    given = np.ones(len(encoded.columns)) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != (len(encoded.columns),) or not bool(np.all(np.isfinite(given) & (given > 0))):
        raise InternalError("The weights of columns are not one above 0 for each.")
    rows = released.claims & np.repeat(released.patients, np.diff(encoded.offsets))
    cells = [*(released.patients for _ in encoded.patients), *(rows & own for own in released.cells)]
    fixed, by_level = 0.0, []
    for column, own, weight in zip(encoded.columns, cells, (given / given.sum()).tolist(), strict=True):
        # the search takes it for granted that a coarser level loses no less
        if bool(np.any(np.diff(column.losses, axis=0) < 0)):
            raise InternalError(f"Column {column.name!r}: a coarser level loses less than a finer one.")
        present = column.values != MISSING
        n_cells = max(1, int(present.sum()))
        counts = np.bincount(column.values[present & own], minlength=column.n_values)
        fixed += weight * int((present & ~own).sum()) / n_cells
        by_level.append(weight * np.maximum.accumulate(column.losses @ counts) / n_cells)
    return LevelLosses(fixed, tuple(by_level))


def loss_of_released(released: ReleasedClaims, levels: Sequence[int], weights: Sequence[float] | None = None) -> float:
    """Loss of a node over the patients who are released, as if there were no others."""
    encoded = released.encoded
    of_claims = np.repeat(released.patients, np.diff(encoded.offsets))
    left = replace(
        encoded,
        patients=tuple(_only(column, released.patients) for column in encoded.patients),
        claims=tuple(_only(column, of_claims) for column in encoded.claims),
    )
    return level_losses(replace(released, encoded=left), weights).of(levels)


def _only(column: EncodedColumn, rows: NDArray[np.bool_]) -> EncodedColumn:
    return replace(column, values=np.where(rows, column.values, np.int32(MISSING)))


def weights_of(encoded: EncodedClaims, weights: Mapping[str, float]) -> list[float]:
    """Weight of each column in the loss, those of patients first; 1 where none is set."""
    return [float(weights.get(column.name, 1.0)) for column in encoded.columns]
