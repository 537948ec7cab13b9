"""What stands beside the files of a release of claims: the manifest, the codebook, and what the report shows.

It says how the release was made, as far as a recipient may know, and nothing of the data that the files do not say.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cloister.hierarchy.ladder import ROOT
from cloister.report_figures import Counted, ReportCounts, label_counts
from cloister.results import Manifest, Verdict

from .data import Claims
from .data_file import (
    CLAIMS,
    FLAG,
    HMAC,
    IDENTIFIER,
    KEPT,
    NUMBER,
    PATIENTS,
    QUASI,
    TRUNCATED,
    ClaimsForm,
    ReleasedColumn,
    WrittenClaims,
)
from .ladders import hierarchy_named, split_bounds
from .plan import ClaimsPlan

METHOD = "simulated-risk"
MODEL = "mean re-identification risk"

Row = tuple[str, str, str | None, str | None, str | None, str]
BOOK = ("column", "role", "hierarchy", "level", "label", "meaning")
IDS = {
    NUMBER: "number of the patient in this release; the same in both files",
    HMAC: "keyed hash of the patient's id; the same in both files, and in other releases made with the key",
}
PSEUDONYM_MEANING = "a number in place of an id, by its first appearance"
CUT = "1 where claims of the patient were left out, else 0"
HIDDEN = "1 where the cell was suppressed, which is then empty, else 0"
ANY, RECORDED, GROUP = "any value", "as recorded", "a group of values of the hierarchy"


def describe(data: Claims, form: ClaimsForm, verdict: Verdict, figures: Mapping[str, Any]) -> Manifest:
    """Return the part of ``release.json`` that is particular to claims.

    Parameters
    ----------
    data : as read
    figures : ``records``, ``utility``, ``risk``, ``choice``, ``steps``, ``representativeness`` and ``sensitivity``
    """
    plan = data.plan
    asked = plan_told(plan)
    return {
        "shape": "claims",
        "method": METHOD,
        "settings": {"claims": data.names[1], "plan": asked},
        "columns": form.told(),
        "records": figures["records"],
        "guarantee": {
            "rules": rules_of(asked),
            "sentences": sentences_of(asked, figures["risk"]["known"]),
            "verified": verdict.holds,
            "one_row_per_patient": one_row(form),
        },
        "utility": figures["utility"],
        "risk": figures["risk"],
        "choice": figures["choice"],
        "steps": figures["steps"],
        "representativeness": figures["representativeness"],
        "sensitivity": figures["sensitivity"],
    }


def plan_told(plan: ClaimsPlan) -> dict[str, Any]:
    """Return the plan with names of files in place of paths."""
    told: dict[str, Any] = dataclasses.asdict(plan)
    for table in (PATIENTS, CLAIMS):
        told[table]["qi"] = {column: _words_told(words, plan) for column, words in told[table]["qi"].items()}
    if plan.exclusions.file is not None:
        told["exclusions"]["file"] = Path(plan.exclusions.file).name
    if plan.population.patients is not None:
        told["population"]["patients"] = Path(plan.population.patients).name
    told["grouping"]["tables"] = {role: Path(file).name for role, file in plan.grouping.tables.items()}
    told["ids"]["patients"] = plan.ids.patients.partition(":")[0]
    return {name: _plain(part) for name, part in told.items()}


def told_again(plan: ClaimsPlan) -> dict[str, Any]:
    """Return a plan that was read from a manifest as the manifest told it."""
    told: dict[str, Any] = _plain(dataclasses.asdict(plan))
    return told


def _words_told(words: str, plan: ClaimsPlan) -> str:
    spec, bounds = split_bounds(words)
    is_file = hierarchy_named(words, plan.grouping.tables).hierarchy.kind == "file"
    return f"{Path(spec).name if is_file else spec}{bounds}"


def _plain(part: Any) -> Any:
    """The same in lists and objects of JSON."""
    if isinstance(part, Mapping):
        return {str(key): _plain(value) for key, value in part.items()}
    return [_plain(value) for value in part] if isinstance(part, list | tuple) else part


def smallest_class(threshold: float) -> int:
    """Return k: the smallest class in which a random guess is right with a chance of at most the threshold."""
    k = max(1, math.floor(1 / threshold) - 1)
    while 1 / k > threshold:
        k += 1
    return k


def rules_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is promised, as data."""
    risk, adversary = plan["risk"], plan["adversary"]
    return [
        {
            "model": MODEL,
            "threshold": risk["threshold"],
            "k": smallest_class(risk["threshold"]),
            "power": adversary["power"],
            "tolerant": adversary["tolerant"],
            "likeliest": adversary["likeliest"],
            "patients_of_a_label": smallest_class(risk["threshold"]),
        }
    ]


def sentences_of(plan: Mapping[str, Any], known: float) -> list[str]:
    """Return what is promised, in words.

    Parameters
    ----------
    known : values of a column that are known in the mean
    """
    risk, power = plan["risk"], plan["adversary"]["power"]
    k = smallest_class(risk["threshold"])
    sentences = [
        "Whoever knows the quasi-identifiers of a patient and, of each quasi-identifier of claims by itself, up to "
        f"{power} values of the patient ({known:.1f} in the mean), and picks one of those who fit at random, names the "
        f"right patient with a chance of at most {risk['threshold']:g}, in the mean over patients and what is known of "
        "them",
        f"At most a share of {risk['threshold']:g} of such attacks leaves fewer than {k} candidates, the right one "
        "among them",
    ]
    if plan["adversary"]["tolerant"] == "bounded":
        sentences.append(
            "The first holds as well against somebody who lets values be missing where flags say that some were left "
            "out, who then picks at random among those who fit, or among those who lack fewest values"
        )
    if plan["adversary"]["likeliest"] == "bounded":
        sentences.append(
            "The first holds as well against somebody who picks the likeliest of those who fit, not one at random"
        )
    sentences.append(f"Each label of a quasi-identifier is held by at least {k} released patients")
    return sentences


def one_row(form: ClaimsForm) -> str:
    """Return what tells patients apart."""
    return f"patients are told apart by {form.names(PATIENTS)[0]!r}"


def levels_told(form: ClaimsForm) -> dict[str, dict[str, int | None]]:
    """Return the level of each quasi-identifier, by file."""
    return {
        table: {column.name: column.level for column in form.of(table) if column.level is not None}
        for table in (PATIENTS, CLAIMS)
    }


def records_of(
    n_in: int, n_released: int, lost: Sequence[int], k: int, *, is_withheld: bool = False
) -> dict[str, int | str]:
    """Return how many patients there were and are; withheld where fewer than k of a step could be worked out.

    Parameters
    ----------
    lost : patients that each step left out
    is_withheld : whether the total of a step is, which the number of patients in the source would tell
    """
    hidden = is_withheld or any(0 < count < k for count in lost)
    gone = n_in - n_released
    if not hidden:
        return {"in": n_in, "released": n_released, "suppressed": gone}
    return {"in": "withheld", "released": n_released, "suppressed": f"<{k}" if gone < k else "withheld"}


def codebook(files: WrittenClaims, form: ClaimsForm) -> pl.DataFrame:
    """Return one row for each label of each quasi-identifier, and one for each other column."""
    rows = [
        row
        for table in (PATIENTS, CLAIMS)
        for column in form.of(table)
        for row in _rows(table, column, files.of(table))
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(BOOK, pl.String), orient="row")


def _rows(table: str, column: ReleasedColumn, frame: pl.DataFrame) -> list[Row]:
    name = f"{table}.{column.name}"
    if column.role != QUASI:
        return [(name, column.role, None, None, None, _meaning(column))]
    level = str(column.level)
    labels = frame[column.name].drop_nulls().unique().sort()
    return [(name, QUASI, column.hierarchy, level, label, _of_label(label, column)) for label in labels]


def _meaning(column: ReleasedColumn) -> str:
    if column.role == FLAG:
        return CUT if column.name == TRUNCATED else HIDDEN
    if column.role == IDENTIFIER:
        return IDS[str(column.ids)]
    return RECORDED if column.role == KEPT else PSEUDONYM_MEANING


def _of_label(label: str, column: ReleasedColumn) -> str:
    if label == ROOT and column.level == column.top:
        return ANY
    return RECORDED if column.level == 0 else GROUP


def shown_of(files: WrittenClaims, form: ClaimsForm, k: int) -> ReportCounts:
    """Return what is shown of patients and claims.

    Classes are those of patients with the same quasi-identifiers of their own; claims make patients stand out further.
    """
    known = form.names(PATIENTS, QUASI)
    alike = files.patients.group_by(known).len()["len"] if known else pl.Series([files.patients.height])
    return ReportCounts(
        k=k,
        sizes=alike,
        of="patients",
        by="the size of their class, by quasi-identifiers of patients alone",
        columns=tuple(
            Counted(table, column, table, label_counts(files.of(table)[column]))
            for table in (PATIENTS, CLAIMS)
            for column in form.names(table, QUASI)
        ),
        files={table: files.of(table).drop(form.names(table, IDENTIFIER)) for table in (PATIENTS, CLAIMS)},
    )
