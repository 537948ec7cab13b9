"""Steps 1 to 6 as a release tells them: what describes the release is counted in the files themselves.

Counts of everybody who was there before, less those of the files, would tell of the few who were left out in between.
Step 4 compares the excluded patients with those who are released, at the levels of the release.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, Ladder
from cloister.io import as_text
from cloister.masking import WITHHELD, is_masked_count
from cloister.release_folder import same

from .codes import EXCLUDING, KINDS, kinds_of, shipped_rules
from .data import PATIENT, Claims
from .data_file import CLAIMS, KEPT, PATIENTS, QUASI, SUPPRESSED, TRUNCATED, Filed, ReleasedColumn
from .group_tables import OTHER
from .ladders import hierarchy_named
from .plan import ClaimsPlan
from .prepare import PreparedClaims, group_sizes
from .representativeness import SEX, Variable, median_claims, variables_of
from .steps import StepLine

MOST_BANDS = 16
"""A table has no more; where a level has, the next one with fewer is told."""

MISSING = "missing"
COUNT, LABEL = "\0count", "\0label"
Share = float | None
REASONS: dict[str, frozenset[str] | None] = {
    "1 pseudonyms": None,
    EXCLUDING: frozenset(),
    "3 claims removed": frozenset({"newborns", "procedure codes with a letter", "revenue codes of three digits"}),
    "3 patients without claims": None,
    "4 representativeness": frozenset(),
    "5 derived columns": None,
    "6 grouping": None,
    "6 top-coding": None,
    "7 truncation": frozenset(),
    "8 adversary power": frozenset(),
    "9 node risk": frozenset(),
    "10 search": frozenset(),
    "11 suppression": frozenset({"patients left out", "cells suppressed", "claims left out"}),
    "12 evaluation": frozenset(),
}
"""Steps in their order, each with what it may count besides names of rules; None where that is counted in the files."""

TOTALS = frozenset({EXCLUDING, "3 claims removed", "3 patients without claims", "7 truncation"})
OWN_RULE = re.compile("[A-Za-z][A-Za-z -]{0,39}")
"""Names of rules of a list of one's own."""


@dataclass(frozen=True)
class Compared:
    """One variable, as it is told.

    Attributes
    ----------
    shares : of each band among the excluded and the released, patients or claims; None where it is withheld
    """

    variable: str
    shares: Mapping[str, tuple[Share, Share]]

    def told(self) -> dict[str, object]:
        """Return shares and, of values in an order, the greatest difference between their sums from the first on."""
        both = [share for band, share in self.shares.items() if band != MISSING and self.variable != SEX]
        sums, greatest = [0.0, 0.0], 0.0
        for excluded, released in both:
            if excluded is None or released is None:
                return {"shares": dict(self.shares), "statistic": None}
            sums = [sums[0] + excluded, sums[1] + released]
            greatest = max(greatest, abs(sums[0] - sums[1]))
        return {"shares": dict(self.shares), "statistic": round(greatest, 2) if both else None}


def compared(prepared: PreparedClaims, laid: Filed, k: int) -> tuple[Compared, ...]:
    """Return every variable that the release has, in bands of the level released or of a coarser one.

    Shares of the excluded are rounded to two decimals, and withheld where fewer than k patients are in a band, or in
    all those withheld. Labels that the release does not have are no bands: their names would be values of the excluded.
    """
    is_told = _excluded_are_told(prepared, k)
    made = []
    for variable in variables_of(prepared.claims.plan):
        named = [one for one in laid.form.of(variable.table) if one.name == variable.column]
        column = next((one for one in named if one.role in (QUASI, KEPT)), None)
        table = None if column is None else _table(prepared, laid, variable, column, k if is_told else None)
        if table is not None:
            made.append(Compared(variable.name, table))
    return tuple(made)


def compared_told(prepared: PreparedClaims, laid: Filed, found: Sequence[Compared], k: int) -> dict[str, object]:
    """Return the part of the manifest."""
    is_told = _excluded_are_told(prepared, k)
    return {
        "variables": {one.variable: one.told() for one in found},
        "median_claims_excluded": median_claims(prepared.excluded.claims[PATIENT]) if is_told else None,
        "median_claims_released": median_claims(laid.files.claims.to_series(0)),
    }


def _excluded_are_told(prepared: PreparedClaims, k: int) -> bool:
    """Whether there are k or more, and their number is told: shares of few people tell how many people there are."""
    (line,) = [line for line in prepared.lines if line.step == EXCLUDING]
    return prepared.excluded.n_patients >= k and line.told(k)["total"] != WITHHELD


def _table(
    prepared: PreparedClaims, laid: Filed, variable: Variable, column: ReleasedColumn, k: int | None
) -> dict[str, tuple[Share, Share]] | None:
    """Shares by band; None where the release has but one label."""
    here = laid.files.of(variable.table)[column.name]
    data, out = prepared.claims, prepared.excluded
    own = [as_text((one.patients if variable.table == PATIENTS else one.claims)[column.name]) for one in (data, out)]
    bands = _bands(here, own[0], column, _hierarchy(data, variable))
    if len(set(bands.values())) < 2:
        return None
    names = [*dict.fromkeys(bands.values()), MISSING]
    counts = here.replace_strict(bands, default=None, return_dtype=pl.String).fill_null(MISSING)
    released = [round(int((counts == name).sum()) / max(here.len(), 1), 4) for name in names]
    owners = (out.patients if variable.table == PATIENTS else out.claims)[PATIENT]
    labels = _labels_of_excluded(own[1], column, _hierarchy(data, variable), bands)
    excluded = [None] * len(names) if k is None else _excluded_shares(owners, labels, names, k)
    return dict(zip(names, zip(excluded, released, strict=True), strict=True))


def _hierarchy(data: Claims, variable: Variable) -> Hierarchy | None:
    section = data.plan.patients if variable.table == PATIENTS else data.plan.claims
    words = section.qi.get(variable.column)
    return None if words is None else hierarchy_named(words, data.plan.grouping.tables).hierarchy


def _bands(here: pl.Series, values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None) -> dict[str, str]:
    """From each label released to its band, in the order of values; no label has two bands, since levels are nested."""
    labels = set(here.drop_nulls())
    if hierarchy is None:
        return {label: label for label in sorted(labels)} if len(labels) <= MOST_BANDS else {}
    ladder = hierarchy.bind(column.name, values.drop_nulls().unique().sort().to_list())
    order = sorted(range(len(ladder.values)), key=lambda place: _in_order(ladder, place))
    for level in range(column.level or 0, ladder.n_levels):
        bands = {
            str(ladder.labels[column.level or 0][place]): str(ladder.labels[level][place])
            for place in order
            if ladder.labels[column.level or 0][place] in labels
        }
        if len(set(bands.values())) <= MOST_BANDS:
            return bands
    return {}


def _in_order(ladder: Ladder, place: int) -> tuple[float, str]:
    text = str(ladder.values[place])
    return (float(text) if text.isdecimal() else float("inf"), text)


def _labels_of_excluded(
    values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None, bands: Mapping[str, str]
) -> pl.Series:
    """The band of each value of the excluded: `MISSING`, or null where the release has no such label."""
    distinct = values.drop_nulls().unique().sort().to_list()
    labels: dict[str, str | None] = {value: bands.get(value) for value in distinct}
    if hierarchy is not None:
        try:
            ladder = hierarchy.bind(column.name, distinct)
        except InputError:  # a value that the hierarchy does not cover
            return pl.Series(values.name, [None] * values.len(), dtype=pl.String)
        own = ladder.labels[column.level or 0]
        labels = {value: bands.get(str(label)) for value, label in zip(distinct, own, strict=True)}
    named = values.replace_strict(labels, return_dtype=pl.String) if labels else values
    return named.set(values.is_null(), MISSING)


def _excluded_shares(owners: pl.Series, labels: pl.Series, names: Sequence[str], k: int) -> list[Share]:
    """Share of each band, of patients or claims; those of fewer than k patients are withheld, and with them others."""
    frame = pl.DataFrame({PATIENT: owners, LABEL: labels})
    patients = dict(frame.group_by(LABEL).agg(pl.col(PATIENT).n_unique()).iter_rows())
    hidden = {None, *(name for name, count in patients.items() if count < k)}
    shown = sorted(patients.keys() - hidden, key=lambda name: (patients[name], name))
    while shown and 0 < _n_patients(frame, hidden) < k:
        hidden.add(shown.pop(0))
    counts = dict(frame.group_by(LABEL).len().iter_rows())
    return [None if name in hidden else round(counts.get(name, 0) / frame.height, 2) for name in names]


def _n_patients(frame: pl.DataFrame, names: set[str | None]) -> int:
    is_hidden = frame[LABEL].is_null() | frame[LABEL].is_in([name for name in names if name is not None])
    return int(frame.filter(is_hidden)[PATIENT].n_unique())


def early_lines(prepared: PreparedClaims, laid: Filed) -> list[StepLine]:
    """Return the lines of steps 1 to 6; those of steps 2 and 3 count whom and what they left out, and stay."""
    counted = counts_of(prepared.claims.plan, laid)
    return [replace(line, counts=counted.get(line.step, line.counts)) for line in prepared.lines]


def counts_of(plan: ClaimsPlan, laid: Filed) -> dict[str, dict[str, int]]:
    """Return what the files say of steps 1 to 6, by step."""
    return {
        "1 pseudonyms": group_sizes(laid.files.claims, plan),
        "3 patients without claims": _without_claims(plan, laid),
        "5 derived columns": _missing(plan, laid),
        "6 grouping": _others(plan, laid),
        "6 top-coding": _top_coded(plan, laid),
    }


def steps_are_told(steps: Sequence[Mapping[str, Any]], plan: ClaimsPlan, k: int, laid: Filed | None) -> bool:
    """Whether the steps are those there are, in order, and tell no more than counts of what each can count.

    Parameters
    ----------
    plan : as the manifest tells it
    laid : the files, which must say what is counted in them; None where they have not the columns of the plan
    """
    counted = None if laid is None else counts_of(plan, laid)
    return [line["step"] for line in steps] == list(REASONS) and all(_is_told(line, plan, k, counted) for line in steps)


def _is_told(
    line: Mapping[str, Any], plan: ClaimsPlan, k: int, counted: Mapping[str, Mapping[str, int]] | None
) -> bool:
    step, total, counts, keys = line["step"], line["total"], line["counts"], {"step", "total", "counts"}
    if line.keys() != (keys | {"looked_for"} if step == EXCLUDING else keys):
        return False
    if total is not None and (step not in TOTALS or not (total == WITHHELD or is_masked_count(total, k))):
        return False
    reasons = REASONS[step]
    if reasons is None:
        return counted is None or same(counts, StepLine(step, counts=counted[step]).told(k)["counts"])
    if step == EXCLUDING and not _is_looked_for(line["looked_for"], plan):
        return False
    known = reasons | {rule.range.name for rule in shipped_rules(plan) if step == EXCLUDING}
    is_own = plan.exclusions.file is not None and step == EXCLUDING
    return all(
        is_masked_count(count, k) and (reason in known or (is_own and OWN_RULE.fullmatch(reason) is not None))
        for reason, count in counts.items()
    )


def _is_looked_for(told: Any, plan: ClaimsPlan) -> bool:
    """Whether these are the kinds of codes of the shipped rules that a plan names, and of rules of its own if any."""
    shipped = kinds_of(shipped_rules(plan))
    if plan.exclusions.file is None:
        return same(told, shipped)
    return same(told, [kind for kind in KINDS if kind in told]) and {*shipped} <= {*told}


def _without_claims(plan: ClaimsPlan, laid: Filed) -> dict[str, int]:
    """Patients released who never had claims, where such patients are kept."""
    if plan.patients.without_claims != "keep":
        return {}
    n_rows = np.bincount(laid.files.owners, minlength=laid.files.patients.height)
    is_whole = laid.files.patients[TRUNCATED].to_numpy() == "0"
    return {"without claims": int(((n_rows == 0) & is_whole).sum())}


def _missing(plan: ClaimsPlan, laid: Filed) -> dict[str, int]:
    """Released cells of derived columns that are missing, and were not suppressed."""
    counts = {}
    for table, names in ((CLAIMS, plan.claims.derived), (PATIENTS, plan.patients.derived)):
        frame = laid.files.of(table)
        for name in names:
            if name in frame.columns:
                flag = f"{SUPPRESSED}{name}"
                hidden = frame[flag] == "1" if flag in frame.columns else pl.Series([False])
                counts[f"{name} missing"] = int((frame[name].is_null() & ~hidden).sum())
    return counts


def _others(plan: ClaimsPlan, laid: Filed) -> dict[str, int]:
    """Released cells in the group of all other codes, of columns that are released as they were grouped."""
    columns = [plan.claim_column(role) for role in plan.grouping.columns]
    return {
        f"{column!r} in group {OTHER}": int((laid.files.claims[column] == OTHER).sum())
        for column in columns
        if column is not None and _is_finest(laid, CLAIMS, column)
    }


def _top_coded(plan: ClaimsPlan, laid: Filed) -> dict[str, int]:
    """Released cells with the label of large numbers, of columns that are released as they were top-coded."""
    return {
        f"{coding.column!r} top-coded": int(laid.files.of(table)[coding.column].str.ends_with("+").sum())
        for coding in plan.top_coding
        for table in (PATIENTS, CLAIMS)
        if _is_finest(laid, table, coding.column)
    }


def _is_finest(laid: Filed, table: str, name: str) -> bool:
    """Whether a column is released, with nothing generalized."""
    return any(column.name == name and not column.level for column in laid.form.of(table))
