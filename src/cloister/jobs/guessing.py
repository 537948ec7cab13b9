"""What the columns of a table seem to be, by the words of their names and by most of what they hold.

One odd value decides nothing: what nearly all records have does. A column without a sign of identifying anybody is
proposed as sensitive, to be decided by people; a column that may identify is left out, with the reason beside it.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from cloister.claims.first_plan import IDS, Guess, are_codes, plain_name
from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.io import as_text
from cloister.io.read import with_decimal_points
from cloister.reading import DateFormat, day_of, formats_of, parse_date_format
from cloister.risk.identifiers import (
    CLASSES,
    is_named_age,
    is_named_birth_year,
    is_named_patient,
    is_named_zip,
    repeated_patients,
    what_a_name_says,
    words_of,
)
from cloister.risk.safe_harbor import IdentifierSign, look_for_identifiers

from .guessing_codes import CODE_NAMES

ID, PATIENT, QUASI, SENSITIVE, DROP = "id", "patient", "quasi-identifier", "sensitive", "drop"
RECORD_NUMBERS = "H"
AGES, BIRTHS, BIRTH_YEARS = "interval:5,10,20/top=90", "date:year,decade", "interval:5,10,20"
DATES, INTERVAL = "date:month,quarter,year", "interval:"
OLDEST = 130
FEW, MANY_KINDS = 12, 60
UNIQUE_SHARE = 0.05  # kinds of people are kinds if no more of the values than this stand in one record alone
NEARLY_ALL = 0.98  # share of the records that decides what a column holds
FREE = 0.5  # share of the records with a text of several words that no other has
MISSING = ("NA", "N/A", "NaN", "null", "none", "?", ".", "-", "unknown", "not available")
"""How missing values are written, in any case; ``unknown`` and ``none`` only among numbers or dates."""
AMONG_NUMBERS = frozenset({"none", "-", ".", "unknown", "not available"})

KINDS_OF_PEOPLE = frozenset(
    ("sex", "gender", "race", "ethnic", "ethnicity", "marital", "married", "language", "religion", "region", "country",
     "nationality", "state", "education", "educational", "occupation", "profession", "job", "employment", "work",
     "insurance", "payer", "smoke", "smokes", "smoker", "smoking", "citizenship", "residence", "home", "urban", "rural",
     "province", "canton", "workclass", "veteran", "geschlecht", "sexe", "sexo", "sesso", "geslacht", "familienstand",
     "nationalitaet", "staatsangehoerigkeit", "bundesland", "land", "beruf", "bildung", "krankenkasse", "versicherung",
     "riagendr", "ridreth", "dmdeduc", "dmdmartl", "sexvar", "educa")
)  # fmt: skip
OF_THE_BODY = frozenset(
    ("height", "weight", "bmi", "waist", "income", "salary", "poverty", "wage", "gewicht", "groesse", "poids", "taille",
     "peso", "einkommen", "gehalt", "bmxwt", "bmxht", "bmxbmi", "indfmpir")
)  # fmt: skip
BIRTH = frozenset(
    ("birth", "dob", "birthday", "birthdate", "yob", "geburt", "geburtsdatum", "geburtsjahr", "naissance")
)
SEXES = frozenset(
    ("m", "f", "w", "d", "x", "h", "male", "female", "man", "woman", "men", "women", "boy", "girl", "divers", "diverse",
     "männlich", "weiblich", "mann", "frau", "homme", "femme", "hombre", "mujer", "vrouw", "other", "unknown")
)  # fmt: skip
"""What sexes are called, whatever their column is."""
OF_PLACES = frozenset(("town", "hometown", "village", "birthplace", "plz", "postleitzahl", "postcode"))
OF_STAFF = frozenset(("physician", "doctor", "surgeon", "nurse", "clinician", "arzt", "medecin", "medico"))
OF_NAMES = frozenset(
    ("patient", "patients", "person", "subject", "participant", "code", "codes", "cd", "desc", "description",
     "name", "group", "category", "cat", "status", "type", "level", "class", "of", "at", "in", "the", "is",
     "has", "ever", "now", "current", "native", "home", "origin", "birth", "first", "main", "primary", "usual", "own",
     "background", "standing", "self", "reported", "recode", "recoded", "ssa", "fips", "year", "years", "yrs", "cm",
     "kg", "lbs", "inch", "household", "hh", "annual", "monthly", "family", "work", "n", "num", "number", "1", "2", "3",
     "4", "5", "100")
)  # fmt: skip
"""Words that do not change what a name is about: `residence_type`, `Race1`, `country of birth`."""

REPEATS = "it repeats: a patient has several rows, so patients are counted"
FORMS_OF_DATES = {
    "dd.mm.yyyy": r"\d{1,2}\.\d{1,2}\.\d{2,4}",
    "dd/mm/yyyy or mm/dd/yyyy": r"\d{1,2}/\d{1,2}/\d{2,4}",
    "dd-mm-yyyy": r"\d{1,2}-\d{1,2}-\d{4}",
    "dd-Mon-yyyy": r"\d{1,2}[- ][A-Za-z]{3}[- ]\d{2,4}",
    "yyyy/mm/dd": r"\d{4}/\d{1,2}/\d{1,2}",
    "mm/yyyy": r"(0?[1-9]|1[0-2])[/.-](18|19|20)\d{2}",
    "yyyy-mm": r"(18|19|20)\d{2}[/-](0[1-9]|1[0-2])",
}
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?|[+-]?\.[0-9]+")
CODED_NAMES = re.compile(r"[a-z](age|sex|gender)")  # as surveys write them: `iage`, `isex`
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?")


@dataclass(frozen=True)
class GuessedTable:
    """What the columns of a table seem to be, and how its missing values, numbers and dates are written."""

    columns: list[Guess]
    missing: tuple[str, ...]
    date_format: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    decimal: str | None = None


@dataclass(frozen=True)
class Column:
    """A column to be guessed."""

    # name, words: its name, and the words of it
    name: str
    words: frozenset[str]
    # values, records: distinct values, sorted, and how many records have each
    values: Sequence[str] = field(repr=False)
    records: Sequence[int] = field(repr=False)
    unique_share: float  # share of the records whose value no other has
    is_key: bool
    findings: tuple[IdentifierSign, ...] = field(repr=False)  # signs of identifiers

    def share(self, holds: Callable[[str], object]) -> float:
        """Share of the records with a value for which something holds."""
        found = sum(n for value, n in zip(self.values, self.records, strict=True) if holds(value))
        return found / max(1, sum(self.records))

    def mostly(self, pattern: "re.Pattern[str] | str") -> bool:
        """Whether nearly all records have a value of this form."""
        return self.share(re.compile(pattern).fullmatch) >= NEARLY_ALL

    def is_about(self, words: frozenset[str]) -> bool:
        """Whether the name is about one of these, and about nothing else."""
        return bool(self.words & words) and self.words <= words | OF_NAMES

    @property
    def alone(self) -> float:
        """Share of the records with a value whose value no other has."""
        return self.records.count(1) / max(1, sum(self.records))

    @property
    def holds_codes(self) -> bool:
        """Whether it holds codes of diagnoses, by name too: years and many other numbers are codes by their form."""
        is_named = CODE_NAMES.search(plain_name(self.name)) is not None
        return is_named and not self.mostly(r"(18|19|20)[0-9]{2}") and are_codes(self.values)

    @property
    def is_measured(self) -> bool:
        """Whether it holds numbers with decimals, which no register gives to a person."""
        return self.mostly(NUMBER) and self.share(re.compile(r".*\.[0-9]*[1-9][0-9]*").fullmatch) > UNIQUE_SHARE


def guess_table(frame: pl.DataFrame, file: str) -> GuessedTable:
    """Guess the role of each column of a table, and how missing values and dates are written in it."""
    texts = pl.DataFrame([as_text(column) for column in frame])
    missing = missing_markers(texts)
    texts = texts.with_columns(pl.all().replace(dict.fromkeys(missing)))
    pointed = with_decimal_points(texts, file, NEARLY_ALL)
    texts = texts if pointed is None else pointed
    formats = {name: form for name in texts.columns if (form := _date_format(texts[name])) is not None}
    days = [
        texts[name].str.to_date(form.strptime, strict=False).cast(pl.String).alias(name)
        for name, form in formats.items()
    ]
    odd_dates = {one.name for one in days if one.null_count() > texts[one.name].null_count()}
    texts = texts.with_columns(days)
    typed = pl.DataFrame([_decimals(column) for column in texts])
    found = look_for_identifiers(typed, texts)
    columns = [_column(texts[name], [one for one in found if one.column == name]) for name in texts.columns]
    identifier = _identifier(columns)
    guesses = [identifier if identifier and one.name == identifier.column else guess_column(one) for one in columns]
    guesses = _one_birth(guesses, texts)
    if not any(guess.role == PATIENT for guess in guesses):
        taken = [texts[guess.column] for guess in guesses if guess.role == QUASI]
        others = {guess.column: texts[guess.column] for guess in guesses if guess.role in (DROP, SENSITIVE)}
        for patients in repeated_patients(others, taken)[:1]:
            of_rows = {
                one.column: Guess(one.column, DROP, "sure", "rows, not patients") for one in guesses if one.role == ID
            }
            changed = of_rows | {patients.column: Guess(patients.column, PATIENT, "sure", REPEATS)}
            guesses = [changed.get(one.column, one) for one in guesses]
    if not any(guess.role == QUASI for guess in guesses):
        raise InputError(
            f"No column of {file} was recognised as a quasi-identifier, such as age, sex or ZIP. Rename columns, or "
            "write the job by hand.",
            file=file,
        )
    built = {one.column: one.hierarchy or "" for one in guesses}
    odd = [one.name for one in columns if not all(map(_fits(built[one.name]), one.values))]
    numbers = tuple(name for name in odd if built[name].startswith(INTERVAL))
    dates = tuple(one.name for one in columns if one.name in odd_dates.union(odd).difference(numbers))
    forms = tuple(f"{name}={form.text}" for name, form in formats.items())
    return GuessedTable(guesses, missing, forms, numbers, dates, None if pointed is None else ",")


def _fits(words: str) -> Callable[[str], object]:
    """What says whether a hierarchy of numbers or dates takes a value; any other takes all."""
    if words.startswith(INTERVAL):
        return _is_number
    return day_of if words.startswith("date:") else bool


def _is_number(value: str) -> bool:
    return NUMBER.fullmatch(value.strip()) is not None


def _date_format(text: pl.Series) -> DateFormat | None:
    """The one usual form, if there is one, that nearly all values are dates in; digits alone are no dates."""
    values = text.drop_nulls().unique().sort().to_list()
    if not values or all(map(str.isdigit, values)):
        return None
    found, n = formats_of(values)
    return parse_date_format(found[0]) if len(found) == 1 and n >= NEARLY_ALL * len(values) else None


def missing_markers(texts: pl.DataFrame) -> tuple[str, ...]:
    """Return how missing values are written: signs of that, and words of it in columns of numbers or dates."""
    found = set()
    for column in texts:
        every = dict(column.drop_nulls().value_counts(name="n").iter_rows())
        markers = {value for value in every if value.strip().casefold() in {marker.casefold() for marker in MISSING}}
        others = {value: n for value, n in every.items() if value not in markers}
        numbers = sum(n for value, n in others.items() if NUMBER.fullmatch(value.strip()) or DAY.fullmatch(value))
        is_numeric = bool(others) and numbers >= NEARLY_ALL * sum(others.values())
        found |= {marker for marker in markers if is_numeric or marker.strip().casefold() not in AMONG_NUMBERS}
    return tuple(sorted(found))


def _decimals(text: pl.Series) -> pl.Series:
    """Numbers with decimals as such: that hardly two records share one says nothing of whose it is."""
    present = text.drop_nulls()
    has_point = present.str.contains(r"^[+-]?\d*\.\d+$").sum() > UNIQUE_SHARE * len(present)
    numbers = text.cast(pl.Float64, strict=False) if has_point else text
    return numbers if numbers.null_count() == text.null_count() else text


def _column(text: pl.Series, findings: Sequence[IdentifierSign]) -> Column:
    n = max(1, len(text))
    alone = float(text.is_unique().sum()) / n
    is_key = text.n_unique() == len(text) and not text.null_count()
    counts = text.drop_nulls().value_counts(name="n").sort(text.name)
    values, records = counts.to_series(0).to_list(), counts["n"].to_list()
    return Column(text.name, frozenset(words_of(text.name)), values, records, alone, is_key, tuple(findings))


def _identifier(columns: Sequence[Column]) -> Guess | None:
    """The column of ids: named so, with another value in each record; or one that tells whose of several it is."""
    named = [one for one in columns if plain_name(one.name) in IDS or is_named_patient(one.name)]
    numbers = [one for one in columns if _says(one, RECORD_NUMBERS)]
    several = [one for one in named if 1 < len(one.values) < sum(one.records)]
    patients = next((one for one in several if is_named_patient(one.name)), None)
    whole = next((one for one in (*named, *numbers) if one.is_key), None)
    if patients is None and whole is not None:
        return Guess(whole.name, ID, "sure", "by its name, and another value for each patient")
    patients = patients or next(iter(several), None)
    return None if patients is None else Guess(patients.name, PATIENT, "sure", REPEATS)


def _one_birth(guesses: Sequence[Guess], texts: pl.DataFrame) -> list[Guess]:
    """Guesses with the year of a birth dropped where its date is there, or the date where more years are known."""
    taken = [guess for guess in guesses if guess.role == QUASI]
    dates = [guess.column for guess in taken if guess.hierarchy == BIRTHS]
    years = [guess.column for guess in taken if guess.hierarchy == BIRTH_YEARS and is_named_birth_year(guess.column)]
    dropped: dict[str, str] = {}
    for date, year in ((date, year) for date in dates for year in years):
        same = texts[date].str.head(4).eq(texts[year]).drop_nulls()
        if same.is_empty() or not same.all():
            continue
        more = texts[date].null_count() > texts[year].null_count()
        dropped |= {date: year} if more else {year: date}
    return [
        Guess(guess.column, DROP, "sure", f"{dropped[guess.column]} tells the same birth")
        if guess.column in dropped
        else guess
        for guess in guesses
    ]


def guess_column(column: Column) -> Guess:
    """Guess the role of a column that is not the id."""
    if not column.values:
        return Guess(column.name, DROP, "sure", "it is empty")
    return _of_a_person(column) or _identifying(column) or _of_care(column)


def _of_a_person(column: Column) -> Guess | None:
    """Quasi-identifiers, with their hierarchies."""
    name = column.name
    coded = CODED_NAMES.fullmatch(name)
    whole_ages = column.share(lambda value: value.isdecimal() and int(value) <= 120)
    ages = column.share(lambda value: NUMBER.fullmatch(value) is not None and 0 <= float(value) <= OLDEST)
    if coded and coded[1] == "age" and whole_ages >= NEARLY_ALL:
        return _built(column, "ages, by content and most of the name", AGES, "likely")
    if coded and coded[1] != "age" and 2 <= len(column.values) <= 3:
        return Guess(name, QUASI, "likely", "sexes, by most of the name and few values", "suppress")
    if is_named_age(name) and ages >= NEARLY_ALL:
        return _built(column, "ages, by name and content", AGES)
    is_birth = is_named_birth_year(name) or bool(column.words & BIRTH)
    if is_birth and column.mostly(r"(18|19|20)[0-9]{2}(\.0)?"):
        return _built(column, "years of birth, by name and content", BIRTH_YEARS)
    if column.mostly(DAY):
        sureness = "sure" if is_birth or _says(column, "C") else "likely"
        return _built(column, "dates, by content", BIRTHS if is_birth else DATES, sureness)
    form = next((form for form, pattern in FORMS_OF_DATES.items() if column.mostly(pattern + r"( .*)?")), None)
    if form is not None:
        return Guess(name, DROP, "likely", f"dates as {form}: say which with date_format, or write them YYYY-MM-DD")
    if is_named_zip(name) and column.mostly(r"[0-9]{5}(-?[0-9]{4})?"):
        return _built(column, "ZIP codes, by name and content", f"prefix:{max(map(len, column.values))}")
    if column.is_about(OF_THE_BODY) and (words := _widths(column)) is not None:
        return _built(column, "by its name, numbers", words, "likely")
    # few values, or not too many and each that of several people
    is_few = len(column.values) <= FEW
    are_kinds = is_few or (len(column.values) <= MANY_KINDS and column.unique_share <= UNIQUE_SHARE)
    is_band = is_named_age(name) or column.is_about(OF_THE_BODY)
    if are_kinds and (is_band or column.is_about(KINDS_OF_PEOPLE)):
        return Guess(name, QUASI, "sure" if is_few else "likely", "by its name, few values", "suppress")
    if is_birth or is_named_zip(name) or is_band:  # never as recorded: outsiders know it
        return Guess(name, DROP, "likely", "outsiders know it by its name, and its values cannot be made coarser")
    if 2 <= len(column.values) <= FEW // 2 and column.share(lambda value: value.strip().casefold() in SEXES) == 1:
        return Guess(name, QUASI, "likely", "sexes, by content", "suppress")
    return None


def _built(column: Column, why: str, words: str, sureness: str = "sure") -> Guess:
    """A quasi-identifier with a hierarchy that takes all its values; else what stands in the way."""
    hierarchy, values = parse_hierarchy(words), list(column.values)
    odd, fits = len(hierarchy.outside(values)), _fits(words)
    if odd and column.share(fits) >= NEARLY_ALL:
        values = list(filter(fits, values))
        why = f"{why}; what is no {'number' if fits is _is_number else 'date'} is read as missing ({odd} different)"
    try:
        hierarchy.bind(column.name, values)
    except InputError:
        return Guess(
            column.name, DROP, "likely", f"{why}, but {odd} of its values are not: correct them, or name them missing"
        )
    return Guess(column.name, QUASI, sureness, why, words)  # type: ignore[arg-type]


def _identifying(column: Column) -> Guess | None:
    """Direct identifiers: by the checks of Safe Harbor. What is only measured identifies nobody."""
    sure = [one for one in column.findings if one.confidence in ("certain", "likely")]
    if sure or _says(column, None):
        said = what_a_name_says(column.name)
        letter = sure[0].letter if sure else said.letter if said else "R"
        return Guess(column.name, DROP, "sure", f"identifies patients: {CLASSES[letter]}")
    # few numbers that many share, as of `discharge_disposition_id`, are kinds, not numbers of anybody
    are_kinds = len(column.values) <= MANY_KINDS and column.unique_share <= UNIQUE_SHARE
    is_kind = are_kinds and all(one.letter == "R" for one in column.findings)
    if column.findings and not column.is_measured and not is_kind:
        return Guess(column.name, DROP, "likely", f"may identify patients: {CLASSES[column.findings[0].letter]}")
    if column.words & OF_PLACES:
        return Guess(column.name, DROP, "likely", f"may identify patients: {CLASSES['B']}")
    if column.words & OF_STAFF and not column.mostly(r"[0-9]{1,3}"):
        return Guess(column.name, DROP, "likely", "may identify patients, and others: who treated them")
    is_text = not column.mostly(NUMBER) and column.share(lambda value: len(value.split()) > 1) > FREE
    if is_text and column.unique_share > UNIQUE_SHARE:
        return Guess(column.name, DROP, "likely", "texts that one record has alone")
    if column.alone > FREE and not column.mostly(NUMBER) and not column.holds_codes:
        return Guess(column.name, DROP, "likely", "most of its values stand in one record alone")
    return None


def _of_care(column: Column) -> Guess:
    """What is released as recorded, unless people decide otherwise: nothing says that it tells whose the record is."""
    if any(" " in value and len(value.split()) > 1 and are_codes(value.split()) for value in column.values[:100]):
        return Guess(column.name, DROP, "likely", "lists of codes; codes and m of a table protect them")
    if column.holds_codes:
        return Guess(column.name, SENSITIVE, "sure", "codes of diagnoses, by name and content")
    if column.unique_share >= NEARLY_ALL and (words := _widths(column)) is not None:
        return _built(column, "numbers, nearly each of one record alone", words, "not sure")
    return Guess(column.name, SENSITIVE, "not sure", "no sign of identifying; decide whether outsiders know it")


def _says(column: Column, letter: str | None) -> bool:
    """Whether the name leaves little doubt that it is of a class of identifiers, or of this one."""
    said = what_a_name_says(column.name)
    return said is not None and said.strong and letter in (None, said.letter)


def _widths(column: Column) -> str | None:
    """Intervals of three widths; None where they are no numbers, or few."""
    width = _width(column)
    if width is None:
        return None
    point = ".0" if column.is_measured else ""  # of decimals the intervals are half-open, as [70, 75)
    return INTERVAL + ",".join(f"{times * width}{point}" for times in (1, 5, 10))


def _width(column: Column) -> int | None:
    """A power of ten that cuts numbers into some tens of intervals; None where they are no numbers, or few."""
    if not column.mostly(NUMBER) or len(column.values) <= FEW:
        return None
    size = max(abs(float(value)) for value in column.values if NUMBER.fullmatch(value))
    if not math.isfinite(size) or not 1 <= size < 10**12:
        return None
    return int(10 ** max(0, math.floor(math.log10(size)) - 1))
