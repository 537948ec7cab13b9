"""A TOML file -> a plan, or an error that says which key may be what."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cloister.errors import InputError
from cloister.io.text import load_text
from cloister.typed_toml import read_toml, typed

from .group_tables import NAMED, RANGED, exclusion_rules
from .ladders import split_bounds
from .plan import HMAC, ClaimsPlan
from .plan_checks import misfits

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000


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
    return plan_of(read_toml(text, name, "cloister init claims"), name, folder)


def plan_of(content: Mapping[str, Any], name: str, folder: Path, inside: Sequence[str] = ()) -> ClaimsPlan:
    """Return the plan that a section of a TOML file states.

    Parameters
    ----------
    name, folder : as of `parse_plan`
    inside : keys that lead to the section

    Raises
    ------
    InputError
        As for `read_plan`.
    """
    plan = _with_paths(typed(content, ClaimsPlan, name, inside), folder)
    for key, allowed in _problems(plan):
        raise InputError(f"{name}: {'.'.join([*inside, key])} must be {allowed}.", file=name)
    for problem in misfits(plan):
        raise InputError(f"{name}: {problem}", file=name)
    return plan


def parsed_plan(told: Mapping[str, Any]) -> ClaimsPlan:
    """Return the plan that a manifest tells, in which files are names.

    Raises
    ------
    InputError
        It is no plan.
    """
    return typed(told, ClaimsPlan, "release.json", ("settings", "plan"))


def _with_paths(plan: ClaimsPlan, folder: Path) -> ClaimsPlan:
    """The plan with the files it names as paths."""

    def whole(name: str) -> str:
        return str(folder / Path(name).expanduser())

    def hierarchies(qi: Mapping[str, str]) -> dict[str, str]:
        return {column: _file_in(words, folder) for column, words in qi.items()}

    patients, claims, exclusions, ids = plan.patients, plan.claims, plan.exclusions, plan.ids
    population = plan.population
    if population.patients is not None:
        population = dataclasses.replace(population, patients=whole(population.patients))
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
        population=population,
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
        "truncation.percentiles": bool(plan.truncation.percentiles) and all(50 <= level < 100 for level in percentiles),
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
