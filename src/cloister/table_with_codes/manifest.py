"""What the manifest of a table says of its codes, beside what it says of the table."""

from typing import Any

import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.facts import NO_SETS, count_sets, facts_of
from cloister.codesets.disassociation.facts import codebook as codebook_of_codes
from cloister.codesets.disassociation.manifest import MethodSettings, method_settings
from cloister.codesets.policy import UtilityPolicy
from cloister.release_folder import DISASSOCIATION
from cloister.results import Verdict

from .data import CodesAsked

MODEL = "(k,k^m)-anonymity"
KEYS = frozenset({"column", "method", "settings", "patients", "guarantee", "utility", "risk", "clusters"})


def describe_codes(
    asked: CodesAsked,
    policy: UtilityPolicy | None,
    codes: CodeSets,
    released: Disassociation,
    records: int,
    verdict: Verdict,
) -> dict[str, Any]:
    """Return the part of ``release.json`` about the codes.

    Parameters
    ----------
    codes : of the released patients that have any
    records : released records, with and without codes
    verdict : on table and codes together
    """
    request = asked.request(released.k, policy)
    settings = MethodSettings.model_validate(method_settings(request, None if policy is None else policy.spec))
    sets = NO_SETS if policy is None else count_sets(released, policy.item_numbers(codes))
    facts = facts_of(released, settings, sets)
    return {
        "column": asked.column,
        "method": DISASSOCIATION,
        "settings": settings.published(),
        "patients": patients_of(released, records),
        "guarantee": guarantee_of(released, asked.column) | {"verified": verdict.holds},
        "utility": facts.utility.published(),
        "risk": facts.risk.published(),
        "clusters": facts.clusters.published() | {"classes": len(released.classes)},
    }


def patients_of(released: Disassociation, records: int) -> dict[str, int]:
    """Return how many released patients have codes; each class has k of those with and of those without, or none."""
    return {"with_codes": released.n_records, "without_codes": records - released.n_records}


def guarantee_of(released: Disassociation, column: str) -> dict[str, Any]:
    """Return what is promised, as data and in words."""
    known = "any code" if released.m == 1 else f"any {released.m} codes or fewer"
    return {
        "rules": [{"model": MODEL, "k": released.k, "m": released.m, "column": column}],
        "sentences": [
            f"For the quasi-identifiers of a patient and {known} of it there is a data set that could have led to this "
            f"release in which at least {released.k} records have them all"
        ],
    }


def codebook_with_codes(table: pl.DataFrame, column: str, released: Disassociation) -> pl.DataFrame:
    """Return the codebook of the table with one row for each code in the place of its column of codes."""
    codes = codebook_of_codes(released, numbered=False).with_columns(pl.lit(column).alias("column"))
    at = table["column"].index_of(column) or 0
    others = table.filter(pl.col("column") != column)
    return pl.concat([others[:at], codes, others[at:]])
