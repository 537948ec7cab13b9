"""The words that name engines and what is made by them: which mean Spark, and what a table can be called."""

import re

from cloister.errors import InputError
from cloister.io.query import is_address

SPARK = "spark"

NO_SCHEMAS = ("temp", "system", "information_schema")
TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}")

_MASTER = re.compile(r"(local(\[[^\]]*\])?|spark://.+|sc://.+|yarn|k8s://.+)")


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
    """Whether this is a dataframe of Spark, classic or of Spark Connect; nothing is imported to tell."""
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "sparkSession")


def check_table_name(text: str) -> str:
    """Return the name of a table, its schema before it.

    Raises
    ------
    InputError
        It is none that every database takes.
    """
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


def check_memory_or_spark(word: str) -> None:
    """Refuse an engine that code sets and trajectories have none of; it is not shown, as an address may hold a secret.

    Raises
    ------
    InputError
        It is neither memory nor Spark.
    """
    if word not in ("auto", "memory") and not is_spark(word):
        raise InputError(
            "--engine can be auto, memory or Spark (spark, local[2], spark://HOST:PORT, sc://HOST:PORT) for this shape."
        )


def name_of_table(folder: str) -> str:
    """Return what a protected table is called unless it was given a name: as the folder of the release.

    Examples
    --------
    >>> name_of_table("2026-release")
    '_2026_release'
    """
    name = re.sub(r"\W", "_", folder, flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name
