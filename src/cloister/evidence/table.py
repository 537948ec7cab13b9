"""Suggest the roles of the columns of a table, and the notation of its missing values, numbers and dates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cloister.hierarchy import parse_hierarchy
from cloister.io import as_text
from cloister.io.csv import Source
from cloister.io.read import clean_table, days_written, with_decimal_points
from cloister.risk.column_names import is_named_birth_year
from cloister.risk.safe_harbor import IdentifierSign, look_for_identifiers
from cloister.risk.values import Values, forms, sum_up_together
from cloister.settings.reading import DateFormat, ReadingWords, formats_of, parse_date_format, unit_of

from . import hierarchies
from .column import NEARLY_ALL, NUMBER, UNIQUE_SHARE, Column, Guess, complete, read_numbers
from .patients import OF_IDS, find_id, with_patients
from .roles import DROP, FORMS_OF_TEXT, QUASI, UNDECIDED, build, suggest_role
from .uniqueness import unique_with

MISSING = ("NA", "N/A", "NaN", "null", "none", "?", ".", "-", "unknown", "not available")
"""How missing values are written, in any case; ``unknown`` and ``none`` only among numbers or dates."""
AMONG_NUMBERS = frozenset({"none", "-", ".", "unknown", "not available"})
SENTINELS = ("-1", "-9", "-8", "-88", "-99", "-999", "-9999", "999", "9999", "99999")
"""Numbers that stand for a missing one where all others are far from them."""
NUMBERS_OF_SENTINELS = np.array([float(one) for one in SENTINELS])
FAR = 3.0  # times the range of the middle 98 % of the others
EIGHT_DIGITS = r"^[0-9]{8}$"
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?"
MOST_FORMATS = 2_000  # distinct values by which a format of dates is chosen
MOST_AGES = 3  # columns that may be ages by content alone; more are ambiguous
OF_OTHER_NUMBERS = frozenset(
    ("count", "n", "num", "number", "nr", "days", "day", "hours", "minutes", "weeks", "months", "score", "scale",
     "index", "weight", "height", "kg", "cm", "mm", "bp", "sbp", "dbp", "pressure", "pulse", "heart", "heartrate",
     "hr", "rate", "temp", "temperature", "los", "visits", "percent", "pct", "dose", "sat", "spo", "bmi", "income",
     "size", "length", "width", "level", "karno", "ef", "ejection")
)  # fmt: skip
"""Words of names that speak of another number than an age."""


@dataclass(frozen=True)
class GuessedTable:
    """Suggested roles of the columns of a table, and the notation of its missing values, numbers and dates."""

    columns: list[Guess]
    missing: tuple[str, ...]
    date_format: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    decimal: str | None = None


def guess_table(frame: pl.DataFrame, file: str, labels: Mapping[str, str] | None = None) -> GuessedTable:
    """Suggest the role of each column of a table from all its rows.

    ``labels``: of columns, as Stata and SPSS have them; read like names
    """
    texts = pl.DataFrame([as_text(column) for column in frame])
    missing = missing_markers(texts)
    texts = texts.with_columns(pl.all().replace(dict.fromkeys(missing)))
    pointed = with_decimal_points(texts, file, NEARLY_ALL)
    texts = texts if pointed is None else pointed
    are_texts = texts.select((~pl.all().str.contains(NUMBER) | pl.all().str.contains(EIGHT_DIGITS)).any())
    of_texts = [name for name, (found,) in are_texts.to_dict(as_series=False).items() if found]
    united = [name for name in of_texts if _have_units(texts[name])]
    texts = clean_table(Source(texts, "csv", None, None, file), ReadingWords(numbers=united)).frame
    dated = [name for name in of_texts if name not in united]
    formats = {name: form for name in dated if (form := _date_format(texts[name])) is not None}
    days = [days_written(texts[name], form).cast(pl.String).alias(name) for name, form in formats.items()]
    odd_dates = {one.name for one in days if one.null_count() > texts[one.name].null_count()}
    texts = texts.with_columns(days)
    columns = _columns(texts, labels or {})
    sentinels = _sentinels(columns)
    identifier = find_id(columns, texts)
    guesses = [identifier if identifier and one.name == identifier.column else suggest_role(one) for one in columns]
    guesses = _one_birth(_ages_by_content(guesses, columns), texts)
    guesses = with_patients(guesses, texts, {one.name: one for one in columns}, identifier)
    guesses = _with_evidence(guesses, texts)
    built = {one.column: one.hierarchy or "" for one in guesses}
    odd = [
        one.name
        for one in columns
        if built[one.name] and parse_hierarchy(built[one.name]).outside(one.values.to_list())
    ]
    are_numbers = {*united, *(name for name in odd if built[name].startswith(hierarchies.INTERVAL))}
    numbers = tuple(one.name for one in columns if one.name in are_numbers)
    dates = tuple(one.name for one in columns if one.name in odd_dates.union(odd).difference(numbers))
    forms = tuple(f"{name}={form.text}" for name, form in formats.items())
    missing = (*missing, *sentinels)
    return GuessedTable(guesses, missing, forms, numbers, dates, None if pointed is None else ",")


def _columns(texts: pl.DataFrame, labels: Mapping[str, str]) -> list[Column]:
    """The columns as they are judged, with the signs of identifiers in each."""
    counted = {text.name: Values.of(text).in_order() for text in texts}
    by_column: dict[str, list[IdentifierSign]] = {}
    for sign in look_for_identifiers(_with_decimals(texts), texts, counted=counted):
        by_column.setdefault(sign.column, []).append(sign)
    columns = [
        Column(name, labels.get(name, ""), values, texts.height, tuple(by_column.get(name, ())))
        for name, values in counted.items()
    ]
    read_numbers(columns)
    small = [column for column in columns if column.n_values <= MOST_FORMATS]
    sum_up_together((column.counted for column in small), forms(*OF_IDS))
    others = (column.counted for column in small if not column.are_numbers)
    sum_up_together(others, forms(*map(complete, FORMS_OF_TEXT)))
    return columns


def _have_units(text: pl.Series) -> bool:
    """Whether nearly all values are numbers with the same unit or currency: other letters behind numbers are codes."""
    values = text.drop_nulls().unique().sort()
    looked_at = values.gather_every(1 + len(values) // MOST_FORMATS).to_list()
    units = Counter(unit for one in looked_at if (unit := unit_of(one)) is not None)
    return bool(units) and units.most_common(1)[0][1] >= NEARLY_ALL * len(looked_at)


def _with_decimals(texts: pl.DataFrame) -> pl.DataFrame:
    """Numbers with decimals as such: that hardly two records share one says nothing of whose it is."""
    points = texts.select(pl.all().str.contains(r"^[+-]?\d*\.\d+$").sum()).row(0)
    present = [texts.height - n for n in texts.null_count().row(0)]
    pointed = [name for name, n, most in zip(texts.columns, points, present, strict=True) if n > UNIQUE_SHARE * most]
    numbers = texts.select(pl.col(pointed).cast(pl.Float64, strict=False))
    return texts.with_columns(one for one in numbers if one.null_count() == texts[one.name].null_count())


def _date_format(text: pl.Series) -> DateFormat | None:
    """The one usual form, if there is one, that nearly all values are dates in."""
    values = text.drop_nulls().unique().sort()
    if values.is_empty():
        return None
    step = 1 + len(values) // MOST_FORMATS
    looked_at = values.gather_every(step).to_list()
    if all(map(str.isdigit, looked_at)) and not _are_days_in_one_number(values):
        return None
    found, n = formats_of(looked_at)
    return parse_date_format(found[0]) if len(found) == 1 and n >= NEARLY_ALL * len(looked_at) else None


def _are_days_in_one_number(values: pl.Series) -> bool:
    """Whether digits alone are days such as 20200105: several, all of eight digits and all days of the calendar."""
    years = values.str.head(4).cast(pl.Int64, strict=False)
    days = values.str.to_date("%Y%m%d", strict=False)
    is_usual = (values.str.len_chars() == 8).all() and years.is_between(1880, 2100).all()
    return len(values) > 2 and is_usual and not days.null_count()


def missing_markers(texts: pl.DataFrame) -> tuple[str, ...]:
    """Return the markers of missing values: signs such as a dash, and words in columns of numbers or dates."""
    markers = {marker.casefold() for marker in MISSING}
    has_marker = texts.select(pl.all().str.strip_chars().str.to_lowercase().is_in([*markers]).any())
    found = set()
    for text in (texts[name] for name, (is_in,) in has_marker.to_dict(as_series=False).items() if is_in):
        values = text.alias("value").drop_nulls().value_counts(name="records")
        is_marker = values["value"].str.strip_chars().str.to_lowercase().is_in([*markers])
        others = values.filter(~is_marker)
        is_number = others["value"].str.strip_chars().str.contains(rf"{NUMBER}|^(?:{DAY})$")
        numbers, every = int(others["records"].filter(is_number).sum()), int(others["records"].sum())
        is_numeric = every > 0 and numbers >= NEARLY_ALL * every
        for marker in values["value"].filter(is_marker):
            if is_numeric or marker.strip().casefold() not in AMONG_NUMBERS:
                found.add(marker)
    return tuple(sorted(found))


def _sentinels(columns: Sequence[Column]) -> tuple[str, ...]:
    """Numbers such as -99 or 999 that lie far from all others wherever they occur: they stand for a missing one."""
    found: set[str] = set()
    ordinary: set[str] = set()
    for column in columns:
        if not (column.are_numbers and np.isin(column.numbers, NUMBERS_OF_SENTINELS).any()):
            continue
        for value in column.values.filter(column.values.is_in(SENTINELS)):
            (found if _is_far(column, value) else ordinary).add(value)
    return tuple(sorted(found - ordinary))


def _is_far(column: Column, value: str) -> bool:
    others = (column.values != value).to_numpy() & ~np.isnan(column.numbers)
    others &= ~column.values.is_in(SENTINELS).to_numpy()
    if others.sum() < 3 or column.share(others) < 0.5:
        return False
    numbers = np.repeat(column.numbers[others], np.minimum(column.records[others], 1000))
    low, high = np.quantile(numbers, (0.01, 0.99))
    number = float(value)
    is_negative = number < 0 <= numbers.min() and number < -1
    return is_negative or number > high + FAR * max(high - low, 1) or number < low - FAR * max(high - low, 1)


def _ages_by_content(guesses: Sequence[Guess], columns: Sequence[Column]) -> list[Guess]:
    """Guesses with whole numbers up to 110 as ages, where a sex or a birth shows that records are of people.

    Guess no ages if another column is an age or a birth already, or if too many columns could be ages.
    """
    whys = [guess.why for guess in guesses if guess.role == QUASI]
    has_age = any("age" in why.replace("language", "") or "birth" in why for why in whys)
    if has_age or not any("sexes" in why for why in whys):
        return [*guesses]
    able = {column.name: column for column in columns if _may_be_ages(column)}
    places = [place for place, guess in enumerate(guesses) if guess.role == UNDECIDED and guess.column in able]
    found = [*guesses]
    for place in places if len(places) <= MOST_AGES else ():
        column = able[guesses[place].column]
        found[place] = build(column, "whole numbers as ages are, by content", hierarchies.ages(column), "likely")
    return found


def _may_be_ages(column: Column) -> bool:
    numbers = column.numbers[~np.isnan(column.numbers)]
    is_like = column.share_between(0, 110) >= NEARLY_ALL and column.is_whole and column.n_values > 12
    return is_like and float(numbers.max()) >= 40 and float(np.ptp(numbers)) >= 20 and not (
        column.words & OF_OTHER_NUMBERS
    )  # fmt: skip


def _one_birth(guesses: Sequence[Guess], texts: pl.DataFrame) -> list[Guess]:
    """Guesses with the year of a birth dropped where its date is there, or the date where more years are known."""
    built = {guess.column: guess.hierarchy or "" for guess in guesses if guess.role == QUASI}
    dates = [column for column, words in built.items() if words.startswith(hierarchies.BIRTHS)]
    intervals = [column for column, words in built.items() if words.startswith(hierarchies.INTERVAL)]
    years = [column for column in intervals if is_named_birth_year(column)]
    dropped: dict[str, str] = {}
    for date, year in ((date, year) for date in dates for year in years):
        same = texts[date].str.head(4).eq(texts[year]).drop_nulls()
        if same.is_empty() or not same.all():
            continue
        more = texts[date].null_count() > texts[year].null_count()
        dropped |= {date: year} if more else {year: date}
    return [
        Guess(guess.column, DROP, "sure", f"{dropped[guess.column]} states the same birth")
        if guess.column in dropped
        else guess
        for guess in guesses
    ]


def _with_evidence(guesses: Sequence[Guess], texts: pl.DataFrame) -> list[Guess]:
    """Guesses with how many records each undecided column makes unique together with the quasi-identifiers."""
    quasi = [guess.column for guess in guesses if guess.role == QUASI]
    undecided = {guess.column: guess.why for guess in guesses if guess.role == UNDECIDED}
    found = unique_with(undecided, texts, quasi)
    return [replace(guess, why=found.get(guess.column, guess.why)) for guess in guesses]
