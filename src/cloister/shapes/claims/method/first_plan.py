"""Suggested roles for the columns of two files, and a first plan from them, as text that reads back and runs."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from cloister.errors import InputError, InternalError
from cloister.evidence.column import IDS, Guess, plain_name
from cloister.io import Source, as_text
from cloister.risk import column_names
from cloister.settings.toml import toml_text
from cloister.shapes.claims.format.code_systems import BOTH, CODINGS_OF, LISTS, SEPARATORS, codes_in, none_of
from cloister.shapes.claims.format.data import claims_of, days_in, is_name, is_sex, whole_numbers_in
from cloister.shapes.claims.format.group_tables import NameGroups, exclusion_rules, shipped_groups, words
from cloister.shapes.claims.format.hierarchies import MOST_DAYS, NO_CODE
from cloister.shapes.claims.format.plan import (
    AGE,
    DAYS_IN_HOSPITAL,
    DAYS_SINCE_FIRST,
    LENGTH_OF_STAY,
    PAY_DELAY,
    ClaimsPlan,
    parse_plan,
)
from cloister.shapes.claims.format.representativeness import starts_of

from .encode import encode
from .prepare import prepare

Content = Callable[[Sequence[str]], bool]
LOOKED_AT = 200_000
"""Distinct values of a column that are looked at."""

NEARLY_ALL = 0.95
OLDEST = 130
FEW = 12


@dataclass(frozen=True)
class Sign:
    """The sign of a role: words in its name, also of other languages, and a test of its values."""

    role: str
    name: str
    content: Content
    hierarchy: str | None = None
    words: frozenset[str] = frozenset()

    def names(self, column: str) -> bool:
        """Return whether a column is named so."""
        return re.search(self.name, plain_name(column)) is not None or column_names.is_about(column, self.words)


def most(values: Sequence[str], holds: Callable[[str], bool], share: float = NEARLY_ALL) -> bool:
    """Return whether this share of the values passes a test."""
    return bool(values) and sum(map(holds, values)) >= share * len(values)


def are_dates(values: Sequence[str]) -> bool:
    """Return whether all values are dates."""
    return bool(values) and not days_in(pl.Series(values)).null_count()


def are_years(values: Sequence[str]) -> bool:
    """Return whether all values are years of the last centuries."""
    return bool(values) and all(re.fullmatch(r"(18|19|20)[0-9]{2}", value) for value in values)


def are_ages(values: Sequence[str]) -> bool:
    """Return whether all values are whole ages of people."""
    return bool(values) and all(re.fullmatch(r"[0-9]{1,3}", value) and int(value) <= OLDEST for value in values)


def _days(values: Sequence[str]) -> bool:
    numbers = whole_numbers_in(pl.Series(values))
    return bool(values) and not numbers.null_count() and all(number <= MOST_DAYS for number in numbers)


def _in_groups(role: str) -> Content:
    """At least every second name is in our table of groups; the others become OTHER."""

    def content(values: Sequence[str]) -> bool:
        groups = shipped_groups(role)
        assert isinstance(groups, NameGroups)
        return most(values, lambda value: words(value) in groups.group_of, 0.5)

    return content


def _diagnoses(codings: frozenset[str]) -> Content:
    """Nearly all are codes of one of these codings."""
    return lambda values: _few_of(values, none_of("diagnosis", values, codings))


def _some_diagnoses(values: Sequence[str]) -> bool:
    """Every second one is a code of some coding: enough to look through them, too little to release them."""
    codes = {code for value in values for code in codes_in(value)}
    return bool(codes) and 2 * len(none_of("diagnosis", sorted(codes))) <= len(codes)


def _few_of(values: Sequence[str], wrong: set[str]) -> bool:
    return bool(values) and len(wrong) <= (1 - NEARLY_ALL) * len(values)


def _cpt(values: Sequence[str]) -> bool:
    """Procedure codes of five characters, among which may be revenue codes of three digits."""
    long = sum(len(value.strip()) == 5 for value in values)
    return _few_of(values, none_of("procedure", values)) and 2 * long > len(values)


def _is_list_of(content: Content) -> Content:
    """Lists, separated by spaces, commas, semicolons or bars, of what ``content`` is about."""
    return lambda values: (
        any(SEPARATORS.search(value.strip()) for value in values)
        and content(sorted({code for value in values for code in codes_in(value)}))
    )


DIAGNOSIS = r"icd_?(9|10)(?!.*proc)|diag|(^|_)dx"
OF_PATIENTS = (
    Sign(
        "birth-date", r"birth.*date|date.*birth|birthdate|(^|_)dob($|_)|birth_dt", are_dates, words=column_names.BIRTH
    ),
    Sign("birth-year", r"birth_?year|year_?of_?birth|(^|_)yob($|_)", are_years, words=column_names.BIRTH),
    Sign("age", r"^age", are_ages, "age", column_names.AGE),
    # bands such as `70-79` and `80+`, single years between them or not
    Sign(
        "age",
        r"^age",
        lambda values: are_ages(starts_of(pl.Series(values, dtype=pl.String)).to_list()),
        "suppress",
        column_names.AGE,
    ),
    Sign(
        "sex",
        r"sex|gender",
        lambda values: 0 < len(values) <= FEW and all(map(is_sex, values)),
        "suppress",
        column_names.SEX,
    ),
    Sign("pcp", r"(^|_)pcp($|_)|primary_care", bool),
    Sign(
        "quasi-identifier",
        r"race|ethnic|state|region|county|marital|zip|postal|language|religion",
        lambda values: bool(values) and all(map(is_name, values)),
        words=column_names.ETHNICITY
        | column_names.PLACE
        | frozenset({"bundesland", "kanton", "familienstand", "konfession"}),
    ),
)
OF_CLAIMS = (
    Sign("drop", r"claim_?(id|no|number)|^clm_id", bool),
    Sign("paid-date", r"(paid|pay|payment).*(date|dt)", are_dates),
    Sign("pay-delay", r"pay_?delay", _days, "pay-delay"),
    Sign(
        "end-date",
        r"(thru|through|end|discharge|to|until).*(date|dt)|(date|dt).*(end|to|thru)",
        are_dates,
        words=frozenset({"enddatum", "entlassdatum", "entlassungsdatum"}),
    ),
    Sign(
        "date",
        r"^date$|service.*(date|dt)|from.*(date|dt)|start.*(date|dt)|admi.*(date|dt)|claim.*(date|dt)",
        are_dates,
        words=frozenset({"datum", "aufnahmedatum", "leistungsdatum", "behandlungsdatum", "fecha"}),
    ),
    Sign("diagnoses", DIAGNOSIS, _is_list_of(_diagnoses(BOTH))),
    Sign("diagnosis", DIAGNOSIS, _diagnoses(CODINGS_OF["diagnosis"]), "diagnosis"),
    Sign("diagnosis", DIAGNOSIS, _diagnoses(CODINGS_OF["icd10"]), "icd10"),
    Sign("diagnoses", DIAGNOSIS, _some_diagnoses),
    Sign("procedures", r"hcpcs|cpt|proc", _is_list_of(_cpt)),
    Sign("procedure", r"hcpcs|cpt|proc", _cpt, "procedure"),
    Sign("place", r"place_?(of_?)?(service|svc)?|(^|_)pos($|_)", _in_groups("place"), "place"),
    Sign("specialty", r"special", _in_groups("specialty"), "specialty"),
    Sign("length-of-stay", r"length_?of_?stay|(^|_)los($|_)", _days, "length-of-stay", frozenset({"verweildauer"})),
    Sign("days-since-first-claim", r"days_?since|(^|_)dsf[cs]($|_)", _days, "days-since-first-claim"),
    Sign("vendor", r"vendor|facility|hospital_id|prvdr_num", bool),
    Sign("pcp", r"(^|_)pcp($|_)|primary_care", bool),
    Sign("provider", r"provider|physician|doctor|npi", bool, words=column_names.STAFF),
)


def guess_ids(patients: pl.DataFrame, claims: pl.DataFrame) -> tuple[Guess, Guess] | None:
    """The columns that join the two files: of a usual name or of the same name in both, unique among patients."""
    unique = [
        column
        for column in patients.columns
        if not patients[column].null_count() and patients[column].n_unique() == patients.height
    ]
    pairs = [
        (own, other)
        for own in unique
        for other in claims.columns
        if plain_name(own) == plain_name(other) or {plain_name(own), plain_name(other)} <= {*IDS}
    ]
    pairs.sort(key=lambda pair: (plain_name(pair[0]) not in IDS, plain_name(pair[0]) != plain_name(pair[1])))
    for own, other in pairs:
        known = as_text(claims[other]).drop_nulls().unique().is_in(as_text(patients[own]).implode())
        if known.all():
            why = "in both files, unique among patients"
            return Guess(own, "id", "sure", why), Guess(other, "id", "sure", why)
    return None


def guess_roles(frame: pl.DataFrame, identifier: Guess, signs: Sequence[Sign]) -> list[Guess]:
    """Guess the role of each column, those with more distinct values first: they are more informative."""
    guesses: dict[str, Guess] = {}
    used_roles: set[str] = set()
    for column in sorted(frame.columns, key=lambda name: -frame[name].n_unique()):
        guess = identifier if column == identifier.column else _guess(frame, column, signs, used_roles)
        if guess.role not in SEVERAL_GUESSED:
            used_roles.add(guess.role)
        guesses[column] = guess
    return [guesses[column] for column in frame.columns]


SEVERAL_GUESSED = frozenset({"drop", "quasi-identifier", "diagnoses", "procedures", "vendor", "pcp", "provider"})


def _guess(frame: pl.DataFrame, column: str, signs: Sequence[Sign], used_roles: set[str]) -> Guess:
    named = [sign for sign in signs if sign.names(column)]
    if not named:
        return Guess(column, "drop", "not sure", "nothing known of it")
    # sorted, so that the order of the rows plays no part
    values = as_text(frame[column]).drop_nulls().unique().sort().head(LOOKED_AT).to_list()
    for sign in named:
        if sign.content(values):
            if sign.role in used_roles and sign.role in LISTS:
                return Guess(column, LISTS[sign.role], "sure", f"another column is the {sign.role}; {LOOKED_THROUGH}")
            if sign.role in used_roles:
                return Guess(column, "drop", "likely", f"another column is the {sign.role}")
            if sign.role == "quasi-identifier":
                # digits of one length can be cut short; all else is kept or suppressed
                are_zip = len(values) > FEW and all(re.fullmatch(r"[0-9]{5}", value) for value in values)
                return Guess(column, sign.role, "likely", "by its name", "prefix:5" if are_zip else "suppress")
            if sign.content in (bool, _some_diagnoses):
                return Guess(column, sign.role, "likely", "by its name" + _of_codes(sign, values), sign.hierarchy)
            return Guess(column, sign.role, "sure", "by name and content" + _of_codes(sign, values), sign.hierarchy)
    unread = f"; not {LOOKED_THROUGH}" if named[0].role in (*LISTS, *LISTS.values()) else ""
    return Guess(column, "drop", "not sure", f"named like {named[0].role}, but its values are not{unread}")


LOOKED_THROUGH = "looked through for exclusions"


def _of_codes(sign: Sign, values: Sequence[str]) -> str:
    """How many values are no codes of a column of codes; what becomes of one that is not released."""
    if sign.role in LISTS.values():
        return f"; {LOOKED_THROUGH}, never released"
    if sign.role not in LISTS:
        return ""
    wrong = len(none_of(sign.role, values, CODINGS_OF.get(sign.hierarchy or "", BOTH)))
    return f'; {wrong} of {len(values)} distinct values are not codes and become "{NO_CODE}"' if wrong else ""


def roles_of(guesses: Sequence[Guess]) -> Mapping[str, str]:
    """Columns by role; of a role that several may have, the first."""
    found: dict[str, str] = {}
    for guess in guesses:
        found.setdefault(guess.role, guess.column)
    return found


def suggest_roles(patients: pl.DataFrame, claims: pl.DataFrame) -> tuple[list[Guess], list[Guess]] | None:
    """Suggest the role of each column of patients and claims; None where no column joins the two."""
    joined = guess_ids(patients, claims)
    if joined is None:
        return None
    people, events = guess_roles(patients, joined[0], OF_PATIENTS), guess_roles(claims, joined[1], OF_CLAIMS)
    if "date" in roles_of(events):
        events = _drop_columns(events, "days-since-first-claim", f"{DAYS_SINCE_FIRST} is worked out from dates")
        if {"birth-date", "birth-year"} & roles_of(people).keys():
            people = _drop_columns(people, "age", "age is worked out from birth and first claim")
    return people, events


NAME = "the plan"
WEIGHTS = {"diagnosis": 4, "procedure": 2, "age": 2, "quasi-identifier": 0.5, "pay-delay": 0.5}
"""By role. Codes and ages have many values: counted like any other column, they are what the search gives up first,
though hardly an analysis does without them. Where someone lives and when claims were paid matter to few."""


@dataclass(frozen=True)
class FirstPlan:
    """A suggested plan, as TOML without values of the data and parsed; and the suggested roles of columns."""

    text: str = field(repr=False)
    plan: ClaimsPlan = field(repr=False)
    patients: tuple[Guess, ...]
    claims: tuple[Guess, ...]


def first_plan(patients: Source, claims: Source) -> FirstPlan:
    """Suggest a plan, and check that patients and claims pass through the steps with it."""
    suggested = suggest_roles(patients.frame, claims.frame)
    if suggested is None and guess_ids(claims.frame, patients.frame) is not None:
        raise InputError(
            f"{claims.name} has one row per patient, and {patients.name} several. Name the file of patients first."
        )
    if suggested is None:
        raise InputError(
            f"No column joins {patients.name} and {claims.name}: none has the same name in both, another value for "
            "each patient, and a patient for each claim. Rename columns, or write the plan by hand."
        )
    filled = _fill_template(*suggested)
    text = filled_template("cloister.shapes.claims.method", "plan.toml.j2", filled)
    plan = _read_back(text)
    encode(prepare(claims_of(patients, claims, plan)).claims)
    return FirstPlan(text, plan, tuple(filled["patients"]), tuple(filled["claims"]))


def _fill_template(people: list[Guess], events: list[Guess]) -> dict[str, Any]:
    """What the template fills in."""
    own, other = roles_of(people), roles_of(events)
    of_patients, of_claims = {}, {}
    if "date" in other:
        of_claims[DAYS_SINCE_FIRST] = "days-since-first-claim"
        if "birth-date" in own or "birth-year" in own:
            of_patients[AGE] = "age"
        if "end-date" in other and "length-of-stay" not in other:
            of_claims[LENGTH_OF_STAY] = "length-of-stay"
    if {"date", "paid-date"} <= other.keys() and "pay-delay" not in other:
        of_claims[PAY_DELAY] = "pay-delay"
    if "length-of-stay" in other or LENGTH_OF_STAY in of_claims:
        of_patients[DAYS_IN_HOSPITAL] = "days-in-hospital"
    quasi_identifiers = _hierarchies(events) | of_claims
    roles = {one.column: one.role for one in (*people, *events) if one.hierarchy is not None} | of_patients | of_claims
    if not quasi_identifiers:
        raise InputError("No column of claims was recognised as a quasi-identifier. Write the plan by hand.")
    return {
        "derived_of_patients": [*of_patients],
        "derived_of_claims": [*of_claims],
        "qi_of_patients": _hierarchies(people) | of_patients,
        "qi_of_claims": quasi_identifiers,
        "grouped": [role for role in ("place", "specialty") if role in other],
        "rules": exclusion_rules(),
        "weights": {column: WEIGHTS[role] for column, role in roles.items() if role in WEIGHTS},
        "patients": people,
        "claims": events,
    }


def _drop_columns(guesses: Sequence[Guess], role: str, why: str) -> list[Guess]:
    return [Guess(one.column, "drop", "sure", why) if one.role == role else one for one in guesses]


def _hierarchies(guesses: Sequence[Guess]) -> dict[str, str]:
    return {guess.column: guess.hierarchy for guess in guesses if guess.hierarchy is not None}


def filled_template(package: str, name: str, filled: Mapping[str, object]) -> str:
    """Return what a template of TOML becomes; its filter ``toml`` writes texts and lists of texts."""
    from importlib.resources import files  # slow to import, and used only here

    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 - TOML, not HTML: texts are written by the filter
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["toml"] = lambda value: (
        f"[{', '.join(map(toml_text, value))}]" if isinstance(value, list | tuple) else toml_text(str(value))
    )
    template = files(package).joinpath(name).read_text(encoding="utf-8")
    return environment.from_string(template).render(filled)


def _read_back(text: str) -> ClaimsPlan:
    problem: str = ""
    try:
        return parse_plan(text, NAME, Path())
    except InputError as error:
        problem = error.message
    raise InternalError("The first plan does not read back: ", problem)
