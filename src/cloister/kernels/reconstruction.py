"""Reconstruct records at random from a disassociated release: assign each subrecord and each code to a row.

Rows stand by cluster, the clusters in an order in which those of a joint cluster are neighbours. Random numbers come
from a counter that the caller starts, so the same start gives the same rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays, jit
from .words import GOLDEN, scramble, starts_of

ONE_ROW, BELOW_K, ANY_NUMBER = 0, 1, 2
"""How many rows a code of an item chunk goes to: one, up to k - 1, or up to all of the cluster's."""


class Rows(NamedTuple):
    """Rows by position of the cluster, and what each holds so far."""

    starts: NDArray[np.int64]  # (n_clusters + 1,) first row of the cluster at each position
    filled: NDArray[np.int32]  # (n_rows,) subrecords and codes in each row
    stamp: NDArray[np.int64]  # (n_rows,) the last chunk that used each row


class SharedSpans(NamedTuple):
    """Shared chunks: their subrecords, their spans of positions, and the positions that hold their code elsewhere."""

    starts: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    held_starts: NDArray[np.int64]
    held: NDArray[np.int64]


class Items(NamedTuple):
    """Item chunks by position: where each begins, codes with occurrences of one code together, whether one goes on."""

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    continues: NDArray[np.bool_]


@inner
def _draw(counter, below):
    """A number from 0 to below - 1."""
    counter[0] += GOLDEN
    return np.int64(scramble(counter[0]) % np.uint64(below))


@inner
def _shuffle(values, n, wanted, counter):
    """Bring a random choice of ``wanted`` of the first n values to the front."""
    for i in range(min(wanted, n - 1)):
        # Fisher and Yates: each choice in each order is equally likely.
        j = i + _draw(counter, n - i)
        values[i], values[j] = values[j], values[i]


@jit
def _place_records(rows, chunk_starts, subrecord_starts, row_of, counter):
    """Give each subrecord of record chunks a row of its cluster, those of a chunk different ones."""
    for position in range(rows.starts.shape[0] - 1):
        size = rows.starts[position + 1] - rows.starts[position]
        choice = np.arange(size)
        for chunk in range(chunk_starts[position], chunk_starts[position + 1]):
            begin = subrecord_starts[chunk]
            n = subrecord_starts[chunk + 1] - begin
            _shuffle(choice, size, n, counter)
            for i in range(n):
                row_of[begin + i] = rows.starts[position] + choice[i]
                rows.filled[row_of[begin + i]] += 1


@jit
def _fill_bare(rows, chunk_starts, subrecord_starts, has_items, row_of):
    """Where the item chunk is empty, move subrecords from rows with several to rows without any."""
    for position in range(rows.starts.shape[0] - 1):
        if has_items[position]:
            continue
        end = rows.starts[position + 1]
        empty = rows.starts[position]
        for s in range(subrecord_starts[chunk_starts[position]], subrecord_starts[chunk_starts[position + 1]]):
            while empty < end and rows.filled[empty] > 0:
                empty += 1
            # The chunk used different rows, and an empty one was used by none: rows of a chunk stay different.
            if empty < end and rows.filled[row_of[s]] > 1:
                rows.filled[row_of[s]] -= 1
                rows.filled[empty] += 1
                row_of[s] = empty


@inner_with_arrays
def _free_before(rows, shared, chunk):
    """For each position that holds the chunk's code elsewhere, the free rows before it; at the end, all free rows."""
    begin = shared.held_starts[chunk]
    n = shared.held_starts[chunk + 1] - begin
    free = np.empty(n + 1, dtype=np.int64)
    taken = 0
    for i in range(n):
        position = shared.held[begin + i]
        # Ascending, so that the row of a number is found by bisection.
        free[i] = rows.starts[position] - rows.starts[shared.low[chunk]] - taken
        taken += rows.starts[position + 1] - rows.starts[position]
    free[n] = rows.starts[shared.high[chunk]] - rows.starts[shared.low[chunk]] - taken
    return free


@inner_with_arrays
def _free_row(rows, shared, chunk, free, number):
    """The row with the given number among the free ones."""
    held = np.searchsorted(free[:-1], number + 1)
    row = rows.starts[shared.low[chunk]] + number
    if held > 0:
        position = shared.held[shared.held_starts[chunk] + held - 1]
        row = rows.starts[position + 1] + number - free[held - 1]
    return row


@jit
def _place_shared(rows, shared, row_of, counter):
    """Give each shared subrecord a row of its joint cluster that may hold it; False if there are too few."""
    for chunk in range(shared.low.shape[0]):
        begin = shared.starts[chunk]
        n = shared.starts[chunk + 1] - begin
        free = _free_before(rows, shared, chunk)
        available = free[-1]
        if n > available:
            return False
        dense = 2 * n > available
        choice = np.arange(available if dense else 0)
        if dense:
            _shuffle(choice, available, n, counter)
        for i in range(n):
            row = _free_row(rows, shared, chunk, free, choice[i] if dense else _draw(counter, available))
            # Rows must differ within a chunk. Drawing again is quick here: at least half of the free rows are unused.
            while rows.stamp[row] == chunk:
                row = _free_row(rows, shared, chunk, free, _draw(counter, available))
            rows.stamp[row] = chunk
            rows.filled[row] += 1
            row_of[begin + i] = row
    return True


@inner
def _number_of_rows(size, before, k, support, counter):
    """On how many rows a code goes, at most on as many as the occurrence before it."""
    if support == ONE_ROW:
        return 1
    most = size if support == ANY_NUMBER else min(size, max(1, k - 1))
    return 1 + _draw(counter, min(most, before))


@jit
def _place_items(rows, items, k, support, counter, row_of, code_of):
    """Give codes of item chunks their rows; return how many there are (written as far as there is room)."""
    found = 0
    for position in range(rows.starts.shape[0] - 1):
        first = rows.starts[position]
        size = rows.starts[position + 1] - first
        if items.starts[position] == items.starts[position + 1]:
            continue
        choice = np.arange(size)
        _shuffle(choice, size, size, counter)
        empties = 0
        for i in range(size):
            if rows.filled[first + choice[i]] == 0:
                choice[empties], choice[i] = choice[i], choice[empties]
                empties += 1
        n = 1
        begin = 0
        for at in range(items.starts[position], items.starts[position + 1]):
            if not items.continues[at]:
                begin = begin + n if empties > begin + n else _draw(counter, size)
                n = size
            n = _number_of_rows(size, n, k, support, counter)
            for i in range(n):
                row = first + choice[(begin + i) % size]
                rows.filled[row] += 1
                # The first of two equal runs only counts, with no room to write.
                if found < row_of.shape[0]:
                    row_of[found] = row
                    code_of[found] = items.codes[at]
                found += 1
        found = _place_spare(rows, items, position, counter, row_of, code_of, found)
    return found


@inner
def _place_spare(rows, items, position, counter, row_of, code_of, found):
    """Give rows that are still empty some code of the item chunk."""
    begin = items.starts[position]
    n = items.starts[position + 1] - begin
    for row in range(rows.starts[position], rows.starts[position + 1]):
        if rows.filled[row] == 0:
            at = begin + _draw(counter, n)
            while items.continues[at]:
                at -= 1
            if found < row_of.shape[0]:
                row_of[found] = row
                code_of[found] = items.codes[at]
            rows.filled[row] += 1
            found += 1
    return found


@jit
def _collect(row_of, item_starts, items, offsets, codes):
    """Write the codes of subrecords to their rows, ascending."""
    end = offsets[:-1].copy()
    for s in range(row_of.shape[0]):
        row = row_of[s]
        for i in range(item_starts[s], item_starts[s + 1]):
            j = end[row]
            while j > offsets[row] and codes[j - 1] > items[i]:
                codes[j] = codes[j - 1]
                j -= 1
            codes[j] = items[i]
            end[row] += 1


def place_records(
    rows: Rows,
    chunk_starts: NDArray[np.int64],
    subrecord_starts: NDArray[np.int64],
    has_items: NDArray[np.bool_],
    counter: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Rows of the subrecords of record chunks; no row stays empty where the item chunk is.

    Parameters
    ----------
    chunk_starts : (n_clusters + 1,) first chunk of the cluster at each position
    subrecord_starts : (n_chunks + 1,) first subrecord of each chunk
    has_items : (n_clusters,) whether the item chunk has codes
    counter : (1,) where the random numbers start; moved on
    """
    if chunk_starts.size != rows.starts.size or has_items.size != rows.starts.size - 1:
        raise ValueError("chunk_starts and has_items must have one entry a cluster")
    row_of = np.empty(int(subrecord_starts[-1]), dtype=np.int64)
    _place_records(rows, chunk_starts, subrecord_starts, row_of, counter)
    _fill_bare(rows, chunk_starts, subrecord_starts, has_items, row_of)
    return row_of


def place_shared(rows: Rows, shared: SharedSpans, counter: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Rows of the subrecords of shared chunks."""
    row_of = np.empty(int(shared.starts[-1]), dtype=np.int64)
    if not _place_shared(rows, shared, row_of, counter):
        raise ValueError("a shared chunk has more subrecords than there are rows for them")
    return row_of


def place_items(
    rows: Rows, items: Items, k: int, support: int, counter: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Row and code of each occurrence of codes of item chunks."""
    if items.starts.size != rows.starts.size or support not in (ONE_ROW, BELOW_K, ANY_NUMBER):
        raise ValueError("items must have one start a cluster, and support be one of the three ways")
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    tried = rows._replace(filled=rows.filled.copy())
    found = int(_place_items(tried, items, k, support, counter.copy(), *nothing))
    row_of, code_of = np.empty(found, dtype=np.int64), np.empty(found, dtype=np.int32)
    _place_items(rows, items, k, support, counter, row_of, code_of)
    return row_of, code_of


def collect(
    n_rows: int, parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Codes of each row, ascending, as offsets and codes.

    Parameters
    ----------
    parts : rows of subrecords, where the subrecords begin, and their codes
    """
    row_of = np.concatenate([rows for rows, _, _ in parts])
    lengths = np.concatenate([np.diff(starts) for _, starts, _ in parts])
    offsets = starts_of(np.bincount(row_of, lengths, n_rows))
    codes = np.empty(int(offsets[-1]), dtype=np.int32)
    _collect(row_of, starts_of(lengths), np.concatenate([items for _, _, items in parts]), offsets, codes)
    return offsets, codes
