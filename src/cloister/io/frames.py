"""Convert dataframes: read any kind, and return the same kind.

pandas, PyArrow and DuckDB are never imported: a caller with one of their objects has imported them. pandas frames are
read and created without PyArrow, which pandas does not need either.
"""

import datetime
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from numbers import Integral, Real
from types import ModuleType
from typing import TYPE_CHECKING, Final

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import as_text, check_names, plain_columns
from cloister.io.foreign import translate_errors

if TYPE_CHECKING:
    import duckdb
    import pandas
    import pyarrow

_OBJECTS: Final[tuple[tuple[type, pl.DataType | type[pl.DataType]], ...]] = (
    (str, pl.String),
    (bool, pl.Boolean),
    (Integral, pl.Int64),
    (Real, pl.Float64),
    (Decimal, pl.Decimal),
    (datetime.datetime, pl.Datetime("us")),
    (datetime.date, pl.Date),
    (datetime.time, pl.Time),
    (datetime.timedelta, pl.Duration("us")),
)
"""What the objects of a column may be, the first that fits; numpy's numbers count as Python's."""


@dataclass(frozen=True)
class NativeFrame:
    """A user's dataframe after reading."""

    frame: pl.DataFrame  # its columns in plain types; null is the only missing value; a pandas index is not among them
    back: Callable[[pl.DataFrame], object]


def from_native(data: object) -> NativeFrame:
    """Read the table in a dataframe of any kind.

    pandas, Polars, PyArrow and DuckDB get their own kind back; a DuckDB relation is made on the connection of ``data``.
    Any other object with ``__arrow_c_stream__``, and any other frame that narwhals knows, gets a Polars DataFrame back.
    ``data`` is left as it is; a stream can be read once only.

    Examples
    --------
    >>> import polars as pl
    >>> from_native(pl.DataFrame({"age": [39, None]})).frame.rows()
    [(39,), (None,)]
    """
    import narwhals as nw
    from narwhals import dependencies

    data = nw.to_native(data, pass_through=True)
    if isinstance(data, pl.DataFrame):
        return _native("Polars DataFrame", lambda: data, lambda frame: frame)
    if isinstance(data, pl.LazyFrame):
        return _native("Polars LazyFrame", lambda: data.collect(), lambda frame: frame)
    if dependencies.is_pandas_dataframe(data):
        return _native("pandas DataFrame", lambda: from_pandas(data), to_pandas)
    if dependencies.is_pyarrow_table(data):
        return _native("PyArrow Table", lambda: _from_arrow(data), _to_arrow)
    if dependencies.is_duckdb_relation(data):
        return _native("DuckDB relation", lambda: _from_duckdb(data), lambda frame: _to_duckdb(frame, data))
    return _from_other(data)


def _from_other(data: object) -> NativeFrame:
    """Read a frame of another library that narwhals knows, or else a stream of Arrow; Polars comes back."""
    import narwhals as nw

    kind, frame = f"table of type {type(data).__name__}", nw.from_native(data, pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        return _native(kind, lambda: frame.collect("polars").to_native(), lambda released: released)
    if isinstance(frame, nw.DataFrame):
        return _native(kind, frame.to_polars, lambda released: released)
    if hasattr(data, "__arrow_c_stream__") and not isinstance(frame, nw.Series | type):
        return _native(kind, lambda: pl.DataFrame(data), lambda released: released)
    raise InputError(
        "A dataframe is needed: a pandas or Polars DataFrame, a Polars LazyFrame, a PyArrow Table, a DuckDB relation, "
        "another frame that narwhals supports or an object with __arrow_c_stream__, "
        f"not an object of type {type(data).__name__}."
    )


def _native(kind: str, read: Callable[[], pl.DataFrame], back: Callable[[pl.DataFrame], object]) -> NativeFrame:
    advice = " Run its query alone to see why." if kind in ("DuckDB relation", "Polars LazyFrame") else ""
    frame = translate_errors(read, InputError(f"The {kind} cannot be read.{advice}"))
    check_names(frame.columns)
    refusal = InputError(f"The release cannot be made a {kind}.")
    orders = {series.name: series.dtype.categories for series in frame if isinstance(series.dtype, pl.Enum)}
    return NativeFrame(
        plain_columns(frame), lambda table: translate_errors(lambda: back(_order_categories(table, orders)), refusal)
    )


def _order_categories(frame: pl.DataFrame, orders: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Released columns of nothing but ordered categories, in their order; those that nobody has are not named."""
    types = {}
    for name in orders.keys() & set(frame.columns):
        released = frame[name].drop_nulls().unique()
        if released.dtype == pl.String and released.is_in(orders[name].implode()).all():
            types[name] = pl.Enum(orders[name].filter(orders[name].is_in(released.implode())))
    return frame.cast(types)  # type: ignore[arg-type]


def _from_arrow(table: "pyarrow.Table") -> pl.DataFrame:
    check_names(table.column_names)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _to_arrow(frame: pl.DataFrame) -> "pyarrow.Table":
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _from_duckdb(relation: "duckdb.DuckDBPyRelation") -> pl.DataFrame:
    """The rows of a relation; by ``.pl()``, as ``pl.DataFrame(relation)`` leaves a warning behind at exit."""
    check_names(relation.columns)
    if find_spec("pyarrow") is None:
        raise InputError("A DuckDB relation is read through PyArrow. Install it, or hand over relation.df().")
    frame: pl.DataFrame = relation.pl()
    return frame


def _to_duckdb(frame: pl.DataFrame, relation: "duckdb.DuckDBPyRelation") -> "duckdb.DuckDBPyRelation":
    """A relation that reads ``frame``, on the connection of ``relation``, so that the two can be joined.

    A relation does not expose its connection but runs a query there, and DuckDB finds the table by the name of the
    local variable. Where the user switched that off, the relation is made on DuckDB's default connection.
    """
    cloister_release = _to_arrow(frame)
    with suppress(Exception):
        found = relation.query("cloister_input", "SELECT * FROM cloister_release")
        if found is not None:
            return found.set_alias("cloister_release")
    from duckdb import from_arrow

    return from_arrow(cloister_release)


def from_pandas(data: "pandas.DataFrame") -> pl.DataFrame:
    """Read columns of a pandas DataFrame, without its index: NaN, None, NaT and NA are null; categories become text,
    or, where they are ordered, an enumeration."""
    names, pandas = list(data.columns), _pandas()
    check_names(names)
    found = []
    for position, name in enumerate(names):
        message = f"Column '{name}' holds values that are not text, numbers or dates as we know them. Make it text."
        read = partial(_column, pandas, name, data.iloc[:, position])
        found.append(translate_errors(read, InputError(message, column=name)))
    return pl.DataFrame(found)


def to_pandas(frame: pl.DataFrame) -> "pandas.DataFrame":
    """Return ``frame`` as a pandas DataFrame with the index 0, 1, 2 ..."""
    pandas = _pandas()
    return pandas.DataFrame({series.name: _values(pandas, series) for series in frame.get_columns()})


def _pandas() -> ModuleType:
    from narwhals.dependencies import get_pandas  # loaded for dataframes only: the command line has none

    pandas: ModuleType = get_pandas()
    return pandas


def _column(pandas: ModuleType, name: str, series: "pandas.Series[object]") -> pl.Series:
    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        texts = as_text(_column(pandas, name, series.cat.categories.to_series()))
        codes = pl.Series(name, series.cat.codes.to_numpy().astype("int64"))
        if not len(texts):
            return pl.Series(name, [None] * len(codes), pl.String)
        found = texts.gather(codes.set(codes < 0, None))
        return found.cast(pl.Enum(texts)) if dtype.ordered and texts.is_unique().all() else found
    if isinstance(dtype, pandas.DatetimeTZDtype):
        zone = getattr(dtype.tz, "key", None) or getattr(dtype.tz, "zone", None) or "UTC"
        utc = _column(pandas, name, series.dt.tz_convert("UTC").dt.tz_localize(None))
        return utc.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if isinstance(dtype, pandas.api.extensions.ExtensionDtype) or dtype.kind not in "biufMm":
        return _objects(name, series)
    if dtype.kind in "Mm" and not str(dtype).endswith(("[ms]", "[us]", "[ns]")):
        series = series.astype(str(dtype).partition("[")[0] + "[us]")
    if dtype.kind == "f":
        return pl.Series(name, series.astype("float64" if dtype.itemsize > 4 else "float32").to_numpy()).fill_nan(None)
    return pl.Series(name, series.to_numpy())


def _objects(name: str, series: "pandas.Series[object]") -> pl.Series:
    values = [None if gone else value for value, gone in zip(series.tolist(), series.isna().tolist(), strict=True)]
    kinds: set[pl.DataType | type[pl.DataType] | None] = set()
    for kind in set(map(type, values)) - {type(None)}:
        is_flag = kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")
        kinds.add(pl.Boolean if is_flag else next((dtype for own, dtype in _OBJECTS if issubclass(kind, own)), None))
    if None in kinds:
        message = f"Column '{name}' holds objects that are not text, numbers or dates. Make it text or leave it out."
        raise InputError(message, column=name)
    if kinds == {pl.Int64, pl.Float64}:
        kinds = {pl.Float64}
    if len(kinds) > 1:
        raise InputError(f"Column '{name}' mixes types, such as text and numbers. Make it text.", column=name)
    dtype = kinds.pop() if kinds else pl.String
    return pl.Series(name, values, dtype=None if dtype == pl.Decimal else dtype, strict=True)


def _values(pandas: ModuleType, series: pl.Series) -> object:
    """A column as pandas would hold it: integers with missing values nullable, text in the type that pandas has."""
    dtype = series.dtype
    if dtype == pl.String:
        has_text_type = int(pandas.__version__.partition(".")[0]) >= 3
        return pandas.array(series.to_list(), dtype="str" if has_text_type else object)
    if isinstance(dtype, pl.Enum):
        return pandas.Categorical(series.to_list(), categories=dtype.categories.to_list(), ordered=True)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        utc = pandas.Series(series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy(writable=True))
        return utc.dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if (dtype.is_integer() or dtype == pl.Boolean) and series.has_nulls():
        return pandas.array(series.to_list(), dtype="boolean" if dtype == pl.Boolean else str(dtype))
    if (dtype.is_numeric() and not dtype.is_decimal()) or isinstance(dtype, pl.Datetime | pl.Duration | pl.Boolean):
        return series.to_numpy(writable=True)
    return pandas.array(series.to_list(), dtype=object)
