"""What is a code of a diagnosis or of a procedure, and of which coding."""

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from cloister.hierarchy import icd9, icd10

from .group_tables import RANGED, CodeGroups, groups_of, plain
from .ladders import NO_CODE, split_bounds
from .plan import ClaimsPlan

ICD9, ICD10 = "icd9", "icd10"
BOTH = frozenset({ICD9, ICD10})
CODINGS_OF = {
    "diagnosis": frozenset({ICD9}),
    "diagnosis-group": frozenset({ICD9}),
    "icd9": frozenset({ICD9}),
    "icd10": frozenset({ICD10}),
}
"""The codings that a hierarchy has levels for; any other hierarchy takes both."""

FEW = 0.05
"""Up to this share of codes of another coding, a column is of one coding."""

PROCEDURE = re.compile(r"[0-9A-Z][0-9]{3}[0-9A-Z]|[0-9]{3}")
"""Procedure codes of five characters, and revenue codes."""

OWN = re.compile(r"(?=.*[0-9])[0-9A-Z]{1,8}")
"""What can be a code of a table of one's own."""

SEPARATORS = re.compile(r"[\s,;|]+")
LISTS = {"diagnosis": "diagnoses", "procedure": "procedures"}


def codes_in(cell: str) -> list[str]:
    """Return the codes of a list, separated by spaces, commas, semicolons or bars."""
    return [code for code in SEPARATORS.split(cell) if code]


def codings_of(codes: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return for each distinct diagnosis the codings of which it is a code: none, one, or both.

    A code is what belongs to a category of ICD-9-CM or ICD-10-CM; some codes with V or E belong to both.
    """
    texts = sorted({*codes})
    no_icd9, no_icd10 = {*icd9().outside(texts)}, {*icd10().outside(texts)}
    return {
        text: frozenset(coding for coding, others in ((ICD9, no_icd9), (ICD10, no_icd10)) if text not in others)
        for text in texts
    }


def readings(codes: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return for each distinct diagnosis of a column the codings by which it is to be read.

    What belongs to both is read as the rest of the column is, and by both where the rest does not tell. What belongs
    to neither is read by both, so that no misspelt code is overlooked.
    """
    found = codings_of(codes)
    only = {coding: sum(codings == {coding} for codings in found.values()) for coding in BOTH}
    usual = frozenset(coding for coding, count in only.items() if count > FEW * sum(only.values())) or BOTH
    return {text: codings if len(codings) == 1 else usual if codings else BOTH for text, codings in found.items()}


def none_of(
    role: str, values: Sequence[str], codings: frozenset[str] = BOTH, groups: CodeGroups | None = None
) -> set[str]:
    """Return those of the distinct values that are no codes of a role: ``diagnosis`` or ``procedure``.

    Parameters
    ----------
    codings : of diagnoses, those that count
    groups : of a table of one's own, whose codes count as well
    """
    if role == "diagnosis":
        none = {text for text, found in codings_of(values).items() if not found & codings}
    else:
        none = {text for text in values if not PROCEDURE.fullmatch(plain(text))}
    return none if groups is None else {text for text in none if not _is_own(plain(text), groups)}


def _is_own(code: str, groups: CodeGroups) -> bool:
    return OWN.fullmatch(code) is not None and any(known.first and known.holds(code) for known in groups.ranges)


def without_no_codes(claims: pl.DataFrame, plan: ClaimsPlan) -> tuple[pl.DataFrame, dict[str, int]]:
    """Give everything in columns of codes that is no code the one label ``no code``, at every level.

    Free text, a name or a misspelt code would be released as recorded otherwise. They are not refused, since real
    claims have some, and one label holds nothing of them.

    Returns
    -------
    tuple
        The claims, and by column how many of them had no code, or a list with something that is none.
    """
    counts: dict[str, int] = {}
    for role in RANGED:
        table = groups_of(role, plan.grouping.tables) if role in plan.grouping.tables else None
        own = table if isinstance(table, CodeGroups) else None
        for column in plan.claim_columns(role):
            word, _ = split_bounds(plan.claims.qi.get(column, ""))
            values = claims[column].drop_nulls().unique().to_list()
            none = none_of(role, values, CODINGS_OF.get(word, BOTH), own)
            counts[column] = int(claims[column].is_in([*none]).sum())
            claims = claims.with_columns(_replaced(claims[column], dict.fromkeys(none, NO_CODE)))
        for column in plan.claim_columns(LISTS[role]):
            cells = claims[column].drop_nulls().unique().to_list()
            none = none_of(role, sorted({code for cell in cells for code in codes_in(cell)}), groups=own)
            counts[column] = int(claims[column].is_in([cell for cell in cells if none & {*codes_in(cell)}]).sum())
    return claims, {column: count for column, count in counts.items() if count}


def _replaced(series: pl.Series, names: Mapping[str, str]) -> pl.Series:
    return series.replace(names) if names else series
