"""Columns of every origin made alike: names that tell apart, types that are plain, one way to say missing, one text."""

from collections.abc import Sequence

import polars as pl

from cloister.errors import InputError
from cloister.io.foreign import call_foreign

_EXACT_INTEGER = 2.0**63
_TIME = "%H:%M:%S%.f"
_YEARS = (1, 9999)


def check_names(names: Sequence[object], file: str | None = None) -> None:
    """Refuse column names that are not text, empty, or not different; said by position, as a name may be a value."""
    where = f"{file}: " if file else ""
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise InputError(f"{where}the name of column {position} is not text. Rename it.", file=file)
        if not name.strip():
            hint = " (the index of a dataframe?)" if position == 1 else ""
            raise InputError(f"{where}column {position}{hint} has no name. Name or remove it.", file=file)
        if name == "*" or (name.startswith("^") and name.endswith("$")) or "\0" in name:
            raise InputError(
                f"{where}the name of column {position} reads as a pattern of names or holds a NUL. Rename it.",
                file=file,
            )
        if name in first:
            message = f"{where}columns {first[name]} and {position} have the same name. Rename one."
            raise InputError(message, file=file)
        first[name] = position


def plain_columns(frame: pl.DataFrame, file: str | None = None) -> pl.DataFrame:
    """``frame`` with plain types, and null as the only missing value.

    Categories and bytes become text, an empty text and NaN become null, a column of nulls alone is text. -0.0 becomes
    0.0, as rows that are sorted by equal texts would otherwise keep the order of the input.
    """
    return pl.DataFrame([_plain(series, file) for series in frame.get_columns()])


def check_years(series: pl.Series, name: str) -> None:
    """Refuse dates that are no days: databases have an infinity."""
    if not isinstance(series.dtype, pl.Date | pl.Datetime):
        return
    low, high = (
        pl.Series([f"{year:04}-{day}"]).str.to_date() for year, day in zip(_YEARS, ("01-01", "12-31"), strict=True)
    )
    days = series.to_physical() if series.dtype == pl.Date else series.dt.epoch("d")
    outside = ~days.is_between(low.to_physical()[0], high.to_physical()[0])
    if outside.any():
        raise InputError(
            f"{name}: column '{series.name}' holds dates outside the years 1 to 9999, such as infinity "
            f"({int(outside.sum())} records). Make them missing in the query.",
            file=name,
            column=series.name,
        )


def as_text(series: pl.Series) -> pl.Series:
    """The canonical text of a column: String, null where missing.

    Equal numbers have one text whatever their type: an integral float is written as an integer (pandas turns integers
    with missing values into floats), any other float as the shortest text that reads back the same. Booleans are
    ``true`` and ``false``; dates ``YYYY-MM-DD``; times ISO 8601, fractions of a second only where there are any;
    decimals keep their digits; text stays as it is.

    Examples
    --------
    >>> as_text(pl.Series("age", [39.0, 40.5, float("nan")])).to_list()
    ['39', '40.5', None]
    """
    series = _plain(series, None)
    dtype = series.dtype
    if dtype.is_float():
        return _float_text(series)
    if isinstance(dtype, pl.Datetime):
        return series.dt.to_string(f"%Y-%m-%dT{_TIME}" + ("%:z" if dtype.time_zone else ""))
    if dtype == pl.Time:
        return series.dt.to_string(_TIME)
    if dtype == pl.Duration:
        return series.dt.to_string("iso")
    return series.cast(pl.String)


def distinct_values(text: pl.Series) -> list[str | None]:
    """Distinct values by UTF-8 bytes, missing last if it occurs."""
    values: list[str | None] = list(text.drop_nulls().unique().sort())
    return [*values, None] if text.null_count() else values


def _float_text(series: pl.Series) -> pl.Series:
    wide = series.cast(pl.Float64)
    is_integer = ((wide == wide.floor()) & (wide.abs() < _EXACT_INTEGER)).fill_null(False)
    nothing = pl.Series(wide.name, [None], dtype=pl.Float64)
    integers = wide.zip_with(is_integer, nothing).cast(pl.Int64).cast(pl.String)
    return integers.zip_with(is_integer, series.cast(pl.String))


def _plain(series: pl.Series, file: str | None) -> pl.Series:
    dtype = series.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null:
        series = series.cast(pl.String)
    elif dtype == pl.Binary:
        series = call_foreign(lambda: series.cast(pl.String), _not_plain(series, "bytes that are not UTF-8 text", file))
    elif dtype == pl.Float16:
        series = series.cast(pl.Float32)
    elif dtype.is_nested() or not (dtype.is_numeric() or dtype.is_temporal() or dtype in (pl.String, pl.Boolean)):
        raise _not_plain(series, "lists, structs or other things that are not one value a cell", file)
    if series.dtype == pl.String:
        return series.set(series == "", None)
    return series.fill_nan(None).set(series == 0, 0.0) if series.dtype.is_float() else series


def _not_plain(series: pl.Series, found: str, file: str | None) -> InputError:
    where = f"{file}: " if file else ""
    message = f"{where}column '{series.name}' holds {found}. Make it text or numbers, or leave it out."
    return InputError(message, file=file, column=series.name)
