"""Normalize columns of any origin: distinct names, plain types, one missing value, one canonical text.

Also decide how messages name columns (the first line of a file may be a record), and list usual names of codes.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import whitespace
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, did_you_mean, name_few
from cloister.io.foreign import translate_errors

T = TypeVar("T")
_EXACT_INTEGER = 2.0**63
_TIME = "%H:%M:%S%.f"
_DAY_US = 24 * 3600 * 10**6  # microseconds of a day
_YEARS = (1, 9999)
BLANK = f"^[{whitespace}]*$"
"""A text of white space alone is missing: else it would be one more value in a class whose patients have none.

SQL of engines uses the same pattern, which is ASCII: databases read other white space in encodings of their own.
"""


def check_names(names: Sequence[object], file: str | None = None) -> None:
    """Refuse column names that are not text, empty, or repeated; messages give positions, as a name may be a value."""
    where = f"{file}: " if file else ""
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise InputError(f"{where}the name of column {position} is not text. Rename it.", file=file)
        if not name.strip():
            hint = " (the index of a dataframe?)" if position == 1 else ""
            message = f"{where}column {position}{hint} has no name. Name or remove it"
            raise InputError(f"{message}; lines above the names, such as a title, must go.", file=file)
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
    """Return ``frame`` with plain types, and null as the only missing value.

    Categories and bytes become text, an empty text and NaN become null, a column of nulls alone is text. -0.0 becomes
    0.0, as rows that are sorted by equal texts would otherwise keep the order of the input.

    Raises
    ------
    InputError
        A cell is no single value, or dates are outside the years 1 to 9999.
    """
    for series in frame.get_columns():
        _check_years(series, file)
    return pl.DataFrame([_plain(series, file) for series in frame.get_columns()])


def _check_years(series: pl.Series, file: str | None) -> None:
    """Refuse infinite dates of databases and Parquet: Polars cannot write them as text."""
    if not isinstance(series.dtype, pl.Date | pl.Datetime):
        return
    low, high = (
        pl.Series([f"{year:04}-{day}"]).str.to_date() for year, day in zip(_YEARS, ("01-01", "12-31"), strict=True)
    )
    days = series.to_physical() if series.dtype == pl.Date else series.dt.epoch("d")
    outside = ~days.is_between(low.to_physical()[0], high.to_physical()[0])
    if outside.any():
        raise InputError(
            f"{f'{file}: ' if file else ''}column '{series.name}' has dates outside the years 1 to 9999, such as "
            f"infinity ({int(outside.sum())} records). Make them missing.",
            file=file,
            column=series.name,
        )


def as_text(series: pl.Series) -> pl.Series:
    """Return the canonical text of a column: String, null where missing.

    Equal numbers have one text whatever their type: an integral float is written as an integer (pandas turns integers
    with missing values into floats), any other float as the shortest text that reads back the same. Booleans are
    ``true`` and ``false``; dates ``YYYY-MM-DD``; times ISO 8601, fractions of a second only where there are any;
    durations are days; decimals keep their digits; text stays as it is.

    Examples
    --------
    >>> as_text(pl.Series("age", [39.0, 40.5, float("nan")])).to_list()
    ['39', '40.5', None]
    """
    series = _plain(series, None)
    dtype = series.dtype
    if dtype.is_float():
        wide = series.cast(pl.Float64)
        is_integer = ((wide == wide.floor()) & (wide.abs() < _EXACT_INTEGER)).fill_null(False)
        nothing = pl.Series(wide.name, [None], dtype=pl.Float64)
        integers = wide.zip_with(is_integer, nothing).cast(pl.Int64).cast(pl.String)
        return integers.zip_with(is_integer, series.cast(pl.String))
    if isinstance(dtype, pl.Datetime):
        return series.dt.to_string(f"%Y-%m-%dT{_TIME}" + ("%:z" if dtype.time_zone else ""))
    if dtype == pl.Time:
        return series.dt.to_string(_TIME)
    if dtype == pl.Duration:
        return as_text(series.dt.total_microseconds() / _DAY_US)
    return series.cast(pl.String)


WORTH_A_THREAD = 10_000
"""Rows from which on it takes longer to work on a column than to start a thread."""


def pack_text(column: pl.Series, *, always: bool = False) -> pl.Series:
    """Encode a column of text as numbers of its sorted values: an Enum of one to four bytes per cell.

    Equality, order and counts are those of the text; what looks into it takes `as_text`, or `map_categories`. Where
    most cells are different, text stays text, unless it is ``always`` to be numbers.
    """
    if isinstance(column.dtype, pl.Enum):
        return column
    text = as_text(column)
    distinct = text.drop_nulls().unique()
    return text.cast(pl.Enum(distinct.sort())) if always or 2 * distinct.len() <= text.len() else text


def map_columns(work: Callable[[T], pl.Series], columns: Iterable[T], n_rows: int = WORTH_A_THREAD) -> list[pl.Series]:
    """Apply a function to columns in parallel, one column per processor: Polars uses one processor for a column."""
    if n_rows < WORTH_A_THREAD:
        return list(map(work, columns))
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        return list(pool.map(work, columns))


def repack_text(column: pl.Series) -> pl.Series:
    """Repack a packed column of text, with only the values that occur in it."""
    there = as_text(column.unique()).drop_nulls().sort()
    if not isinstance(column.dtype, pl.Enum) or 2 * there.len() > column.len():
        return pack_text(as_text(column))
    return map_categories(column, partial(pl.Series.cast, dtype=pl.Enum(there), strict=False))


def as_held(column: pl.Series) -> pl.Series:
    """The text of a column, as it is where it is packed: as numbers whose order is that of the text."""
    is_packed = isinstance(column.dtype, pl.Enum) and column.dtype.categories.is_sorted()
    return column if is_packed else as_text(column)


def map_categories(text: pl.Series, judge: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Apply a function to each cell of text; in a packed column, once for each distinct value."""
    if not isinstance(text.dtype, pl.Enum):
        return judge(text)
    return judge(text.dtype.categories).gather(text.to_physical()).alias(text.name)


def code_texts(column: pl.Series) -> tuple[list[str], NDArray[np.int32]]:
    """The sorted texts that are in a column, and the number of each cell among them, -1 where it is missing."""
    numbers = pack_text(column, always=True)
    assert isinstance(numbers.dtype, pl.Enum)
    places = numbers.to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    there = np.bincount(places + 1, minlength=1)[1:] > 0
    texts = numbers.dtype.categories.gather(np.flatnonzero(there)).to_list()
    return texts, places if there.all() else np.append(np.cumsum(there) - 1, -1).astype(np.int32)[places]


def as_numbers(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Encode columns of text as numbers: equal texts get equal numbers, in text order; missing stays missing."""
    texts = [as_text(one.unique()).alias("text") for one in columns]
    kind = pl.Enum(pl.concat(texts).drop_nulls().unique().sort() if texts else [])
    return [one.cast(kind).to_physical() for one in columns]


def distinct_values(column: pl.Series) -> list[str | None]:
    """Return the distinct values of a column as text, sorted by UTF-8 bytes; missing is last if it occurs."""
    distinct = as_text(column.unique())
    distinct = distinct if isinstance(column.dtype, pl.Enum) else distinct.unique()  # other values may have one text
    values: list[str | None] = distinct.sort(nulls_last=True).to_list()
    return values


def _plain(series: pl.Series, file: str | None) -> pl.Series:
    dtype = series.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null:
        series = series.cast(pl.String)
    elif dtype == pl.Binary:
        series = translate_errors(
            lambda: series.cast(pl.String), _not_plain(series, "bytes that are not UTF-8 text", file)
        )
    elif dtype == pl.Float16:
        series = series.cast(pl.Float32)
    elif dtype.is_nested() or not (dtype.is_numeric() or dtype.is_temporal() or dtype in (pl.String, pl.Boolean)):
        raise _not_plain(series, "lists, structs or other things that are not one value a cell", file)
    if series.dtype == pl.String:
        # A text of white space is below "!", as few others are: to compare takes a tenth of the time of a pattern.
        if not (series < "!").any():
            return series
        return series.set(series.str.contains(BLANK), None)
    return series.fill_nan(None).set(series == 0, 0.0) if series.dtype.is_float() else series


def _not_plain(series: pl.Series, found: str, file: str | None) -> InputError:
    where = f"{file}: " if file else ""
    message = f"{where}column '{series.name}' holds {found}. Make it text or numbers, or leave it out."
    return InputError(message, file=file, column=series.name)


def display_name(path: Path) -> str:
    """Return the name of a file without its folder; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.name).decode("utf-8", "replace")


_VALUE = re.compile(
    r"[\d\W_]*"  # a number, a date, a telephone number
    r"|\d{1,2}[-. /]?[^\W\d_]{3,9}[-. /]?\d{2,4}"  # 17 MAR 1980
    r"|\d{4}-\d\d-\d\d.*"  # 1980-03-17T10:00
    r"|.*@.*",
    re.DOTALL,
)
_NUMBERED = re.compile(r"[^\W\d_]{0,3}[-_ ]?\d{3,}\w*|[^\W\d_]\d\d(\.\w+)?")
"""M00017, MRN-123456, E11.9: of patients, or columns that someone numbered."""

ADVICE = "the first line of a file must name its columns"

ID_NAMES = ("id", "patient_id", "person_id", "subject_id", "member_id")
CODE_NAMES = ("code", "icd9", "icd10", "condition_concept_id")
CODES_NAMES = ("codes",)
AGE_NAMES = ("age", "age_years")  # Names that a column is looked for by, the likeliest first


def looks_like_value(name: str) -> bool:
    """Whether the name of a column may be a value: the first line of the file is then a record."""
    return (_VALUE.fullmatch(name) or _NUMBERED.fullmatch(name)) is not None


def list_columns(names: Sequence[str], header: Sequence[str] | None = None) -> str:
    """Return columns as a message may list them: by name, or by position where the names look like values.

    Examples
    --------
    >>> list_columns(["age", "sex"])
    'age, sex'
    >>> list_columns(["M00017", "30"])
    'columns 1 to 2 (not named here, as they look like values: the first line of a file must name its columns)'
    """
    header = names if header is None else header
    if any(map(looks_like_value, header)):
        places = [header.index(name) + 1 for name in names]
        is_run = len(places) > 1 and len(places) == places[-1] - places[0] + 1
        positions = f"{places[0]} to {places[-1]}" if is_run else name_few(f"{place}" for place in places)
        return (
            f"column{'s' if len(places) > 1 else ''} {positions} (not named here, as they look like values: {ADVICE})"
        )
    return name_few(names)


def nearest_column(column: str, header: Sequence[str]) -> str:
    """Return a sentence that suggests the nearest column name, after a space; empty if none is near."""
    return "" if any(map(looks_like_value, header)) else did_you_mean(column, header, repr)


def check_header(frame: pl.DataFrame, file: str) -> None:
    """Refuse a CSV table whose first line looks like a record, in places that show all columns.

    A name that looks like a value is one if the column below it is full of values of the same shape: `2019` above
    counts, or a code above zeros and ones, is the name of a column.
    """
    for place, column in enumerate(frame, 1):
        name = column.name
        if not (name and _VALUE.fullmatch(name)) or column.null_count() == column.len():
            continue
        shapes = column.drop_nulls().cast(pl.String).str.replace_all(r"[0-9]", "9").str.replace_all(r"\pL", "a")
        if 2 * (shapes == re.sub(r"[^\W\d_]", "a", re.sub(r"[0-9]", "9", name))).sum() > shapes.len():
            raise InputError(
                f"The first line of {file} looks like a record, not like names of columns (see column {place}): "
                f"{ADVICE}. Write a line of names above it, or rename that column.",
                file=file,
            )


@dataclass(frozen=True)
class Header:
    """The columns of a file that messages may name."""

    file: str
    present: Sequence[str]
    usual: Sequence[str]
    example: str

    def are_names(self) -> bool:
        """Return whether the first line names columns, by a usual name among them."""
        named = bool(set(self.usual).intersection(self.present))
        return len(self.present) > 1 and named and not any(re.search(r"\s", name) for name in self.present)

    def listed(self) -> str:
        """Return a sentence that lists the columns, if that reveals no patient."""
        if self.are_names():
            return f"Its columns: {list_columns(self.present)}."
        return (
            "Its columns are not listed here, as its first line may be a record. That line must name the columns, as "
            f"in: {self.example}."
        )

    def check(self, *wanted: str | None) -> None:
        """Refuse a requested column that does not exist."""
        column = next((name for name in wanted if name is not None and name not in self.present), None)
        if column is not None:
            hint = nearest_column(column, self.present) if self.are_names() else ""
            message = f"Column {column!r} was asked for, but {self.file} has no such column.{hint} {self.listed()}"
            raise InputError(message, file=self.file, column=column)

    def first(self, names: Sequence[str]) -> str | None:
        """Return the first of these names that exists."""
        return next((name for name in names if name in self.present), None)


def check_once(columns: Sequence[str | None], file: str | None) -> None:
    """Refuse a column that has two roles."""
    twice = next((name for name in columns if name is not None and columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"Column {twice!r} cannot be two things at once. Name others.", file=file, column=twice)


def text_of_codes(column: pl.Series, file: str) -> pl.Series:
    """Return codes as text; refuses numbers that have lost their text already."""
    if column.dtype.is_float() or column.dtype.is_decimal():
        raise InputError(
            f"Column {column.name!r} of {file} has decimal numbers, but codes are text: 250.10 and 250.1 differ. "
            "Export it as text.",
            file=file,
            column=column.name,
        )
    return as_text(column)


def check_columns(wanted: Sequence[str], present: Sequence[str], file: str) -> None:
    """Refuse a column that does not exist; the message names the nearest column."""
    for column in wanted:
        if column not in present:
            raise InputError(
                f"Column {column!r} was asked for, but {file} has no such column."
                f"{nearest_column(column, present)} Its columns: {list_columns(present)}.",
                file=file,
                column=column,
            )
