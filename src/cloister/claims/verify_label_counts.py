"""Whether every label of a release of claims is held by enough patients, counted in its files with Polars."""

import polars as pl

from cloister.checks import Checks

from .data_file import CLAIMS, PATIENTS, QUASI, ClaimsForm, WrittenClaims


def labels_said(k: int) -> str:
    """What is looked at, in words."""
    return f"each label of a quasi-identifier is that of {k} patients or more"


def labels_hold(checks: Checks, files: WrittenClaims, form: ClaimsForm, k: int) -> None:
    """Look for labels of quasi-identifiers that fewer than k patients have; a missing value is no label."""
    patients = pl.Series("owner", range(files.patients.height))
    owners = {PATIENTS: patients, CLAIMS: pl.Series("owner", files.owners)}
    fewest = [
        _fewest(files.of(table)[name], owners[table])
        for table in (PATIENTS, CLAIMS)
        for name in form.names(table, QUASI)
    ]
    checks.require(all(own is None or own >= k for own in fewest), labels_said(k))


def _fewest(labels: pl.Series, owners: pl.Series) -> int | None:
    """Fewest patients that have the same label; None where there is no label."""
    held = pl.DataFrame({"label": labels, "owner": owners}).drop_nulls("label").unique()
    counts = held.group_by("label").len()["len"].to_list()
    return min(counts, default=None)
