"""Read a file of any format, or a query, into a table, and clean its cells and rows as requested.

Dates are read into ``YYYY-MM-DD``, numbers are given a decimal point, and what is neither may be made missing, so that
nothing after the reading knows how a file was written. Values that do not fit are rejected with their number. Notes
report everything that is changed or omitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Unpack

import polars as pl

from cloister.errors import InputError, setting
from cloister.io.columns import check_names, display_name, list_columns, plain_columns
from cloister.io.csv import LeftOut, Source, csv_of, is_text, load_bytes
from cloister.io.databases import read_adbc, read_duckdb, read_postgresql, read_sqlite
from cloister.io.foreign import interruptible, translate_errors
from cloister.io.memory import memory_left
from cloister.io.other_files import program_of, read_other
from cloister.io.parquet import count_records, decode, read_schema
from cloister.io.query import Call, Query
from cloister.settings.reading import (
    DROP,
    KEEP,
    TIME_AFTER,
    UNIT_NUMBER,
    DateFormat,
    HowRead,
    ReadingWords,
    day_of,
    parse_date_format,
)

MAGIC = b"PAR1"

READERS = {"duckdb": read_duckdb, "postgresql": read_postgresql, "postgres": read_postgresql, "sqlite": read_sqlite}
"""By the scheme of the address; all others are read by the ADBC driver of that name."""


def read_table(path: str | Path | Query, *, usual_delimiter: str | None = None, **how: Unpack[HowRead]) -> Source:
    """Read a table from a CSV file (gzip'd or not), a file of Parquet, Excel, Stata, SPSS or SAS, or a database.

    Parameters
    ----------
    how : see `cloister.settings.reading.ReadingWords`

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
    table = clean_table(replace(table, frame=without_texts(table.frame, reading.missing)), reading)
    # Where something was omitted, records are no longer in the lines that they would be counted to.
    return table if isinstance(path, Query) or table.left_out != LeftOut() else replace(table, path=Path(path))


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
        table = csv_of(load_bytes(path), path.name, reading, usual_delimiter=usual_delimiter)
    return replace(table, name=display_name(path))


def without_texts(frame: pl.DataFrame, missing: Sequence[str]) -> pl.DataFrame:
    """Replace these texts by null in the text columns of ``frame``."""
    words = [word for word in missing if is_text(word)]
    if not words:
        return frame
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.is_in(words)).then(None).otherwise(text).name.keep())


def is_parquet(path: Path) -> bool:
    """Whether ``path`` is a Parquet file: by its name, else by its first and last bytes."""
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
    """Return the table in the content of a Parquet file; types are kept, categories become text."""
    refusal = InputError(f"{file} is not a whole Parquet file: export or copy it again.", file=file)
    if not data:
        raise InputError(f"{file} is empty.", file=file)
    if not (data.startswith(MAGIC) and data.endswith(MAGIC)):
        raise refusal
    schema = translate_errors(lambda: read_schema(data), refusal)
    n_records, columns = translate_errors(lambda: count_records(data), refusal), schema.names()
    if n_records * len(columns) * BYTES_OF_CELL > memory_left():  # a few bytes can stand for billions of equal cells
        raise InputError(
            f"{file} holds {n_records:,} records of {len(columns):,} columns, which do not fit into memory. "
            "Give it to a machine or a container with more.",
            file=file,
        )
    frame = translate_errors(lambda: decode(data, schema), refusal)
    check_names(frame.columns, file)
    if not frame.height and not may_be_empty:
        raise InputError(f"{file} has columns but no records.", file=file)
    return plain_columns(frame, file)


def read_query(query: Query, call: Call | None = None) -> pl.DataFrame:
    """Return the result of a query; types are kept where a release can contain them, others become text."""
    call = Call() if call is None else call
    refusal = InputError(f"What the database gives for {query.name} cannot be read.", file=query.name)
    reader = READERS.get(query.scheme, read_adbc)
    frame = translate_errors(lambda: interruptible(lambda: reader(query, call), call.stop), refusal)
    check_names(frame.columns, query.name)
    if not frame.height:
        raise InputError(f"The query of {query.name} gives no records.", file=query.name)
    plain = plain_columns(frame, query.name)
    aware = [name for name, kind in plain.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    return plain.with_columns(pl.col(aware).dt.convert_time_zone("UTC"))


LAST_OF_TWO_DIGITS = 2068
"""Years of two digits are 1969 to 2068, as POSIX has it."""

BYTES_OF_CELL = 8  # that a table in memory takes for a number, or for where a text is

_DATE = "%Y-%m-%d"
_NUMBER = r"^[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]*)?(?:[eE][+-]?[0-9]+)?$"
_POINTED = r"^[+-]?[0-9]*\.[0-9]+$"
_PLAIN_NUMBER = r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)\s*$"


def clean_table(source: Source, reading: ReadingWords) -> Source:
    """Clean the cells and rows of a table as requested."""
    if reading.decimal == ",":
        source = _with_points(source)
    if reading.numbers:
        source = _without_units(source, reading.numbers)
        source = _only(source, "numbers", reading.numbers, lambda one: one.str.contains(_PLAIN_NUMBER))
    if reading.date_format or reading.dates:
        source = _with_dates(source, reading.date_format, reading.dates)
    return source if reading.duplicates == KEEP else _without_repeats(source, drop=reading.duplicates == DROP)


def _without_units(source: Source, names: Sequence[str]) -> Source:
    """Read numbers with a currency or a unit in the named columns: those with the most frequent unit."""
    changed, notes = [], []
    for column in (one for one in _texts(source.frame) if one.name in names):
        parts = column.str.strip_chars().str.extract_groups(UNIT_NUMBER).struct
        before, number, after = (parts.field(str(place)).fill_null("") for place in (1, 2, 3))
        unit = before + after
        of_numbers = unit.filter(number != "")
        if not len(of_numbers) or ((of_numbers == "").all() and not number.str.contains(",", literal=True).any()):
            continue
        most = of_numbers.filter(of_numbers != "").mode().sort().first() or ""
        is_read = (number != "") & unit.is_in(["", most])
        changed.append(number.str.replace_all(",", "", literal=True).zip_with(is_read, column).alias(column.name))
        notes.append(f"numbers were read without their unit in {list_columns([column.name], source.frame.columns)}")
    return replace(source, frame=source.frame.with_columns(changed), notes=(*source.notes, *notes))


def _with_points(source: Source) -> Source:
    """Read numbers with decimal commas, in columns of text that mostly hold numbers, some of them with a comma."""
    changed = []
    for column in _texts(source.frame):
        text = column.str.strip_chars()
        is_number = text.str.contains(_NUMBER).fill_null(value=False)
        has_comma = is_number & text.str.contains(",", literal=True).fill_null(value=False)
        if not has_comma.any() or 2 * int(is_number.sum()) <= text.len() - text.null_count():
            continue
        pointed = int((text.str.contains(_POINTED).fill_null(value=False) & ~is_number).sum())
        if pointed:
            n = int(has_comma.sum())
            raise InputError(
                f"{source.name}: column '{column.name}' has {n:,} numbers with a decimal comma and {pointed:,} with a "
                "decimal point. Write them alike.",
                file=source.name,
                column=column.name,
            )
        plain = text.str.replace_all(".", "", literal=True).str.replace(r",$", "").str.replace(",", ".", literal=True)
        changed.append(plain.zip_with(is_number, column))
    named = list_columns([column.name for column in changed], source.frame.columns) if changed else "no column"
    note = f"numbers with decimal commas were read in {named}"
    return replace(source, frame=source.frame.with_columns(changed), notes=(*source.notes, note))


def with_decimal_points(texts: pl.DataFrame, file: str, share: float) -> pl.DataFrame | None:
    """Return numbers with decimal points, if this share of a column are some and its commas part no thousands."""
    if not any(texts.select(pl.all().str.contains(",", literal=True).any()).row(0)):
        return None
    try:
        pointed = clean_table(Source(texts, "csv", None, None, file), ReadingWords(decimal=",")).frame
    except InputError:  # some columns have both
        return None
    has_commas = any(
        text.str.contains(r",([0-9]{1,2}|[0-9]{4,})$").any()
        and pointed[text.name].str.contains(_PLAIN_NUMBER).sum() >= share * text.count()
        for text in texts
        if not pointed[text.name].equals(text)
    )
    return pointed if has_commas else None


def _only(source: Source, kind: str, names: Sequence[str], fits: Callable[[pl.Series], pl.Series]) -> Source:
    """Replace values that are not numbers, or not dates, by missing in the named text columns."""
    if absent := [name for name in names if name not in source.frame.columns]:
        raise InputError(
            setting(kind), f" names {absent[0]!r}, but {source.name} has no such column.", column=absent[0]
        )
    texts = [one for one in _texts(source.frame) if one.name in names]
    odd = [one.is_not_null() & ~fits(one).fill_null(value=False) for one in texts]
    notes = [
        f"{int(which.sum()):,} of {one.len() - one.null_count():,} values are no {kind} and were read as missing, in "
        f"{list_columns([one.name], source.frame.columns)}"
        for one, which in zip(texts, odd, strict=True)
    ]
    changed = [one.set(which, None) for one, which in zip(texts, odd, strict=True)]
    return replace(source, frame=source.frame.with_columns(changed), notes=(*source.notes, *notes))


def _with_dates(source: Source, stated: Sequence[str], only: Sequence[str]) -> Source:
    """Read dates in the columns that are named, and in those of text most of which fit a format stated for all."""
    parted = [text.rpartition("=") for text in stated]
    named = {column: parse_date_format(form) for column, equals, form in parted if equals}
    common = [parse_date_format(form) for _, equals, form in parted if not equals]
    forms: dict[str, DateFormat] = {}
    for column in _texts(source.frame):
        most = (column.len() - column.null_count()) // 2  # a format for all columns is for those that it mostly fits
        fitting = (form for form in common if days_written(column, form).is_not_null().sum() > most)
        if found := named.get(column.name) or next(fitting, None):
            forms[column.name] = found
    source = _only(source, "dates", only, lambda one: days_written(one, forms.get(one.name)).is_not_null())
    read, notes = [], []
    for name, found in forms.items():
        read.append(_dates(source.frame[name], found, source.name))
        two = f", years as {LAST_OF_TWO_DIGITS - 99} to {LAST_OF_TWO_DIGITS}" if "%y" in found.strptime else ""
        notes.append(f"dates as {found.text} were read in {list_columns([name], source.frame.columns)}{two}")
    if stated and not read:
        texts = " or ".join(one.text for one in (*named.values(), *common))
        notes = [f"dates as {texts} were read in no column of {source.name}"]
    return replace(source, frame=source.frame.with_columns(read), notes=(*source.notes, *notes))


def _texts(frame: pl.DataFrame) -> list[pl.Series]:
    """Columns of text that hold something."""
    return [one for one in frame.get_columns() if one.dtype == pl.String and one.null_count() < one.len()]


def days_written(column: pl.Series, form: DateFormat | None) -> pl.Series:
    """Return the day of each value, null where it is none so written, or as YYYY-MM-DD."""
    if form is None:
        return column.map_elements(day_of, pl.Date)
    text = column.str.strip_chars()
    text = text if form.has_time else text.str.replace(f"{TIME_AFTER}$", "")
    text = text.set(~text.str.contains(f"^(?:{form.pattern})$").fill_null(value=False), None)
    if form.has_time:
        days = text.str.to_datetime(form.strptime, strict=False).dt.date()
    else:
        days = text.str.to_date(form.strptime, strict=False)
    if "%y" in form.strptime:
        late = days > date(LAST_OF_TWO_DIGITS, 12, 31)
        days = days.dt.offset_by("-100y").zip_with(late.fill_null(value=False), days)
    return days


def _dates(column: pl.Series, form: DateFormat, file: str) -> pl.Series:
    days = days_written(column, form)
    wrong = (days.is_null() & column.is_not_null()).arg_true()
    if len(wrong):
        be, place = ("value is no date", "it is") if len(wrong) == 1 else ("values are no dates", "the first is")
        raise InputError(
            f"{file}: {len(wrong):,} of {column.len() - column.null_count():,} {be} as {form.text} in column "
            f"'{column.name}' ({place} record {int(wrong[0]) + 1}). Correct them, or name what stands for a "
            "missing date with ",
            setting("missing"),
            file=file,
            row=int(wrong[0]) + 1,
            column=column.name,
        )
    return days.dt.to_string(_DATE).alias(column.name)


def _without_repeats(source: Source, *, drop: bool) -> Source:
    """Remove rows that equal an earlier row in all columns, or refuse them."""
    frame = source.frame.unique(maintain_order=True)
    repeats = source.frame.height - frame.height
    if not repeats:
        return source
    repeat, were = ("repeats", "was") if repeats == 1 else ("repeat", "were")
    what = f"{repeats:,} of {source.frame.height:,} rows {repeat} an earlier one in all columns"
    if not drop:
        raise InputError(
            f"{source.name}: {what}. Find out why; ",
            setting("duplicates", DROP),
            " leaves them out, ",
            setting("duplicates", KEEP),
            " takes each as it is.",
            file=source.name,
        )
    left_out = replace(source.left_out, duplicates=repeats)
    return replace(source, frame=frame, left_out=left_out, notes=(*source.notes, f"{what} and {were} left out"))
