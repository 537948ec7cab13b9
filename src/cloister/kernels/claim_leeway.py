"""Match patients with an adversary's knowledge if values may be missing: flags mark patients and counts per column.

Whoever fits has each label known or may lack values of its column. That is a word of bits for each label, and one for
each number of values of a column that may be lacking: 64 patients are counted at a time, and none by itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays, jit
from .claim_draws import Span, check_draws
from .claim_matches import NO_LIMIT, Question, run_of
from .postings import Cells, group_postings, has
from .words import bits_set

ANY_NUMBER = (1 << 31) - 1
"""Room in all columns of a patient of whom nobody knows how many claims are missing."""


DENSE_CELLS = 4096
"""Cells of more than one in so many patients are asked by words: one that has none of them costs next to nothing."""


class Room(NamedTuple):
    """The number of values of each column that may be missing for each patient.

    bits : (n_columns, cap, n_words) bit i of word w of ``[h, c - 1]``: whether c values of patient 64 w + i may be
    """

    of: NDArray[np.int32]  # (n_columns, n_patients), ``ANY_NUMBER`` in all or in none
    bits: NDArray[np.uint64]


def make_room(room: NDArray[np.int32], cap: int) -> Room:
    """The same with bits for each number of values that can be known of one column, 1 to ``cap``."""
    n_columns, n_patients = room.shape
    words = -(-n_patients // 64)
    enough = np.zeros((n_columns, max(1, cap), 64 * words), dtype=np.bool_)
    for times in range(enough.shape[1]):
        enough[:, times, :n_patients] = room > times
    bits = np.packbits(enough, axis=2, bitorder="little").view(np.uint64)
    return Room(room, np.ascontiguousarray(bits))


def make_leeway(groups: NDArray[np.int64], room: NDArray[np.int32]) -> Cells:
    """Cells with those patients alone of whom something may be missing.

    Parameters
    ----------
    groups : (n_patients,) number of the cell of each, -1 for patients who are not released
    room : (n_columns, n_patients) how many values may be missing
    """
    if room.shape[1] != groups.size:
        raise ValueError("room must be given for every patient")
    lists = group_postings(np.where(room.any(axis=0), groups, -1), int(groups.max(initial=-1)) + 1, DENSE_CELLS)
    return Cells(lists, groups)


@inner
def _shortage(postings, label, count, patient):
    """Count how often a label is missing among the claims of a patient who is known to have it this often."""
    present = min(count, postings.first[label + 1] - postings.first[label])
    # The lists of a label lie in each other: the longest that holds the patient says how often.
    while present > 0 and not has(postings, postings.first[label] + present - 1, patient):
        present -= 1
    return count - present


@inner
def _lacking(question, room, d, patient, most):
    """How many values of a draw a patient lacks; -1 if more than ``most``, or of a column more than may be missing."""
    draws = question.draws
    lacking = 0
    for h in range(question.recoding.at.shape[0]):
        at = draws.starts[d, h]
        short = 0
        while at < draws.starts[d, h + 1]:
            label, count = run_of(draws, question.recoding, h, at, draws.starts[d, h + 1])
            short += _shortage(question.postings, label, count, patient)
            if short > room.of[h, patient] or lacking + short > most:
                return -1
            at += count
        lacking += short
    return lacking


@inner_with_arrays
def _row(postings, one, low, spare):
    """The bits of the patients in a list from a word on, made in ``spare`` if the list is short; nobody for -1."""
    if one >= 0 and postings.dense[one] >= 0:
        return postings.bits[postings.dense[one], low : low + spare.shape[0]]
    spare[:] = np.uint64(0)
    if one >= 0:
        for place in range(postings.starts[one], postings.starts[one + 1]):
            patient = postings.members[place]
            w = (patient >> 6) - low
            if w >= 0 and w < spare.shape[0]:
                spare[w] |= np.uint64(1) << np.uint64(patient & 63)
    return spare


@inner
def _words_of(cells, cell):
    """The first word that has patients of a cell, and the one after the last: cells are near each other as a rule."""
    first, last = cells.members[cells.starts[cell]], cells.members[cells.starts[cell + 1] - 1]
    return first >> 6, (last >> 6) + 1


@inner_with_arrays
def _fill(question, room, d, low, words, digits):
    """Of the patients of some words, by bits: who fits a draw, flags believed, and who lacks nothing of it.

    In ``digits`` each patient has a number of its own in binary, the values lacking, if there are any digits.
    """
    draws, postings = question.draws, question.postings
    fits, whole, spare, lacking = words[0], words[1], words[2], words[3:]
    words[:2] = np.uint64(0xFFFFFFFFFFFFFFFF)
    digits[:] = np.uint64(0)
    for h in range(question.recoding.at.shape[0]):
        at = draws.starts[d, h]
        end = draws.starts[d, h + 1]
        known = 0
        while at < end:
            label, count = run_of(draws, question.recoding, h, at, end)
            for times in range(count):
                one = postings.first[label] + times
                row = _row(postings, one if one < postings.first[label + 1] else -1, low, spare)
                _lack_one_more(lacking, known, row)
                known += 1
                if digits.shape[0] > 0:
                    _add(digits, row)
            at += count
        for times in range(known):
            for w in range(fits.shape[0]):
                # who lacks more than so many values of the column must have room for one more than that
                fits[w] &= ~lacking[times, w] | room.bits[h, times, low + w]
        for w in range(fits.shape[0] if known > 0 else 0):
            whole[w] &= ~lacking[0, w]


@inner
def _lack_one_more(lacking, known, row):
    """Count a further value of a column, ``known`` before: bits of ``lacking[c]`` are patients who lack more than c."""
    for w in range(row.shape[0]):
        lacking[known, w] = ~row[w] & (lacking[known - 1, w] if known > 0 else np.uint64(0xFFFFFFFFFFFFFFFF))
    for times in range(known - 1, -1, -1):
        for w in range(row.shape[0]):
            lacking[times, w] |= ~row[w] & (lacking[times - 1, w] if times > 0 else np.uint64(0xFFFFFFFFFFFFFFFF))


@inner
def _add(digits, row):
    """Add one to the numbers of those who are not in a row."""
    for w in range(row.shape[0]):
        carry = ~row[w]
        for digit in range(digits.shape[0]):
            both = digits[digit, w] & carry
            digits[digit, w] ^= carry
            carry = both


@inner
def _compare_words(digits, w, mine):
    """Of a word of patients whose numbers are lower than ``mine``, and whose are the same."""
    fewer = np.uint64(0)
    alike = np.uint64(0xFFFFFFFFFFFFFFFF)
    for digit in range(digits.shape[0] - 1, -1, -1):
        if (mine >> digit) & 1:
            fewer |= alike & ~digits[digit, w]
            alike &= digits[digit, w]
        else:
            alike &= ~digits[digit, w]
    return fewer, alike


@inner
def _tolerated_of(question, d, words, low, most):
    """How many flagged patients of a cell fit a draw only because the release reports missing values."""
    asked = question.cells.lists.bits[question.cells.lists.dense[question.wanted[d]]]
    found = 0
    for w in range(words.shape[1]):
        found += bits_set(asked[low + w] & words[0, w] & ~words[1, w])
        if found >= most:
            return most
    return found


@jit
def _count_tolerated(question, room, most, span, found):
    """Count, to ``most``, patients of each draw's cell who fit it only because the release reports missing values."""
    cells = question.cells.lists
    words = np.empty((3 + room.bits.shape[1], room.bits.shape[2]), dtype=np.uint64)
    digits = np.empty((1, room.bits.shape[2]), dtype=np.uint64)[:0]
    for d in range(span[0], span[1]):
        found[d] = 0
        cell = question.wanted[d]
        if cell < 0:
            continue
        if cells.dense[cell] >= 0:
            low, high = _words_of(cells, cell)
            some = words[:, : high - low]
            _fill(question, room, d, low, some, digits)
            found[d] = _tolerated_of(question, d, some, low, most)
            continue
        for at in range(cells.starts[cell], cells.starts[cell + 1]):
            if _lacking(question, room, d, cells.members[at], question.draws.values.shape[0]) > 0:
                found[d] += 1
                if found[d] >= most:
                    break


@inner
def _nearest_of(question, d, words, digits, low, most, mine):
    """How many flagged patients of a cell lack as little of a draw as its patient; 0 if someone lacks less."""
    asked = question.cells.lists.bits[question.cells.lists.dense[question.wanted[d]]]
    found = 0
    for w in range(words.shape[1]):
        word = asked[low + w] & words[0, w]
        fewer, alike = _compare_words(digits, w, mine)
        # Someone lacks less, so that the patient is not among those picked.
        if word & fewer != np.uint64(0):
            return 0
        found += bits_set(word & alike)
        if found >= most:
            return most
    return found


@jit
def _nearest(question, room, most, span, sizes):
    """Of each draw how many of those tolerated lack as little as its patient, if nobody lacks less, to ``most``."""
    draws, cells = question.draws, question.cells.lists
    n_digits = 1
    while 1 << n_digits <= room.bits.shape[0] * room.bits.shape[1]:
        n_digits += 1
    words = np.empty((3 + room.bits.shape[1], room.bits.shape[2]), dtype=np.uint64)
    digits = np.empty((n_digits, room.bits.shape[2]), dtype=np.uint64)
    for d in range(span[0], span[1]):
        sizes[d] = 0
        cell = question.wanted[d]
        if cell < 0:
            continue
        mine = _lacking(question, room, d, draws.patients[d], draws.values.shape[0])
        if mine < 0:
            continue
        if cells.dense[cell] >= 0:
            low, high = _words_of(cells, cell)
            some, own = words[:, : high - low], digits[:, : high - low]
            _fill(question, room, d, low, some, own)
            sizes[d] = _nearest_of(question, d, some, own, low, most, mine)
            continue
        for at in range(cells.starts[cell], cells.starts[cell + 1]):
            lacking = _lacking(question, room, d, cells.members[at], mine)
            if lacking >= 0 and lacking < mine:
                sizes[d] = 0
                break
            if lacking >= 0:
                sizes[d] += 1
                if sizes[d] >= most:
                    break


def _check_question(question: Question, room: Room, span: Span, found: NDArray[np.int64]) -> None:
    check_draws(question.draws, question.recoding, span, question.wanted, found)
    if question.wanted.max(initial=-1) >= question.cells.lists.dense.size:
        raise ValueError("a draw looks in a cell that there is not")
    if np.diff(question.draws.starts, axis=1).max(initial=0) > room.bits.shape[1]:
        raise ValueError("more values of a column are known than room was counted for")


def count_tolerated(
    question: Question, room: Room, span: Span, found: NDArray[np.int64], *, most: int = NO_LIMIT
) -> None:
    """Count the patients that fit each draw of a span only because the release reports missing values, in place.

    Parameters
    ----------
    question : with the cells of those of whom claims or cells are missing
    most : count no further
    """
    _check_question(question, room, span, found)
    _count_tolerated(question, room, most, span, found)


def count_nearest(
    question: Question, room: Room, span: Span, sizes: NDArray[np.int64], *, most: int = NO_LIMIT
) -> None:
    """Count those tolerated who lack least of each draw wanted, in place; 0 where its patient is none of them.

    Parameters are those of `count_tolerated`. At ``most`` there may be others who lack less.
    """
    _check_question(question, room, span, sizes)
    _nearest(question, room, most, span, sizes)
