"""How many patients have, of each quasi-identifier, some values in a known order."""

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .claim_classes import Cells
from .claim_draws import Draws, Known


@jit
def _follows(known, draws, labels, at, d, patient):
    """Whether the values of a draw are, column by column, a subsequence of those of a patient."""
    for h in range(at.shape[0]):
        place = known.starts[h, patient]
        end = known.starts[h, patient + 1]
        for one in range(draws.starts[d, h], draws.starts[d, h + 1]):
            label = labels[at[h] + draws.values[one]]
            while place < end and labels[at[h] + known.values[place]] != label:
                place += 1
            if place >= end:
                return False
            place += 1
    return True


@jit
def _sizes(known, cells, draws, labels, at, span, sizes):
    """Class size of each draw of a span; 0 where the patient does not fit."""
    for d in range(span[0], span[1]):
        sizes[d] = 0
        cell = cells.of[draws.patients[d]]
        if cell >= 0 and _follows(known, draws, labels, at, d, draws.patients[d]):
            for place in range(cells.lists.starts[cell], cells.lists.starts[cell + 1]):
                if _follows(known, draws, labels, at, d, cells.lists.members[place]):
                    sizes[d] += 1


def ordered_class_sizes(
    known: Known,
    cells: Cells,
    draws: Draws,
    labels: NDArray[np.int64],
    at: NDArray[np.int64],
    span: tuple[int, int],
    sizes: NDArray[np.int64],
) -> None:
    """Count, in place, who has the values of each draw of a span in their order; nobody if its patient has not.

    Parameters
    ----------
    known : released base values of each patient, in order of time
    draws : base values, in order of time
    labels, at : the label of base value v of column h is ``labels[at[h] + v]``

    Raises
    ------
    ValueError
        The arrays do not fit together.
    """
    n_draws = draws.patients.size
    if known.starts.shape[0] != at.size or draws.starts.shape != (n_draws, at.size + 1) or sizes.shape != (n_draws,):
        raise ValueError("known values, draws and recoding must have the same columns, sizes one entry a draw")
    if not 0 <= span[0] <= span[1] <= n_draws:
        raise ValueError(f"the span must be of {n_draws} draws")
    _sizes(known, cells, draws, labels, at, span, sizes)
