"""Code sets as blocks of numbered records: the workers read and number them, and Spark stores them.

The code sets come from files that the workers can read, or from a Spark dataframe.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.io import CodeColumns, CodeSource, Source, as_text, code_lists, plain_columns
from cloister.io.codes import split_at
from cloister.io.columns import check_names, display_name, text_of_codes
from cloister.shapes.codes.data import CodeSets, check_writable, codes_by_record, counted_once

from .tables import UNREADABLE, SparkFiles, files_frame, in_polars, quote_column
from .tasks import (
    Row,
    call_spark,
    collect_rows,
    contents,
    forget,
    frame_of,
    in_pieces,
    on_workers,
    pack,
    rows_of,
    unpack,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

RECORDS_A_BLOCK = 50_000
LINES_A_PARTITION = 500_000  # Lines of a long file that a worker brings together at a time, at most on average
UNDECODED = "\ufffd"  # What Spark puts in place of bytes that it cannot decode

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class CodeBlock:
    """A block of records; their items are numbered within the block."""

    names: Sequence[str]  # the codes that occur, in the order of their UTF-8 bytes
    offsets: Integers
    items: Codes
    ids: pl.Series | None = None

    def numbered(self, place: dict[str, int]) -> Codes:
        """Return the items as positions in the complete vocabulary."""
        return np.array([place[name] for name in self.names], dtype=np.int32)[self.items]


@dataclass(frozen=True, eq=False, repr=False)
class BlockHead:
    """The summary of a block for the driver."""

    lines: int
    absent: int  # lines without an id
    is_odd: bool  # whether an id is not in UTF-8
    skipped: bool = False  # whether lines without a code were passed over
    empty: int = 0  # records without a code
    records: int = 0  # records with one
    raw: Sequence[str] = ()  # the codes as they were read
    supports: Sequence[tuple[str, int]] = ()  # how many records have each code


@dataclass(frozen=True, eq=False, repr=False)
class Blocks:
    """All code sets as blocks stored by Spark."""

    frame: "DataFrame"
    vocabulary: tuple[str, ...]  # all codes, in the order of their UTF-8 bytes
    supports: Integers  # (n_codes,) int64
    n_records: int
    n_empty: int = 0
    skipped: bool = False

    @property
    def place(self) -> dict[str, int]:
        """The number of each code."""
        return {name: number for number, name in enumerate(self.vocabulary)}


@dataclass(frozen=True)
class OpenedCodes:
    """A Spark frame of lines, with its columns identified before reading."""

    frame: "DataFrame"
    form: CodeSource
    is_csv: bool = False


def open_codes(
    session: "SparkSession", place: "SparkFiles | DataFrame", columns: CodeColumns, missing: Sequence[str] = ()
) -> OpenedCodes:
    """Return the lines of `SparkFiles` or a Spark frame, and the purpose of each column."""
    if isinstance(place, SparkFiles):
        name = display_name(place.path)
        frame, delimiter = files_frame(session, place)
    else:
        name, frame, delimiter = "the Spark frame", place, None
    kind: Literal["csv", "parquet"] = "parquet" if delimiter is None and isinstance(place, SparkFiles) else "csv"
    refusal = UNREADABLE.format(name=name)
    check_names(call_spark(lambda: frame.columns, refusal), name)
    empty = plain_columns(in_polars(call_spark(lambda: frame.limit(0).toArrow(), refusal)), name)
    form = code_lists(Source(empty, kind, delimiter, None, name), columns, missing)
    used = [column for column in (form.columns.id, form.columns.codes, form.columns.code) if column is not None]
    lines = call_spark(lambda: frame.selectExpr(*map(quote_column, used)), refusal)
    return OpenedCodes(lines, form, delimiter is not None)


def read_opened(opened: OpenedCodes, *, repeats: bool, with_ids: bool) -> Blocks:
    """Read the code sets in these lines."""
    frame, form, is_csv = opened.frame, opened.form, opened.is_csv
    if form.layout == "long":
        # all lines of a patient in one partition
        partitions = max(4, -(-call_spark(frame.count) // LINES_A_PARTITION))
        frame = frame.repartition(partitions, quote_column(str(form.columns.id)))
    work = partial(_blocks, form=form, repeats=repeats, with_ids=with_ids, is_csv=is_csv)
    kept = call_spark(on_workers(frame, work).persist)
    try:
        blocks = _add_up_figures(kept, form, repeats=repeats, is_csv=is_csv)
        if form.layout == "wide" and form.columns.id is not None:
            _check_one_line_each(opened.frame, form, blocks.n_records + blocks.n_empty, form.columns.id)
    except BaseException:
        forget(kept)
        raise
    return blocks


def _add_up_figures(blocks: "DataFrame", form: CodeSource, *, repeats: bool, is_csv: bool) -> Blocks:
    """Add up the figures that the workers return of their blocks."""
    with_heads = blocks.filter("length(head) > 0").selectExpr("part", "place", "head", "cast('' as binary) as body")
    heads = [unpack(row.head, BlockHead) for row in collect_rows(with_heads)]
    column = form.columns.codes or form.columns.code
    absent = sum(head.absent for head in heads)
    if absent:
        raise InputError(
            f"Column {form.columns.id!r} of {form.name} identifies patients, but {absent} of "
            f"{sum(head.lines for head in heads)} lines {'has' if absent == 1 else 'have'} none. Give every patient an "
            "id.",
            file=form.name,
            column=form.columns.id,
        )
    raw = sorted({name for head in heads for name in head.raw}, key=str.encode)
    if is_csv and (any(head.is_odd for head in heads) or any(UNDECODED in name for name in raw)):
        raise InputError(
            f"{form.name} is not in UTF-8, the only encoding that is read here. Convert it, or give ",
            setting("engine", "memory"),
            file=form.name,
        )
    check_writable(raw, form, repeats=repeats)
    n_records, n_empty = sum(head.records for head in heads), sum(head.empty for head in heads)
    if not n_records:
        raise InputError(
            f"No patient in {form.name} has a code: there is nothing to release.", file=form.name, column=column
        )
    supports = Counter[str]()
    for head in heads:
        supports.update(dict(head.supports))
    vocabulary = tuple(sorted(supports, key=str.encode))
    counts = np.array([supports[name] for name in vocabulary], dtype=np.int64)
    return Blocks(blocks, vocabulary, counts, n_records, n_empty, any(head.skipped for head in heads))


def _check_one_line_each(frame: "DataFrame", form: CodeSource, n_lines: int, column: str) -> None:
    counted = call_spark(lambda: frame.selectExpr(f"count(distinct {quote_column(column)}) as n").collect())
    if counted[0]["n"] != n_lines:
        raise InputError(
            f"Every patient has one line of codes, but {form.name} has {n_lines} lines and {counted[0]['n']} distinct "
            f"values of {column!r}. Put all codes of a patient into one line, or give one code a line.",
            file=form.name,
            column=column,
        )


def blocks_of(session: "SparkSession", codes: CodeSets, *, with_ids: bool, records: int = RECORDS_A_BLOCK) -> Blocks:
    """Return code sets in memory as blocks."""
    rows = []
    for begin in range(0, codes.n_records, records):
        bounds = codes.offsets[begin : begin + records + 1]
        ids = codes.ids[begin : begin + records] if with_ids and codes.ids is not None else None
        block = CodeBlock(codes.vocabulary, bounds - bounds[0], codes.items[bounds[0] : bounds[-1]], ids)
        rows.append(Row(0, body=pack(block)))
    return Blocks(frame_of(session, rows), codes.vocabulary, codes.supports(), codes.n_records)


def block_rows(batches: Iterable["RecordBatch"]) -> Iterator[CodeBlock]:
    """Return the blocks among the rows of a worker."""
    return (block for _, block in contents(rows_of(batches), CodeBlock))


def _blocks(
    batches: Iterable["RecordBatch"], *, form: CodeSource, repeats: bool, with_ids: bool, is_csv: bool
) -> Iterator[Row]:
    """The blocks of one partition: wide ones as lines come, long ones when all lines are there."""
    at_once = float("inf") if form.layout == "long" else RECORDS_A_BLOCK
    waiting: list[pl.DataFrame] = []
    for batch in chain(batches, [None]):
        if batch is not None:
            waiting.append(in_polars(batch))
        if waiting and (batch is None or sum(each.height for each in waiting) >= at_once):
            head, block = _block(pl.concat(waiting), form, repeats=repeats, with_ids=with_ids, is_csv=is_csv)
            yield from [Row(0, head=pack(head))] if block is None else in_pieces(0, block, pack(head))
            waiting = []


def _block(
    lines: pl.DataFrame, form: CodeSource, *, repeats: bool, with_ids: bool, is_csv: bool
) -> tuple[BlockHead, CodeBlock | None]:
    cells = text_of_codes(lines[str(form.columns.codes or form.columns.code)], form.name)
    if form.layout == "wide":
        cells = split_at(cells, form.columns.separator)
    cells = _present(cells, form)
    ids = None if form.columns.id is None else _present(as_text(lines[form.columns.id]), form)
    absent = 0 if ids is None else ids.null_count()
    is_odd = is_csv and ids is not None and bool(ids.str.contains(UNDECODED, literal=True).any())
    if absent:
        return BlockHead(lines.height, absent, is_odd), None
    source = CodeSource(cells, ids, form.layout, form.columns, (), form.missing, form.format, form.delimiter, form.name)
    found = codes_by_record(source)
    names, keys = counted_once(found.names, found.keys, repeats=repeats)
    record, item = np.divmod(keys, max(1, len(names)))
    sizes = np.bincount(record, minlength=found.n_records)
    kept = np.flatnonzero(sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
    supports = list(zip(names, np.bincount(item, minlength=len(names)).tolist(), strict=True))
    n_empty = found.n_records - kept.size
    head = BlockHead(lines.height, 0, is_odd, bool(found.notes), n_empty, kept.size, found.names, supports)
    held = found.ids.gather(kept) if with_ids and found.ids is not None else None
    return head, CodeBlock(names, offsets, item.astype(np.int32), held)


def _present(text: pl.Series, form: CodeSource) -> pl.Series:
    """The cells with one kind of missing."""
    absent = text.is_in([*form.missing, ""])
    return pl.select(pl.when(absent).then(None).otherwise(text).alias(text.name)).to_series() if absent.any() else text
