"""The manifest of anonymized trajectories: what a recipient may know of how they were made."""

from collections.abc import Mapping, Sequence
from typing import Any

from cloister.results import Manifest, Verdict

from .data import Diversity, TrajectoriesRequest
from .data_file import AGE, CODE, ID
from .request import GivenTrajectories, ReleaseSettings

K_ANONYMITY, DIVERSITY = "k-anonymity", "frequency l-diversity"
DECIMALS = 3
"""Of losses that are told."""


def describe(
    given: GivenTrajectories,
    request: TrajectoriesRequest,
    settings: ReleaseSettings,
    verdict: Verdict,
    figures: Mapping[str, Mapping[str, Any]],
) -> Manifest:
    """Return the part of ``release.json`` that is particular to trajectories.

    Parameters
    ----------
    figures : ``records``, ``utility``, ``risk`` and ``clustering``
    """
    beside = None if given.side is None else given.side.frame.columns
    return {
        "shape": "trajectories",
        "method": str(request.method),
        "settings": settings_of(given, request, settings),
        "columns": columns_of(request.code_hierarchy.kind, request.age_hierarchy.kind),
        **({} if beside is None else {"side": side_of(beside)}),
        "records": dict(figures["records"]),
        "guarantee": {
            "rules": rules_of(request.k, request.diversity),
            "sentences": sentences_of(request.k, request.diversity),
            "verified": verdict.holds,
            "one_row_per_patient": one_row(given.columns.id, given.trajectories.ids is not None),
        },
        "utility": dict(figures["utility"]),
        "risk": dict(figures["risk"]),
        "clustering": dict(figures["clustering"]),
    }


def settings_of(given: GivenTrajectories, request: TrajectoriesRequest, settings: ReleaseSettings) -> dict[str, Any]:
    """Return what was asked, and how the input was read."""
    columns, diversity = given.columns, request.diversity
    return {
        "k": request.k,
        "weights": [str(weight) for weight in request.weights],
        "cost": str(request.cost),
        "block": request.block,
        "drop_empty_pairs": request.drop_empty,
        "code_hierarchy": request.code_hierarchy.spec,
        "age_hierarchy": request.age_hierarchy.spec,
        "on_unknown_code": str(settings.unknown),
        "sensitive": None if diversity is None else diversity.column,
        "sensitive_codes": None if diversity is None or not diversity.codes else sorted(diversity.codes),
        "diversity": None if diversity is None else diversity.l,
        "policy": settings.policy,
        "workload": settings.workload,
        "side": None if given.side is None else given.side.name,
        "ids": "number",
        "input_columns": {
            "id": columns.id,
            "code": columns.code,
            "age": columns.age,
            "date": columns.date,
            "anchor": columns.anchor,
        },
        "age_unit": None if columns.date is None else columns.unit,
        "not_released": list(given.not_released),
    }


def columns_of(codes: str, ages: str) -> dict[str, Any]:
    """Return what the columns of the data file are.

    Parameters
    ----------
    codes, ages : kinds of the hierarchies
    """
    return {
        ID: {"role": "identifier", "ids": "number"},
        CODE: {"role": "quasi-identifier", "hierarchy": codes},
        AGE: {"role": "quasi-identifier", "hierarchy": ages},
    }


def side_of(columns: Sequence[str]) -> dict[str, Any]:
    """Return what the columns of the side file are."""
    return {"columns": {name: {"role": "side"} for name in columns}}


def rules_of(k: int, diversity: Diversity | None) -> list[dict[str, Any]]:
    """Return what is promised, as data."""
    rules: list[dict[str, Any]] = [{"model": K_ANONYMITY, "k": k}]
    if diversity is not None and diversity.column is not None:
        rules.append({"model": DIVERSITY, "l": diversity.l, "column": diversity.column})
    elif diversity is not None:
        rules.append({"model": DIVERSITY, "l": diversity.l, "codes": sorted(diversity.codes)})
    return rules


def sentences_of(k: int, diversity: Diversity | None) -> list[str]:
    """Return what is promised, in words."""
    sentences = [
        "Whoever knows any codes of a patient with the ages at which they were recorded finds no trajectory that can "
        f"be the patient's, or those of at least {k} patients"
    ]
    if diversity is not None and diversity.column is not None:
        sentences.append(
            f"Of the patients who share a trajectory, at most one in {diversity.l} has the same value of "
            f"{diversity.column!r}; a missing value is none"
        )
    elif diversity is not None:
        sentences.append(
            f"Of the patients who share a trajectory, a released code stands for a sensitive one of at most one in "
            f"{diversity.l}"
        )
    return sentences


def one_row(column: str | None, has_ids: bool) -> str:
    """Return what tells patients apart."""
    if column is not None:
        return f"patients are told apart by {column!r}"
    return "patients are told apart by ids" if has_ids else "assumed"


def records_of(n_patients: int) -> dict[str, int]:
    """Return how many patients there were and are: nobody is left out."""
    return {"in": n_patients, "released": n_patients, "suppressed": 0}
