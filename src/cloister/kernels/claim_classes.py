"""How many patients fit what an adversary knows: their claims hold all of the values, as often as they are known."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .claim_draws import Draws
from .postings import Postings, group_postings, has
from .words import bits_set

NO_LIMIT = 1 << 62

DENSE_CELLS = 512
"""A cell of more than one in so many patients is a bit set as well: words without any of its patients cost nothing."""

FEWER = 8
"""A short list is gone through unless its cell has so many times fewer patients: telling its cell is one look, telling
who stands in the list many."""

ANY_NUMBER = (1 << 31) - 1
"""Room in all columns of a patient of whom nobody knows how many claims are missing."""


class Recoding(NamedTuple):
    """One level for each quasi-identifier of claims.

    labels : flat int64, place in ``Postings.first`` of each base value's label, column by column and level by level
    at : (n_columns,) int64; the label of base value v of column h is ``labels[at[h] + v]``
    """

    labels: NDArray[np.int64]
    at: NDArray[np.int64]


class Cells(NamedTuple):
    """Patients that are alike in the quasi-identifiers of patients.

    lists : one list a cell
    of : (n_patients,) int64, cell of each, -1 where a patient is not released
    """

    lists: Postings
    of: NDArray[np.int64]


class Leeway(NamedTuple):
    """Patients whose release says that claims or cells are missing.

    lists : these patients, one list a cell
    room : (n_columns, n_patients) int32, how many values of a column may be missing; ``ANY_NUMBER`` in all or in none
    """

    lists: Postings
    room: NDArray[np.int32]


@inner
def _wanted(postings, recoding, draws, d, lists):
    """Lists that hold everybody who fits a draw; their number, or -1 if one of them is empty."""
    n = 0
    for h in range(recoding.at.shape[0]):
        at = draws.starts[d, h]
        end = draws.starts[d, h + 1]
        while at < end:
            label = recoding.labels[recoding.at[h] + draws.values[at]]
            count = 1
            while at + count < end and recoding.labels[recoding.at[h] + draws.values[at + count]] == label:
                count += 1
            one = postings.first[label] + count - 1
            # List i of a label holds whoever has it more than i times: without such a list nobody does.
            if one >= postings.first[label + 1]:
                return -1
            lists[n] = one
            n += 1
            at += count
    return n


@inner
def _shortest_first(postings, lists, n):
    """Sort lists by their length."""
    for at in range(1, n):
        one = lists[at]
        size = postings.starts[one + 1] - postings.starts[one]
        before = at - 1
        while before >= 0 and postings.starts[lists[before] + 1] - postings.starts[lists[before]] > size:
            lists[before + 1] = lists[before]
            before -= 1
        lists[before + 1] = one


@inner
def _in_all(postings, lists, begin, n, patient):
    """Whether a patient stands in all lists from one on."""
    for at in range(begin, n):
        if not has(postings, lists[at], patient):
            return False
    return True


@inner
def _in_common(postings, cells, lists, n, cell, most):
    """How many patients of a cell stand in all lists, counted by bits; no further than ``most``."""
    found = 0
    row = cells.lists.dense[cell]
    for w in range(postings.bits.shape[1]):
        word = cells.lists.bits[row, w]
        at = 0
        while at < n and word != np.uint64(0):
            word &= postings.bits[postings.dense[lists[at]], w]
            at += 1
        if word != np.uint64(0):
            found += bits_set(word)
            if found >= most:
                return most
    return found


@inner
def _class_size(postings, cells, lists, n, cell, most):
    """How many patients of a cell stand in all lists, no further than ``most``; ``lists`` are put in order."""
    begin = cells.lists.starts[cell]
    end = cells.lists.starts[cell + 1]
    # Nothing was drawn, which fits everybody in the cell.
    if n == 0:
        return min(end - begin, most)
    _shortest_first(postings, lists, n)
    shortest = lists[0]
    if postings.dense[shortest] >= 0 and cells.lists.dense[cell] >= 0:
        return _in_common(postings, cells, lists, n, cell, most)
    found = 0
    size = postings.starts[shortest + 1] - postings.starts[shortest]
    # Whoever fits stands in the shortest list and in the cell: the cheaper of the two is gone through.
    if size < end - begin or (postings.dense[shortest] < 0 and size < FEWER * (end - begin)):
        for at in range(postings.starts[shortest], postings.starts[shortest + 1]):
            patient = postings.members[at]
            if cells.of[patient] == cell and _in_all(postings, lists, 1, n, patient):
                found += 1
                if found >= most:
                    return most
        return found
    for at in range(begin, end):
        if _in_all(postings, lists, 0, n, cells.lists.members[at]):
            found += 1
            if found >= most:
                return most
    return found


@jit
def _class_sizes(postings, cells, recoding, draws, wanted, most, span, sizes):
    """Class size of the draws of a span that are wanted, no further than ``most``; 0 for the others."""
    lists = np.empty(max(1, draws.values.shape[0]), dtype=np.int64)
    for d in range(span[0], span[1]):
        sizes[d] = 0
        if wanted[d] >= 0:
            n = _wanted(postings, recoding, draws, d, lists)
            if n >= 0:
                sizes[d] = _class_size(postings, cells, lists, n, wanted[d], most)


@jit
def _contained(postings, recoding, draws, span, contained):
    """Whether the released claims of the patient of each draw hold what was drawn."""
    lists = np.empty(max(1, draws.values.shape[0]), dtype=np.int64)
    for d in range(span[0], span[1]):
        n = _wanted(postings, recoding, draws, d, lists)
        contained[d] = n >= 0 and _in_all(postings, lists, 0, n, draws.patients[d])


@inner
def _shortage(postings, label, count, patient):
    """How often a label is missing among the claims of a patient, who is said to have it so many times."""
    present = min(count, postings.first[label + 1] - postings.first[label])
    # The lists of a label lie in each other: the longest that holds the patient says how often.
    while present > 0 and not has(postings, postings.first[label] + present - 1, patient):
        present -= 1
    return count - present


@inner
def _lacking(postings, recoding, draws, d, room, patient, most):
    """How many values of a draw a patient lacks; -1 if more than ``most``, or of a column more than may be missing."""
    lacking = 0
    for h in range(recoding.at.shape[0]):
        at = draws.starts[d, h]
        end = draws.starts[d, h + 1]
        short = 0
        while at < end:
            label = recoding.labels[recoding.at[h] + draws.values[at]]
            count = 1
            while at + count < end and recoding.labels[recoding.at[h] + draws.values[at + count]] == label:
                count += 1
            short += _shortage(postings, label, count, patient)
            if short > room[h, patient] or lacking + short > most:
                return -1
            at += count
        lacking += short
    return lacking


@jit
def _tolerated(postings, leeway, recoding, draws, wanted, most, span, found):
    """How many patients of the cell of each draw fit it only because something is said to be missing, to ``most``."""
    n_values = draws.values.shape[0]
    for d in range(span[0], span[1]):
        found[d] = 0
        if wanted[d] >= 0:
            for at in range(leeway.lists.starts[wanted[d]], leeway.lists.starts[wanted[d] + 1]):
                if _lacking(postings, recoding, draws, d, leeway.room, leeway.lists.members[at], n_values) > 0:
                    found[d] += 1
                    if found[d] >= most:
                        break


@jit
def _culprits(postings, recoding, draws, span, columns, labels):
    """The value of each draw that fewest patients have: its column and label, -1 where nothing was drawn."""
    for d in range(span[0], span[1]):
        columns[d] = -1
        fewest = -1
        for h in range(recoding.at.shape[0]):
            for at in range(draws.starts[d, h], draws.starts[d, h + 1]):
                label = recoding.labels[recoding.at[h] + draws.values[at]]
                one = postings.first[label]
                size = 0
                if one < postings.first[label + 1]:
                    size = postings.starts[one + 1] - postings.starts[one]
                if size > 0 and (columns[d] < 0 or size < fewest):
                    fewest = size
                    columns[d] = h
                    labels[d] = label


Span = tuple[int, int]


def _checked(draws: Draws, recoding: Recoding, span: Span, *arrays: NDArray[np.generic]) -> None:
    n_draws = draws.patients.size
    if draws.starts.shape != (n_draws, recoding.at.size + 1):
        raise ValueError("draws must have the columns of the recoding")
    if not 0 <= span[0] <= span[1] <= n_draws or any(array.shape != (n_draws,) for array in arrays):
        raise ValueError(f"the span and the arrays must be of {n_draws} draws")


def make_cells(groups: NDArray[np.int64], n_cells: int | None = None) -> Cells:
    """Cells from the number of the cell of each patient, -1 for patients who are not released.

    Parameters
    ----------
    n_cells : as many as there are patients in, if not given
    """
    number = int(groups.max(initial=-1)) + 1 if n_cells is None else n_cells
    return Cells(group_postings(groups, number, DENSE_CELLS), groups)


def make_leeway(groups: NDArray[np.int64], room: NDArray[np.int32]) -> Leeway:
    """Patients for whom something may be missing, by cell.

    Parameters
    ----------
    groups : (n_patients,) cell of each patient, -1 for patients who are not released
    room : (n_columns, n_patients) how many values may be missing
    """
    if room.shape[1] != groups.size:
        raise ValueError("room must be given for every patient")
    n_cells = int(groups.max(initial=-1)) + 1
    return Leeway(group_postings(np.where(room.any(axis=0), groups, -1), n_cells), room)


def class_sizes(
    postings: Postings,
    cells: Cells,
    recoding: Recoding,
    draws: Draws,
    wanted: NDArray[np.int64],
    span: Span,
    sizes: NDArray[np.int64],
    *,
    most: int = NO_LIMIT,
) -> None:
    """Count the patients that fit each draw of a span, no further than ``most``.

    Parameters
    ----------
    wanted : (n_draws,) the cell in which to look, -1 for draws that are not asked for
    sizes : (n_draws,) int64, written in place
    """
    _checked(draws, recoding, span, wanted, sizes)
    if wanted.size and wanted.max() >= cells.lists.dense.size:
        raise ValueError("a draw looks in a cell that there is not")
    _class_sizes(postings, cells, recoding, draws, wanted, most, span, sizes)


def are_contained(
    postings: Postings, recoding: Recoding, draws: Draws, span: Span, contained: NDArray[np.bool_]
) -> None:
    """Say of each draw of a span whether the released claims of its patient hold it, in place."""
    _checked(draws, recoding, span, contained)
    _contained(postings, recoding, draws, span, contained)


def count_tolerated(
    postings: Postings,
    leeway: Leeway,
    recoding: Recoding,
    draws: Draws,
    wanted: NDArray[np.int64],
    span: Span,
    found: NDArray[np.int64],
    *,
    most: int = NO_LIMIT,
) -> None:
    """Count the patients that fit each draw of a span only because something is said to be missing, in place.

    No further than ``most``.
    """
    _checked(draws, recoding, span, wanted, found)
    if wanted.size and wanted.max() >= leeway.lists.dense.size:
        raise ValueError("a draw looks in a cell that there is not")
    _tolerated(postings, leeway, recoding, draws, wanted, most, span, found)


def rarest_values(
    postings: Postings,
    recoding: Recoding,
    draws: Draws,
    span: Span,
    columns: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> None:
    """Find the value of each draw of a span that fewest patients have: its column, or -1, and its label, in place."""
    _checked(draws, recoding, span, columns, labels)
    _culprits(postings, recoding, draws, span, columns, labels)
