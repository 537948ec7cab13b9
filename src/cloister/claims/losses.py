"""What a release of claims loses: the mean over columns of the mean loss of a cell, what is not released lost whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError

from .encoded import MISSING, EncodedClaims, EncodedColumn
from .released import Released


@dataclass(frozen=True, eq=False, repr=False)
class LevelLosses:
    """The loss of a node is ``fixed`` and, for each column, the loss of its level.

    Attributes
    ----------
    fixed : what is lost at every node because it is not released
    by_level : for each column, (n_levels,) what its levels add, by its weight
    """

    fixed: float
    by_level: tuple[NDArray[np.float64], ...]

    def of(self, levels: Sequence[int]) -> float:
        """Loss of a node in [0, 1]."""
        return self.fixed + float(sum(own[level] for own, level in zip(self.by_level, levels, strict=True)))


def level_losses(released: Released, weights: Sequence[float] | None = None) -> LevelLosses:
    """What each level of each column loses, over all cells that are not missing in the original.

    Parameters
    ----------
    weights : of the columns, those of patients first; alike if not given

    Raises
    ------
    InternalError
        The weights are not one for each column, or not above 0 and finite.
    """
    columns = released.encoded.columns
    given = np.ones(len(columns)) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != (len(columns),) or not bool(np.all(np.isfinite(given) & (given > 0))):
        raise InternalError("The weights of columns are not one above 0 for each.")
    fixed, by_level = 0.0, []
    shown = shown_cells(released)
    for column, own, weight in zip(columns, shown, (given / given.sum()).tolist(), strict=True):
        present = column.values != MISSING
        n_cells = max(1, int(present.sum()))
        counts = np.bincount(column.values[present & own], minlength=column.n_values)
        fixed += weight * int((present & ~own).sum()) / n_cells
        by_level.append(weight * _rising(column, column.losses @ counts) / n_cells)
    return LevelLosses(fixed, tuple(by_level))


def loss_of_released(released: Released, levels: Sequence[int], weights: Sequence[float] | None = None) -> float:
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


def weights_of(encoded: EncodedClaims, asked: Mapping[str, float]) -> list[float]:
    """Weight of each column in the loss, those of patients first; 1 for those of which nothing is said."""
    return [float(asked.get(column.name, 1.0)) for column in encoded.columns]


def shown_cells(released: Released) -> list[NDArray[np.bool_]]:
    """Whether each cell is released, column by column, those of patients first."""
    encoded: EncodedClaims = released.encoded
    rows = released.claims & np.repeat(released.patients, np.diff(encoded.offsets))
    return [*(released.patients for _ in encoded.patients), *(rows & cells for cells in released.cells)]


def _rising(column: EncodedColumn, losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same, checked: the search takes it for granted that a coarser level loses no less."""
    if bool(np.any(np.diff(column.losses, axis=0) < 0)):
        raise InternalError(f"Column {column.name!r}: a coarser level loses less than a finer one.")
    rising: NDArray[np.float64] = np.maximum.accumulate(losses)
    return rising
