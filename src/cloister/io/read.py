"""A file or a query -> a table, whatever its format."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import polars as pl

from cloister.errors import InputError
from cloister.io.adbc import read_adbc, read_postgresql, read_sqlite
from cloister.io.clean import cleaned
from cloister.io.columns import check_names, check_years, plain_columns
from cloister.io.csv import Source, read_csv
from cloister.io.disk import display_name
from cloister.io.duckdb_file import read_duckdb
from cloister.io.foreign import call_foreign, interruptible
from cloister.io.other_files import program_of, read_other
from cloister.io.query import Call, Query
from cloister.io.text import is_text, load_bytes
from cloister.reading import HowRead, ReadingWords

MAGIC = b"PAR1"

READERS = {"duckdb": read_duckdb, "postgresql": read_postgresql, "postgres": read_postgresql, "sqlite": read_sqlite}
"""By the scheme of the address; all others are read by the ADBC driver of that name."""


def read_table(path: str | Path | Query, *, usual_delimiter: str | None = None, **how: Unpack[HowRead]) -> Source:
    """The table in a CSV file (gzip'd or not), a Parquet file or one of Excel, Stata, SPSS or SAS, or of a database.

    Parameters
    ----------
    how : see `cloister.reading.ReadingWords`

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
    reading = ReadingWords(**how)
    table = _as_written(path, reading, usual_delimiter)
    return cleaned(replace(table, frame=without_texts(table.frame, reading.missing)), reading)


def _as_written(path: str | Path | Query, reading: ReadingWords, usual_delimiter: str | None) -> Source:
    if isinstance(path, Query):
        call = Call()
        return Source(read_query(path, call), "csv", None, None, path.name, tuple(call.notes))
    path = Path(path)
    if is_parquet(path):
        return Source(parquet_of(load_bytes(path), path.name), "parquet", None, None, display_name(path))
    if program_of(path) is not None:
        table = read_other(path, reading.encoding)
    else:
        table = read_csv(path, reading, usual_delimiter)
    return replace(table, name=display_name(path))


def without_texts(frame: pl.DataFrame, missing: Sequence[str]) -> pl.DataFrame:
    """``frame`` with these texts made null in its columns of text."""
    words = [word for word in missing if is_text(word)]
    if not words:
        return frame
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.is_in(words)).then(None).otherwise(text).name.keep())


def is_parquet(path: Path) -> bool:
    """Whether ``path`` is to be read as Parquet: by its first and last bytes, else by its name."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
            file.seek(-len(MAGIC), 2)
            return file.read() == MAGIC
    except OSError:
        return False  # the reader says what is wrong


def parquet_of(data: bytes, file: str, *, may_be_empty: bool = False) -> pl.DataFrame:
    """The table in the content of a Parquet file; types are kept, categories become text."""
    refusal = InputError(f"{file} is not a whole Parquet file: export or copy it again.", file=file)
    if not data:
        raise InputError(f"{file} is empty.", file=file)
    if not (data.startswith(MAGIC) and data.endswith(MAGIC)):
        raise refusal
    frame = call_foreign(lambda: pl.read_parquet(data), refusal)
    check_names(frame.columns, file)
    if not frame.height and not may_be_empty:
        raise InputError(f"{file} has columns but no records.", file=file)
    return plain_columns(frame, file)


def read_query(query: Query, call: Call | None = None) -> pl.DataFrame:
    """The table that a query gives; types are kept where a release can hold them, others become text."""
    call = Call() if call is None else call
    refusal = InputError(f"What the database gives for {query.name} cannot be read.", file=query.name)
    reader = READERS.get(query.scheme, read_adbc)
    frame = call_foreign(lambda: interruptible(lambda: reader(query, call), call.stop), refusal)
    check_names(frame.columns, query.name)
    if not frame.height:
        raise InputError(f"The query of {query.name} gives no records.", file=query.name)
    for series in frame.get_columns():
        check_years(series, query.name)
    aware = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    return plain_columns(frame.with_columns(pl.col(aware).dt.convert_time_zone("UTC")), query.name)
