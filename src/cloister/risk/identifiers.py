"""Find columns that identify the patient of a record: by name, by the form of values, or because they undo protection.

k-anonymity is about the quasi-identifiers. It is worth little where another column repeats one of them more finely than
it is released, where a text names its patient, or where the column omitted says that a patient has several records.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from cloister.results import DisclosiveColumn

from .column_names import is_named_survey_weight, words_of

CLASSES = {
    "A": "names",
    "B": "places smaller than a state",
    "C": "dates finer than a year, ages over 89",
    "D": "telephone numbers",
    "E": "fax numbers",
    "F": "email addresses",
    "G": "social security numbers",
    "H": "medical record numbers",
    "I": "health plan beneficiary numbers",
    "J": "account numbers",
    "K": "certificate and license numbers",
    "L": "vehicle identifiers and license plates",
    "M": "device identifiers and serial numbers",
    "N": "web addresses",
    "O": "IP addresses",
    "P": "biometric identifiers",
    "Q": "full-face photographs and the like",
    "R": "any other unique number, characteristic or code",
}
"""The classes of 45 CFR 164.514(b)(2)(i), by their letter there."""


class IdentifierName(NamedTuple):
    """The class of identifiers that a column's name suggests."""

    letter: str
    strong: bool


_NUMBER = r"( ?(id|no|nr|nbr|num|number))"
_STRONG = (
    ("A", r"((first|last|given|family|sur|fore|middle|maiden|full|patient|mothers?|fathers?|nick) ?)?names?|forename"),
    ("A", r"(nach|vor|familien)name|prenom|apellidos?|achternaam|voornaam|cognome"),
    ("B", r"zip( ?code)?( ?\d)?|post(al)? ?code|street( address)?|address|addr|city|town|county|precinct|parish"),
    ("B", r"lat|lon|lng|latitude|longitude|geocode|census tract"),
    ("C", r"(.* )?(date|dob|birthday|birth ?date|timestamp|datetime)( of .*)?"),
    ("C", r"(admission|discharge|death|visit|service|birth)s?( (date|time|day))?|admit(ted)?|discharged|died"),
    ("D", rf"(.* )?(phone|telephone|tel|mobile|cell ?phone){_NUMBER}?"),
    ("E", rf"(.* )?fax{_NUMBER}?"),
    ("F", r"(.* )?e ?mail( address)?"),
    ("G", rf"ssn|social security{_NUMBER}?|national id"),
    ("H", rf"mrn|medical record{_NUMBER}?|(medical|patient|hospital|chart|person|subject|pat|nhs){_NUMBER}"),
    ("I", rf"(member|beneficiary|subscriber|insurance|medicare|medicaid|health plan|policy){_NUMBER}"),
    ("I", r"member|beneficiary"),
    ("J", rf"(bank )?(account|acct){_NUMBER}?|iban|credit card{_NUMBER}?"),
    ("K", rf"(driver s |drivers? )?(license|licence|certificate|passport){_NUMBER}?|npi|dea{_NUMBER}?"),
    ("L", rf"vin|(license|licence|number) plate|vehicle( .*)?|plate{_NUMBER}?"),
    ("M", rf"(device |implant )?(device|serial|imei|udi){_NUMBER}?|mac( address)?"),
    ("N", r"(.* )?(url|website|homepage|web ?page)|web address"),
    ("O", r"ip( v?)?( ?[46])?( address)?"),
    ("P", r"(.* )?(fingerprints?|voice ?print|biometrics?|retina( scan)?|iris( scan)?)"),
    ("Q", r"(.* )?(photo|photograph|picture|portrait|face image|selfie)s?"),
    ("R", rf"(.* )?(uuid|guid)|(row|record|encounter|visit|claim|case|study){_NUMBER}|id|identifier"),
)
_WEAK = (
    ("A", r"names?|initials|alias"),
    ("B", r"zip|postal|street|address|city|town|county|village|district|neighbou?rhood|parish|coordinates?"),
    ("C", r"date|dob|birth|day|month"),
    ("D", r"phone|telephone|mobile"),
    ("F", r"mail"),
    ("G", r"ssn"),
    ("H", r"mrn"),
    ("J", r"account"),
    ("K", r"license|licence|certificate|passport"),
    ("M", r"serial|device"),
    ("N", r"url|web"),
    ("P", r"dna|genome|genotype|sequence|biometric"),
    ("Q", r"image|scan"),
    ("R", r"id|identifier|key|hash|token|barcode"),
)
_OF_PLACES_AND_THINGS = frozenset(
    ("drug", "medication", "hospital", "ward", "facility", "clinic", "department", "dept", "test", "procedure",
     "product", "brand", "column", "file", "unit")
)  # fmt: skip
"""Words that make a name or number one of something else than a person."""


def what_a_name_says(name: str) -> IdentifierName | None:
    """Return the class of identifiers that a column's name suggests, if any.

    Examples
    --------
    >>> what_a_name_says("last_name"), what_a_name_says("drug_name"), what_a_name_says("sex")
    (Speaking(letter='A', strong=True), None, None)
    """
    words = words_of(name)
    joined = " ".join(words)
    for letter, pattern in _STRONG:
        if re.fullmatch(pattern, joined):
            return IdentifierName(letter, strong=True)
    if _OF_PLACES_AND_THINGS & set(words):
        return None
    for letter, pattern in _WEAK:
        if any(re.fullmatch(pattern, word) for word in words):
            return IdentifierName(letter, strong=False)
    return None


_PATIENTS = re.compile(
    rf"((patient|person|subject|participant|member|beneficiary|client|individual|pat|nhs){_NUMBER}?|pid|mrn"
    rf"|medical record{_NUMBER}?)"
)


def is_named_patient(name: str) -> bool:
    """Whether the name of a column suggests that it distinguishes patients.

    Examples
    --------
    >>> is_named_patient("PatientId"), is_named_patient("patient_satisfaction")
    (True, False)
    """
    return _PATIENTS.fullmatch(" ".join(words_of(name))) is not None


MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"

_NOT_A_NUMBER = r"[^0-9.+\- ]"


class Pattern(NamedTuple):
    """A pattern of values."""

    letter: str
    what: str
    regex: str
    inside: bool = False


EMAIL = Pattern("F", "email addresses", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}", True)
WEB = Pattern("N", "web addresses", r"(?i)\b(?:https?://|www\.)\S+", True)
SSN = Pattern("G", "social security numbers", r"\b\d{3}-\d{2}-\d{4}\b", True)
PHONE = Pattern(
    "D",
    "telephone or fax numbers",
    r"(?:^|[^\d])(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?:$|[^\d])|(?:^|\s)\+\d[\d ()/-]{7,16}\d\b",
    True,
)
IP = Pattern(
    "O",
    "IP addresses",
    r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$"
    r"|^(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}$|^(?:[0-9A-Fa-f]{1,4}:)+:[0-9A-Fa-f:]*$",
)
MAC = Pattern("M", "addresses of network devices", r"^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$")
UUID = Pattern("R", "UUIDs", r"^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$")
VIN = Pattern(
    "L", "vehicle identification numbers", r"^[A-HJ-NPR-Z0-9]{8}[0-9X][A-HJ-NPR-Y1-9][A-HJ-NPR-Z0-9]{3}\d{4}$"
)
PICTURE = Pattern("Q", "names of picture files", r"(?i)\.(?:jpe?g|png|gif|bmp|tiff?|heic|dcm)$")
PERSON = Pattern("A", "names of people", r"^[A-Z][a-z'’-]+,? (?:[A-Z]\.? )?[A-Z][a-z'’-]+$")

OF_TEXT = (EMAIL, WEB, SSN, PHONE, IP, MAC, UUID, VIN, PICTURE)
"""Looked for in columns with values that are no numbers; of one that is, only within what the number form allows."""

OF_NUMBERS = (SSN, PHONE, IP)

DATE = (
    r"^(?:18|19|20)\d{2}[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d{1,2})?(?:[T ].*)?$"
    r"|^\d{1,2}[-/.]\d{1,2}[-/.](?:(?:18|19|20)\d{2}|\d{2})(?:[ ,T].*)?$"
    r"|^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
    rf"|(?i)^\d{{1,2}}[ -]?{MONTH}[ ,.-]*(?:\d{{4}}|\d{{2}})$|^{MONTH}\.? \d{{1,2}},? \d{{4}}$|^{MONTH}[ ,-]+\d{{4}}$"
)
"""A day or a month: by figures, year first or last, in one number, or with the month's name."""

ZIP = r"^\d{5}(?:-?\d{4})?$|^\d{4}[*xX]$"  # more than three digits of a ZIP code
ZIP_START = r"^(\d{3})(?:[*xX0]{2}|\d{2}(?:-?\d{4})?|\d[*xX])?$"  # A ZIP code, whole or cut: its first three digits


@dataclass(frozen=True)
class Values:
    """The distinct values of a column, without missing, and the number of records with each."""

    texts: pl.Series
    records: pl.Series

    @classmethod
    def of(cls, text: pl.Series, records: pl.Series | None = None) -> "Values":
        """Return the distinct values of a column of text."""
        times = pl.ones(len(text), dtype=pl.Int64, eager=True) if records is None else records
        every = pl.DataFrame([text.alias("text"), times.alias("n")]).drop_nulls("text")
        counted = every.group_by("text").agg(pl.col("n").sum())
        return cls(counted["text"].cast(pl.String), counted["n"])

    @property
    def n_records(self) -> int:
        """The number of records with a value."""
        return int(self.records.sum())

    @property
    def are_numbers(self) -> bool:
        """Whether all values consist of digits and separators only."""
        return not self.texts.str.contains(_NOT_A_NUMBER).any()

    def count_like(self, *regexes: str) -> tuple[int, ...]:
        """Count for each form the records whose value has it."""
        like = (pl.col("n").filter(pl.col("text").str.contains(one)).sum() for one in regexes)
        found = pl.DataFrame([self.texts.alias("text"), self.records.alias("n")]).select(
            one.alias(str(place)) for place, one in enumerate(like)
        )
        return found.row(0)

    def n_where(self, chosen: pl.Series) -> int:
        """Count the records whose value is selected; null does not count."""
        return int(self.records.filter(chosen).sum())


LEAST_RECORDS = 100  # from fewer nothing follows
MOST_RECORDS = 100_000  # more are not looked at, but every second, third ... of them
FREE = 0.5  # share of the records with a text of several words that no other record has
WORDS = r"\p{L}{2,}\P{L}+\p{L}{2,}"
ONE_PERSON = 0.8  # of the doubt about a value that whose record it is takes away: people grow older meanwhile
GROUPS = 0.05  # a column with fewer values than this share of the records distinguishes groups, not patients


def repeated_patients(
    columns: Mapping[str, pl.Series], quasi_identifiers: Iterable[pl.Series]
) -> list[DisclosiveColumn]:
    """Return the omitted columns that show that patients have several records.

    Such a column has many values, some of them in several records, and is called after patients; or records of the same
    value agree, as those of one person do, in two quasi-identifiers of which neither says the other. A ZIP code says
    the county, a birth date the age in years and in groups: those are one thing said. Numbers with decimals, weights of
    a survey and what equal quasi-identifiers determine distinguish no patients.
    """
    found, many = [], {}
    for name, values in columns.items():
        present, distinct = len(values) - values.null_count(), values.drop_nulls().n_unique()
        if GROUPS * present <= distinct < present:
            many[name] = values
    quasi = [*quasi_identifiers] if many else []
    many = {name: values for name, values in many.items() if is_named_patient(name) or _may_tell(name, values, quasi)}
    ordered_ones = [order_values(one) for one in quasi] if many else []
    for name, values in many.items():
        text = values.cast(pl.String)
        said = [] if is_named_patient(name) else [one for one in ordered_ones if _says(text, one)]
        alone = [
            one for one in said if not any(_says(other.cast(pl.String), one) for other in said if other is not one)
        ]
        if is_named_patient(name) or len(alone) >= 2:
            found.append(DisclosiveColumn(name, "several records of a patient"))
    return found


def _may_tell(name: str, values: pl.Series, quasi_identifiers: Sequence[pl.Series]) -> bool:
    """Whether a column may distinguish patients although its name does not say so.

    Not a weight of a survey, nor where more than one in twenty values is a number with decimals.
    """
    decimals = values.drop_nulls().cast(pl.String).str.contains(r"^[+-]?[0-9]*\.[0-9]*[1-9]")
    is_number = is_named_survey_weight(name) or int(decimals.sum()) > GROUPS * len(decimals)
    return not is_number and not (quasi_identifiers and is_determined(values, quasi_identifiers))


def is_determined(values: pl.Series, given: Sequence[pl.Series]) -> bool:
    """Whether records agree in other columns, and all records that agree there have the same value."""
    classes = pl.DataFrame([one.alias(str(place)) for place, one in enumerate(given)])
    n = classes.n_unique()
    return n < classes.height and classes.with_columns(values.alias("value")).n_unique() == n


def _says(column: pl.Series, value: pl.Series) -> bool:
    """Whether records of the same value of a column, which stand for one person, hardly differ."""
    step = 1 + len(column) // MOST_RECORDS
    is_looked_at = column.rank("dense") % step == 0  # all records of a value, or none
    one = pl.Series([""] * len(column), dtype=pl.String)
    looked_at = [series.filter(is_looked_at) for series in (one, value, column)]
    return share_said(*looked_at) > ONE_PERSON


def free_texts(columns: Mapping[str, pl.Series]) -> list[DisclosiveColumn]:
    """Return the text columns where most records have several words that occur in no other record."""
    found = []
    for name, values in columns.items():
        if values.dtype == pl.String and len(values) >= LEAST_RECORDS:
            is_free = values.is_unique() & values.str.contains(WORDS).fill_null(value=False)
            found += [DisclosiveColumn(name, "free text")] if is_free.sum() > FREE * len(values) else []
    return found


def share_said(labels: pl.Series, values: pl.Series, column: pl.Series) -> float:
    """Return the share of the doubt about a value, given its label, that another column removes; at most 1.

    The doubt is how far a record is from another of its label: their difference where values are numbers, else whether
    they differ. What is left of it is how far it is from another that also has the same value of the column; where
    none has, and that is a number, from the next by that number.

    References
    ----------
    Goodman, Kruskal (1954), "Measures of association for cross classifications", tau; for numbers with Gini's mean
    difference in place of the probability to differ.
    """
    records = pl.DataFrame([labels.alias("label").fill_null(""), values.alias("value"), column.alias("column")])
    records = records.drop_nulls().sort("label", "value")
    is_number = values.dtype.is_numeric()
    records = records.with_columns(_apart(is_number, "label").alias("doubt")).filter(pl.col("doubt") > 0)
    records = records.sort("label", "column", "value").with_columns(_apart(is_number, "label", "column").alias("left"))
    if column.dtype.is_numeric():
        value = pl.col("value")
        following = pl.coalesce(value.shift(-1).over("label"), value.shift().over("label"))
        to_next = (value - following).abs() if is_number else (value != following).cast(pl.Float64)
        records = records.with_columns(pl.coalesce("left", to_next).alias("left"))
    compared = records.drop_nulls()
    if compared.height < LEAST_RECORDS:
        return 0.0
    return 1.0 - float(compared["left"].sum()) / float(compared["doubt"].sum())


def _apart(is_number: bool, *groups: str) -> pl.Expr:
    """How far a record is from another of its group on average, sorted by value; null where it is alone.

    Numbers by their mean difference in the group; else the share of the others that have another value.
    """
    n, value = pl.len().over(groups).cast(pl.Float64), pl.col("value")
    if is_number:
        rank = pl.int_range(1, pl.len() + 1).over(groups)
        return pl.when(n > 1).then(((2 * rank - n - 1) * value).sum().over(groups) * 2 / (n * (n - 1)))
    return pl.when(n > 1).then(1 - (pl.len().over(*groups, "value") - 1) / (n - 1))


def order_values(text: pl.Series) -> pl.Series:
    """Convert text to sortable values: numbers, days as numbers of days; other text stays unchanged."""
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        return numbers
    days = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    are_days = days.null_count() == text.null_count() < len(text)
    return days.to_physical().cast(pl.Float64) if are_days else text
