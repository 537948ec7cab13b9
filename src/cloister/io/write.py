"""Write files that only their owner can read, complete or not at all; write columns as CSV or Parquet, values only.

Both formats are read back by ``read_table`` as the same table: missing and empty are the same, and CSV has only text.
Text cells that a spreadsheet would run as formulas are found, and escaped on request.
"""

import errno
import hashlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import polars as pl
from polars.exceptions import PanicException

from cloister.errors import CloisterError, InputError
from cloister.io.columns import as_text, check_names, plain_columns
from cloister.io.csv import CANDIDATES, check_delimiter
from cloister.io.foreign import translate_errors

_SENTENCES = {
    errno.ENOSPC: "the disk is full. Free space or choose another folder",
    errno.EDQUOT: "the disk quota is used up. Free space or choose another folder",
    errno.EROFS: "the file system is read-only. Choose another folder",
    errno.EACCES: "there is no permission to write. Choose another folder or ask its owner for permission",
    errno.EPERM: "there is no permission to write. Choose another folder or ask its owner for permission",
    errno.EEXIST: "it exists already. Choose another name or remove it",
    errno.ENOTEMPTY: "it exists already. Choose another name or remove it",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one",
    errno.ENOENT: "its folder does not exist. Make it first",
    errno.ENOTDIR: "its folder is not a folder. Choose another one",
    errno.ELOOP: "symbolic links lead in a circle. Choose another place",
}


def cannot_write(name: str, error: OSError) -> InputError:
    """Return the error that explains why ``name`` cannot be written and what to do."""
    sentence = _SENTENCES.get(error.errno or 0) or f"the system refuses ({os.strerror(error.errno or errno.EIO)})"
    return InputError(f"{name} cannot be written: {sentence}.", file=name)


def is_taken(path: Path) -> bool:
    """Whether ``path`` exists, even as a broken link."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise cannot_write(path.name, error) from None
    return True


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing, readable by its owner only whatever the umask; flush it to disk at the end."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise cannot_write(path.name, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot_write(path.name, error) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_private(path: Path, data: bytes) -> None:
    """Write ``data`` to a new file that only its owner can read."""
    with private_file(path) as file:
        file.write(data)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_ROWS_AT_ONCE = 1 << 18
_OS_ERROR = re.compile(r"\(os error (\d+)\)")  # How Polars says that the system refused, as on a full disk
_FORMULA = r"^[=+\-@\t\r]"
_LATER_FORMULA = r";'*[=+\-@\t\r]"  # where a spreadsheet takes ; for the end of a cell, as many do
_SIGN = r"(?:^|;)'*[=+\-@\t\r]"
_SIGNED_NUMBER = r"^[+-][0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?$"
QUOTE = "'"  # Before a cell it makes spreadsheets take the rest as text


def write_csv(frame: pl.DataFrame, path: Path, delimiter: str = ",") -> None:
    r"""Write a new CSV file (UTF-8, ``\n``), readable by its owner only.

    A missing value is an empty cell, quoted where it is alone in its line. Cells are quoted where the delimiter, a
    quote or a line break is in them; names, and the cells of a lone column, also where they hold a character that
    might be mistaken for the delimiter.
    """
    write_pieces(csv_pieces(iter([frame]), frame.columns, delimiter), path)


def write_pieces(pieces: Iterator[bytes], path: Path) -> None:
    """Write the pieces of a CSV file."""
    header = next(pieces)  # before there is a file, so that what cannot be in CSV leaves none
    with private_file(path) as file:
        file.writelines(chain([header], pieces))


def csv_pieces(frames: Iterator[pl.DataFrame], names: Sequence[str], delimiter: str) -> Iterator[bytes]:
    """Yield the header of a CSV file, then its records in batches."""
    check_delimiter(delimiter)
    check_names(names)
    separators = "".join({delimiter, *CANDIDATES})
    header = delimiter.join(_quoted_name(name, separators) for name in names)
    # text of some rows at a time, which may be held as something smaller
    cells = (_cells(rows, delimiter, separators) for frame in frames for rows in frame.iter_slices(_ROWS_AT_ONCE))
    first = next(cells, None)
    yield f"{header}\n".encode()
    for rows in chain([] if first is None else [first], cells):
        buffer = io.BytesIO()
        write = partial(rows.write_csv, buffer, include_header=False, separator=delimiter, quote_style="never")
        refusal = InputError("The table cannot be written as CSV.")
        translate_errors(partial(write, null_value="", line_terminator="\n"), refusal)
        yield buffer.getvalue()


def _cells(frame: pl.DataFrame, delimiter: str, separators: str) -> pl.DataFrame:
    """The cells as they are in the file, null where missing; a lone column's are quoted where missing."""
    texts = pl.DataFrame([as_text(series) for series in frame.get_columns()])
    marks = f'[{re.escape(separators if frame.width == 1 else delimiter)}"\r\n\0]'
    odd = texts.select(pl.all().str.contains(marks).any())
    columns = [_quote_cells(column, marks) if odd[column.name][0] else column for column in texts]
    return pl.DataFrame([column.fill_null('""') for column in columns] if frame.width == 1 else columns)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a new Parquet file, readable by its owner only.

    Types are plain: categories are written as text, as their type would list values that do not occur. Dictionary
    pages hold the values of their own column chunk. Row-group statistics would be a minimum and a maximum of released
    values and nothing else; they are omitted, as nothing here needs them and what is not written needs no argument.
    Beside the values Polars writes the names and types of the columns (``ARROW:schema``) and its own version.
    """
    check_names(frame.columns)
    table = plain_columns(frame)
    with private_file(path) as file:
        write_parquet_of(table.lazy(), file, InputError("The table cannot be written as Parquet.", file=path.name))


def write_parquet_of(frames: pl.LazyFrame, file: BinaryIO, refusal: InputError) -> None:
    """Write plain columns as Parquet, in batches of rows; the bytes do not depend on the batches."""
    of_system = None
    try:
        frames.sink_parquet(
            file, statistics=False, row_group_size=_ROWS_AT_ONCE, compression="zstd", maintain_order=True
        )
        return
    except (CloisterError, MemoryError, OSError):
        raise
    except (Exception, PanicException) as error:  # its message may quote values; a panic is no Exception
        of_system = _OS_ERROR.search(str(error))
    if of_system is not None:
        raise OSError(int(of_system[1]), os.strerror(int(of_system[1])))
    raise refusal


def _quote_cells(text: pl.Series, marks: str) -> pl.Series:
    if text.str.contains("\0", literal=True).any():
        message = f"Column '{text.name}' holds a NUL character, which CSV cannot. Remove it."
        raise InputError(message, column=text.name)
    quoted = '"' + text.str.replace_all('"', '""', literal=True) + '"'
    return quoted.zip_with(text.str.contains(marks).fill_null(False), text).alias(text.name)


def _quoted_name(name: str, separators: str) -> str:
    """A column name as it is in the file; one that begins like a byte order mark must not begin the file."""
    if "\0" in name:
        raise InputError("A column name contains a NUL character, which CSV does not allow. Rename it.")
    if name.startswith("\ufeff") or any(mark in name for mark in f'{separators}"\r\n'):
        return '"' + name.replace('"', '""') + '"'
    return name


def formula_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns whose name or cells a spreadsheet would run: a sign that begins no plain number.

    It may stand behind a semicolon, too.
    """
    text = pl.all()
    later = text.str.split(";").list.eval(_begins_formula(pl.element())).list.any()
    is_run = _begins_formula(text.str.extract("^([^;]*)")) | (text.str.contains(_LATER_FORMULA) & later)
    # To look for such signs is quick, and few columns of text have any.
    signs = frame.select(pl.col(pl.String).str.contains(_SIGN).any())
    suspects = [one for one in frame.get_columns() if one.name not in signs.columns or signs[one.name][0]]
    texts = [pl.Series("names", frame.columns, dtype=pl.String), *(as_text(one.unique()) for one in suspects)]
    names, *runs = (one.to_frame().select(is_run).to_series() for one in texts)
    found = {*texts[0].filter(names), *(one.name for one, run in zip(suspects, runs, strict=True) if run.any())}
    return [name for name in frame.columns if name in found]


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put a quote before each text cell that a spreadsheet would run.

    A cell that would be run but for quotes before it gets one more, so that no two values become one.
    """
    if named := formula_columns(frame.clear()):
        raise InputError(
            f"A spreadsheet would run the names of {len(named)} columns as formulas, and only cells can be escaped. "
            "Rename these columns."
        )
    cell = pl.element()
    quoted = pl.when(_begins_formula(cell.str.strip_chars_start(QUOTE))).then(QUOTE + cell).otherwise(cell)
    texts = pl.col(pl.String)
    escaped = texts.str.split(";").list.eval(quoted).list.join(";")
    may_run = texts.str.contains(_FORMULA) | texts.str.contains(f"^{QUOTE}") | texts.str.contains(_LATER_FORMULA)
    return frame.with_columns(pl.when(may_run).then(escaped).otherwise(texts))


def _begins_formula(text: pl.Expr) -> pl.Expr:
    """Whether a text begins with a sign that begins no plain number."""
    return text.str.contains(_FORMULA) & ~text.str.contains(_SIGNED_NUMBER)
