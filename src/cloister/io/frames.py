"""Any dataframe in, the same kind out.

pandas, PyArrow and DuckDB are never imported: who hands over one of their objects has imported them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import polars as pl
from narwhals import dependencies

from cloister.errors import InputError
from cloister.io.columns import as_text, check_names, plain_columns
from cloister.io.foreign import call_foreign
from cloister.io.from_pandas import from_pandas, to_pandas

__all__ = ["NativeFrame", "as_text", "from_native"]


@dataclass(frozen=True)
class NativeFrame:
    """A user's dataframe, read.

    Attributes
    ----------
    frame : its columns in plain types; null is the only missing value; a pandas index is not among them
    back : makes a dataframe of the user's kind from another table (eager Polars also where the user's is lazy)
    """

    frame: pl.DataFrame
    back: Callable[[pl.DataFrame], Any]


def from_native(data: object) -> NativeFrame:
    """The table in a pandas or Polars DataFrame, a Polars LazyFrame, a PyArrow Table or a DuckDB relation.

    ``data`` is left as it is. A DuckDB relation comes back on the connection of ``data``.

    Raises
    ------
    InputError : ``data`` is of another kind, cannot be read, has names that do not tell its columns apart, or a
        column that is not of one value a cell

    Examples
    --------
    >>> import polars as pl
    >>> from_native(pl.DataFrame({"age": [39, None]})).frame.rows()
    [(39,), (None,)]
    """
    if isinstance(data, pl.DataFrame):
        return _native("Polars DataFrame", lambda: data, _itself)
    if isinstance(data, pl.LazyFrame):
        return _native("Polars LazyFrame", lambda: data.collect(), _itself)
    if dependencies.is_pandas_dataframe(data):
        return _native("pandas DataFrame", lambda: from_pandas(data), to_pandas)
    if dependencies.is_pyarrow_table(data):
        return _native("PyArrow Table", lambda: _from_arrow(data), _to_arrow)
    if dependencies.is_duckdb_relation(data):
        return _native("DuckDB relation", lambda: _from_duckdb(data), lambda frame: _to_duckdb(frame, data))
    raise InputError(
        "A pandas or Polars DataFrame, a Polars LazyFrame, a PyArrow Table or a DuckDB relation is needed, "
        f"not an object of type {type(data).__name__}."
    )


def _native(kind: str, read: Callable[[], pl.DataFrame], back: Callable[[pl.DataFrame], Any]) -> NativeFrame:
    advice = " Run its query alone to see why." if kind in ("DuckDB relation", "Polars LazyFrame") else ""
    frame = call_foreign(read, InputError(f"The {kind} cannot be read.{advice}"))
    check_names(frame.columns)
    refusal = InputError(f"The release cannot be made a {kind}.")
    return NativeFrame(plain_columns(frame), lambda table: call_foreign(lambda: back(table), refusal))


def _itself(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


def _from_arrow(table: Any) -> pl.DataFrame:
    check_names(table.column_names)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _to_arrow(frame: pl.DataFrame) -> Any:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _from_duckdb(relation: Any) -> pl.DataFrame:
    """The rows of a relation; by ``.pl()``, as ``pl.DataFrame(relation)`` leaves a warning behind at exit."""
    check_names(relation.columns)
    if find_spec("pyarrow") is None:
        raise InputError("A DuckDB relation is read through PyArrow. Install it, or hand over relation.df().")
    frame: pl.DataFrame = relation.pl()
    return frame


def _to_duckdb(frame: pl.DataFrame, relation: Any) -> Any:
    """A relation that reads ``frame``, on the connection of ``relation``, so that the two can be joined.

    A relation does not tell its connection but runs a query there, and DuckDB finds the table by the name of the
    local variable. Where the user switched that off, the relation is made on DuckDB's default connection.
    """
    cloister_release = _to_arrow(frame)
    try:
        return relation.query("cloister_input", "SELECT * FROM cloister_release").set_alias("cloister_release")
    except Exception:
        return dependencies.get_duckdb().from_arrow(cloister_release)
