"""Signs of an identifier: names of columns that speak of one, and values that look like one."""

import re
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

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

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Speaking(NamedTuple):
    """What the name of a column says."""

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


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in small letters.

    Examples
    --------
    >>> words_of("patientLastName"), words_of("ZIP_code"), words_of("dob2")
    (('patient', 'last', 'name'), ('zip', 'code'), ('dob', '2'))
    """
    return tuple(word.lower() for word in _WORDS.findall(name))


def what_a_name_says(name: str) -> Speaking | None:
    """Return the class of identifiers that the name of a column speaks of, if any.

    Examples
    --------
    >>> what_a_name_says("last_name"), what_a_name_says("drug_name"), what_a_name_says("sex")
    (Speaking(letter='A', strong=True), None, None)
    """
    words = words_of(name)
    joined = " ".join(words)
    for letter, pattern in _STRONG:
        if re.fullmatch(pattern, joined):
            return Speaking(letter, strong=True)
    if _OF_PLACES_AND_THINGS & set(words):
        return None
    for letter, pattern in _WEAK:
        if any(re.fullmatch(pattern, word) for word in words):
            return Speaking(letter, strong=False)
    return None


_PATIENTS = re.compile(
    rf"((patient|person|subject|participant|member|beneficiary|client|individual|pat|nhs){_NUMBER}?|pid|mrn"
    rf"|medical record{_NUMBER}?)"
)


def is_named_patient(name: str) -> bool:
    """Whether the name of a column says that it tells patients apart.

    Examples
    --------
    >>> is_named_patient("PatientId"), is_named_patient("patient_satisfaction")
    (True, False)
    """
    return _PATIENTS.fullmatch(" ".join(words_of(name))) is not None


def is_named_age(name: str) -> bool:
    """Whether the name of a column speaks of an age."""
    return bool({"age", "ages", "alter", "leeftijd", "edad", "idade", "ridageyr"} & set(words_of(name)))


def is_named_zip(name: str) -> bool:
    """Whether the name of a column speaks of a ZIP code."""
    return bool({"zip", "zipcode", "zip3", "zip5", "postal", "postcode", "plz", "postleitzahl"} & set(words_of(name)))


def is_named_birth_year(name: str) -> bool:
    """Whether the name of a column speaks of a year of birth."""
    words = set(words_of(name))
    return bool({"yob", "birthyear", "geburtsjahr"} & words) or ("year" in words and bool({"birth", "born"} & words))


MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"

_NOT_A_NUMBER = r"[^0-9.+\- ]"


class Pattern(NamedTuple):
    """A form of values."""

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
    """The distinct values of a column that are not missing, and how many records have each."""

    texts: pl.Series
    records: pl.Series

    @classmethod
    def of(cls, text: pl.Series, records: pl.Series | None = None) -> "Values":
        """Return the distinct values of a column of text."""
        times = pl.ones(len(text), dtype=pl.Int64, eager=True) if records is None else records
        every = pl.DataFrame([text.alias("text"), times.alias("n")]).drop_nulls("text")
        counted = every.group_by("text").agg(pl.col("n").sum())
        return cls(counted["text"], counted["n"])

    @property
    def n_records(self) -> int:
        """Records with a value."""
        return int(self.records.sum())

    @property
    def are_numbers(self) -> bool:
        """Whether no value holds other than figures and what stands between them."""
        return not self.texts.str.contains(_NOT_A_NUMBER).any()

    def n_like(self, regex: str) -> int:
        """Return the number of records whose value has this form."""
        found = self.texts.str.contains(regex)
        return self.n_where(found) if found.any() else 0

    def n_where(self, chosen: pl.Series) -> int:
        """Return the number of records whose value is chosen; what is null is not."""
        return int(self.records.filter(chosen).sum())
