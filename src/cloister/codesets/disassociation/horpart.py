"""Horizontal partitioning: similar records come together in clusters (HORPART)."""

import numpy as np

from cloister.errors import InputError, NoSafeRelease
from cloister.kernels.splitting import Records, Split, split_records

from .data import Classes


def partition_horizontally(records: Records, k: int, limit: int, classes: Classes | None = None) -> Split:
    """Clusters of records that share frequent codes, and the tree of splits that made them.

    A part of ``limit`` records or more is split into the records with and without a code: one of the constraint of the
    code that the part was last split on, else one of any constraint, else any; the most frequent, then the smallest.

    Deviations from the paper: every cluster has at least k records (a split that would leave fewer is passed over, and
    the next code tried); a code that all records of a part have is passed over, which takes the place of the paper's
    set *ignore*. Recursion is unrolled: the parts without the code form a chain that is counted once.

    Where there are classes, each is split by itself.

    Cost: occurrences times the number of times that a record is on the side that has the code.

    Raises
    ------
    InputError
        There are no records.
    NoSafeRelease
        There are fewer than k records, or a class has fewer.

    References
    ----------
    Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy",
    section 4, Fig. 8.
    """
    n = records.offsets.size - 1
    if n == 0:
        raise InputError("There are no records to protect.")
    if n < k:
        raise NoSafeRelease(f"k is {k}, but there are {n} records. Give a smaller k or more records.")
    if classes is None:
        return split_records(records, k, limit)
    small = int(np.count_nonzero(np.bincount(classes.class_of) < k))
    if small:
        raise NoSafeRelease(f"k is {k}, but {small} of {len(classes.labels)} classes have fewer records with codes.")
    return split_records(records, k, limit, classes.class_of)
