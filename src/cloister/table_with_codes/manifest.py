"""What the manifest of a table says of its codes, beside what it says of the table."""

from typing import Any

import polars as pl

from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.manifest import METHOD, clusters_of
from cloister.codesets.disassociation.manifest import codebook as codebook_of_codes
from cloister.codesets.disassociation.measure import CodesFigures
from cloister.codesets.policy import UtilityPolicy
from cloister.results import Verdict

from .data import CodesAsked

MODEL = "(k,k^m)-anonymity"
KEYS = frozenset({"column", "method", "settings", "patients", "guarantee", "utility", "risk", "clusters"})
SETTINGS = frozenset({"k", "m", "max_cluster_size", "policy", "refine", "safe", "safe_threshold"})


def describe_codes(
    asked: CodesAsked,
    policy: UtilityPolicy | None,
    released: Disassociation,
    records: int,
    verdict: Verdict,
    figures: CodesFigures,
) -> dict[str, Any]:
    """Return the part of ``release.json`` about the codes.

    Parameters
    ----------
    records : released records, with and without codes
    verdict : on table and codes together
    """
    return {
        "column": asked.column,
        "method": METHOD,
        "settings": {
            "k": released.k,
            "m": released.m,
            "max_cluster_size": asked.request(released.k, policy).cluster_limit,
            "policy": None if policy is None else policy.spec,
            "refine": str(asked.refine),
            "safe": str(asked.safe),
            "safe_threshold": asked.safe_threshold,
        },
        "patients": patients_of(released, records),
        "guarantee": guarantee_of(released, asked.column) | {"verified": verdict.holds},
        "utility": figures.utility,
        "risk": figures.risk,
        "clusters": clusters_of(released) | {"classes": len(released.classes)},
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
