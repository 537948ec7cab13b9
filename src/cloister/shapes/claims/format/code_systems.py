"""Codes of diagnoses, procedures and places: which texts are codes, and which rules exclude patients by them.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2 (exclusions).
"""

import re
from collections.abc import Iterable, Sequence

from cloister.hierarchy import icd9, icd10
from cloister.io.codes import SEPARATOR

from .group_tables import CodeGroups, ExclusionRule, plain, shipped_exclusions
from .plan import ClaimsPlan

ICD9, ICD10 = "icd9", "icd10"
BOTH = frozenset({ICD9, ICD10})
CODINGS_OF = dict.fromkeys(("diagnosis", "diagnosis-group", "icd9"), frozenset({ICD9})) | {"icd10": frozenset({ICD10})}
"""The codings that a hierarchy has levels for; any other hierarchy takes both."""

FEW = 0.05
"""Up to this share of codes of another coding, a column is of one coding."""

PROCEDURE = re.compile(r"[0-9A-Z][0-9]{3}[0-9A-Z]|[0-9]{3}")
"""Procedure codes of five characters, and revenue codes."""

OWN = re.compile(r"(?=.*[0-9])[0-9A-Z]{1,8}")
"""What can be a code of a table of one's own."""

SEPARATORS = re.compile(rf"(?:\s|{SEPARATOR})+")
LISTS = {"diagnosis": "diagnoses", "procedure": "procedures"}
KINDS = ("diagnosis", "procedure", "place")
"""Of codes on an exclusion list."""

EXCLUDING = "2 high-risk patients"


def codes_in(cell: str) -> list[str]:
    """Return the codes of a list, separated by spaces, commas, semicolons or bars."""
    return [code for code in SEPARATORS.split(cell) if code]


def codings_of(codes: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return for each distinct diagnosis the codings that contain it: none, one, or both.

    A code is what belongs to a category of ICD-9-CM or ICD-10-CM; some codes with V or E belong to both.
    """
    texts = sorted({*codes})
    no_icd9, no_icd10 = {*icd9().outside(texts)}, {*icd10().outside(texts)}
    return {
        text: frozenset(coding for coding, others in ((ICD9, no_icd9), (ICD10, no_icd10)) if text not in others)
        for text in texts
    }


def readings(codes: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return for each distinct diagnosis of a column the codings by which it is read.

    A code of both codings is read like the rest of the column, and by both if the rest has no clear coding. A code of
    neither coding is read by both, so that no misspelt code is overlooked.
    """
    found = codings_of(codes)
    only = {coding: sum(codings == {coding} for codings in found.values()) for coding in BOTH}
    usual = frozenset(coding for coding, count in only.items() if count > FEW * sum(only.values())) or BOTH
    return {text: codings if len(codings) == 1 else usual if codings else BOTH for text, codings in found.items()}


def none_of(
    role: str, values: Sequence[str], codings: frozenset[str] = BOTH, groups: CodeGroups | None = None
) -> set[str]:
    """Return the distinct values that are no codes of a role: ``diagnosis`` or ``procedure``.

    Of diagnoses some codings count; and codes of a table of one's own, whose groups are given.
    """
    if role == "diagnosis":
        none = {text for text, found in codings_of(values).items() if not found & codings}
    else:
        none = {text for text in values if not PROCEDURE.fullmatch(plain(text))}
    if groups is None:
        return none
    ranges = [known for known in groups.ranges if known.first]
    own = {text for text in none if OWN.fullmatch(plain(text)) and any(known.holds(plain(text)) for known in ranges)}
    return none - own


def kinds_of(rules: Iterable[ExclusionRule]) -> tuple[str, ...]:
    """Return the kinds of codes that rules name."""
    named = {rule.kind for rule in rules}
    return tuple(kind for kind in KINDS if kind in named)


def shipped_rules(plan: ClaimsPlan) -> list[ExclusionRule]:
    """Return the rules of the shipped list that a plan names; all if it names none."""
    wanted = plan.exclusions.rules
    return [rule for rule in shipped_exclusions() if wanted is None or rule.range.name in wanted]
