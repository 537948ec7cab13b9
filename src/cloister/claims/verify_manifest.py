"""What the manifest says of both files and of steps 7 to 12, beside the files, the register and the original."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy import Hierarchy
from cloister.io import as_text

from .data_file import CLAIMS, FLAG, PATIENTS, QUASI, ClaimsForm, WrittenClaims
from .verify_original import PreparedOriginal

OWNER, KIND = "\0owner", "\0kind"
NEAR = 2e-6
"""How far figures with six decimals may be from what they stand for."""

SUPPRESSION = "11 suppression"


def alike(files: WrittenClaims, form: ClaimsForm) -> NDArray[np.int64]:
    """How many patients are like each one in all quasi-identifiers of both files, (n_patients,), each included."""
    names, own = form.names(CLAIMS, QUASI), form.names(PATIENTS, QUASI)
    events = files.claims.select(pl.col(form.names(CLAIMS)[0]).alias(OWNER), *names)
    kinds = events.select(names).unique().with_row_index(KIND)
    placed = events.join(kinds, on=names, how="left", nulls_equal=True)
    histories = placed.group_by(OWNER).agg(pl.col(KIND).sort().cast(pl.String).str.join(" "))
    people = files.patients.select(pl.col(form.names(PATIENTS)[0]).alias(OWNER), *own)
    joined = people.join(histories, on=OWNER, how="left", maintain_order="left")
    sizes = joined.select(pl.len().over([*own, KIND]).cast(pl.Int64))
    return sizes.to_series().to_numpy()


def together_agrees(told: Mapping[str, Any], files: WrittenClaims, form: ClaimsForm, k: int) -> bool:
    """Whether what is told of somebody who knows everything is what the files say."""
    if not _has_form(files, form):
        return False
    sizes = alike(files, form)
    found = {"mean": np.mean(1.0 / sizes), "flag_rate": np.mean(sizes < k), "unique": np.mean(sizes == 1)}
    return told.keys() == {"assumes", *found} and all(abs(told[name] - value) <= NEAR for name, value in found.items())


def voters_agree(told: Mapping[str, Any], files: WrittenClaims, form: ClaimsForm) -> bool:
    """Whether what is told of a voter list fits itself and the files; a population itself is not among them."""
    if not _has_form(files, form):
        return False
    n, names = files.patients.height, form.names(PATIENTS, QUASI)
    classes, people = told["classes"], told["people"]
    fits = told["sample"] == n <= people and 0 < classes <= people and set(told["columns"]) <= set(names)
    fits &= abs(told["exact"] - classes / people) <= NEAR and 0 <= told["paper_eq2"] <= told["exact"] + NEAR
    if told["list"] != "population":
        here = files.patients.select(names).n_unique() if names else 1
        fits &= told["list"] == "released patients" and people == n and classes == here
    return bool(fits)


@dataclass(frozen=True, eq=False, repr=False)
class Register:
    """The population as its file has it, one row a person, and the hierarchies of the columns of patients."""

    people: pl.DataFrame
    hierarchies: Mapping[str, Hierarchy]


def population_agrees(
    told: Mapping[str, Any], register: Register, files: WrittenClaims, form: ClaimsForm, k: int
) -> bool:
    """Whether what is told of a voter list is what the register says, recoded again."""
    names = [name for name in form.names(PATIENTS, QUASI) if name in register.people.columns]
    if not _has_form(files, form) or told["columns"] != names or told["list"] != "population":
        return False
    levels = {column.name: column.level for column in form.of(PATIENTS)}
    recoded = [_labels(as_text(register.people[name]), register.hierarchies[name], levels[name]) for name in names]
    counts = pl.DataFrame(recoded).group_by(names).agg(pl.len().cast(pl.Int64).alias(KIND))
    there = files.patients.select(names).join(counts, on=names, how="left", nulls_equal=True)[KIND]
    sizes = there.fill_null(1).to_numpy()
    found = {
        "classes": counts.height,
        "people": register.people.height,
        "observed": float(np.mean(1.0 / sizes)),
        "flag_rate": float(np.mean(sizes < k)),
    }
    return not there.null_count() and all(abs(told[name] - value) <= NEAR for name, value in found.items())


def _labels(text: pl.Series, hierarchy: Hierarchy, level: int | None) -> pl.Series:
    values = text.drop_nulls().unique().sort().to_list()
    ladder = hierarchy.bind(text.name, values)
    labels = {value: label or None for value, label in zip(values, ladder.labels[level or 0], strict=True)}
    return text.replace_strict(labels, return_dtype=pl.String) if labels else text


def _has_form(files: WrittenClaims, form: ClaimsForm) -> bool:
    declared = all(files.of(table).columns == form.names(table) for table in (PATIENTS, CLAIMS))
    return declared and files.patients.height > 0


def late_steps_agree(manifest: Mapping[str, Any], files: WrittenClaims, form: ClaimsForm) -> dict[str, bool]:
    """Sentences about the steps, each with whether it is so, by the files."""
    (line,) = [line for line in manifest["steps"] if line["step"] == SUPPRESSION]
    flags = [name for name in form.names(CLAIMS, FLAG) if name in files.claims.columns]
    hidden = sum(int((files.claims[flag] == "1").sum()) for flag in flags)
    told = line["counts"].get("cells suppressed", 0)
    return {"steps tell of other suppressed cells than there are": _is_told(told, hidden, manifest["risk"]["k"])}


def losses_agree(manifest: Mapping[str, Any], files: WrittenClaims, original: PreparedOriginal) -> dict[str, bool]:
    """The same of who and what was left out, by the original with its crosswalk."""
    lines, k = {line["step"]: line for line in manifest["steps"]}, manifest["risk"]["k"]
    left_out = original.patients.height - files.patients.height
    told = {"steps tell of other patients left out": _is_told(_of(lines, "patients left out"), left_out, k)}
    if original.origin is not None:
        is_released = np.zeros(original.patients.height, dtype=np.bool_)
        is_released[original.origin[original.origin >= 0]] = True
        missing = int(is_released[original.owners].sum()) - files.claims.height
        parts = [lines["7 truncation"]["total"] or 0, _of(lines, "claims left out")]
        told["steps tell of other claims left out than are missing"] = _add_up(parts, missing)
    return told


def _of(lines: Mapping[str, Any], name: str) -> Any:
    return lines[SUPPRESSION]["counts"].get(name, 0)


def _is_told(told: Any, true: int, k: int) -> bool:
    """Whether a count is told as it is, or withheld where fewer than k are; what few patients have may be withheld."""
    return told == true if type(told) is int else told == f"<{k}" or told == "withheld"


def _add_up(told: Sequence[Any], true: int) -> bool:
    """Whether counts can add up to a number; those that are withheld may be any."""
    known = sum(one for one in told if type(one) is int)
    return known == true if all(type(one) is int for one in told) else known <= true
