"""Labels of fewer than k patients: a mean says nothing of them, so no release holds any (step 11)."""

import numpy as np
from numpy.typing import NDArray

from .encoded import EncodedColumn
from .lattice_search import Node
from .released import Released


def without_rare_labels(released: Released, levels: Node, k: int) -> Released:
    """Suppress the cells of claims, and leave out the patients, that have a label which fewer than k patients have.

    *Guarantee*: each label of a quasi-identifier that is released at these levels is held by at least k released
    patients. Not promised: the same of combinations of labels, whose mean risk is limited. A missing value is no label.
    Cost: a sort of the values of each column, again while somebody was left out.

    Parameters
    ----------
    levels : of all columns, those of patients first
    """
    n_columns = len(released.encoded.patients)
    while True:
        for h, column in enumerate(released.encoded.claims):
            rare = np.zeros_like(released.cells)
            rare[h] = _rare_cells(released, h, column, levels[n_columns + h], k)
            if rare.any():
                released = released.without_cells(rare)
        gone = _rare_patients(released, levels[:n_columns], k)
        if not gone.any():
            return released
        released = released.without_patients(gone)


def _rare_patients(released: Released, levels: Node, k: int) -> NDArray[np.bool_]:
    """Released patients with a rare label, (n_patients,)."""
    gone = np.zeros_like(released.patients)
    for column, level in zip(released.encoded.patients, levels, strict=True):
        labels = np.where(released.patients, column.at(level), -1)
        counts = np.bincount(labels[labels >= 0], minlength=1)
        gone |= (labels >= 0) & (counts[labels] < k)
    return gone


def _rare_cells(released: Released, h: int, column: EncodedColumn, level: int, k: int) -> NDArray[np.bool_]:
    """Released cells of a column of claims with a rare label, (n_claims,)."""
    values = released.values(h)
    shown = values >= 0
    labels = np.where(shown, column.at(level), -1).astype(np.int64)
    size = int(labels.max(initial=0)) + 1
    held = np.unique(released.encoded.owners[shown] * size + labels[shown]) % size
    rare: NDArray[np.bool_] = shown & (np.bincount(held, minlength=size)[labels] < k)
    return rare
