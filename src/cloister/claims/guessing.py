"""What the columns of two files seem to be, by their names and by what they hold."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from cloister.hierarchy import icd9, icd10
from cloister.io import as_text

from .dates import days_in, whole_numbers_in

Sureness = Literal["sure", "likely", "not sure"]
IDS = ("id", "patient_id", "person_id", "subject_id", "member_id", "memberid", "desynpuf_id", "mrn")
LOOKED_AT = 200_000
"""Distinct values of a column that are looked at."""

NEARLY_ALL = 0.95
OLDEST = 130
FEW = 12


@dataclass(frozen=True)
class Guess:
    """What a column seems to be.

    Attributes
    ----------
    column : its name
    role : in the plan
    sureness : `sure` where name and content agree, `likely` by one of them, `not sure` where neither says anything
    why : in a few words, without values
    hierarchy : of a quasi-identifier
    """

    column: str
    role: str
    sureness: Sureness
    why: str
    hierarchy: str | None = None


@dataclass(frozen=True)
class _Sign:
    """How a role is recognised: the words of its name, and what its values are like."""

    role: str
    name: re.Pattern[str]
    content: Callable[[Sequence[str]], bool]
    hierarchy: str | None = None


def _sign(role: str, name: str, content: Callable[[Sequence[str]], bool], hierarchy: str | None = None) -> _Sign:
    return _Sign(role, re.compile(name), content, hierarchy)


def most(values: Sequence[str], holds: Callable[[str], bool], share: float = NEARLY_ALL) -> bool:
    """Whether so large a share of the values is as asked."""
    return bool(values) and sum(map(holds, values)) >= share * len(values)


def are_dates(values: Sequence[str]) -> bool:
    """Whether all are dates."""
    return bool(values) and not days_in(pl.Series(values)).null_count()


def are_years(values: Sequence[str]) -> bool:
    """Whether all are years of the last centuries."""
    return bool(values) and all(re.fullmatch(r"(18|19|20)[0-9]{2}", value) for value in values)


def are_ages(values: Sequence[str]) -> bool:
    """Whether all are whole ages of people."""
    return bool(values) and all(re.fullmatch(r"[0-9]{1,3}", value) and int(value) <= OLDEST for value in values)


def _days(values: Sequence[str]) -> bool:
    return bool(values) and not whole_numbers_in(pl.Series(values)).null_count()


def are_few(values: Sequence[str]) -> bool:
    """Whether there are values, and few."""
    return 0 < len(values) <= FEW


def are_icd9(values: Sequence[str]) -> bool:
    """Whether nearly all are codes of ICD-9-CM."""
    return bool(values) and len(icd9().outside(values)) <= (1 - NEARLY_ALL) * len(values)


def are_icd10(values: Sequence[str]) -> bool:
    """Whether all are codes of ICD-10-CM."""
    return bool(values) and not icd10().outside(values)


def _cpt(values: Sequence[str]) -> bool:
    """Procedure codes of five characters, among which may be revenue codes of three digits."""
    whole = [value for value in values if re.fullmatch(r"[0-9A-Za-z][0-9]{3}[0-9A-Za-z]|[0-9]{3}", value)]
    return len(whole) >= NEARLY_ALL * len(values) and 2 * sum(len(value) == 5 for value in whole) > len(values)


def _listed(content: Callable[[Sequence[str]], bool]) -> Callable[[Sequence[str]], bool]:
    """Lists, separated by spaces, of what ``content`` is about."""
    return lambda values: (
        any(" " in value for value in values) and content(sorted({code for value in values for code in value.split()}))
    )


def _anything(values: Sequence[str]) -> bool:
    return bool(values)


OF_PATIENTS = (
    _sign("birth-date", r"birth.*date|date.*birth|birthdate|(^|_)dob($|_)|birth_dt", are_dates),
    _sign("birth-year", r"birth_?year|year_?of_?birth|(^|_)yob($|_)", are_years),
    _sign("age", r"^age", are_ages, "age"),
    _sign("sex", r"sex|gender", are_few, "suppress"),
    _sign("pcp", r"(^|_)pcp($|_)|primary_care", _anything),
    _sign("quasi-identifier", r"race|ethnic|state|region|county|marital|zip|postal|language|religion", _anything),
)
OF_CLAIMS = (
    _sign("drop", r"claim_?(id|no|number)|^clm_id", _anything),
    _sign("paid-date", r"(paid|pay|payment).*(date|dt)", are_dates),
    _sign("pay-delay", r"pay_?delay", _days),
    _sign("end-date", r"(thru|through|end|discharge|to|until).*(date|dt)|(date|dt).*(end|to|thru)", are_dates),
    _sign(
        "date",
        r"^date$|service.*(date|dt)|from.*(date|dt)|start.*(date|dt)|admi.*(date|dt)|claim.*(date|dt)",
        are_dates,
    ),
    _sign("diagnoses", r"icd_?9(?!.*proc)|diag|(^|_)dx", _listed(are_icd9)),
    _sign("diagnosis", r"icd_?9(?!.*proc)|diag|(^|_)dx", are_icd9, "diagnosis"),
    _sign("diagnosis", r"icd_?10(?!.*proc)|diag|(^|_)dx", are_icd10, "icd10"),
    _sign("procedures", r"hcpcs|cpt|proc", _listed(_cpt)),
    _sign("procedure", r"hcpcs|cpt|proc", _cpt, "procedure"),
    _sign("place", r"place_?(of_?)?(service|svc)?|(^|_)pos($|_)", _anything, "place"),
    _sign("specialty", r"special", _anything, "specialty"),
    _sign("length-of-stay", r"length_?of_?stay|(^|_)los($|_)", _days, "length-of-stay"),
    _sign("days-since-first-claim", r"days_?since|(^|_)dsf[cs]($|_)", _days, "days-since-first-claim"),
    _sign("vendor", r"vendor|facility|hospital_id|prvdr_num", _anything),
    _sign("pcp", r"(^|_)pcp($|_)|primary_care", _anything),
    _sign("provider", r"provider|physician|doctor|npi", _anything),
)


def guess_ids(patients: pl.DataFrame, claims: pl.DataFrame) -> tuple[Guess, Guess] | None:
    """The columns that join the two files: of a usual name or of the same name in both, unique among patients."""
    unique = [
        column
        for column in patients.columns
        if not patients[column].null_count() and patients[column].n_unique() == patients.height
    ]
    pairs = [(own, other) for own in unique for other in claims.columns if _joins(own, other)]
    pairs.sort(key=lambda pair: (plain_name(pair[0]) not in IDS, plain_name(pair[0]) != plain_name(pair[1])))
    for own, other in pairs:
        known = as_text(claims[other]).drop_nulls().unique().is_in(as_text(patients[own]).implode())
        if known.all():
            why = "in both files, unique among patients"
            return Guess(own, "id", "sure", why), Guess(other, "id", "sure", why)
    return None


def _joins(own: str, other: str) -> bool:
    return plain_name(own) == plain_name(other) or (plain_name(own) in IDS and plain_name(other) in IDS)


def guess_patients(frame: pl.DataFrame, identifier: Guess) -> list[Guess]:
    """Guess the role of each column of patients."""
    return _guessed(frame, identifier, OF_PATIENTS)


def guess_claims(frame: pl.DataFrame, identifier: Guess) -> list[Guess]:
    """Guess the role of each column of claims."""
    return _guessed(frame, identifier, OF_CLAIMS)


def _guessed(frame: pl.DataFrame, identifier: Guess, signs: Sequence[_Sign]) -> list[Guess]:
    """Guess column by column, those with more distinct values first: of two for one role they tell more."""
    guesses: dict[str, Guess] = {}
    taken: set[str] = set()
    for column in sorted(frame.columns, key=lambda name: -frame[name].n_unique()):
        guess = identifier if column == identifier.column else _guess(frame, column, signs, taken)
        if guess.role not in SEVERAL_GUESSED:
            taken.add(guess.role)
        guesses[column] = guess
    return [guesses[column] for column in frame.columns]


SEVERAL_GUESSED = frozenset({"drop", "quasi-identifier", "diagnoses", "procedures", "vendor", "pcp", "provider"})


def _guess(frame: pl.DataFrame, column: str, signs: Sequence[_Sign], taken: set[str]) -> Guess:
    named = [sign for sign in signs if sign.name.search(plain_name(column))]
    if not named:
        return Guess(column, "drop", "not sure", "nothing known of it")
    # sorted, so that the order of the rows plays no part
    values = as_text(frame[column]).drop_nulls().unique().sort().head(LOOKED_AT).to_list()
    for sign in named:
        if sign.content(values):
            if sign.role in taken:
                return Guess(column, "drop", "likely", f"another column is the {sign.role}")
            if sign.role == "quasi-identifier":
                return Guess(column, sign.role, "likely", "by its name", _simple(values))
            if sign.content is _anything:
                return Guess(column, sign.role, "likely", "by its name", sign.hierarchy)
            return Guess(column, sign.role, "sure", "by name and content", sign.hierarchy)
    return Guess(column, "drop", "not sure", f"named like {named[0].role}, but its values are not")


def _simple(values: Sequence[str]) -> str:
    """Digits of a few lengths can be cut short; all else is kept or suppressed."""
    if len(values) > FEW and most(values, lambda value: re.fullmatch(r"[0-9]{5}", value) is not None, 1.0):
        return "prefix:5"
    return "suppress"


def plain_name(column: str) -> str:
    """A name in lower case, `AgeAtFirst` as `age_at_first`, with `_` for all else than letters and digits."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column)
    return re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")


def roles_of(guesses: Sequence[Guess]) -> Mapping[str, str]:
    """Columns by role; of a role that several may have, the first."""
    found: dict[str, str] = {}
    for guess in guesses:
        found.setdefault(guess.role, guess.column)
    return found
