"""pandas -> Polars and back, without PyArrow, which pandas does not need either."""

import datetime
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final

import polars as pl
from narwhals import dependencies

from cloister.errors import InputError
from cloister.io.columns import as_text, check_names
from cloister.io.foreign import call_foreign

_OBJECTS: Final[tuple[tuple[type, Any], ...]] = (
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


def from_pandas(data: Any) -> pl.DataFrame:
    """The columns of a pandas DataFrame, without its index.

    NaN, None, NaT and NA are null; categories become text.

    Raises
    ------
    InputError : the column names do not tell apart, or a column mixes types or holds what is not one value a cell
    """
    names = list(data.columns)
    check_names(names)
    return pl.DataFrame([_checked(name, data.iloc[:, position]) for position, name in enumerate(names)])


def to_pandas(frame: pl.DataFrame) -> Any:
    """A pandas DataFrame of ``frame``, its index 0, 1, 2 ..."""
    pandas = dependencies.get_pandas()
    return pandas.DataFrame({series.name: _values(pandas, series) for series in frame.get_columns()})


def _checked(name: str, series: Any) -> pl.Series:
    message = f"Column '{name}' holds values that are not text, numbers or dates as we know them. Make it text."
    return call_foreign(lambda: _column(name, series), InputError(message, column=name))


def _column(name: str, series: Any) -> pl.Series:
    pandas, dtype = dependencies.get_pandas(), series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return _categories(name, series)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        zone = getattr(dtype.tz, "key", None) or getattr(dtype.tz, "zone", None) or "UTC"
        utc = _column(name, series.dt.tz_convert("UTC").dt.tz_localize(None))
        return utc.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if isinstance(dtype, pandas.api.extensions.ExtensionDtype) or dtype.kind not in "biufMm":
        return _objects(name, series)
    if dtype.kind in "Mm" and not str(dtype).endswith(("[ms]", "[us]", "[ns]")):
        series = series.astype(str(dtype).partition("[")[0] + "[us]")
    if dtype.kind == "f":
        return pl.Series(name, series.astype("float64" if dtype.itemsize > 4 else "float32").to_numpy()).fill_nan(None)
    return pl.Series(name, series.to_numpy())


def _categories(name: str, series: Any) -> pl.Series:
    texts = as_text(_column(name, series.cat.categories.to_series()))
    codes = pl.Series(name, series.cat.codes.to_numpy().astype("int64"))
    return texts.gather(codes.set(codes < 0, None)) if len(texts) else pl.Series(name, [None] * len(codes), pl.String)


def _objects(name: str, series: Any) -> pl.Series:
    """A column of Python objects, or of a type of pandas' own that gives them."""
    values = [None if gone else value for value, gone in zip(series.tolist(), series.isna().tolist(), strict=True)]
    kinds = _kinds(name, set(map(type, values)) - {type(None)})
    if kinds == {pl.Int64, pl.Float64}:
        kinds = {pl.Float64}
    if len(kinds) > 1:
        raise InputError(f"Column '{name}' mixes types, such as text and numbers. Make it text.", column=name)
    dtype = kinds.pop() if kinds else pl.String
    return pl.Series(name, values, dtype=None if dtype == pl.Decimal else dtype, strict=True)


def _kinds(name: str, types: Iterable[type]) -> set[Any]:
    kinds = {_kind(kind) for kind in types}
    if None in kinds:
        message = f"Column '{name}' holds objects that are not text, numbers or dates. Make it text or leave it out."
        raise InputError(message, column=name)
    return kinds


def _kind(found: type) -> Any:
    if found.__module__ == "numpy" and found.__name__ in ("bool", "bool_"):
        return pl.Boolean
    return next((dtype for kind, dtype in _OBJECTS if issubclass(found, kind)), None)


def _values(pandas: Any, series: pl.Series) -> Any:
    """A column as pandas would hold it: integers with missing values nullable, text in the type that pandas has."""
    dtype = series.dtype
    if dtype == pl.String:
        has_text_type = int(pandas.__version__.partition(".")[0]) >= 3
        return pandas.array(series.to_list(), dtype="str" if has_text_type else object)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        utc = pandas.Series(series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy(writable=True))
        return utc.dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if (dtype.is_integer() or dtype == pl.Boolean) and series.has_nulls():
        return pandas.array(series.to_list(), dtype="boolean" if dtype == pl.Boolean else str(dtype))
    if (dtype.is_numeric() and not dtype.is_decimal()) or isinstance(dtype, pl.Datetime | pl.Duration | pl.Boolean):
        return series.to_numpy(writable=True)
    return pandas.array(series.to_list(), dtype=object)
