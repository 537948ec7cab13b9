"""Index patients by the values that they have, and by equal values: sorted lists, and bit sets for long lists.

The base values of a column are numbered so that the values of one label are neighbours at every level of the hierarchy.
Then the sorted values of a patient are runs of labels at every level, and nothing is ever sorted again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .words import by_number, starts_of

DENSE, DENSE_CELLS = 64, 512
"""A list of more than one in so many patients is kept as a bit set as well, at most twice its own size; of cells also
smaller ones: words without any of their patients cost nothing."""


class Postings(NamedTuple):
    """Lists of patients: for a label and a count c, those who have the label at least c times.

    first : int64; the lists of label v are ``first[v]`` to ``first[v + 1] - 1``, for counts 1, 2, ...
    """

    first: NDArray[np.int64]
    starts: NDArray[np.int64]  # (n_lists + 1,) list q is ``members[starts[q]:starts[q + 1]]``
    members: NDArray[np.int32]  # patients in rising order
    dense: NDArray[np.int32]  # (n_lists,) row of ``bits``, -1 where the list is short
    bits: NDArray[np.uint64]  # (n_dense, n_words) bit i of word w is patient 64 w + i


@inner
def has(postings, one, patient):
    """Whether a patient is in a list."""
    if postings.dense[one] >= 0:
        word = postings.bits[postings.dense[one], patient >> 6]
        return (word >> np.uint64(patient & 63)) & np.uint64(1) != np.uint64(0)
    low = postings.starts[one]
    high = postings.starts[one + 1]
    while low < high:
        middle = (low + high) >> 1
        if postings.members[middle] < patient:
            low = middle + 1
        else:
            high = middle
    return low < postings.starts[one + 1] and postings.members[low] == patient


@jit
def _set_bits(starts, members, dense, bits):
    """Set the bit of each member of a list that has a row of bits."""
    for one in range(dense.shape[0]):
        row = dense[one]
        if row >= 0:
            for at in range(starts[one], starts[one + 1]):
                bits[row, members[at] >> 6] |= np.uint64(1) << np.uint64(members[at] & 63)


def with_bits(
    first: NDArray[np.int64],
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    n_patients: int,
    dense_from: int = DENSE,
) -> Postings:
    """Add bit sets to long lists, those of more than one in ``dense_from`` patients."""
    if starts[0] != 0 or starts[-1] != members.size or np.any(np.diff(starts) < 0):
        raise ValueError("starts must rise from 0 to the number of members")
    if members.size and not 0 <= members.min() <= members.max() < n_patients:
        raise ValueError(f"members must be from 0 to {n_patients - 1}")
    long = np.diff(starts) * dense_from > n_patients
    dense = np.where(long, np.cumsum(long) - 1, -1).astype(np.int32)
    bits = np.zeros((int(long.sum()), (n_patients + 63) // 64), dtype=np.uint64)
    _set_bits(starts, members, dense, bits)
    return Postings(first, starts, members, dense, bits)


@jit
def _count_repeats(starts, values, labels, cap, most):
    """How often the patient who has it most often has each label, at most ``cap``."""
    for patient in range(starts.shape[0] - 1):
        label = np.int64(-1)
        repeats = 0
        for at in range(starts[patient], starts[patient + 1]):
            repeats = repeats + 1 if labels[values[at]] == label else 1
            label = labels[values[at]]
            most[label] = max(most[label], min(repeats, cap))


@jit
def _enter_patients(starts, values, labels, first, at_list, members):
    """Put each patient where each of the patient's lists has room, ``at_list``, which moves on; count alone if none."""
    for patient in range(starts.shape[0] - 1):
        label = np.int64(-1)
        one = np.int64(0)
        for at in range(starts[patient], starts[patient + 1]):
            one = one + 1 if labels[values[at]] == label else first[labels[values[at]]]
            label = labels[values[at]]
            if one < first[label + 1]:
                if members.shape[0] > 0:
                    members[at_list[one]] = patient
                at_list[one] += 1


def make_postings(
    starts: NDArray[np.int64], values: NDArray[np.int32], labels: NDArray[np.int64], n_labels: int, cap: int
) -> Postings:
    """Lists of the patients who have each label at least 1, 2, ... ``cap`` times.

    Parameters
    ----------
    starts, values : base values of patient i are ``values[starts[i]:starts[i + 1]]``, sorted
    labels : label of each base value; the values of one label are neighbours
    """
    n_values = labels.size
    if values.size and not 0 <= values.min() <= values.max() < n_values:
        raise ValueError(f"values must be from 0 to {n_values - 1}")
    if n_values and not 0 <= labels.min() <= labels.max() < n_labels:
        raise ValueError(f"labels must be from 0 to {n_labels - 1}")
    if 1 + np.count_nonzero(np.diff(labels)) > max(1, np.unique(labels).size):
        raise ValueError("the values of one label must be neighbours")
    most = np.zeros(n_labels, dtype=np.int64)
    _count_repeats(starts, values, labels, cap, most)
    first = starts_of(most)
    counts = np.zeros(int(first[-1]), dtype=np.int64)
    _enter_patients(starts, values, labels, first, counts, np.empty(0, dtype=np.int32))
    ends = starts_of(counts)
    members = np.empty(int(ends[-1]), dtype=np.int32)
    _enter_patients(starts, values, labels, first, ends[:-1].copy(), members)
    return with_bits(first, ends, members, starts.size - 1)


def group_postings(groups: NDArray[np.int64], n_groups: int, dense_from: int = DENSE) -> Postings:
    """The members of each group, one list a group.

    Parameters
    ----------
    groups : (n_patients,) group of each, -1 for none
    dense_from : groups of more than one in so many patients are bit sets as well
    """
    inside = np.flatnonzero(groups >= 0)
    starts, order = by_number(groups[inside], n_groups)
    members = inside[order].astype(np.int32)
    return with_bits(np.arange(n_groups + 1, dtype=np.int64), starts, members, groups.size, dense_from)


class Cells(NamedTuple):
    """Patients that are alike in the quasi-identifiers of patients."""

    lists: Postings  # one list a cell
    of: NDArray[np.int64]  # (n_patients,) cell of each, -1 where a patient is not released


def make_cells(groups: NDArray[np.int64]) -> Cells:
    """Cells from the number of the cell of each patient, -1 for patients who are not released."""
    return Cells(group_postings(groups, int(groups.max(initial=-1)) + 1, DENSE_CELLS), groups)


def joined_postings(parts: list[Postings]) -> tuple[Postings, NDArray[np.int64]]:
    """Put postings one behind the other, and say where the labels of each begin in ``first``."""
    label_at, list_at, member_at, dense_at = 0, 0, 0, 0
    begins, first, starts, dense = [], [], [], []
    for part in parts:
        begins.append(label_at)
        first.append(part.first + list_at)
        starts.append(part.starts[:-1] + member_at)
        dense.append(np.where(part.dense >= 0, part.dense + dense_at, -1))
        label_at += part.first.size
        list_at += part.dense.size
        member_at += part.members.size
        dense_at += part.bits.shape[0]
    whole = Postings(
        np.concatenate(first),
        np.concatenate([*starts, [member_at]]).astype(np.int64),
        np.concatenate([part.members for part in parts]),
        np.concatenate(dense).astype(np.int32),
        np.concatenate([part.bits for part in parts]),
    )
    return whole, np.array(begins, dtype=np.int64)
