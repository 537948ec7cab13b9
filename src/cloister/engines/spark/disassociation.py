"""Disassociation on Spark: distributed counts build the top of HORPART's tree, then one worker protects each part.

Inside a part all is as in memory: the worker cuts the part's records into clusters and compares the result with them by
the independent verifier before anything leaves it. Clusters are those of the whole tree. Joint clusters end at the
border of a part, so that a code that k patients of no part have in item chunks stays in one there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InternalError, NoSafeRelease, setting
from cloister.kernels.ragged import owners
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.codes.request import check_codes
from cloister.shapes.disassociation.format.canonical import join_parts
from cloister.shapes.disassociation.format.data import (
    Disassociation,
    DisassociationFigures,
    DisassociationRequest,
    InferenceCheck,
)
from cloister.shapes.disassociation.method.protect import disassociate, encode_request, load_kernels
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify

from .code_blocks import Blocks, CodeBlock, Codes, Integers, block_rows
from .tasks import Row, collect_rows, compute_rows, contents, in_pieces, on_workers, pack, rows_of, unpack

if TYPE_CHECKING:
    from pyarrow import RecordBatch

MOST_CANDIDATES = 16  # Codes whose joint occurrences are counted to split a node several times at once
TABLE = 1 << 20  # Joint occurrences that are counted in one pass, over all nodes
COUNTS = 1 << 24  # Numbers of codes that are counted in one pass, over all nodes
MOST_SPLITS = 4096  # Splits at the top; data that would need more have no codes to be split by, and larger parts
NONE, UNDECIDED = -1, -2  # Instead of a code to split on: there is none, or the counts do not determine it


@dataclass(frozen=True)
class SplitRequest:
    """The limits of HORPART for a split."""

    k: int
    limit: int
    constraint: Codes  # (n_codes,) the constraint of the policy that each code is in, -1 for none
    barred: NDArray[np.bool_]  # (n_codes,) codes that never split


@dataclass(frozen=True)
class Splits:
    """Splits in their order: the records of a node with a code move to a new node, the others stay."""

    # node, code: of each split; the new node is the number of the split, from 1
    node: tuple[int, ...] = ()
    code: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()  # records of each node in the end

    def of(self, offsets: Integers, items: Codes) -> Integers:
        """Return the node of each record."""
        found = np.zeros(offsets.size - 1, dtype=np.int64)
        used = np.unique(np.array(self.code, dtype=np.int64))
        chosen = np.isin(items, used)
        record = owners(offsets)[chosen]
        order = np.argsort(items[chosen], kind="stable")
        record, code_of = record[order], items[chosen][order]
        for new, (node, code) in enumerate(zip(self.node, self.code, strict=True), start=1):
            holders = record[slice(*np.searchsorted(code_of, [code, code + 1]).tolist())]
            found[holders[found[holders] == node]] = new
        return found


@dataclass
class _Open:
    """A node that may be split further: its records, the constraint of the code that it was split off by."""

    node: int
    size: int
    constraint: int = -1


@dataclass
class _Growing:
    """The tree while it grows."""

    request: SplitRequest
    sizes: dict[int, int]
    open: list[_Open]
    node: list[int] = field(default_factory=list)
    code: list[int] = field(default_factory=list)

    def splits(self) -> Splits:
        """Return the splits so far."""
        return Splits(tuple(self.node), tuple(self.code), tuple(self.sizes[node] for node in sorted(self.sizes)))


def split_top(blocks: Blocks, request: SplitRequest) -> Splits:
    """Split all records as HORPART does, until the parts have fewer records than the limit.

    Each code is the one that `cloister.shapes.disassociation.method.protect` takes: of the constraint of the code that
    the node was split off by, else of any constraint, else any; the most frequent, then the smallest. The parts are
    nodes of its tree, so what is split further inside a part is what would be split without parts. (With a policy the
    constraint that a part was split off by is not handed on into it.)

    A pass over the data counts all codes of all nodes that are still too large, a second one the joint occurrences of
    the most frequent ones, from which several splits follow exactly.
    """
    n_records = blocks.n_records
    growing = _Growing(request, {0: n_records}, [_Open(0, n_records)] if n_records >= request.limit else [])
    while growing.open and len(growing.node) < MOST_SPLITS:
        chosen = growing.open[: max(1, COUNTS // max(1, len(blocks.vocabulary)))]
        growing.open = growing.open[len(chosen) :]
        _grow(blocks, growing, chosen)
    return growing.splits()


def _grow(blocks: Blocks, growing: _Growing, chosen: Sequence[_Open]) -> None:
    splits, n_codes = growing.splits(), len(blocks.vocabulary)
    nodes = [each.node for each in chosen]
    counts = _sum_counts(blocks, splits, nodes, None).reshape(len(nodes), n_codes)
    room = max(1, min(MOST_CANDIDATES, (TABLE // len(nodes)).bit_length() - 1))
    candidates = [_candidates(each, own, growing.request, room) for each, own in zip(chosen, counts, strict=True)]
    if not any(each.size for each in candidates):
        return
    table = np.full((len(nodes), room), -1, dtype=np.int64)
    for row, own in zip(table, candidates, strict=True):
        row[: own.size] = own
    joint = _sum_counts(blocks, splits, nodes, table).reshape(len(nodes), 1 << room)
    for each, own, codes, found in zip(chosen, counts, candidates, joint, strict=True):
        _split_node(growing, each, own, codes, found)


def _ranks(request: SplitRequest, codes: Integers, constraint: int) -> Integers:
    own = request.constraint[codes]
    return np.where(own < 0, 0, np.where(own == constraint, 2, 1)).astype(np.int64)


def _candidates(node: _Open, counts: Integers, request: SplitRequest, room: int) -> Integers:
    """The codes that HORPART would take first, second, ... if counts did not change."""
    able = np.flatnonzero((counts >= request.k) & (node.size - counts >= request.k) & ~request.barred)
    order = np.lexsort((able, -counts[able], -_ranks(request, able, node.constraint)))
    return able[order[:room]]


def _split_node(growing: _Growing, root: _Open, counts: Integers, codes: Integers, joint: Integers) -> None:
    """Split a node as long as its joint occurrences determine the next code."""
    request = growing.request
    others = (counts >= request.k) & (root.size - counts >= request.k) & ~request.barred
    others[codes] = False
    beyond = np.flatnonzero(others)
    bits = (np.arange(joint.size)[:, None] >> np.arange(codes.size)) & 1
    waiting = [(root, joint, True)]
    while waiting:
        node, table, is_exact = waiting.pop()
        size = int(table.sum())
        growing.sizes[node.node] = size
        if size < request.limit or len(growing.node) >= MOST_SPLITS:
            continue
        held = table @ bits
        code = _next(request, node, size, codes, held, None if is_exact else (beyond, counts[beyond]))
        if code == UNDECIDED:
            growing.open.append(_Open(node.node, size, node.constraint))
        elif code >= 0:
            growing.node.append(node.node)
            growing.code.append(int(codes[code]))
            new = _Open(len(growing.node), size, int(request.constraint[codes[code]]))
            has = bits[:, code] == 1
            waiting += [(_Open(node.node, size), np.where(has, 0, table), False), (new, np.where(has, table, 0), False)]


def _next(
    request: SplitRequest,
    node: _Open,
    size: int,
    codes: Integers,
    held: Integers,
    beyond: tuple[Integers, Integers] | None,
) -> int:
    """Position among the candidates of the code to split on; or none; or that other codes might come first."""
    able = np.flatnonzero((held >= request.k) & (size - held >= request.k))
    ranks = _ranks(request, codes, node.constraint)
    best = NONE
    if able.size:
        best = int(able[np.lexsort((codes[able], -held[able], -ranks[able]))[0]])
    if beyond is None or not beyond[0].size:
        return best
    others, most = beyond[0], np.minimum(beyond[1], size)
    if best == NONE:
        return UNDECIDED
    theirs = _ranks(request, others, node.constraint)
    first = (theirs > ranks[best]) | ((theirs == ranks[best]) & (most >= held[best]))
    return UNDECIDED if first.any() else best


def _sum_counts(blocks: Blocks, splits: Splits, nodes: Sequence[int], table: Integers | None) -> Integers:
    """Counts of all codes of some nodes, or of the joint occurrences of the codes in a table; one pass."""
    place, n_codes = blocks.place, len(blocks.vocabulary)
    active = np.full(len(splits.node) + 1, -1, dtype=np.int64)
    active[list(nodes)] = np.arange(len(nodes))

    def work(batches: Iterable["RecordBatch"]) -> Iterator[Row]:
        counts = (
            _count_codes(each, each.numbered(place), splits, active, n_codes, table) for each in block_rows(batches)
        )
        first = next(counts, None)
        if first is not None:
            yield Row(0, body=pack(sum(counts, first)))

    found = np.zeros(len(nodes) * (n_codes if table is None else 1 << table.shape[1]), dtype=np.int64)
    for row in collect_rows(on_workers(blocks.frame, work)):
        found += unpack(row.body, np.ndarray)
    return found


def _count_codes(
    block: CodeBlock, items: Codes, splits: Splits, active: Integers, n_codes: int, table: Integers | None
) -> Integers:
    node = active[splits.of(block.offsets, items)]
    n_nodes = int(active.max()) + 1
    record = owners(block.offsets)
    inside = node[record] >= 0
    record, items = record[inside], items[inside]
    if table is None:
        return np.bincount(node[record] * n_codes + items, minlength=n_nodes * n_codes)
    room = table.shape[1]
    bit = np.zeros((n_nodes, n_codes), dtype=np.int64)
    for row, codes in enumerate(table):
        chosen = codes[codes >= 0]
        bit[row, chosen] = 1 << np.arange(chosen.size)
    mask = np.bincount(record, weights=bit[node[record], items], minlength=node.size).astype(np.int64)
    held = node >= 0
    return np.bincount((node[held] << room) + mask[held], minlength=n_nodes << room)


RECORDS_A_PART = 200_000  # Parts of fewer records are not split: a worker needs some 400 MB for one
TASKS = 256  # Tasks that parts are spread over, at most

Before = Callable[[int], None]


@dataclass(frozen=True, eq=False, repr=False)
class Parted:
    """Code sets disassociated in parts."""

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
    """Disassociate code sets stored by Spark.

    *Guarantee*: that of `cloister.shapes.disassociation.method.protect.disassociate`, in each part and so in all of
    them: a data set that each part may stand for makes one that all of them may stand for. If all records fit one part,
    the release is that of the memory engine. The result depends on the records and ``records_a_part`` alone, not on
    where records are kept nor on the number of workers.
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
    parts = sorted(_protect_parts(blocks, splits, request, repeats, before), key=lambda part: part.number)
    _check_whole(blocks, splits, parts)
    joined, numbers = join_parts([replace(part.released, vocabulary=blocks.vocabulary) for part in parts])
    figures = DisassociationFigures(
        occurrences=sum(part.figures.occurrences for part in parts),
        in_item_chunks=sum(part.figures.in_item_chunks for part in parts),
        repaired=sum(part.figures.repaired for part in parts),
    )
    return Parted(joined, figures, len(parts), _crosswalk(parts, numbers))


def _protect_parts(
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
    return [one for _, one in contents(compute_rows(on_workers(parted, protect)), _Part)]


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
    """Refuse a part where too few records have a code that is not sensitive: the others could not be reconstructed."""
    if not request.sensitive:
        return
    secret = np.isin(np.array(codes.vocabulary, dtype=object), list(request.sensitive))
    record = owners(codes.offsets)
    with_others = np.unique(record[~secret[codes.items]]).size
    if with_others < request.k:
        raise NoSafeRelease(
            f"A part of the records has fewer than {request.k} patients with a code that is not sensitive, so "
            "that workers cannot protect it by itself. Give ",
            setting("engine", "memory"),
            ", which has all records in one place.",
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
