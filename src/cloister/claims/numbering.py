"""Base values renumbered so that those of one label are neighbours at every level, and the values of each patient."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Known

from .encoded import MISSING, EncodedColumn


def neighbours(column: EncodedColumn) -> NDArray[np.int64]:
    """New number of each base value, (n_values,): levels are nested, so sorting by the highest levels first does it."""
    order = np.lexsort(column.levels)
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    return number


def sorted_by_patient(
    values: NDArray[np.int32], owners: NDArray[np.int64], number: NDArray[np.int64], n_patients: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Values that are not missing, renumbered and sorted by patient: where those of each begin, and values."""
    present = values != MISSING
    own = owners[present]
    n_values = max(1, number.size)
    keys = np.sort(own * n_values + number[values[present]]) if own.size else np.empty(0, dtype=np.int64)
    starts = np.zeros(n_patients + 1, dtype=np.int64)
    np.cumsum(np.bincount(own, minlength=n_patients), out=starts[1:])
    return starts, (keys % n_values).astype(np.int32)


def gather(parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int32]]]) -> Known:
    """Put the values of several columns one behind the other."""
    begins = np.concatenate([[0], np.cumsum([values.size for _, values in parts])]).astype(np.int64)
    starts = np.stack([starts + begin for (starts, _), begin in zip(parts, begins[:-1], strict=True)])
    return Known(starts, np.concatenate([values for _, values in parts]))
