"""Vertical partitioning: each cluster's records are cut into chunks that are k^m-anonymous (VERPART)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.chunking import Rule
from cloister.kernels.parts import Entries, Marks, part_entries, partition_parts
from cloister.kernels.splitting import Records, Split


@dataclass(frozen=True, eq=False, repr=False)
class VerticalPartition:
    """Where each code of each part went.

    Attributes
    ----------
    entries : the codes of each part and their places
    marks : which parts need a code in their item chunk, and which were repaired
    """

    entries: Entries
    marks: Marks


def partition_vertically(records: Records, split: Split, unit: NDArray[np.int32], rule: Rule) -> VerticalPartition:
    """Record chunks and item chunk of every part, already repaired where the omitted condition fails.

    Codes held by fewer than k records of the part go to its item chunk. The others are taken by constraint and support
    and fill one chunk after the other: a code joins if the chunk stays k^m-anonymous, else it waits for the next chunk.
    After each round the codes of a constraint other than the first code's wait too, unless all of them joined.

    Deviations from the paper: lines 16 and 17 follow the pseudocode, on the state before any code is taken out, and
    "all codes" are those that were waiting when the round began; a code in no constraint is a group of its own; ties
    go to the smallest code; the occurrences of a repeated diagnosis stay together; with a rule that forbids ties, a
    code also waits if it would tie (see `cloister.codesets.disassociation.cover`). Repair: see
    `cloister.codesets.disassociation.repair`.

    Parameters
    ----------
    unit : (n_codes,) the first of the codes that must stay together with each code

    References
    ----------
    Loukides et al. (2014), section 4, Fig. 9, and section 7.1.
    """
    parts = split.starts.size - 1
    entries = part_entries(records, split)
    marks = Marks(np.zeros(parts, dtype=np.bool_), np.zeros(parts, dtype=np.bool_))
    partition_parts(records, split, unit, rule, entries, marks)
    return VerticalPartition(entries, marks)
