"""Two files -> a first plan, as text that reads back and runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloister.errors import InputError, InternalError
from cloister.io import Source

from .data import claims_of
from .encode import encode
from .group_tables import exclusion_rules
from .guessing import OF_CLAIMS, OF_PATIENTS, Guess, guess_ids, guess_roles, roles_of
from .plan import ClaimsPlan, parse_plan
from .plan_sections import AGE, DAYS_IN_HOSPITAL, DAYS_SINCE_FIRST, LENGTH_OF_STAY, PAY_DELAY
from .prepare import prepare

NAME = "the plan"
WEIGHTS = {"diagnosis": 3, "procedure": 2}
"""By role. Codes have many values: counted like any other column, they are what the search gives up first."""


@dataclass(frozen=True)
class FirstPlan:
    """A plan that was guessed.

    Attributes
    ----------
    text : the TOML; holds no value of the data but names of columns
    plan : the same, read back
    patients, claims : what each column was taken for
    """

    text: str = field(repr=False)
    plan: ClaimsPlan = field(repr=False)
    patients: tuple[Guess, ...]
    claims: tuple[Guess, ...]


def first_plan(patients: Source, claims: Source) -> FirstPlan:
    """Guess a plan, and make sure that patients and claims go through the steps by it."""
    joined = guess_ids(patients.frame, claims.frame)
    if joined is None:
        raise InputError(
            f"No column joins {patients.name} and {claims.name}: none has the same name in both, another value for "
            "each patient, and a patient for each claim. Rename columns, or write the plan by hand."
        )
    people = guess_roles(patients.frame, joined[0], OF_PATIENTS)
    events = guess_roles(claims.frame, joined[1], OF_CLAIMS)
    settings, people, events = _settings(people, events)
    text = filled_template("cloister.claims", "plan.toml.j2", settings | {"patients": people, "claims": events})
    plan = _read_back(text)
    encode(prepare(claims_of(patients, claims, plan)).claims)
    return FirstPlan(text, plan, tuple(people), tuple(events))


def _settings(people: list[Guess], events: list[Guess]) -> tuple[dict[str, Any], list[Guess], list[Guess]]:
    """What the template fills in; columns that are worked out instead are dropped."""
    own, other = roles_of(people), roles_of(events)
    of_patients, of_claims = {}, {}
    if "date" in other:
        events = _dropped(events, "days-since-first-claim", f"{DAYS_SINCE_FIRST} is worked out from dates")
        of_claims[DAYS_SINCE_FIRST] = "days-since-first-claim"
        if "birth-date" in own or "birth-year" in own:
            people = _dropped(people, "age", "age is worked out from birth and first claim")
            of_patients[AGE] = "age"
        if "end-date" in other and "length-of-stay" not in other:
            of_claims[LENGTH_OF_STAY] = "length-of-stay"
    if {"date", "paid-date"} <= other.keys() and "pay-delay" not in other:
        of_claims[PAY_DELAY] = "pay-delay"
    if "length-of-stay" in other or LENGTH_OF_STAY in of_claims:
        of_patients[DAYS_IN_HOSPITAL] = "days-in-hospital"
    qi_of_claims = _hierarchies(events) | of_claims
    if not qi_of_claims:
        raise InputError("No column of claims was recognised as a quasi-identifier. Write the plan by hand.")
    settings = {
        "derived_of_patients": [*of_patients],
        "derived_of_claims": [*of_claims],
        "qi_of_patients": _hierarchies(people) | of_patients,
        "qi_of_claims": qi_of_claims,
        "grouped": [role for role in ("place", "specialty") if role in other],
        "rules": exclusion_rules(),
        "weights": {guess.column: WEIGHTS[guess.role] for guess in events if guess.role in WEIGHTS},
    }
    return settings, people, events


def _dropped(guesses: Sequence[Guess], role: str, why: str) -> list[Guess]:
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
    environment.filters["toml"] = _toml
    template = files(package).joinpath(name).read_text(encoding="utf-8")
    return environment.from_string(template).render(filled)


def _toml(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_text(text) for text in value)}]"
    return toml_text(str(value))


def toml_text(text: str) -> str:
    r"""Return a text as TOML writes it: in quotes, with escapes for quotes, backslashes and control characters.

    Examples
    --------
    >>> print(toml_text('a "b"\n'))
    "a \"b\"\n"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read_back(text: str) -> ClaimsPlan:
    problem = ""
    try:
        return parse_plan(text, NAME, Path())
    except InputError as error:
        problem = error.text
    raise InternalError(f"The first plan does not read back: {problem}")
