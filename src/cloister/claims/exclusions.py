"""Step 2: high-risk patients are taken out, with all their claims."""

from collections.abc import Iterable

import polars as pl

from .codes import BOTH, LISTS, codes_in, readings
from .data import PATIENT, Claims
from .group_tables import ExclusionRule, place_codes, plain, read_exclusions, shipped_exclusions, words
from .step_sentences import LOOKED_FOR, excluded
from .steps import StepLine, Stepped

STEP = "2 high-risk patients"


def exclusions(data: Claims) -> Stepped:
    """Take out every patient with a claim that the exclusion list names, and all claims of such patients.

    Diagnoses are looked for in the column with the role ``diagnosis`` and in all with the role ``diagnoses`` (codes
    separated by spaces, commas, semicolons or bars), procedures likewise, places by code or name. Codes of ICD-9-CM and
    of ICD-10-CM are told apart by themselves; what is a code of both is taken for what the rest of the column is, and
    what is a code of neither is looked for in both lists.

    Guarantee: no claim of a patient remains whose recorded codes the list names, so that what is left cannot be used
    to infer what was taken out. Not promised: conditions that are recorded in no column with such a role.

    Raises
    ------
    InputError
        The plan's own list cannot be read.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2.
    """
    rules = rules_of(data)
    by_rule = {name: patients for name, patients in _patients_by_rule(data, rules).items() if not patients.is_empty()}
    hit = pl.concat([pl.Series(PATIENT, [], dtype=pl.Int64), *by_rule.values()]).unique()
    counts = {name: patients.len() for name, patients in by_rule.items()}
    done = excluded(data.plan, [kind for kind in LOOKED_FOR if any(rule.kind == kind for rule in rules)])
    line = StepLine(STEP, done, hit.len(), counts)
    return Stepped(data.of_patients(hit, others=True), line, removed=data.of_patients(hit))


def rules_of(data: Claims) -> tuple[ExclusionRule, ...]:
    """The rules that the plan names, and its own."""
    plan = data.plan.exclusions
    named = [rule for rule in shipped_exclusions() if plan.rules is None or rule.range.name in plan.rules]
    own = () if plan.file is None else read_exclusions(plan.file)
    return (*named, *own)


def _patients_by_rule(data: Claims, rules: tuple[ExclusionRule, ...]) -> dict[str, pl.Series]:
    found: dict[str, list[pl.Series]] = {rule.range.name: [] for rule in rules}
    for kind in LOOKED_FOR:
        of_kind = [rule for rule in rules if rule.kind == kind]
        for column in data.plan.claim_columns(kind, LISTS.get(kind, kind)) if of_kind else ():
            cells = data.claims[column].drop_nulls().unique().to_list()
            for name, hit in _hits(kind, cells, of_kind).items():
                found[name].append(data.claims.filter(pl.col(column).is_in(hit))[PATIENT].unique())
    return {name: pl.concat(series).unique() for name, series in found.items() if series}


def _hits(kind: str, cells: list[str], rules: list[ExclusionRule]) -> dict[str, list[str]]:
    """Cells that each rule names, by any of their codes."""
    codes = {cell: [cell] if kind == "place" else codes_in(cell) for cell in cells}
    distinct = {code for several in codes.values() for code in several}
    by_code = _rules_of_diagnoses(distinct, rules) if kind == "diagnosis" else _rules_of_others(kind, distinct, rules)
    hits: dict[str, list[str]] = {}
    for cell, several in codes.items():
        for name in {name for code in several for name in by_code[code]}:
            hits.setdefault(name, []).append(cell)
    return hits


def _rules_of_diagnoses(codes: Iterable[str], rules: list[ExclusionRule]) -> dict[str, set[str]]:
    by_coding = {coding: [rule for rule in rules if rule.coding in (None, coding)] for coding in BOTH}
    return {
        text: {name for coding in codings for name in _named(whole(text), by_coding[coding])}
        for text, codings in readings(codes).items()
    }


def _rules_of_others(kind: str, codes: Iterable[str], rules: list[ExclusionRule]) -> dict[str, set[str]]:
    read = place_code if kind == "place" else plain
    return {text: _named(read(text), rules) for text in codes}


def _named(code: str, rules: list[ExclusionRule]) -> set[str]:
    return {rule.range.name for rule in rules if rule.range.holds(code)}


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
    told = words(text)
    first, _, rest = told.partition(" ")
    return place_codes().get(told) or (words(first) if rest and first.isdigit() else told)
