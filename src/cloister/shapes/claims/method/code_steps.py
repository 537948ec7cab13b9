"""Steps 2 and 6: exclude high-risk patients, group codes, and top-code large numbers.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2 (exclusions) and sections 7 to 10 (groups).
"""

import math
from dataclasses import replace

import polars as pl

from cloister.errors import InputError
from cloister.io import as_text
from cloister.io.columns import pack_text
from cloister.shapes.claims.format.code_systems import (
    BOTH,
    CODINGS_OF,
    EXCLUDING,
    KINDS,
    LISTS,
    codes_in,
    kinds_of,
    none_of,
    readings,
    shipped_rules,
)
from cloister.shapes.claims.format.data import PATIENT, Claims, StepLine, StepResult, numbers_of
from cloister.shapes.claims.format.group_tables import (
    OTHER,
    RANGED,
    CodeGroups,
    ExclusionRule,
    groups_of,
    place_codes,
    plain,
    read_exclusions,
    words,
)
from cloister.shapes.claims.format.hierarchies import NO_CODE, split_bounds
from cloister.shapes.claims.format.plan import ClaimsPlan, TopCoding


def drop_placeholders(claims: pl.DataFrame, plan: ClaimsPlan) -> tuple[pl.DataFrame, dict[str, int]]:
    """Replace all text in code columns that is no code by the label ``no code``, at every level.

    Free text, a name or a misspelt code would be released as recorded otherwise. They are not refused, since real
    claims have some, and one label holds nothing of them. Also returned: by column how many claims had no code, or a
    list with something that is none.
    """
    counts: dict[str, int] = {}
    for role in RANGED:
        table = groups_of(role, plan.grouping.tables) if role in plan.grouping.tables else None
        own = table if isinstance(table, CodeGroups) else None
        for column in plan.claims.columns(role):
            word, _ = split_bounds(plan.claims.qi.get(column, ""))
            values = claims[column].drop_nulls().unique().to_list()
            none = none_of(role, values, CODINGS_OF.get(word, BOTH), own)
            counts[column] = int(claims[column].is_in([*none]).sum())
            if none:
                claims = claims.with_columns(pack_text(as_text(claims[column]).replace(dict.fromkeys(none, NO_CODE))))
        for column in plan.claims.columns(LISTS[role]):
            cells = claims[column].drop_nulls().unique().to_list()
            none = none_of(role, sorted({code for cell in cells for code in codes_in(cell)}), groups=own)
            counts[column] = int(claims[column].is_in([cell for cell in cells if none & {*codes_in(cell)}]).sum())
    return claims, {column: count for column, count in counts.items() if count}


def exclusions(data: Claims) -> StepResult:
    """Exclude every patient with a claim on the exclusion list, with all claims of the patient.

    Diagnoses are looked for in the column with the role ``diagnosis`` and in all with the role ``diagnoses`` (codes
    separated by spaces, commas, semicolons or bars), procedures likewise, places by code or name. Codes of ICD-9-CM and
    of ICD-10-CM are told apart by themselves; what is a code of both is taken for what the rest of the column is, and
    what is a code of neither is looked for in both lists.

    Guarantee: no claim of a patient remains whose recorded codes the list names, so that what is left cannot be used
    to infer what was taken out. Not promised: conditions that are recorded in no column with such a role.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2.
    """
    file = data.plan.exclusions.file
    rules = (*shipped_rules(data.plan), *(() if file is None else read_exclusions(file)))
    by_rule = {name: patients for name, patients in _patients_by_rule(data, rules).items() if not patients.is_empty()}
    hit = pl.concat([pl.Series(PATIENT, [], dtype=pl.UInt32), *by_rule.values()]).unique()
    counts = {name: patients.len() for name, patients in by_rule.items()}
    line = StepLine(EXCLUDING, hit.len(), counts, looked_for=kinds_of(rules))
    return StepResult(data.of_patients(hit, others=True), line, removed=data.of_patients(hit))


def _patients_by_rule(data: Claims, rules: tuple[ExclusionRule, ...]) -> dict[str, pl.Series]:
    found: dict[str, list[pl.Series]] = {rule.range.name: [] for rule in rules}
    for kind in KINDS:
        of_kind = [rule for rule in rules if rule.kind == kind]
        for column in data.plan.claims.columns(kind, LISTS.get(kind, kind)) if of_kind else ():
            cells = data.claims[column].drop_nulls().unique().to_list()
            for name, hit in _hits(kind, cells, of_kind).items():
                found[name].append(data.claims.filter(pl.col(column).is_in(hit))[PATIENT].unique())
    return {name: pl.concat(series).unique() for name, series in found.items() if series}


def _hits(kind: str, cells: list[str], rules: list[ExclusionRule]) -> dict[str, list[str]]:
    """Cells that each rule names, by any of their codes."""
    codes = {cell: [cell] if kind == "place" else codes_in(cell) for cell in cells}
    distinct = {code for several in codes.values() for code in several}
    read = {"diagnosis": whole, "procedure": plain, "place": place_code}[kind]
    codings = readings(distinct) if kind == "diagnosis" else dict.fromkeys(distinct, BOTH)
    by_coding = {coding: [rule for rule in rules if rule.coding in (None, coding)] for coding in BOTH}
    by_code = {
        text: {rule.range.name for coding in own for rule in by_coding[coding] if rule.range.holds(read(text))}
        for text, own in codings.items()
    }
    hits: dict[str, list[str]] = {}
    for cell, several in codes.items():
        for name in {name for code in several for name in by_code[code]}:
            hits.setdefault(name, []).append(cell)
    return hits


def whole(diagnosis: str) -> str:
    """Return a code as `plain` does, with the zeros before it that a spreadsheet takes away: `42` is `042`.

    Examples
    --------
    >>> whole("42"), whole("42.0"), whole("429"), whole("B20")
    ('042', '0420', '429', 'B20')
    """
    category, dot, rest = diagnosis.strip().partition(".")
    return plain(category.zfill(3) + dot + rest) if category.isdecimal() else plain(diagnosis)


def place_code(text: str) -> str:
    """Return the code of a place of service, by itself, by name, or before its name: `55 - Residential ...`."""
    name = words(text)
    first, _, rest = name.partition(" ")
    return place_codes().get(name) or (words(first) if rest and first.isdigit() else name)


def grouping(data: Claims) -> StepResult:
    """Replace diagnoses, procedures, places and specialties by their groups, if the plan requests it.

    Columns that are not replaced here can still be grouped by their hierarchy, whose levels hold the same groups;
    what is no code in them gets one label, see `drop_placeholders`. Missing stays missing.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, sections 7 to 10.
    """
    plan = data.plan
    claims, without = drop_placeholders(data.claims, plan)
    counts = {f"{column!r} not a code": count for column, count in without.items()}
    for role in plan.grouping.columns:
        column = plan.claims.column(role)
        if column is None:
            continue
        groups = groups_of(role, plan.grouping.tables)
        names = {text: groups.group(text) for text in claims[column].drop_nulls().unique()}
        if names:
            claims = claims.with_columns(pack_text(claims[column].replace_strict(names, return_dtype=pl.String)))
        series = claims[column]
        counts[f"{column!r} in group {OTHER}"] = int((series == OTHER).sum())
    return StepResult(replace(data, claims=claims), StepLine("6 grouping", counts=counts))


def top_coding(data: Claims) -> StepResult:
    """Replace all numbers from a quantile on by one label, such as ``162+``, in the columns that the plan names.

    The quantile is the nearest rank among the column's values, those of 0 omitted if the plan says so. The label is
    thus a quantile of the data, which the line says; nothing else that is released holds one.
    """
    frames, counts = {"claims": data.claims, "patients": data.patients}, {}
    for coding in data.plan.top_coding:
        table = next((name for name, frame in frames.items() if coding.column in frame.columns), None)
        if table is None:
            raise InputError(f"The plan asks for top-coding of {coding.column!r}, but there is no such column.")
        coded, counts[f"{coding.column!r} top-coded"] = _top_coded(frames[table][coding.column], coding)
        frames[table] = frames[table].with_columns(pack_text(coded) if table == "claims" else coded)
    coded_data = replace(data, patients=frames["patients"], claims=frames["claims"])
    return StepResult(coded_data, StepLine("6 top-coding", counts=counts))


def _top_coded(series: pl.Series, coding: TopCoding) -> tuple[pl.Series, int]:
    numbers = numbers_of(series)
    counted = numbers.drop_nulls().filter(numbers.drop_nulls() > 0) if coding.exclude_zero else numbers.drop_nulls()
    text = numbers.cast(pl.String)
    if counted.is_empty():
        return text, 0
    rank = max(1, math.ceil(round(coding.quantile * counted.len(), 9)))
    limit = counted.sort()[rank - 1]
    above = (numbers >= limit).fill_null(False)
    return text.set(above, f"{limit}+"), int(above.sum())
