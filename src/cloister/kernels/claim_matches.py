"""Match patients with an adversary's knowledge: their claims contain all known values, as often as known; and guess.

The base values of a column are numbered so that the values of one label are neighbours at every level of the hierarchy.
Then the sorted values of a patient are runs of labels at every level, and nothing is ever sorted again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .claim_draws import Draws, Known, Recoding, Span, check_draws
from .postings import Cells, Postings, has
from .words import bits_set

NO_LIMIT = 1 << 62

FEWER = 8
"""Go through a short list unless its cell has so many times fewer patients: checking the cell of a patient takes one
look, checking the list many."""

ALIKE = 1e-9
"""Logarithms of chances that differ by less are of equal chances."""


class Question(NamedTuple):
    """Draws, and the patients to match them with."""

    draws: Draws
    recoding: Recoding
    postings: Postings
    cells: Cells
    wanted: NDArray[np.int64]  # (n_draws,) the cell in which to look for each draw, -1 for draws that are not asked for


class ReleasedValues(NamedTuple):
    """The released values of each patient."""

    known: Known  # released base values, renumbered and sorted by patient
    logs: NDArray[np.float64]  # logarithm of n! at n, as far as there are values of one column of one patient


@inner
def run_of(draws, recoding, h, at, end):
    """The label of a value of a draw, and how often it is drawn from there on."""
    label = recoding.labels[recoding.at[h] + draws.values[at]]
    count = 1
    while at + count < end and recoding.labels[recoding.at[h] + draws.values[at + count]] == label:
        count += 1
    return label, count


@inner
def _lists(question, d, lists):
    """Lists that hold everybody who fits a draw; their number, or -1 if one of them is empty."""
    draws, postings = question.draws, question.postings
    n = 0
    for h in range(question.recoding.at.shape[0]):
        at = draws.starts[d, h]
        while at < draws.starts[d, h + 1]:
            label, count = run_of(draws, question.recoding, h, at, draws.starts[d, h + 1])
            one = postings.first[label] + count - 1
            # List i of a label holds anyone who has it more than i times: without such a list nobody does.
            if one >= postings.first[label + 1]:
                return -1
            lists[n] = one
            n += 1
            at += count
    return n


@inner
def _size(postings, one):
    return postings.starts[one + 1] - postings.starts[one]


@inner
def _shortest_first(postings, lists, n):
    """Sort lists by their length."""
    for at in range(1, n):
        one = lists[at]
        before = at - 1
        while before >= 0 and _size(postings, lists[before]) > _size(postings, one):
            lists[before + 1] = lists[before]
            before -= 1
        lists[before + 1] = one


@inner
def _in_all(postings, lists, begin, n, patient):
    """Whether a patient is in all lists from one on."""
    for at in range(begin, n):
        if not has(postings, lists[at], patient):
            return False
    return True


@inner
def _in_common(postings, cells, lists, n, cell, most):
    """How many patients of a cell are in all lists, counted by bits; no further than ``most``."""
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
    """How many patients of a cell are in all lists, no further than ``most``; ``lists`` are put in order."""
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
    size = _size(postings, shortest)
    # Anyone who fits is in the shortest list and in the cell: the cheaper of the two is gone through.
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
def _class_sizes(question, most, span, sizes):
    """Class size of the draws of a span that are wanted, no further than ``most``; 0 for the others."""
    lists = np.empty(max(1, question.draws.values.shape[0]), dtype=np.int64)
    for d in range(span[0], span[1]):
        sizes[d] = 0
        if question.wanted[d] >= 0:
            n = _lists(question, d, lists)
            if n >= 0:
                sizes[d] = _class_size(question.postings, question.cells, lists, n, question.wanted[d], most)


@jit
def _mark_contained(question, span, contained):
    """Whether the released claims of the patient of each draw hold what was drawn."""
    lists = np.empty(max(1, question.draws.values.shape[0]), dtype=np.int64)
    for d in range(span[0], span[1]):
        n = _lists(question, d, lists)
        contained[d] = n >= 0 and _in_all(question.postings, lists, 0, n, question.draws.patients[d])


@jit
def _culprits(question, span, columns, labels):
    """The value of each draw that fewest patients have: its column and label, -1 where nothing was drawn."""
    draws, recoding, postings = question.draws, question.recoding, question.postings
    for d in range(span[0], span[1]):
        columns[d] = -1
        fewest = -1
        for h in range(recoding.at.shape[0]):
            for at in range(draws.starts[d, h], draws.starts[d, h + 1]):
                label = recoding.labels[recoding.at[h] + draws.values[at]]
                one = postings.first[label]
                size = _size(postings, one) if one < postings.first[label + 1] else 0
                if size > 0 and (columns[d] < 0 or size < fewest):
                    fewest = size
                    columns[d] = h
                    labels[d] = label


@inner
def _often(shown, recoding, h, patient, label):
    """Count how often a label occurs among the released values of a patient."""
    count = 0
    for at in range(shown.known.starts[h, patient], shown.known.starts[h, patient + 1]):
        if recoding.labels[recoding.at[h] + shown.known.values[at]] == label:
            count += 1
    return count


@inner
def _chance(shown, recoding, draws, d, patient):
    """Logarithm of the chance to draw just this from the released values of a patient, up to a part all share."""
    chance = 0.0
    logs = shown.logs
    for h in range(recoding.at.shape[0]):
        at = draws.starts[d, h]
        end = draws.starts[d, h + 1]
        n = shown.known.starts[h, patient + 1] - shown.known.starts[h, patient]
        # Drawn without replacement: c (c - 1) ... values with each label, of n (n - 1) ... in all. In how many orders a
        # draw can come is the same for everybody and omitted.
        chance -= logs[n] - logs[n - (end - at)]
        while at < end:
            label, times = run_of(draws, recoding, h, at, end)
            count = _often(shown, recoding, h, patient, label)
            chance += logs[count] - logs[count - times]
            at += times
    return chance


@inner
def _as_likely(question, shown, d, lists):
    """How many who fit a draw are as likely as its patient; 0 where someone is likelier or its patient does not."""
    draws, recoding, postings, cells = question.draws, question.recoding, question.postings, question.cells
    n = _lists(question, d, lists)
    patient = draws.patients[d]
    if n < 0 or not _in_all(postings, lists, 0, n, patient):
        return 0
    cell = cells.of[patient]
    members, begin, end = cells.lists.members, cells.lists.starts[cell], cells.lists.starts[cell + 1]
    if n > 0:
        _shortest_first(postings, lists, n)
        # Anyone who fits is in the shortest list and in the cell: the shorter of the two is gone through.
        if _size(postings, lists[0]) < end - begin:
            members, begin, end = postings.members, postings.starts[lists[0]], postings.starts[lists[0] + 1]
    mine = _chance(shown, recoding, draws, d, patient)
    found = 0
    for at in range(begin, end):
        other = members[at]
        if cells.of[other] == cell and _in_all(postings, lists, 0, n, other):
            chance = _chance(shown, recoding, draws, d, other)
            # Sums of logarithms differ in their last digits with the order of values: equal means equal up to ALIKE.
            if chance > mine + ALIKE:
                return 0
            if chance >= mine - ALIKE:
                found += 1
    return found


@jit
def _likeliest(question, shown, span, sizes):
    """Of each draw of a span how many are as likely as its patient, and nobody likelier."""
    lists = np.empty(max(1, question.draws.values.shape[0]), dtype=np.int64)
    for d in range(span[0], span[1]):
        sizes[d] = _as_likely(question, shown, d, lists)


def _check_question(question: Question, span: Span, *arrays: NDArray[np.generic]) -> None:
    check_draws(question.draws, question.recoding, span, question.wanted, *arrays)
    if question.wanted.max(initial=-1) >= question.cells.lists.dense.size:
        raise ValueError("a draw looks in a cell that there is not")


def class_sizes(question: Question, span: Span, sizes: NDArray[np.int64], *, most: int = NO_LIMIT) -> None:
    """Count the patients that fit each draw of a span, in place, no further than ``most``; 0 where it is not wanted."""
    _check_question(question, span, sizes)
    _class_sizes(question, most, span, sizes)


def are_contained(question: Question, span: Span, contained: NDArray[np.bool_]) -> None:
    """Check, in place, whether the released claims of each draw's patient contain the draw."""
    _check_question(question, span, contained)
    _mark_contained(question, span, contained)


def rarest_values(question: Question, span: Span, columns: NDArray[np.int64], labels: NDArray[np.int64]) -> None:
    """Find the value of each draw of a span that fewest patients have: its column, or -1, and its label, in place."""
    _check_question(question, span, columns, labels)
    _culprits(question, span, columns, labels)


def make_released_values(known: Known) -> ReleasedValues:
    """Released values with the logarithms that chances are made of."""
    most = int(np.diff(known.starts, axis=1).max(initial=0))
    return ReleasedValues(known, np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 2)))]))


def count_as_likely(question: Question, shown: ReleasedValues, span: Span, sizes: NDArray[np.int64]) -> None:
    """Count those of whom a draw is as likely as of its patient, if of nobody likelier, in place; else 0."""
    _check_question(question, span, sizes)
    if shown.known.starts.shape != (question.recoding.at.size, question.cells.of.size + 1):
        raise ValueError("released values must be of the same columns and patients")
    if np.any(question.cells.of[question.draws.patients[span[0] : span[1]]] < 0):
        raise ValueError("a draw is of a patient who is not released")
    _likeliest(question, shown, span, sizes)
