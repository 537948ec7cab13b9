"""Which engine counts a table: the one that was asked for, or that which fits its size and where it is."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from cloister.errors import InputError
from cloister.io.foreign import call_foreign
from cloister.io.query import Query
from cloister.io.read import is_parquet
from cloister.io.text import is_packed
from cloister.sources import profiled

from .words import is_database, is_spark

Where = Literal["memory", "duckdb", "spark", "database"]

LARGE = 10_000_000
"""Records from which a file is counted where it is rather than read into memory."""

SAMPLE_BYTES = 1 << 20
WORDS = "auto, memory, duckdb, spark (or local[2], spark://HOST:PORT, sc://HOST:PORT) or the address of a database"


@dataclass(frozen=True)
class Chosen:
    """An engine, and why it was chosen.

    Attributes
    ----------
    where : what counts the records
    why : what to say of the choice; None where nobody needs to be told
    """

    where: Where
    why: str | None = None


def check_word(word: str) -> None:
    """Refuse a word that names no engine for tables; it is not shown, as an address may hold a secret.

    Raises
    ------
    InputError
        It names none.
    """
    if word not in ("auto", "memory", "duckdb") and not is_spark(word) and not is_database(word):
        raise InputError(f"The engine is not known. It can be {WORDS}.")


def choose_engine(word: str, data: Path | Query, needs_rows: str | None) -> Chosen:
    """Return the engine for a table.

    Parameters
    ----------
    word : as asked for
    data : where the table is
    needs_rows : what was asked for that only the engine memory does; None if nothing was

    Raises
    ------
    InputError
        The engine asked for cannot do it, or does not fit where the table is.
    """
    check_word(word)
    if word == "memory":
        return Chosen("memory")
    if word == "auto":
        return _by_size(data, needs_rows)
    if needs_rows is not None:
        raise InputError(
            f"{needs_rows} needs the rows of the table, of which other engines than memory know only counts. Give "
            "--engine memory, or leave it out."
        )
    if is_spark(word):
        _must_be_file(data, "spark")
        return Chosen("spark")
    if word == "duckdb":
        _must_be_file(data, "duckdb")
        return Chosen("duckdb")
    if not isinstance(data, Query) or data.url != word:
        raise InputError(
            "The engine is the address of a database, so that the table must be in it: name the same address as DATA "
            "(in a job as url), with a query."
        )
    if data.scheme not in ("postgresql", "postgres", "duckdb"):
        raise InputError(
            "Tables are protected inside PostgreSQL and DuckDB; from other databases they are read. Leave --engine out."
        )
    return Chosen("database")


def _must_be_file(data: Path | Query, engine: str) -> None:
    if not isinstance(data, Query) and profiled(data) is not None:
        raise InputError(
            f"The engine {engine} counts single files, and no collections by a profile. Give --engine memory."
        )
    if isinstance(data, Query):
        raise InputError(
            f"The engine {engine} counts files, but the table is in a database. Give the address of the database as "
            "engine, or leave it out."
        )


def _by_size(data: Path | Query, needs_rows: str | None) -> Chosen:
    if isinstance(data, Query) or not data.is_file():
        return Chosen("memory")
    records = approximate_records(data)
    if records < LARGE:
        return Chosen("memory")
    about = f"about {records:,} records"
    if needs_rows is not None:
        return Chosen("memory", f"the engine is memory though there are {about}: {needs_rows} needs all rows")
    return Chosen("duckdb", f"the engine is duckdb, as there are {about} (--engine memory overrules that)")


def approximate_records(path: Path) -> int:
    """Return how many records a file has: of Parquet as it says, of CSV by the length of its first lines."""
    if is_parquet(path):
        refusal = InputError(f"{path.name} is not a whole Parquet file: export or copy it again.", file=path.name)
        rows = call_foreign(lambda: pl.scan_parquet(path, glob=False).select(pl.len()).collect(), refusal)
        return int(rows.item())
    size = path.stat().st_size
    if size <= SAMPLE_BYTES:
        return 0
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
        if is_packed(path):
            # What is unpacked of a piece says how much the whole holds; the piece ends in the middle, and may.
            packed, sample = len(sample), zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(sample)
            size = size * len(sample) // packed
    return size * sample.count(b"\n") // max(1, len(sample))
