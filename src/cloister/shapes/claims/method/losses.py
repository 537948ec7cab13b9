"""The loss of a cell's label: non-uniform entropy, leaves (Iyengar), or the height of its level (precision).

References
----------
Gionis, Tassa (2009), "k-anonymization with minimal loss of information" (non-uniform entropy, which El Emam et al.
recommend with OLA); Iyengar (2002), "Transforming data to satisfy privacy constraints"; Sweeney (2002), "Achieving
k-anonymity privacy protection using generalization and suppression".
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cloister.hierarchy import BoundHierarchy

LossName = Literal["entropy", "iyengar", "precision"]

Losses = NDArray[np.float64]


def cell_losses(
    name: LossName, bound: BoundHierarchy, levels: NDArray[np.int32], values: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the loss of a cell, by level and base value, (n_levels, n_values); 0 at level 0, never falling with it.

    ``entropy`` weighs cells by what they say: of one of a rare value more is lost than of a common one, so that losses
    of cells may exceed 1; their mean over the values is at most 1. The others lose 1 at the root in every cell.

    levels : (n_levels, n_values) number of the label of each base value
    values : base value of each row, -1 where it is missing
    """
    if name == "entropy":
        return entropy_losses(levels, np.bincount(values[values >= 0], minlength=levels.shape[1]))
    if name == "precision":
        heights = np.arange(levels.shape[0]) / max(levels.shape[0] - 1, 1)
        return np.repeat(heights[:, None], levels.shape[1], axis=1)
    losses = (bound.leaves - 1) / max(bound.n_leaves - 1, 1)
    losses[0], losses[-1] = 0.0, 1.0
    clipped: Losses = np.clip(losses, 0.0, 1.0)
    return clipped


def entropy_losses(levels: NDArray[np.int32], counts: NDArray[np.int64]) -> Losses:
    """Return -log2 of the share of a value among its label's, over the entropy of the column; all 0 if that is 0.

    counts : (n_values,) rows with each base value
    """
    losses = np.zeros(levels.shape)
    # a value that no row has loses nothing in any row
    own = np.log2(np.maximum(counts, 1))
    for level, labels in enumerate(levels):
        sums = np.bincount(labels, weights=counts)[labels]
        losses[level] = np.where(counts > 0, np.log2(np.maximum(sums, 1)) - own, 0.0)
    total, entropy = int(counts.sum()), float(losses[-1] @ counts) if losses.size else 0.0
    return losses * (total / entropy) if entropy > 0 else losses * 0.0
