"""A release of code sets compared with data sets: with the original, every chunk being the projection of its records.

Of others it is known how often codes may be in them, class by class where records are distinguished.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.kernels.ragged import owners, take_runs
from cloister.shapes.codes.data import Codes, CodeSets, Integers, plain_code
from cloister.shapes.disassociation.format.data import Chunks, Disassociation, Layout

from .chunks import BLOCK

COMPARED = (
    "every record of the original is in one cluster",
    "every code of every record is in one place",
    "record chunks are the projections of their records",
    "codes of item chunks are held by a record of the cluster",
    "shared chunks are the projections of their records",
    "sensitive codes are in as few records of each cluster as the bound says",
)
"""Promises about the original, in the order in which they are checked."""

SET, CLASS, CODE, COUNT = "set", "class", "code", "count"


@dataclass(frozen=True, eq=False, repr=False)
class DisassociationSecret:
    """The original code sets, the cluster that each record went to, and l: the bound on sensitive codes is 1 / l."""

    codes: CodeSets
    cluster_of: Codes
    diversity: int = 1


def differences(released: Disassociation, layout: Layout, secret: DisassociationSecret) -> Iterator[tuple[str, bool]]:
    """Promises about the original, each with whether it holds."""
    codes, cluster_of = secret.codes, secret.cluster_of
    fits = (
        codes.vocabulary == released.vocabulary
        and cluster_of.shape == (codes.n_records,)
        and bool(np.all((cluster_of >= 0) & (cluster_of < released.n_clusters)))
        and np.array_equal(np.bincount(cluster_of, minlength=released.n_clusters), released.sizes)
    )
    yield COMPARED[0], bool(fits)
    if not fits:
        return
    found = _Projection(released, layout, secret)
    order = np.argsort(cluster_of, kind="stable")
    # Whole clusters at a time: a chunk can be compared when all records of its cluster were seen.
    for rows in _blocks(codes, order, cluster_of):
        found.add(rows)
    # Each cluster is seen once, so that keys met are never counted twice.
    met = found.items_met == released.item_chunks.size
    # In each cluster at most one record of l has any one sensitive code.
    cluster = np.repeat(cluster_of, np.diff(codes.offsets))
    diversity = min(secret.diversity, released.n_records + 1)
    held = (
        np.bincount(cluster[codes.items == code], minlength=released.n_clusters) for code in released.sensitive.tolist()
    )
    is_diverse = all(np.all(each * diversity <= released.sizes) for each in held)
    holds = (not found.lost, found.record_equal, met, found.shared_equal(), is_diverse)
    yield from zip(COMPARED[1:], holds, strict=True)


def _blocks(codes: CodeSets, order: Integers, cluster_of: Codes) -> Iterator[Integers]:
    """Records by cluster, some millions of occurrences at a time, whole clusters."""
    ends = np.cumsum(np.diff(codes.offsets)[order])
    last = np.flatnonzero(np.diff(cluster_of[order], append=-1)) + 1
    first = 0
    while first < order.size:
        reached = int(ends[first - 1]) if first else 0
        wanted = int(np.searchsorted(ends, reached + BLOCK, side="right"))
        stop = int(last[min(int(np.searchsorted(last, max(wanted, first + 1))), last.size - 1)])
        yield order[first:stop]
        first = stop


def _find_keys(keys: Integers, wanted: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Place of each wanted key among the keys, and whether it is there."""
    if not keys.size:
        return np.zeros(wanted.size, dtype=np.int64), np.zeros(wanted.size, dtype=np.bool_)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return at, keys[at] == wanted


class _Projection:
    """What the original's records say of the chunks, gathered block by block.

    Where codes stand is known by sorted keys: of cluster and code (record and item chunks) or of code and position
    (shared chunks).
    """

    def __init__(self, released: Disassociation, layout: Layout, secret: DisassociationSecret) -> None:
        self.released, self.layout, self.secret = released, layout, secret
        width, n = max(1, len(released.vocabulary)), released.n_clusters
        record, shared = released.record_chunks, released.shared_chunks
        chunk = owners(record.domain_offsets)
        keys = record.owner[chunk] * np.int64(width) + record.domain
        order = np.argsort(keys)
        self.record_keys, self.record_chunk = keys[order], chunk[order]
        self.item_keys = owners(released.item_offsets) * width + released.item_chunks
        shared_chunk = owners(shared.domain_offsets)
        joint = shared.owner[shared_chunk]
        starts = shared.domain * np.int64(n) + layout.low[joint]
        by_start = np.argsort(starts)
        self.shared_keys, self.shared_chunk = starts[by_start], shared_chunk[by_start]
        self.shared_ends = (shared.domain * np.int64(n) + layout.high[joint])[by_start]
        self.lost = 0
        self.items_met = 0
        self.record_equal = True
        self.single = np.diff(shared.domain_offsets) == 1
        self.counts = np.zeros(len(shared), dtype=np.int64)
        self.shared: list[tuple[Integers, Integers, Codes]] = []

    def add(self, rows: Integers) -> None:
        """Find the place of every occurrence of some records, and compare the record chunks of their clusters."""
        released, codes = self.released, self.secret.codes
        starts, places = take_runs(codes.offsets, rows)
        row, code = owners(starts), codes.items[places].astype(np.int64)
        cluster = self.secret.cluster_of[rows[row]].astype(np.int64)
        keys = cluster * max(1, len(released.vocabulary)) + code
        at, in_record = _find_keys(self.record_keys, keys)
        _, in_items = _find_keys(self.item_keys, keys)
        self.items_met += np.unique(keys[in_items]).size
        rest = ~in_record & ~in_items
        wanted = code[rest] * released.n_clusters + self.layout.position[cluster[rest]]
        # Spans of one code lie apart: only the last that begins at or before a position can hold it.
        span = np.searchsorted(self.shared_keys, wanted, side="right") - 1
        inside = np.zeros(span.size, dtype=np.bool_)
        if self.shared_keys.size:
            inside = (span >= 0) & (self.shared_keys[span] <= wanted) & (wanted < self.shared_ends[span])
        self.lost += int(np.count_nonzero(~inside))
        chunk, own_row, own_code = self.shared_chunk[span[inside]], rows[row[rest][inside]], code[rest][inside]
        np.add.at(self.counts, chunk, 1)
        # Occurrences in shared chunks of a single code are but counted.
        several = ~self.single[chunk]
        self.shared.append((chunk[several], own_row[several], own_code[several].astype(np.int32)))
        first, last = np.searchsorted(released.record_chunks.owner, [cluster.min(), cluster.max() + 1])
        chunk = self.record_chunk[at[in_record]]
        chosen = np.arange(first, last)
        self.record_equal &= _equal(released.record_chunks, chosen, chunk, row[in_record], code[in_record])

    def shared_equal(self) -> bool:
        """Whether all shared chunks are what was noted of them."""
        shared = self.released.shared_chunks
        if not np.array_equal(np.diff(shared.item_offsets[shared.subrecord_offsets]), self.counts):
            return False
        parts = [np.concatenate(part) for part in zip(*self.shared, strict=True)] or [np.empty(0, dtype=np.int64)] * 3
        return _equal(shared, np.flatnonzero(~self.single), *parts)


def _equal(chunks: Chunks, which: Integers, chunk: Integers, row: Integers, code: Codes | Integers) -> bool:
    """Whether the chosen chunks have as subrecords, however often, what the rows have of each chunk."""
    order = np.lexsort((code, row, chunk))
    chunk, row, code = chunk[order], row[order], code[order]
    begin = np.flatnonzero(np.diff(chunk, prepend=-1).astype(np.bool_) | np.diff(row, prepend=-1).astype(np.bool_))
    lengths = np.diff(np.append(begin, chunk.size))
    starts, subrecords = take_runs(chunks.subrecord_offsets, which)
    owner = which[owners(starts)]
    published = np.diff(chunks.item_offsets)[subrecords]
    # Subrecords are compared as multisets, length by length.
    if not np.array_equal(np.bincount(lengths), np.bincount(published)):
        return False
    for length in np.unique(lengths).tolist():
        ours = _rows(chunk[begin[lengths == length]], code, begin[lengths == length], length)
        theirs = published == length
        if not np.array_equal(
            ours, _rows(owner[theirs], chunks.items, chunks.item_offsets[subrecords[theirs]], length)
        ):
            return False
    return True


def _rows(owner: Integers, items: Codes | Integers, begin: Integers, length: int) -> Integers:
    """Owner and codes of subrecords of one length as rows of a table, in order."""
    columns = [owner, *(items[begin + i] for i in range(length))]
    order = np.lexsort(columns[::-1])
    return np.stack([column[order] for column in columns])


def count_miscounted(rows: pl.DataFrame, released: Disassociation) -> int:
    """Return how many codes are in rows of a class more or less often than the clusters allow.

    Rows are the class of each record, 0 where there are none, and its codes, those that repeat not numbered. A count
    outside these bounds is that of no data set behind the clusters.
    """
    found = rows.explode(SET).group_by(pl.col(CLASS).cast(pl.Int64), pl.col(SET).alias(CODE)).len(COUNT)
    both = counts_allowed(released).join(found, on=[CLASS, CODE], how="full", coalesce=True)
    fits = both.select(pl.col(COUNT).is_between(pl.col("least"), pl.col("most")).fill_null(value=False)).to_series()
    return int((~fits).sum())


def counts_allowed(released: Disassociation) -> pl.DataFrame:
    """Return the least and the most of each code in each class: as chunks say, and one to all records an item chunk."""
    n = released.n_clusters
    class_of = released.class_of if released.class_of.size else np.zeros(n, dtype=np.int32)
    of_joint = np.zeros(released.n_joints, dtype=np.int64)
    for joint, child in enumerate(released.children[released.child_offsets[:-1]].tolist()):
        of_joint[joint] = class_of[child] if child < n else of_joint[child - n]  # children come first
    own = class_of[owners(released.item_offsets)], released.item_chunks, released.sizes[owners(released.item_offsets)]
    parts = [(own[0].astype(np.int64), own[1].astype(np.int64), own[2])]
    for chunks, classes in ((released.record_chunks, class_of), (released.shared_chunks, of_joint)):
        held = classes[chunks.owner].repeat(np.diff(chunks.item_offsets[chunks.subrecord_offsets]))
        parts.append((held.astype(np.int64), chunks.items.astype(np.int64), np.ones(held.size, dtype=np.int64)))
    table = pl.concat([pl.DataFrame(dict(zip((CLASS, "item", "most"), part, strict=True))) for part in parts])
    plain = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    counted = table.group_by(CLASS, "item").agg(pl.len().cast(pl.Int64).alias("least"), pl.col("most").sum())
    named = counted.with_columns(pl.Series(CODE, plain, dtype=pl.String).gather(counted["item"]))
    return named.group_by(CLASS, CODE).agg(pl.col("least").sum(), pl.col("most").sum())
