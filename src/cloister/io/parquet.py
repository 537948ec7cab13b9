"""Parquet -> columns of plain types."""

from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import check_names, plain_columns
from cloister.io.foreign import call_foreign
from cloister.io.text import load_bytes

MAGIC = b"PAR1"


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


def read_parquet(path: Path) -> pl.DataFrame:
    """The table in the Parquet file ``path``; types are kept, categories become text.

    Raises
    ------
    InputError : the file cannot be read, is not Parquet, has no records, or a column is not of one value a cell
    """
    return parquet_of(load_bytes(path), path.name)


def parquet_of(data: bytes, file: str, *, may_be_empty: bool = False) -> pl.DataFrame:
    """The table in the content of a Parquet file.

    Parameters
    ----------
    file : its name, for messages
    may_be_empty : whether columns without records will do

    Raises
    ------
    InputError : as of `read_parquet`
    """
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
