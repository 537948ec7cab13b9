"""CSV and its kin -> columns of text."""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import check_names, plain_columns
from cloister.io.delimiter import check_delimiter, detect_delimiter, header_outside_quotes
from cloister.io.foreign import call_foreign
from cloister.io.records import count_records
from cloister.io.text import load_bytes, text_of

_FIRST_RECORD = re.compile(rb'(?:[^"\n]|"[^"]*")*\n')


@dataclass(frozen=True)
class CsvTable:
    """What a text file holds.

    Attributes
    ----------
    frame : every column as text, as written; an empty cell, quoted or not, is null
    delimiter : what separates the cells
    encoding : what the file was decoded from, in Python's name
    notes : what a user should know about how it was read
    """

    frame: pl.DataFrame
    delimiter: str
    encoding: str
    notes: tuple[str, ...]


def read_csv(
    path: Path, *, encoding: str | None = None, delimiter: str | None = None, usual_delimiter: str | None = None
) -> CsvTable:
    """The table in the text file ``path``, which may be gzip'd.

    Parameters
    ----------
    encoding, delimiter : overrule what is detected
    usual_delimiter : taken where none can be detected

    Raises
    ------
    InputError : the file cannot be read, is no table, or has no records
    """
    return csv_of(load_bytes(path), path.name, encoding=encoding, delimiter=delimiter, usual_delimiter=usual_delimiter)


def header_of(head: bytes, file: str, delimiter: str) -> list[str]:
    """Return the names of the columns, from the first lines of a text file.

    Raises
    ------
    InputError : the names are missing, or do not tell the columns apart
    """
    first = _FIRST_RECORD.match(head)
    return csv_of(first[0] if first else head, file, delimiter=delimiter, may_be_empty=True).frame.columns


def csv_of(
    content: bytes,
    file: str,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    usual_delimiter: str | None = None,
    may_be_empty: bool = False,
) -> CsvTable:
    """The table in the content of a text file, which may be gzip'd.

    Parameters
    ----------
    file : its name, for messages
    encoding, delimiter, usual_delimiter : as of `read_csv`
    may_be_empty : whether a header without records will do

    Raises
    ------
    InputError : as of `read_csv`
    """
    text = text_of(content, file, encoding)
    if delimiter is None:
        delimiter = detect_delimiter(text.data, file, usual_delimiter)
    check_delimiter(delimiter)
    data = _ended(text.data, delimiter)
    n_records = count_records(data, delimiter, file)
    if not n_records and not may_be_empty:
        raise InputError(f"{file} has a header but no records.", file=file)
    cells = _cells(data, delimiter, n_records, file)
    names = ["" if name is None else name for name in cells.row(0)]
    check_names(names, file)
    cells = cells.slice(1).rename(dict(zip(cells.columns, names, strict=True)))
    return CsvTable(plain_columns(cells, file), delimiter, text.encoding, text.notes + _blank_lines(cells, file))


def _ended(data: bytes, delimiter: str) -> bytes:
    """``data`` ending in a newline and, if it has several columns, without blank lines after the last record."""
    if data.endswith((b"\n\n", b"\n\r\n")) and delimiter.encode() in header_outside_quotes(data):
        return data.rstrip(b"\r\n") + b"\n"
    return data if data.endswith(b"\n") else data + b"\n"


def _cells(data: bytes, delimiter: str, n_records: int, file: str) -> pl.DataFrame:
    """Every cell, the header as the first row; null where nothing is written, an empty text where ``""`` is."""
    refusal = InputError(f"{file} cannot be read as CSV.", file=file)
    cells = call_foreign(
        lambda: pl.read_csv(data, has_header=False, separator=delimiter, quote_char='"', infer_schema=False), refusal
    )
    if cells.height != n_records + 1:
        raise refusal
    return cells


def _blank_lines(cells: pl.DataFrame, file: str) -> tuple[str, ...]:
    """A note where blank lines were read as records, which can only be where there is one column."""
    n_blank = cells.to_series().null_count() if cells.width == 1 else 0
    return (f"{file} has one column: blank lines were read as missing values, {n_blank} in all",) if n_blank else ()
