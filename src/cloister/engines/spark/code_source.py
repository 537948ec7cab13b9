"""Where code sets on Spark come from: files that the workers can read, or a dataframe of Spark."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from cloister.errors import InputError
from cloister.io import CodeColumns, CodeSource, Source, code_lists, plain_columns
from cloister.io.columns import check_names
from cloister.io.csv import csv_of
from cloister.io.disk import shown_name
from cloister.io.read import is_parquet
from cloister.io.text import head_of

from .code_blocks import BlockReading, Blocks, read_blocks
from .failures import call_spark
from .tasks import forget

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
        name = shown_name(place.path)
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
        try:
            _check_once(opened.frame, form, blocks.n_records + blocks.n_empty)
        except BaseException:
            forget(blocks.frame)
            raise
    return blocks


def _check_once(frame: Any, form: CodeSource, lines: int) -> None:
    column = str(form.columns.id)
    distinct = call_spark(lambda: frame.selectExpr(f"count(distinct {quoted(column)}) as n").collect()[0]["n"])
    if distinct != lines:
        raise InputError(
            f"Every patient has one line of codes, but {form.name} has {lines} lines and {distinct} distinct values of "
            f"{column!r}. Put all codes of a patient into one line, or give one code a line.",
            file=form.name,
            column=column,
        )


def files_frame(session: Any, place: SparkFiles) -> tuple[Any, str | None]:
    """Return the frame of some files, and what separates the cells of CSV."""
    first, name = first_file(place.path), shown_name(place.path)
    if PATTERN.search(str(place.path.absolute())):
        raise InputError(
            f"Spark takes the path of {name} for a pattern of several files, as one of *?[]{{}} or a backslash is in "
            "it. Rename it, or give --engine memory.",
            file=name,
        )
    refusal, where = UNREADABLE.format(name=name), str(place.path.absolute())
    if is_parquet(first):
        return call_spark(lambda: session.read.parquet(where), refusal), None
    unpacked = shown_name(first).lower().removesuffix(".gz")
    head = csv_of(head_of(first, place.encoding), unpacked, delimiter=place.delimiter)
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
        raise InputError(f"{shown_name(path)} has no file to be read.", file=shown_name(path))
    return files[0]


def quoted(column: str) -> str:
    """Return a name as Spark has it."""
    return "`" + column.replace("`", "``") + "`"
