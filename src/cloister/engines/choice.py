"""Choose the engine that counts a table: the one requested, or the one that fits the size and place of the data."""

import re
import resource
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from cloister.errors import InputError, Message, NamedSetting, join_parts, setting
from cloister.io.csv import is_packed
from cloister.io.foreign import translate_errors
from cloister.io.other_files import program_of
from cloister.io.query import Query, is_address
from cloister.io.read import is_parquet
from cloister.sources import parse_profile

SPARK = "spark"
MEMORY = setting("engine", "memory")
NO_SCHEMAS = ("temp", "system", "information_schema")
TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}")
_MASTER = re.compile(r"(local(\[[^\]]*\])?|spark://.+|sc://.+|yarn|k8s://.+)")

Where = Literal["memory", "duckdb", "spark", "database"]

LARGE = 1_000_000  # Records from which a file is counted where it is rather than read into memory
SAMPLE_BYTES = 1 << 20
ADDRESSES = 4 << 30  # Bytes of address space with which DuckDB, its threads and what reads from it get along
WORDS = "auto, memory, duckdb, spark (or local[2], spark://HOST:PORT, sc://HOST:PORT) or the address of a database"


def is_spark(word: str) -> bool:
    """Whether an engine word means Spark.

    ``spark`` is the session that is there, or one on this machine; ``local[N]``, ``spark://host:port``, ``yarn`` and
    ``k8s://...`` are masters of classic Spark; ``sc://host:port`` is a server of Spark Connect.

    Examples
    --------
    >>> [is_spark(word) for word in ("spark", "local[2]", "sc://host:15002", "memory", "auto", "sparkle")]
    [True, True, True, False, False, False]
    """
    return word == SPARK or _MASTER.fullmatch(word) is not None


def is_database(word: str) -> bool:
    """Whether an engine word is the address of a database.

    Examples
    --------
    >>> [is_database(word) for word in ("postgresql://host/db", "duckdb:file", "spark://host:7077", "duckdb")]
    [True, True, False, False]
    """
    return is_address(word) and not is_spark(word)


def is_spark_frame(data: object) -> bool:
    """Whether this is a Spark dataframe, classic or of Spark Connect; imports nothing."""
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "sparkSession")


def check_table_name(text: str) -> str:
    """Return the name of a table with its schema."""
    if TABLE.fullmatch(text) is None:
        raise InputError(
            "The protected table needs a name of letters, digits and _, the first no digit; a schema may stand before "
            "it, as in research.patients_2026."
        )
    *schemas, table = text.lower().split(".")
    if table.startswith("cloister_") or any(name.startswith("pg_") or name in NO_SCHEMAS for name in schemas):
        raise InputError(
            "The protected table must stay: its schema cannot be one of the system or of temporary tables, and its "
            "name cannot begin with cloister_, as those of our own temporary ones do."
        )
    return text


def check_memory_or_spark(word: str, needing_rows: Sequence[str] = ()) -> None:
    """Refuse engines that code sets and trajectories lack; messages do not show the word, as it may contain a secret.

    ``needing_rows``: settings that were given and that Spark, which reads files by itself, does not know
    """
    if is_spark(word) and needing_rows:
        raise InputError(
            "Spark reads files as they are. Leave out ", join_parts(", ", map(setting, needing_rows)), ", or Spark."
        )
    if word not in ("auto", "memory") and not is_spark(word):
        raise InputError(
            setting("engine"),
            " can be auto, memory or Spark (spark, local[2], spark://HOST:PORT, sc://HOST:PORT) for this shape.",
        )


def name_of_table(folder: str) -> str:
    """Return the default name of a protected table: the name of the release folder.

    Examples
    --------
    >>> name_of_table("2026-release")
    '_2026_release'
    """
    name = re.sub(r"\W", "_", folder, flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name


@dataclass(frozen=True)
class ChosenEngine:
    """An engine and the reason for its choice."""

    where: Where
    why: str | None = None


def check_word(word: str) -> None:
    """Refuse a word that names no engine for tables; messages do not show it, as an address may contain a secret."""
    if word not in ("auto", "memory", "duckdb") and not is_spark(word) and not is_database(word):
        raise InputError(f"The engine is not known. It can be {WORDS}.")


def choose_engine(word: str, data: Path | Query, needs_rows: NamedSetting | None) -> ChosenEngine:
    """Return the engine for a table."""
    check_word(word)
    if word == "memory":
        return ChosenEngine("memory")
    if word == "auto":
        records = 0
        if not isinstance(data, Query) and data.is_file() and program_of(data) is None:
            records = approximate_records(data)
        if records < LARGE:
            return ChosenEngine("memory")
        about = f"about {records:,} records"
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if needs_rows is None and limit != resource.RLIM_INFINITY and limit < ADDRESSES:
            why = f"the engine is memory though there are {about}: the shell allows too little (ulimit -v) for duckdb"
            return ChosenEngine("memory", why)
        if needs_rows is None:
            why = Message(f"the engine is duckdb, as there are {about} (", MEMORY, " overrules that)")
            return ChosenEngine("duckdb", why)
        return ChosenEngine(
            "memory", Message(f"the engine is memory though there are {about}: ", needs_rows, " needs all rows")
        )
    if needs_rows is not None:
        raise InputError(
            needs_rows,
            " needs the rows of the table, of which other engines than memory know only counts. Give ",
            MEMORY,
            ", or leave it out.",
        )
    if is_spark(word) or word == "duckdb":
        where: Where = "duckdb" if word == "duckdb" else "spark"
        _must_be_file(data, where)
        return ChosenEngine(where)
    if not isinstance(data, Query) or data.url != word:
        raise InputError(
            "The engine is the address of a database, so that the table must be in it: name the same address as DATA "
            "(in a job as url), with a query."
        )
    if data.scheme not in ("postgresql", "postgres", "duckdb"):
        raise InputError(
            "Tables are protected inside PostgreSQL and DuckDB; from other databases they are read. Leave out ",
            setting("engine"),
        )
    return ChosenEngine("database")


def _must_be_file(data: Path | Query, engine: str) -> None:
    if isinstance(data, Query):
        raise InputError(
            f"The engine {engine} counts files, but the table is in a database. Give the address of the database as "
            "engine, or leave it out."
        )
    if program_of(data) is not None:
        raise InputError(f"The engine {engine} counts CSV and Parquet, no files of {program_of(data)}. Give ", MEMORY)
    if parse_profile(data) is not None:
        raise InputError(f"The engine {engine} counts single files, and no collections by a profile. Give ", MEMORY)


def approximate_records(path: Path) -> int:
    """Estimate the number of records in a file: as stated in Parquet, from the length of the first lines in CSV."""
    if is_parquet(path):
        refusal = InputError(f"{path.name} is not a whole Parquet file: export or copy it again.", file=path.name)
        rows = translate_errors(lambda: pl.scan_parquet(path, glob=False).select(pl.len()).collect(), refusal)
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
