"""Find columns that identify the patient of a record: by name, by the form of values, or because they undo protection.

k-anonymity is about the quasi-identifiers. It is worth little where another column repeats one of them more finely than
it is released, where a text names its patient, or where the column omitted says that a patient has several records.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from cloister.results import DisclosiveColumn

from .association import LEAST_RECORDS, group_records, order_values, prepare_values, share_explained
from .column_names import (
    BIRTH,
    is_about,
    is_named_age,
    is_named_ethnicity,
    is_named_sex,
    is_named_survey_weight,
    words_of,
)
from .row_numbers import Numbers, number_rows, number_values, refine

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
    (IdentifierName(letter='A', strong=True), None, None)
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


_OF_PATIENTS = r"( ?(id|identifier|no|nr|nbr|num|number|key|code|hash|idx|index|u?uid|guid|ref|token|pseudonym))"
_PATIENTS = re.compile(
    r"((patient|person|subject|participant|respondent|enrollee|volunteer|proband|member|beneficiary|client|individual"
    rf"|pat|subj|nhs){_OF_PATIENTS}?|pid|mrn|[er]id|u?subjid|pt ?(id|no)|uniquep ?id"
    rf"|(patienten|probanden|fall) ?(id|nr|nummer)|medical record{_NUMBER}?)( ?[0-9])?"
)
_NUMBERS_SOMETHING = re.compile(
    r"id|nr|no|num|number|key|code|u?uid|obs|index|case|chart|child|kid|pupil|student|baby|infant|twin|donor"
    r"|(id|seq|doc|case|chart|file|rec|obs|pupil|student)(no|nr|num)"
    r"|[cehimnprsvx]id|[a-z]{2,}(?<!ac|pa|ro|gr)(?<!flu|lip|sol|cov)id"  # but acid, paid, thyroid ...
)
_OF_GROUPS = frozenset(
    ("group", "stratum", "strata", "class", "cluster", "site", "center", "centre", "country", "state", "region",
     "county", "city", "school", "household", "category", "type", "status", "arm", "year", "month", "day")
)  # fmt: skip
_COUNTABLE = frozenset(("person", "member", "individual", "client", "beneficiary"))
LEAST_PATIENTS = 5  # a column of fewer values has kinds of patients, such as parties, or says who is one


def is_named_patient(name: str) -> bool:
    """Whether the name of a column suggests that it distinguishes patients.

    Examples
    --------
    >>> is_named_patient("PatientId"), is_named_patient("subject_hash"), is_named_patient("patient_satisfaction")
    (True, True, False)
    """
    return _PATIENTS.fullmatch(" ".join(words_of(name))) is not None


def is_named_number(name: str) -> bool:
    """Whether the name of a column suggests that it numbers something that is no group and no place.

    Examples
    --------
    >>> is_named_number("seqno"), is_named_number("case_id"), is_named_number("hospital_id")
    (True, True, False)
    """
    words = words_of(name)
    words = words[:-1] if words and words[-1].isdigit() else words
    is_of_groups = not (_OF_GROUPS | _OF_PLACES_AND_THINGS).isdisjoint(words)
    return bool(words) and not is_of_groups and _NUMBERS_SOMETHING.fullmatch(words[-1]) is not None


def numbers_patients(name: str, values: pl.Series) -> bool:
    """Whether a column numbers patients, by its name and its values, be they few: most of them have a digit.

    A number of persons is called `person`, too.
    """
    if not is_named_patient(name) or _COUNTABLE.issuperset(words_of(name)):
        return False
    distinct = values.drop_nulls().unique().cast(pl.String)
    return len(distinct) >= LEAST_PATIENTS and int(distinct.str.contains(r"[0-9]").sum()) > len(distinct) / 2


MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"


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


MOST_RECORDS = 100_000  # more are not looked at, but every second, third ... of them
FREE = 0.5  # share of the records with a text of several words that no other record has
WORDS = r"\p{L}{2,}\P{L}+\p{L}{2,}"
ONE_PERSON = 0.8  # of the doubt about a value that whose record it is takes away: people grow older meanwhile
GROUPS = 0.05  # a column with fewer values than this share of the records distinguishes groups, not patients


def repeated_patients(
    columns: Mapping[str, pl.Series], quasi_identifiers: Iterable[pl.Series]
) -> list[DisclosiveColumn]:
    """Return the columns that show that patients have several records.

    Such a column numbers patients, by its name and values; or it has many values, some of them in several records, and
    its name refers to patients, or records with the same value agree in two quasi-identifiers, as those of one person
    do, neither of which determines the other. (A ZIP code determines the county, and a birth date the age in years and
    in groups; these count as one.) Numbers with decimals, weights of a survey, and columns that equal
    quasi-identifiers determine do not distinguish patients. Few values may be of few patients or of groups: there the
    name must be one of patients or numbers, and records agree in ages, sexes, births and ethnicities; or, where none of
    these is a quasi-identifier and the name is of patients, in all that are.
    """
    named, many, few = set[str](), list[str](), dict[str, bool]()  # of few values: whether the name is of patients
    for name, values in columns.items():
        present, distinct = len(values) - values.null_count(), values.drop_nulls().n_unique()
        if not 1 < distinct < present:
            continue
        is_many, is_of_patients = GROUPS * present <= distinct, is_named_patient(name) or name.casefold() == "id"
        if numbers_patients(name, values) or (is_many and is_of_patients):
            named.add(name)
        elif is_many:
            many.append(name)
        elif is_named_number(name) or is_of_patients:
            few[name] = is_of_patients
    quasi = [*quasi_identifiers] if many or few else []
    classes = number_rows(quasi) if quasi else None
    many = [name for name in many if _may_distinguish(name, columns[name], classes)]
    compared = _QuasiIdentifiers(quasi if many or few else [])
    named |= {name for name in many if compared.agree_in_two(_groups(columns[name]))}
    named |= {name for name, every in few.items() if compared.agree_of_a_person(_groups(columns[name]), every=every)}
    return [DisclosiveColumn(name, "several records of a patient") for name in columns if name in named]


class _QuasiIdentifiers:
    """Quasi-identifiers as they are compared with a column that is omitted, and which of them explains which."""

    def __init__(self, columns: Sequence[pl.Series]) -> None:
        ordered = [order_values(one) for one in columns]
        self.names = [one.name for one in columns]
        self.values = [prepare_values(one) for one in ordered]
        self.groups = [_groups(one) for one in ordered]
        self.found: dict[tuple[int, int], bool] = {}

    def agree_in_two(self, groups: Numbers) -> bool:
        """Whether the records of a group agree in two quasi-identifiers that no other of those explains."""
        explained = [place for place, one in enumerate(self.values) if share_explained(one, groups) > ONE_PERSON]
        alone = (one for one in explained if not any(self.explains(other, one) for other in explained if other != one))
        return next(alone, None) is not None and next(alone, None) is not None

    def agree_of_a_person(self, groups: Numbers, *, every: bool) -> bool:
        """Whether the records of a group agree in what hardly changes about a person, of what differs at all, if any.

        ``every``: whether they must agree in all quasi-identifiers where none of these is about that
        """
        of_people = [
            one
            for name, one in zip(self.names, self.values, strict=True)
            if is_named_age(name) or is_named_sex(name) or is_named_ethnicity(name) or is_about(name, BIRTH)
        ]
        compared = of_people or (self.values if every else [])
        varying = [one for one in compared if one.values.size and np.ptp(one.values) > 0]
        return bool(varying) and all(share_explained(one, groups) > ONE_PERSON for one in varying)

    def explains(self, one: int, other: int) -> bool:
        """Whether one quasi-identifier explains another."""
        if (one, other) not in self.found:
            self.found[one, other] = share_explained(self.values[other], self.groups[one]) > ONE_PERSON
        return self.found[one, other]


def _groups(values: pl.Series) -> Numbers:
    """The records of the same value, which may be one person's; of very many, those of some values only."""
    groups = group_records(values)
    step = 1 + len(values) // MOST_RECORDS
    return groups if step == 1 else np.where((groups + 1) % step == 0, groups, -1)


def _may_distinguish(name: str, values: pl.Series, classes: Numbers | None) -> bool:
    """Return whether a column may distinguish patients, whatever its name.

    A weight of a survey does not, nor does a column of which more than one in twenty values has decimals.
    """
    decimals = values.drop_nulls().cast(pl.String).str.contains(r"^[+-]?[0-9]*\.[0-9]*[1-9]")
    is_number = is_named_survey_weight(name) or int(decimals.sum()) > GROUPS * len(decimals)
    return not is_number and not (classes is not None and is_determined(values, classes))


def is_determined(values: pl.Series, classes: Numbers) -> bool:
    """Whether records agree in other columns, of which this is the class, and all that agree have the same value."""
    n = np.unique(classes).size
    return n < classes.size and np.unique(refine(classes, number_values(values))).size == n


def free_texts(columns: Mapping[str, pl.Series]) -> list[DisclosiveColumn]:
    """Return the text columns where most records have several words that occur in no other record."""
    found = []
    for name, values in columns.items():
        if values.dtype == pl.String and len(values) >= LEAST_RECORDS:
            is_free = values.is_unique() & values.str.contains(WORDS).fill_null(value=False)
            found += [DisclosiveColumn(name, "free text")] if is_free.sum() > FREE * len(values) else []
    return found
