"""A file or a query -> a table, whatever its format."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from cloister.io.csv import read_csv
from cloister.io.database import read_query
from cloister.io.disk import shown_name
from cloister.io.parquet import is_parquet, read_parquet
from cloister.io.query import Call, Query


@dataclass(frozen=True)
class Source:
    """A table as it was read.

    Attributes
    ----------
    frame : the columns; from CSV all text, as written; null is the only missing value
    format : how the file is written; "csv" of a database as well, as a release of it is
    delimiter : what separates the cells of a CSV file, else None
    encoding : what a CSV file was decoded from, in Python's name, else None
    name : name of the file, without its folder; of a query, its own
    notes : what a user should know about how it was read, such as an encoding that was assumed
    """

    frame: pl.DataFrame
    format: Literal["csv", "parquet"]
    delimiter: str | None
    encoding: str | None
    name: str
    notes: tuple[str, ...] = ()


def read_table(
    path: str | Path | Query,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    usual_delimiter: str | None = None,
) -> Source:
    """The table in a CSV file (gzip'd or not) or a Parquet file, or that a database gives.

    Parameters
    ----------
    path : the file, or the query
    encoding, delimiter : overrule what is detected in a CSV file; of no meaning for Parquet and databases
    missing : texts that stand for a missing value, besides the empty one; plain text unless given here
    usual_delimiter : taken where none can be detected

    Raises
    ------
    InputError : it cannot be read, or is no table with named columns and at least one record

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "codes.csv")
    ...     _ = path.write_text("id;code\\n1;001\\n2;\\n")
    ...     source = read_table(path)
    >>> source.delimiter, source.frame.rows()
    (';', [('1', '001'), ('2', None)])
    """
    if isinstance(path, Query):
        call = Call()
        frame = without_texts(read_query(path, call), missing)
        return Source(frame, "csv", None, None, path.name, tuple(call.notes))
    path = Path(path)
    if is_parquet(path):
        return Source(without_texts(read_parquet(path), missing), "parquet", None, None, shown_name(path))
    table = read_csv(path, encoding=encoding, delimiter=delimiter, usual_delimiter=usual_delimiter)
    frame = without_texts(table.frame, missing)
    return Source(frame, "csv", table.delimiter, table.encoding, shown_name(path), table.notes)


def without_texts(frame: pl.DataFrame, missing: Sequence[str]) -> pl.DataFrame:
    """``frame`` with these texts made null in its columns of text."""
    words = [word for word in missing if _is_text(word)]
    if not words:
        return frame
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.is_in(words)).then(None).otherwise(text).name.keep())


def _is_text(word: str) -> bool:
    """Whether a word can stand in a file of text; bytes of the command line that are not UTF-8 cannot."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
