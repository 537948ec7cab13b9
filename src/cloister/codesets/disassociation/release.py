"""A release of code sets: clusters, and data sets that they may stand for, drawn at random."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets, Integers
from cloister.codesets.encode import occurrence
from cloister.errors import InputError
from cloister.io import write_csv
from cloister.kernels.canonical_order import take_sequences
from cloister.kernels.reconstruction import (
    ANY_NUMBER,
    BELOW_K,
    ONE_ROW,
    Items,
    Rows,
    Shared,
    collect,
    place_items,
    place_records,
    place_shared,
)
from cloister.release import Release
from cloister.release_folder import CLUSTERS, DATA, read_data
from cloister.results import Verdict

from .clusters_file import read_clusters, same_release, write_clusters
from .data import Chunks, Disassociation, Layout, lay_out


class ItemSupport(StrEnum):
    """To how many records a code of an item chunk is given: one, up to k - 1, or up to all of the cluster."""

    ONE = "one"
    BELOW_K = "below-k"
    ANY = "any"


CHANGED = "The clusters stand for no code sets: they were changed since they were released."

HOW_MANY = {ItemSupport.ONE: ONE_ROW, ItemSupport.BELOW_K: BELOW_K, ItemSupport.ANY: ANY_NUMBER}


def reconstruct(released: Disassociation, seed: int = 0, item_support: ItemSupport | str = ItemSupport.ONE) -> CodeSets:
    """Code sets that could have led to a release: subrecords put together at random, none left empty.

    The subrecords of a chunk go to different records of its cluster, or of its joint cluster without the clusters that
    hold the code elsewhere. Codes of item chunks go to records without any code first. Not every data set that the
    release may stand for is equally likely to be drawn.

    Parameters
    ----------
    seed : of NumPy's generator; the same seed gives the same code sets
    item_support : to how many records a code of an item chunk is given; most of them have one

    Raises
    ------
    InputError
        The release stands for no data set, or the word for the item support is unknown.

    References
    ----------
    Loukides et al. (2014), section 3.2.
    """
    if item_support not in [support.value for support in ItemSupport]:
        raise InputError(f"The item support must be one of {', '.join(ItemSupport)}.")
    counter = np.random.default_rng(seed).integers(0, 2**64, size=1, dtype=np.uint64)
    layout = lay_out(released)
    at = np.argsort(layout.position)
    rows = _rows(released.sizes[at])
    record, starts = _record_chunks(released, at)
    item_starts, items = take_sequences(released.item_offsets, released.item_chunks, at)
    try:
        record_rows = place_records(
            rows, starts, record.subrecord_offsets, _fillable(released, item_starts, items), counter
        )
        shared_rows = place_shared(rows, _shared(released, layout), counter)
    except ValueError:
        raise InputError(CHANGED) from None
    held = _items(released, item_starts, items)
    item_rows, item_codes = place_items(rows, held, released.k, HOW_MANY[ItemSupport(item_support)], counter)
    shared = released.shared_chunks
    offsets, codes = collect(
        released.n_records,
        [
            (record_rows, record.item_offsets, record.items),
            (shared_rows, shared.item_offsets, shared.items),
            (item_rows, np.arange(item_rows.size + 1), item_codes),
        ],
    )
    return CodeSets(released.vocabulary, offsets, codes, None, released.repeats)


def cluster_of_record(released: Disassociation) -> Integers:
    """Return the cluster that each reconstructed record is in."""
    at = np.argsort(lay_out(released).position)
    found: Integers = np.repeat(at, released.sizes[at])
    return found


def _fillable(released: Disassociation, starts: Integers, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether a cluster's item chunk has a code that all records may hold: one that is not sensitive."""
    plain = np.concatenate([[0], np.cumsum(~np.isin(codes, released.sensitive))])
    fillable: NDArray[np.bool_] = np.diff(plain[starts]) > 0
    return fillable


def _rows(sizes: Integers) -> Rows:
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(starts[-1])
    return Rows(starts, np.zeros(n, dtype=np.int32), np.full(n, -1, dtype=np.int64))


def _record_chunks(released: Disassociation, at: Integers) -> tuple[Chunks, Integers]:
    """Record chunks by position of their cluster, and where each position's begin."""
    chunks = released.record_chunks
    first = np.concatenate([[0], np.cumsum(np.bincount(chunks.owner, minlength=at.size))]).astype(np.int64)
    starts, numbers = take_sequences(first, np.arange(len(chunks), dtype=np.int32), at)
    order = numbers.astype(np.int64)
    domain_offsets, domain = take_sequences(chunks.domain_offsets, chunks.domain, order)
    _, items = take_sequences(chunks.item_offsets[chunks.subrecord_offsets], chunks.items, order)
    lengths = np.diff(chunks.item_offsets).astype(np.int32)
    subrecords, lengths = take_sequences(chunks.subrecord_offsets, lengths, order)
    item_offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Chunks(chunks.owner[order], domain_offsets, domain, subrecords, item_offsets, items), starts


def _shared(released: Disassociation, layout: Layout) -> Shared:
    """Shared chunks with the positions in their span that hold their (first) code elsewhere."""
    shared, record, n = released.shared_chunks, released.record_chunks, released.n_clusters
    owner = np.concatenate(
        [
            np.repeat(record.owner, np.diff(record.domain_offsets)),
            np.repeat(np.arange(n), np.diff(released.item_offsets)),
        ]
    )
    code = np.concatenate([record.domain, released.item_chunks]).astype(np.int64)
    keys = np.sort(code * n + layout.position[owner])
    first = shared.domain[shared.domain_offsets[:-1]].astype(np.int64)
    low, high = layout.low[shared.owner], layout.high[shared.owner]
    begin, end = np.searchsorted(keys, first * n + low), np.searchsorted(keys, first * n + high)
    held_starts = np.concatenate([[0], np.cumsum(end - begin)]).astype(np.int64)
    before = np.repeat(begin - held_starts[:-1], end - begin)
    held = keys[before + np.arange(before.size)] % max(1, n)
    return Shared(shared.subrecord_offsets, low, high, held_starts, held)


def _items(released: Disassociation, starts: Integers, codes: NDArray[np.int32]) -> Items:
    """Item chunks with the occurrences of each code in order."""
    continues = np.zeros(codes.size, dtype=np.bool_)
    if not released.repeats:
        return Items(starts, codes, continues)
    stems: dict[str, int] = {}
    found = [occurrence(code) for code in released.vocabulary]
    names = [numbered for numbered in found if numbered is not None]
    if len(names) != len(found):
        raise InputError(CHANGED)
    unit = np.array([stems.setdefault(stem, number) for number, (stem, _) in enumerate(names)], dtype=np.int64)
    level = np.array([count for _, count in names], dtype=np.int64)
    cluster = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    order = np.lexsort((level[codes], unit[codes], cluster))
    return Items(starts, codes[order], level[codes[order]] > 1)


@dataclass(frozen=True)
class CodesRelease(Release):
    """Disassociated code sets that passed verification.

    Attributes
    ----------
    clusters : what is released: clusters with their chunks, joint clusters with shared chunks
    frame : one reconstruction, as ``data.csv`` has it
    delimiter : what separates the cells of ``data.csv``
    """

    clusters: Disassociation
    frame: pl.DataFrame = field(repr=False)
    delimiter: str
    _check: Callable[[Disassociation], Verdict] = field(repr=False)

    def reconstruct(self, seed: int = 0, item_support: ItemSupport | str = ItemSupport.ONE) -> CodeSets:
        """Return code sets that could have led to this release; see `cloister.codesets.disassociation.release`."""
        return reconstruct(self.clusters, seed, item_support)

    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the data file."""
        return self.delimiter

    def recheck(self) -> Verdict:
        """Return the verdict on the clusters."""
        return self._check(self.clusters)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write clusters and reconstruction."""
        write_clusters(self.clusters, folder / CLUSTERS)
        write_csv(self.frame, folder / DATA[0], self.delimiter)
        return CLUSTERS, DATA[0]

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on both files."""
        written = read_clusters(folder / CLUSTERS)
        if not same_release(written, self.clusters):
            return Verdict(False, "the files were read back", (), (f"{CLUSTERS} does not hold what was verified",))
        frame = read_data(folder / DATA[0], self.delimiter)
        if not frame.equals(self.frame.cast(pl.String)):
            return Verdict(False, "the files were read back", (), (f"{DATA[0]} does not hold what was reconstructed",))
        return self._check(written)
