"""The condition that the paper omits, and what is done where it fails.

A cluster whose record chunks are each k^m-anonymous may still give a patient away, since no record is empty. With
k = m = 2 the records ab, a, a, b, b make the chunks {a, a, a} and {b, b, b}: of five records only one can hold both.
The guarantee holds if the item chunk has a code that all records may hold, or if the non-empty subrecords of the
record chunks number at least |P| + k (h - 1), where |P| is the size of the cluster and h the smaller of m and the
number of record chunks: then k records can hold any m codes and enough subrecords are left for each of the others. A
sensitive code does not count: its published bound says that few records hold it.

Where it fails, vertical partitioning moves the least supported code to the item chunk, one whose constraint is not
kept whole before others, then the smallest (`cloister.kernels.parts`). Refining must not empty the item chunk of a
cluster that needs it: the least supported code stays, of these the most frequent one overall, then the smallest.
"""

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.chunking import KEPT_BACK
from cloister.kernels.parts import Entries
from cloister.kernels.pooling import codes_to_pin


def pin_bare(
    entries: Entries,
    needs_item: NDArray[np.bool_],
    sensitive: NDArray[np.bool_],
    supports: NDArray[np.int64],
    unit: NDArray[np.int32],
) -> bool:
    """Keep a code back in each part that needs one in its item chunk and has none; whether there was such a part.

    Parameters
    ----------
    needs_item : (n_parts,) whether the part's record chunks alone do not meet the condition
    sensitive : (n_codes,) codes that do not count
    supports : (n_codes,) records that have each code
    unit : (n_codes,) the first of the codes that stay together with each code
    """
    pins = codes_to_pin(entries, needs_item, sensitive, supports, unit)
    for pin in pins.tolist():
        part = int(np.searchsorted(entries.offsets, pin, side="right")) - 1
        span = slice(int(entries.offsets[part]), int(entries.offsets[part + 1]))
        entries.place[span][unit[entries.code[span]] == entries.code[pin]] = KEPT_BACK
    return bool(pins.size)
