"""A TOML file -> a plan, or an error that says which key may be what."""

import dataclasses
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloister.errors import InputError, did_you_mean
from cloister.io.text import load_text

from .group_tables import NAMED, RANGED, exclusion_rules
from .ladders import split_bounds
from .plan import HMAC, ClaimsPlan
from .plan_checks import misfits

if TYPE_CHECKING:
    from pydantic import TypeAdapter

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000
BY_COLUMN = frozenset({"roles", "qi", "tables", "weights"})
"""Keys under which every key is a name of the user's own."""


def read_plan(path: Path) -> ClaimsPlan:
    """Return the plan in the file ``path``.

    Raises
    ------
    InputError
        The file is no TOML, or a key is unknown, missing or not what it may be.
    """
    return parse_plan(load_text(path).data.decode(), path.name, path.resolve().parent)


def parse_plan(text: str, name: str, folder: Path) -> ClaimsPlan:
    """Return the plan that a text states.

    Parameters
    ----------
    name : of the file, for messages
    folder : that names of files in the plan are relative to

    Raises
    ------
    InputError
        As for `read_plan`.
    """
    plan = _validated(_toml(text, name), name)
    plan = _with_paths(plan, folder)
    for key, allowed in _problems(plan):
        raise InputError(f"{name}: {key} must be {allowed}.", file=name)
    for problem in misfits(plan):
        raise InputError(f"{name}: {problem}", file=name)
    return plan


def _toml(text: str, name: str) -> dict[str, Any]:
    line: int | None = None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line ([0-9]+)", str(error))
        line = int(found[1]) if found else None
    where = f" at line {line}" if line else ""
    raise InputError(
        f"{name} is not TOML{where}. Correct it, or write a new plan with cloister init claims.", file=name
    )


@lru_cache(maxsize=1)
def _adapter() -> "TypeAdapter[ClaimsPlan]":
    from pydantic import TypeAdapter  # loaded only where a plan is read

    return TypeAdapter(ClaimsPlan)


def _validated(content: dict[str, Any], name: str) -> ClaimsPlan:
    from pydantic import ValidationError

    found: Sequence[Any]
    text = json.dumps(content, default=lambda _: {"date": None})  # dates become what no key takes
    try:
        # as JSON, since in strict mode only that makes tuples of lists
        return _adapter().validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    raise _refusal(found[0], name)


def parsed_plan(told: Mapping[str, Any]) -> ClaimsPlan:
    """Return the plan that a manifest tells, in which files are names.

    Raises
    ------
    TypeError, ValueError
        It is no plan.
    """
    return _adapter().validate_json(json.dumps(told))


def _refusal(problem: Mapping[str, Any], name: str) -> InputError:
    """Say in our words what is wrong: only the place, the kind and the words that are allowed are taken over."""
    keys = [str(part) for part in problem["loc"]]
    section, known, allowed = _place(keys)
    key = ".".join(section)
    if problem["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        hint = did_you_mean(keys[-1], known)
        return InputError(
            f"{name} has an unknown key {'.'.join(keys)}.{hint} Keys there: {', '.join(known)}.", file=name
        )
    if problem["type"] in ("missing", "missing_argument"):
        return InputError(f"{name} lacks the key {key}: {allowed}.", file=name)
    if problem["type"] == "literal_error":
        allowed = f"one of {problem['ctx']['expected']}"
    if section and section[-1] in BY_COLUMN:
        key = ".".join(keys[: len(section) + 1])
    return InputError(f"{name}: {key} must be {allowed}.", file=name)


def _place(keys: Sequence[str]) -> tuple[list[str], list[str], str]:
    """Return the keys that lead to a field of the plan, the keys known where they end, and what the field may be."""
    kind: Any = ClaimsPlan
    passed: list[str] = []
    allowed = "a section"
    for key in keys:
        if key.isdigit():
            continue
        fields = {field.name: field for field in dataclasses.fields(kind)}
        if key not in fields:
            break
        passed.append(key)
        allowed = str(fields[key].metadata["allowed"])
        inner = _section(fields[key].type)
        if inner is None:
            break
        kind = inner
    return passed, [field.name for field in dataclasses.fields(kind)], allowed


def _section(annotation: Any) -> Any:
    """Return the dataclass that an annotation is, or holds a list of."""
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if dataclasses.is_dataclass(candidate):
            return candidate
    return None


def _with_paths(plan: ClaimsPlan, folder: Path) -> ClaimsPlan:
    """The plan with the files it names as paths."""

    def whole(name: str) -> str:
        return str(folder / Path(name).expanduser())

    def hierarchies(qi: Mapping[str, str]) -> dict[str, str]:
        return {column: _file_in(words, folder) for column, words in qi.items()}

    patients, claims, exclusions, ids = plan.patients, plan.claims, plan.exclusions, plan.ids
    if exclusions.file is not None:
        exclusions = dataclasses.replace(exclusions, file=whole(exclusions.file))
    if ids.patients.startswith(HMAC):
        ids = dataclasses.replace(ids, patients=HMAC + whole(ids.patients.removeprefix(HMAC)))
    tables = {role: whole(file) for role, file in plan.grouping.tables.items()}
    return dataclasses.replace(
        plan,
        patients=dataclasses.replace(patients, qi=hierarchies(patients.qi)),
        claims=dataclasses.replace(claims, qi=hierarchies(claims.qi)),
        exclusions=exclusions,
        ids=ids,
        grouping=dataclasses.replace(plan.grouping, tables=tables),
    )


def _file_in(words: str, folder: Path) -> str:
    spec, bounds = split_bounds(words)
    file = folder / spec
    return f"{file}{bounds}" if spec and file.is_file() else words


def _problems(plan: ClaimsPlan) -> Iterator[tuple[str, str]]:
    """Keys whose values are out of range, with what they may be."""
    allowed = {
        f"{section.name}.{field.name}": str(field.metadata["allowed"])
        for section in dataclasses.fields(plan)
        if dataclasses.is_dataclass(section.type)
        for field in dataclasses.fields(section.type)
    }
    risk, search, suppression = plan.risk, plan.search, plan.suppression
    percentiles = [level for level in plan.truncation.percentiles if level != "none"]
    in_range = {
        "risk.threshold": 0 < risk.threshold <= 0.5,
        "risk.max_suppression": 0 < risk.max_suppression < 1,
        "risk.seed": 0 <= risk.seed < 2**32,
        "risk.repeats": 1 <= risk.repeats <= 1_000_000,
        "risk.draws": 1_000 <= risk.draws <= 1_000_000,
        "suppression.most_treated": 0 < suppression.most_treated <= 1,
        "suppression.most_removed": 0 < suppression.most_removed <= 1,
        "adversary.power": 1 <= plan.adversary.power <= 1000,
        "truncation.percentiles": bool(plan.truncation.percentiles) and all(0 < level < 100 for level in percentiles),
        "search.nodes": search.nodes is None or search.nodes >= 1,
        "search.time_limit_s": search.time_limit_s is None or 0 < search.time_limit_s < math.inf,
        "grouping.tables": set(plan.grouping.tables) <= {*RANGED, *NAMED},
        "ids.patients": plan.ids.patients in ("number", "drop")
        or plan.ids.patients.removeprefix(HMAC) not in ("", plan.ids.patients),
    }
    yield from ((key, allowed[key]) for key, holds in in_range.items() if not holds)
    for column, weight in plan.weights.items():
        if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            yield f"weights.{column}", f"a number from {LEAST_WEIGHT} to {MOST_WEIGHT}"
    for number, coding in enumerate(plan.top_coding, start=1):
        if not 0 < coding.quantile < 1:
            yield f"top_coding.quantile (section {number})", "a number above 0 and below 1"
    known = exclusion_rules()
    for rule in plan.exclusions.rules or ():
        if rule not in known:
            yield "exclusions.rules", f"a list among {', '.join(known)}"
