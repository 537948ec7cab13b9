"""Disassociation on Spark: the top of HORPART's tree by distributed counts, then every part by a worker alone.

Inside a part all is as in memory: the worker cuts the part's records into clusters and compares the result with them by
the independent verifier before anything leaves it. Clusters are those of the whole tree. Joint clusters end at the
border of a part, so that a code that k patients of no part have in item chunks stays in one there.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.disassociation.canonical import join_parts
from cloister.codesets.disassociation.data import (
    Disassociation,
    DisassociationFigures,
    DisassociationRequest,
    InferenceCheck,
)
from cloister.codesets.disassociation.partitioning import encode_request
from cloister.codesets.disassociation.protect import disassociate, load_kernels
from cloister.codesets.disassociation.verify import DisassociationSecret, verify
from cloister.codesets.request import check_codes
from cloister.errors import InternalError, NoSafeRelease, setting

from .code_blocks import Blocks, CodeBlock, Integers, block_rows
from .tasks import Row, computed, contents, in_pieces, on_workers, pack, rows_of, unpack
from .top_splits import SplitRequest, Splits, split_top

if TYPE_CHECKING:
    from pyarrow import RecordBatch

RECORDS_A_PART = 200_000  # Parts of fewer records are not split: a worker needs some 400 MB for one
TASKS = 256  # Tasks that parts are spread over, at most

Before = Callable[[int], None]


@dataclass(frozen=True, eq=False, repr=False)
class Parted:
    """Code sets that were disassociated by parts."""

    released: Disassociation
    figures: DisassociationFigures
    parts: int
    crosswalk: pl.DataFrame | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """What a worker returns of a part, without the vocabulary."""

    number: int
    n_records: int
    supports: Integers
    figures: DisassociationFigures
    released: Disassociation
    ids: pl.Series | None
    cluster_of: Integers


def disassociate_blocks(
    blocks: Blocks,
    request: DisassociationRequest,
    *,
    repeats: bool = False,
    records_a_part: int = RECORDS_A_PART,
    before: Before | None = None,
) -> Parted:
    """Disassociate code sets that Spark keeps.

    *Guarantee*: that of `cloister.codesets.disassociation.protect.disassociate`, in each part and so in all of them:
    a data set that each part may stand for makes one that all of them may stand for. If all records fit one part, the
    release is that of the memory engine. The result depends on the records and ``records_a_part`` alone, not on where
    records are kept nor on the number of workers.
    """
    if blocks.n_records < request.k:
        raise NoSafeRelease(
            f"k is {request.k}, but there are {blocks.n_records} records. Give a smaller k or more records."
        )
    everything = np.arange(len(blocks.vocabulary), dtype=np.int32)
    sample = CodeSets(blocks.vocabulary, np.array([0, everything.size], dtype=np.int64), everything, None, repeats)
    encoded = encode_request(sample, request)
    limit = max(records_a_part, request.cluster_limit)
    splits = split_top(blocks, SplitRequest(request.k, limit, encoded.records.constraint, encoded.records.passed_over))
    parts = sorted(_protected(blocks, splits, request, repeats, before), key=lambda part: part.number)
    _check_whole(blocks, splits, parts)
    joined, numbers = join_parts([replace(part.released, vocabulary=blocks.vocabulary) for part in parts])
    figures = DisassociationFigures(
        occurrences=sum(part.figures.occurrences for part in parts),
        in_item_chunks=sum(part.figures.in_item_chunks for part in parts),
        repaired=sum(part.figures.repaired for part in parts),
    )
    return Parted(joined, figures, len(parts), _crosswalk(parts, numbers))


def _protected(
    blocks: Blocks, splits: Splits, request: DisassociationRequest, repeats: bool, before: Before | None
) -> list[_Part]:
    """The parts as their workers return them."""
    place, vocabulary = blocks.place, blocks.vocabulary
    is_whole = len(splits.sizes) == 1
    reports = request.inference_check is InferenceCheck.REPORT  # ties are counted once, here
    quiet = replace(request, inference_check=InferenceCheck.OFF) if reports else request

    def part(batches: Iterable["RecordBatch"]) -> Iterator[Row]:
        for block in block_rows(batches):
            yield from _by_part(block, splits.of(block.offsets, block.numbered(place)), place)

    def protect(batches: Iterable["RecordBatch"]) -> Iterator[Row]:
        sent: dict[int, list[bytes]] = {}
        for row in rows_of(batches):
            sent.setdefault(row.part, []).append(row.body)
        for number, own in sent.items():
            if before is not None:
                before(number)
            yield from in_pieces(number, _protect(number, own, vocabulary, quiet, repeats=repeats, is_whole=is_whole))

    parted = on_workers(blocks.frame, part).repartition(min(len(splits.sizes), TASKS), "part")
    return [one for _, one in contents(computed(on_workers(parted, protect)), _Part)]


def _by_part(block: CodeBlock, part: Integers, place: dict[str, int]) -> Iterator[Row]:
    """The records of a block, part by part, in numbers of the whole vocabulary."""
    items, lengths = block.numbered(place), np.diff(block.offsets)
    order = np.argsort(part, kind="stable")
    numbers, begins = np.unique(part[order], return_index=True)
    for number, records in zip(numbers.tolist(), np.split(order, begins[1:]), strict=True):
        own = lengths[records]
        within = np.arange(int(own.sum())) - np.repeat(np.cumsum(own) - own, own)
        ids = None if block.ids is None else block.ids.gather(records)
        yield Row(number, body=pack((own, items[np.repeat(block.offsets[records], own) + within], ids)))


def _protect(
    number: int,
    bodies: list[bytes],
    vocabulary: tuple[str, ...],
    request: DisassociationRequest,
    *,
    repeats: bool,
    is_whole: bool,
) -> _Part:
    """Disassociate and verify one part, which may be the whole."""
    load_kernels()
    lengths, items, ids = zip(*(unpack(body, tuple) for body in bodies), strict=True)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    codes = check_codes(CodeSets(vocabulary, offsets, np.concatenate(items), None, repeats))
    if not is_whole:
        check_others(codes, request)
    protected = disassociate(codes, request)
    verdict = verify(
        protected.released, DisassociationSecret(codes, protected.cluster_of, request.diversity), request.diversity
    )
    if not verdict.holds:
        raise InternalError(f"A part did not pass verification: {'; '.join(verdict.failures)}.")
    known = None if ids[0] is None else pl.concat(ids)
    released, cluster_of = replace(protected.released, vocabulary=()), protected.cluster_of.astype(np.int64)
    return _Part(number, codes.n_records, codes.supports(), protected.figures, released, known, cluster_of)


def check_others(codes: CodeSets, request: DisassociationRequest) -> None:
    """Refuse a part in which hardly anybody has a code that is not sensitive: no record could be made of the others."""
    if not request.sensitive:
        return
    secret = np.isin(np.array(codes.vocabulary, dtype=object), list(request.sensitive))
    record = np.repeat(np.arange(codes.n_records), np.diff(codes.offsets))
    with_others = np.unique(record[~secret[codes.items]]).size
    if with_others < request.k:
        raise NoSafeRelease(
            f"A part of the records has fewer than {request.k} patients with a code that is not sensitive, so that "
            "workers cannot protect it by itself. Give "
            f"{setting('engine', 'memory')}, which has all records in one place."
        )


def _check_whole(blocks: Blocks, splits: Splits, parts: list[_Part]) -> None:
    """See that every record and every code went to one part and came back from it."""
    found = [(part.number, part.n_records, part.released.n_records) for part in parts]
    supports = np.sum([part.supports for part in parts], axis=0)
    if (
        found != [(number, size, size) for number, size in enumerate(splits.sizes)]
        or sum(splits.sizes) != blocks.n_records
        or not np.array_equal(supports, blocks.supports)
    ):
        raise InternalError("The parts that came back from Spark are not those that were sent.")


def _crosswalk(parts: list[_Part], numbers: tuple[Integers, ...]) -> pl.DataFrame | None:
    if parts[0].ids is None:
        return None
    ids = pl.concat([part.ids for part in parts if part.ids is not None])
    cluster = [own[part.cluster_of] for part, own in zip(parts, numbers, strict=True)]
    frame = pl.DataFrame([ids.alias("original"), pl.Series("cluster", np.concatenate(cluster).astype(np.int32))])
    return frame.sort("original")
