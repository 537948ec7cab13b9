"""Who has a value how often: sorted lists of patients, and bit sets where lists are long.

The base values of a column are numbered so that the values of one label are neighbours at every level of the hierarchy.
Then the sorted values of a patient are runs of labels at every level, and nothing is ever sorted again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit

DENSE = 64
"""A list of more than one in so many patients is kept as a bit set as well, at most twice its own size."""


class Postings(NamedTuple):
    """Lists of patients: for a label and a count c, those who have the label at least c times.

    first : int64; the lists of label v are ``first[v]`` to ``first[v + 1] - 1``, for counts 1, 2, ...
    starts : (n_lists + 1,) int64; list q is ``members[starts[q]:starts[q + 1]]``
    members : int32, patients in rising order
    dense : (n_lists,) int32, row of ``bits``, -1 where the list is short
    bits : (n_dense, n_words) uint64, bit i of word w is patient 64 w + i
    """

    first: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    dense: NDArray[np.int32]
    bits: NDArray[np.uint64]


@jit
def _most(starts, values, labels, most, cap):
    """Highest count of each label in one patient, at most ``cap``."""
    for i in range(starts.shape[0] - 1):
        last = -1
        count = 0
        for at in range(starts[i], starts[i + 1]):
            label = labels[values[at]]
            count = count + 1 if label == last else 1
            last = label
            if count <= cap:
                most[label] = max(most[label], count)


@jit
def _count(starts, values, labels, first, sizes, cap):
    """How many patients stand in each list."""
    for i in range(starts.shape[0] - 1):
        last = -1
        count = 0
        for at in range(starts[i], starts[i + 1]):
            label = labels[values[at]]
            count = count + 1 if label == last else 1
            last = label
            if count <= cap:
                sizes[first[label] + count - 1] += 1


@jit
def _fill(starts, values, labels, first, ends, members, cap):
    """Put patients into their lists; ``ends`` is where each list has come to."""
    for i in range(starts.shape[0] - 1):
        last = -1
        count = 0
        for at in range(starts[i], starts[i + 1]):
            label = labels[values[at]]
            count = count + 1 if label == last else 1
            last = label
            # Values of one label are neighbours, so that a run tells how often this patient has it.
            if count <= cap:
                one = first[label] + count - 1
                members[ends[one]] = i
                ends[one] += 1


@jit
def _set_bits(starts, members, dense, bits):
    """Write long lists as bit sets."""
    for one in range(dense.shape[0]):
        if dense[one] >= 0:
            for at in range(starts[one], starts[one + 1]):
                member = members[at]
                bits[dense[one], member >> 6] |= np.uint64(1) << np.uint64(member & 63)


@inner
def has(postings, one, patient):
    """Whether a patient stands in a list."""
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
    long = np.diff(starts) * dense_from > n_patients
    dense = np.where(long, np.cumsum(long) - 1, -1).astype(np.int32)
    bits = np.zeros((int(long.sum()), (n_patients + 63) // 64), dtype=np.uint64)
    _set_bits(starts, members, dense, bits)
    return Postings(first, starts, members, dense, bits)


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
    _most(starts, values, labels, most, cap)
    first = np.concatenate([[0], np.cumsum(most)]).astype(np.int64)
    sizes = np.zeros(int(first[-1]), dtype=np.int64)
    _count(starts, values, labels, first, sizes, cap)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    members = np.empty(int(ends[-1]), dtype=np.int32)
    _fill(starts, values, labels, first, ends[:-1].copy(), members, cap)
    return with_bits(first, ends, members, starts.size - 1)


def group_postings(groups: NDArray[np.int64], n_groups: int, dense_from: int = DENSE) -> Postings:
    """The members of each group, one list a group.

    Parameters
    ----------
    groups : (n_patients,) group of each, -1 for none
    dense_from : groups of more than one in so many patients are bit sets as well
    """
    inside = np.flatnonzero(groups >= 0)
    order = inside[np.argsort(groups[inside], kind="stable")]
    sizes = np.bincount(groups[inside], minlength=n_groups)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return with_bits(np.arange(n_groups + 1, dtype=np.int64), starts, order.astype(np.int32), groups.size, dense_from)


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
