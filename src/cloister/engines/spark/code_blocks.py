"""Code sets as blocks of numbered records: read and numbered by the workers, and kept by Spark.

They come from files that the workers can read, or from a dataframe of Spark.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import check_writable, codes_by_record, counted_once
from cloister.errors import InputError, setting
from cloister.io import CodeColumns, CodeSource, Source, as_text, code_lists, plain_columns
from cloister.io.columns import check_names, display_name, text_of_codes
from cloister.io.csv import csv_of, head_of
from cloister.io.read import is_parquet
from cloister.reading import ReadingWords

from .tasks import Row, call_spark, collected, forget, frame_of, in_pieces, on_workers, pack, rows_of, unpack

RECORDS_A_BLOCK = 50_000

UNDECODED = "\ufffd"
"""What Spark puts in place of bytes that it cannot decode."""

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class CodeBlock:
    """Some records, by numbers of their own.

    Attributes
    ----------
    names : the codes that occur, in the order of their UTF-8 bytes
    """

    names: list[str] = field(repr=False)
    offsets: Integers = field(repr=False)
    items: Codes = field(repr=False)
    ids: pl.Series | None = field(default=None, repr=False)

    def numbered(self, place: dict[str, int]) -> Codes:
        """Return the items as places in the whole vocabulary."""
        whole: Codes = np.array([place[name] for name in self.names], dtype=np.int32)[self.items]
        return whole


@dataclass(frozen=True, eq=False, repr=False)
class Blocks:
    """All code sets, where Spark keeps them.

    Attributes
    ----------
    vocabulary : all codes, in the order of their UTF-8 bytes
    supports : (n_codes,) int64
    """

    frame: Any
    vocabulary: tuple[str, ...]
    supports: Integers
    n_records: int
    n_empty: int = 0
    skipped: bool = False

    @property
    def place(self) -> dict[str, int]:
        """The number of each code."""
        return {name: number for number, name in enumerate(self.vocabulary)}


@dataclass(frozen=True)
class BlockReading:
    """How lines become records."""

    form: CodeSource
    repeats: bool = False
    with_ids: bool = False
    is_csv: bool = False
    records: int = RECORDS_A_BLOCK


def read_blocks(frame: Any, reading: BlockReading) -> Blocks:
    """Return the code sets of a Spark frame whose columns are those of ``reading.form``.

    Long frames must have all lines of a patient in one partition.
    """
    blocks = call_spark(on_workers(frame, lambda batches: _blocks(batches, reading)).persist)
    try:
        return _read(blocks, reading)
    except BaseException:
        forget(blocks)
        raise


def _read(blocks: Any, reading: BlockReading) -> Blocks:
    """Add up the figures that the workers return of their blocks."""
    with_heads = blocks.filter("length(head) > 0").selectExpr("part", "kind", "head", "cast('' as binary) as body")
    heads = [unpack(row.head) for row in collected(with_heads)]
    form, column = reading.form, reading.form.columns.codes or reading.form.columns.code
    absent, lines = sum(head["absent"] for head in heads), sum(head["lines"] for head in heads)
    if absent:
        raise InputError(
            f"Column {form.columns.id!r} of {form.name} is to tell patients apart, but {absent} of {lines} lines "
            f"{'has' if absent == 1 else 'have'} none. Give every patient an id.",
            file=form.name,
            column=form.columns.id,
        )
    raw = sorted({name for head in heads for name in head["raw"]}, key=str.encode)
    if reading.is_csv and (any(head["odd"] for head in heads) or any(UNDECODED in name for name in raw)):
        raise InputError(
            f"{form.name} is not in UTF-8, the only encoding that is read here. Convert it, or give "
            f"{setting('engine', 'memory')}.",
            file=form.name,
        )
    check_writable(raw, form, repeats=reading.repeats)
    n_records = sum(head["records"] for head in heads)
    if not n_records:
        raise InputError(
            f"No patient in {form.name} has a code: there is nothing to release.", file=form.name, column=column
        )
    supports: dict[str, int] = {}
    for head in heads:
        for name, count in zip(head["names"], head["supports"].tolist(), strict=True):
            supports[name] = supports.get(name, 0) + count
    vocabulary = sorted(supports, key=str.encode)
    return Blocks(
        blocks,
        tuple(vocabulary),
        np.array([supports[name] for name in vocabulary], dtype=np.int64),
        n_records,
        sum(head["empty"] for head in heads),
        any(head["skipped"] for head in heads),
    )


def blocks_of(session: Any, codes: CodeSets, *, with_ids: bool, records: int = RECORDS_A_BLOCK) -> Blocks:
    """Return code sets in memory as blocks."""
    rows = []
    for begin in range(0, codes.n_records, records):
        bounds = codes.offsets[begin : begin + records + 1]
        ids = codes.ids[begin : begin + records] if with_ids and codes.ids is not None else None
        block = CodeBlock(list(codes.vocabulary), bounds - bounds[0], codes.items[bounds[0] : bounds[-1]], ids)
        rows.append(Row(0, pack(None), pack(block)))
    return Blocks(frame_of(session, rows), codes.vocabulary, codes.supports(), codes.n_records)


def block_rows(batches: Iterable[Any]) -> Iterator[CodeBlock]:
    """Return the blocks among the rows that a worker is handed."""
    pieces: list[bytes] = []
    for row in rows_of(batches):
        if row.head:
            if any(pieces):
                yield unpack(b"".join(pieces))
            pieces = []
        pieces.append(row.body)
    if any(pieces):
        yield unpack(b"".join(pieces))


def _blocks(batches: Iterable[Any], reading: BlockReading) -> Iterator[Row]:
    """The blocks of one partition: wide ones as lines come, long ones when all lines are there."""
    at_once = float("inf") if reading.form.layout == "long" else reading.records
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        frame = pl.from_arrow(batch)
        waiting.append(frame if isinstance(frame, pl.DataFrame) else frame.to_frame())
        if sum(each.height for each in waiting) >= at_once:
            yield from _block_rows(pl.concat(waiting), reading)
            waiting = []
    if waiting:
        yield from _block_rows(pl.concat(waiting), reading)


def _block_rows(lines: pl.DataFrame, reading: BlockReading) -> Iterator[Row]:
    head, block = _block(lines, reading)
    yield from in_pieces(0, pack(head), b"" if block is None else pack(block))


def _block(lines: pl.DataFrame, reading: BlockReading) -> tuple[dict[str, Any], CodeBlock | None]:
    form = reading.form
    cells = _present(text_of_codes(lines[str(form.columns.codes or form.columns.code)], form.name), form)
    ids = None if form.columns.id is None else _present(as_text(lines[form.columns.id]), form)
    absent = 0 if ids is None else ids.null_count()
    odd = reading.is_csv and ids is not None and bool(ids.str.contains(UNDECODED, literal=True).any())
    head: dict[str, Any] = {
        "odd": odd,
        "absent": absent,
        "lines": lines.height,
        "skipped": False,
        "records": 0,
        "empty": 0,
    }
    head |= {"raw": [], "names": [], "supports": np.zeros(0, dtype=np.int64)}
    if absent:
        return head, None
    source = CodeSource(cells, ids, form.layout, form.columns, (), form.missing, form.format, form.delimiter, form.name)
    found = codes_by_record(source)
    names, keys = counted_once(found.names, found.keys, repeats=reading.repeats)
    record, item = np.divmod(keys, max(1, len(names)))
    sizes = np.bincount(record, minlength=found.n_records)
    kept = np.flatnonzero(sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
    head |= {"skipped": bool(found.notes), "records": kept.size, "empty": found.n_records - kept.size}
    head |= {"raw": found.names, "names": names, "supports": np.bincount(item, minlength=len(names))}
    held = found.ids.gather(kept) if reading.with_ids and found.ids is not None else None
    return head, CodeBlock(names, offsets, item.astype(np.int32), held)


def _present(text: pl.Series, form: CodeSource) -> pl.Series:
    """The cells with one kind of missing."""
    absent = text.is_in([*form.missing, ""])
    return pl.select(pl.when(absent).then(None).otherwise(text).alias(text.name)).to_series() if absent.any() else text


LINES_A_PARTITION = 500_000
"""Lines of a long file that a worker brings together at a time, at most on average."""

PATTERN = re.compile(r"[*?\[\]{}\\]")
"""What makes a path a pattern to Spark."""

UNREADABLE = (
    "Spark could not read {name}. See whether all workers can read it, whether it is whole, and whether all its parts "
    "have the same columns."
)


@dataclass(frozen=True)
class SparkFiles:
    """Files as they lie on disk."""

    path: Path
    encoding: str | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class OpenedCodes:
    """A Spark frame of lines, and what is known of it before it is read."""

    frame: Any
    form: CodeSource
    csv: bool = False


def open_codes(session: Any, place: Any, columns: CodeColumns, missing: Sequence[str] = ()) -> OpenedCodes:
    """Return the lines of `SparkFiles`, or of a Spark frame, and which column is what."""
    if isinstance(place, SparkFiles):
        name = display_name(place.path)
        frame, delimiter = files_frame(session, place)
    else:
        name, frame, delimiter = "the Spark frame", place, None
    refusal = UNREADABLE.format(name=name)
    check_names(call_spark(lambda: frame.columns, refusal), name)
    head = pl.from_arrow(call_spark(lambda: frame.limit(0).toArrow(), refusal))
    empty = plain_columns(head if isinstance(head, pl.DataFrame) else head.to_frame(), name)
    kind: Literal["csv", "parquet"] = "parquet" if delimiter is None and isinstance(place, SparkFiles) else "csv"
    form = code_lists(Source(empty, kind, delimiter, None, name), columns, missing)
    used = [column for column in (form.columns.id, form.columns.codes, form.columns.code) if column is not None]
    lines = call_spark(lambda: frame.selectExpr(*map(quoted, used)), refusal)
    return OpenedCodes(lines, form, delimiter is not None)


def read_opened(opened: OpenedCodes, *, repeats: bool, with_ids: bool) -> Blocks:
    """Return the code sets in some lines."""
    frame, form = opened.frame, opened.form
    if form.layout == "long":
        # all lines of a patient in one partition
        partitions = max(4, -(-call_spark(frame.count) // LINES_A_PARTITION))
        frame = frame.repartition(partitions, quoted(str(form.columns.id)))
    blocks = read_blocks(frame, BlockReading(form, repeats=repeats, with_ids=with_ids, is_csv=opened.csv))
    if form.layout == "wide" and form.columns.id is not None:
        lines, column = blocks.n_records + blocks.n_empty, form.columns.id
        counted = opened.frame.selectExpr
        try:
            distinct = call_spark(lambda: counted(f"count(distinct {quoted(column)}) as n").collect()[0]["n"])
            if distinct != lines:
                raise InputError(
                    f"Every patient has one line of codes, but {form.name} has {lines} lines and {distinct} distinct "
                    f"values of {column!r}. Put all codes of a patient into one line, or give one code a line.",
                    file=form.name,
                    column=column,
                )
        except BaseException:
            forget(blocks.frame)
            raise
    return blocks


def files_frame(session: Any, place: SparkFiles) -> tuple[Any, str | None]:
    """Return the frame of some files, and what separates the cells of CSV."""
    first, name = first_file(place.path), display_name(place.path)
    if PATTERN.search(str(place.path.absolute())):
        raise InputError(
            f"Spark takes the path of {name} for a pattern of several files, as one of *?[]{{}} or a backslash is in "
            f"it. Rename it, or give {setting('engine', 'memory')}.",
            file=name,
        )
    refusal, where = UNREADABLE.format(name=name), str(place.path.absolute())
    if is_parquet(first):
        return call_spark(lambda: session.read.parquet(where), refusal), None
    unpacked = display_name(first).lower().removesuffix(".gz")
    head = csv_of(head_of(first, place.encoding), unpacked, reading=ReadingWords(delimiter=place.delimiter))
    reader = session.read.option("header", True).option("sep", head.delimiter).option("quote", '"')
    reader = reader.option("escape", '"').option("multiLine", True).option("mode", "FAILFAST")
    reader = reader.option("enforceSchema", False).option("maxCharsPerColumn", -1)
    return call_spark(lambda: reader.csv(where), refusal), head.delimiter


def first_file(path: Path) -> Path:
    """Return a file, or the first of those in a folder."""
    if not path.is_dir():
        return path
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
    if not files:
        raise InputError(f"{display_name(path)} has no file to be read.", file=display_name(path))
    return files[0]


def quoted(column: str) -> str:
    """Return a name as Spark has it."""
    return "`" + column.replace("`", "``") + "`"
