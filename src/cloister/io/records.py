"""Where the records of a text file begin and end, and whether each has as many cells as the header.

Polars fills short records with nulls and takes unbalanced quotes as they come, so both are checked here before it
reads. The grammar is RFC 4180's: a cell is quoted as a whole, with its quotes doubled, or holds no quote at all.
"""

import re

import polars as pl

from cloister.errors import InputError
from cloister.io.delimiter import NAMES
from cloister.io.foreign import call_foreign


def count_records(data: bytes, delimiter: str, file: str) -> int:
    """Number of data records in ``data``, the header not counted.

    Parameters
    ----------
    data : UTF-8 text without NUL, that ends in a newline

    Raises
    ------
    InputError : a quote is not closed, a quote or a carriage return stands inside a cell without quotes, or a record
        has fewer or more cells than the header
    """
    if data.startswith((b"\n", b"\r\n")):
        raise InputError(f"{file}: the first line is blank. It must name the columns.", file=file, line=1)
    bare = data
    if b'"' in data:
        bare = _quoted_cell(delimiter).sub(b"q", data)
        if b'"' in bare:
            raise _stray_quote(data, delimiter, file)
    if bare.count(b"\r") != bare.count(b"\r\n"):
        raise _stray_return(data, delimiter, file)
    n_cells = _cells_per_line(bare, delimiter, file)
    ragged = (n_cells != n_cells[0]).arg_true()
    if len(ragged):
        raise _ragged(data, delimiter, file, ragged[0], (n_cells[ragged[0]], n_cells[0]))
    return len(n_cells) - 1


def _quoted_cell(delimiter: str) -> re.Pattern[bytes]:
    """A cell in quotes, from the delimiter (or start) before it to the delimiter (or end of line) after it."""
    mark = re.escape(delimiter.encode())
    return re.compile(rb'(?:\A|(?<=[%b\n]))"[^"]*+(?:""[^"]*+)*+"(?=[%b\n]|\r\n)' % (mark, mark))


def _cells_per_line(bare: bytes, delimiter: str, file: str) -> pl.Series:
    """Cells in each line of a text without quotes, the header's first; shape (n_records + 1,)."""
    lines = call_foreign(
        lambda: pl.read_csv(bare, has_header=False, separator="\0", quote_char=None, infer_schema=False),
        InputError(f"{file} cannot be read as CSV.", file=file),
    )
    return lines.to_series().str.count_matches(delimiter, literal=True).fill_null(0) + 1


def _marked(data: bytes, delimiter: str) -> bytes:
    """``data`` with each quoted cell replaced by one NUL for each newline inside it."""
    return _quoted_cell(delimiter).sub(lambda cell: b"\0" * cell[0].count(b"\n"), data)


def line_of_record(data: bytes, delimiter: str, record: int) -> int:
    """Return the line, counted from 1, at which a record begins, counted from 1 after the header.

    Parameters
    ----------
    data : UTF-8 text whose records were counted without complaint
    """
    return _line_of(record, _marked(data, delimiter))


def _line_of(record: int, marked: bytes) -> int:
    """The line, counted from 1, at which a record begins (0 is the header)."""
    before = marked.split(b"\n", record)[:record]
    return 1 + len(before) + sum(line.count(b"\0") for line in before)


def _ragged(data: bytes, delimiter: str, file: str, record: int, cells: tuple[int, int]) -> InputError:
    line = _line_of(record, _marked(data, delimiter))
    found, asked = (f"{n} cell" if n == 1 else f"{n} cells" for n in cells)
    return InputError(
        f"{file}: record {record}, line {line} has {found}, the header has {asked}. Quote the cells that contain a "
        f"{NAMES.get(delimiter, 'delimiter')} or a line break, or name the delimiter.",
        file=file,
        row=record,
        line=line,
    )


def _stray_quote(data: bytes, delimiter: str, file: str) -> InputError:
    marked = _marked(data, delimiter)
    position = marked.index(b'"')
    is_opening = position == 0 or marked[position - 1 : position] in (delimiter.encode(), b"\n")
    if is_opening and data.count(b'"') % 2:
        return _malformed("opens a quote that is never closed. Close it", marked, position, file)
    found = "has a quote inside a cell. Put the whole cell in quotes and double the quotes inside it"
    return _malformed(found, marked, position, file)


def _stray_return(data: bytes, delimiter: str, file: str) -> InputError:
    """Polars takes a carriage return alone now for a part of the cell, now for nothing."""
    marked = _marked(data, delimiter)
    found = re.search(rb"\r(?!\n)", marked)
    assert found
    return _malformed("has a carriage return inside a cell. Put the cell in quotes", marked, found.start(), file)


def _malformed(found: str, marked: bytes, position: int, file: str) -> InputError:
    record = marked.count(b"\n", 0, position)
    line = 1 + record + marked.count(b"\0", 0, position)
    where = f"record {record}, line {line}" if record else f"the header, line {line},"
    return InputError(f"{file}: {where} {found}.", file=file, row=record or None, line=line)
