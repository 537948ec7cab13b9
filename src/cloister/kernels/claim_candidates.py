"""Whom somebody picks among candidates: by likelihood, by what they lack least, or by the order of what is known."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .claim_classes import (
    NO_LIMIT,
    Cells,
    Leeway,
    Recoding,
    Span,
    _checked,
    _in_all,
    _lacking,
    _shortest_first,
    _wanted,
)
from .claim_draws import Draws, Known
from .postings import Postings

ALIKE = 1e-9
"""Logarithms of chances that differ by less are of equal chances."""


class ReleasedValues(NamedTuple):
    """What is released of each patient.

    known : released base values, renumbered and sorted by patient
    logs : float64, logarithm of n! at n, as far as there are values of one column of one patient
    """

    known: Known
    logs: NDArray[np.float64]


@inner
def _often(shown, recoding, h, patient, label):
    """How often a label stands among the released values of a patient."""
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
        # draw can come is the same for everybody and left out.
        chance -= logs[n] - logs[n - (end - at)]
        while at < end:
            label = recoding.labels[recoding.at[h] + draws.values[at]]
            times = 1
            while at + times < end and recoding.labels[recoding.at[h] + draws.values[at + times]] == label:
                times += 1
            count = _often(shown, recoding, h, patient, label)
            chance += logs[count] - logs[count - times]
            at += times
    return chance


@inner
def _as_likely(shown, postings, cells, recoding, draws, d, lists):
    """How many who fit a draw are as likely as its patient; 0 where somebody is likelier or its patient does not."""
    n = _wanted(postings, recoding, draws, d, lists)
    patient = draws.patients[d]
    if n < 0 or not _in_all(postings, lists, 0, n, patient):
        return 0
    cell = cells.of[patient]
    members, begin, end = cells.lists.members, cells.lists.starts[cell], cells.lists.starts[cell + 1]
    if n > 0:
        _shortest_first(postings, lists, n)
        first, last = postings.starts[lists[0]], postings.starts[lists[0] + 1]
        # Whoever fits stands in the shortest list and in the cell: the shorter of the two is gone through.
        if last - first < end - begin:
            members, begin, end = postings.members, first, last
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
def _likeliest(shown, postings, cells, recoding, draws, span, sizes):
    """Of each draw of a span how many are as likely as its patient, and nobody likelier."""
    lists = np.empty(max(1, draws.values.shape[0]), dtype=np.int64)
    for d in range(span[0], span[1]):
        sizes[d] = _as_likely(shown, postings, cells, recoding, draws, d, lists)


@jit
def _nearest(postings, leeway, recoding, draws, wanted, most, span, sizes):
    """Of each draw how many of those tolerated lack as little as its patient, if nobody lacks less, to ``most``."""
    for d in range(span[0], span[1]):
        sizes[d] = 0
        if wanted[d] >= 0:
            mine = _lacking(postings, recoding, draws, d, leeway.room, draws.patients[d], draws.values.shape[0])
            for at in range(leeway.lists.starts[wanted[d]], leeway.lists.starts[wanted[d] + 1]):
                patient = leeway.lists.members[at]
                lacking = _lacking(postings, recoding, draws, d, leeway.room, patient, mine)
                # Somebody lacks less, so that the patient is not among those picked.
                if lacking >= 0 and lacking < mine:
                    sizes[d] = 0
                    break
                if lacking >= 0:
                    sizes[d] += 1
                    if sizes[d] >= most:
                        break


def make_released_values(known: Known) -> ReleasedValues:
    """Released values with the logarithms that chances are made of."""
    most = int(np.diff(known.starts, axis=1).max(initial=0))
    return ReleasedValues(known, np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 2)))]))


def count_as_likely(
    shown: ReleasedValues,
    postings: Postings,
    cells: Cells,
    recoding: Recoding,
    draws: Draws,
    span: Span,
    sizes: NDArray[np.int64],
) -> None:
    """Count those of whom a draw is as likely as of its patient, if of nobody likelier, in place; else 0."""
    _checked(draws, recoding, span, sizes)
    if shown.known.starts.shape != (recoding.at.size, cells.of.size + 1):
        raise ValueError("released values must be of the same columns and patients")
    if draws.patients.size and bool(np.any(cells.of[draws.patients[span[0] : span[1]]] < 0)):
        raise ValueError("a draw is of a patient who is not released")
    _likeliest(shown, postings, cells, recoding, draws, span, sizes)


def count_nearest(
    postings: Postings,
    leeway: Leeway,
    recoding: Recoding,
    draws: Draws,
    wanted: NDArray[np.int64],
    span: Span,
    sizes: NDArray[np.int64],
    *,
    most: int = NO_LIMIT,
) -> None:
    """Count those tolerated who lack least of each draw wanted, in place; 0 where its patient is none of them.

    No further than ``most``: then there may be others who lack less.
    """
    _checked(draws, recoding, span, wanted, sizes)
    if wanted.size and wanted.max() >= leeway.lists.dense.size:
        raise ValueError("a draw looks in a cell that there is not")
    _nearest(postings, leeway, recoding, draws, wanted, most, span, sizes)


@inner
def _follows(known, draws, labels, at, d, patient):
    """Whether the values of a draw are, column by column, a subsequence of those of a patient."""
    for h in range(at.shape[0]):
        place = known.starts[h, patient]
        end = known.starts[h, patient + 1]
        for one in range(draws.starts[d, h], draws.starts[d, h + 1]):
            label = labels[at[h] + draws.values[one]]
            # The earliest place for each value leaves most room for those after it: no other choice has to be tried.
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
    """
    n_draws = draws.patients.size
    if known.starts.shape[0] != at.size or draws.starts.shape != (n_draws, at.size + 1) or sizes.shape != (n_draws,):
        raise ValueError("known values, draws and recoding must have the same columns, sizes one entry a draw")
    if not 0 <= span[0] <= span[1] <= n_draws:
        raise ValueError(f"the span must be of {n_draws} draws")
    _sizes(known, cells, draws, labels, at, span, sizes)
