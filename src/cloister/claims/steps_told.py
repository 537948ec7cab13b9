"""The lines of the steps as a release tells them: what describes the release is counted in the files themselves.

Counts of everybody who was there before, less those of the files, would tell of the few who were left out in between.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data import Claims
from .data_file import CLAIMS, PATIENTS, QUASI, SUPPRESSED, TRUNCATED, Filed
from .group_tables import OTHER
from .prepare import Prepared
from .pseudonyms import group_sizes
from .step_sentences import compared_by
from .steps import StepLine

if TYPE_CHECKING:  # the verifier counts these lines again, and loads nothing that protects
    from .protect import ProtectedClaims


def early_lines(prepared: Prepared, laid: Filed, variables: Sequence[str]) -> list[StepLine]:
    """Return the lines of steps 1 to 6; those of steps 2 and 3 count whom and what they left out, and stay.

    Parameters
    ----------
    variables : by which step 4 tells excluded from released patients
    """
    counted = {
        "1 pseudonyms": group_sizes(laid.files.claims, prepared.claims.plan),
        "3 patients without claims": _without_claims(prepared, laid),
        "5 derived columns": _missing(prepared.claims, laid),
        "6 grouping": _others(prepared.claims, laid),
        "6 top-coding": _top_coded(prepared.claims, laid),
    }
    said = {"4 representativeness": compared_by(variables)}
    return [
        replace(line, done=said.get(line.step, line.done), counts=counted.get(line.step, line.counts))
        for line in prepared.lines
    ]


def truncation_line(line: StepLine, protected: "ProtectedClaims") -> StepLine:
    """Return the line of step 7: claims cut of those released; whom it flags, the files say."""
    cut, owners = _count(protected, ~protected.choice.released.claims)
    return replace(line, total=cut, counts={}, patients_in_all=owners)


def suppression_line(line: StepLine, protected: "ProtectedClaims", laid: Filed) -> StepLine:
    """Return the line of step 11: patients left out, and of those released what was suppressed."""
    suppression, before = protected.suppression, protected.choice.released
    left_out, owners = _count(protected, before.claims & ~suppression.released.claims)
    flags = [f"{SUPPRESSED}{name}" for name in laid.form.names(CLAIMS, QUASI)]
    counts = {
        "patients left out": int(suppression.patients.sum()),
        "cells suppressed": sum(int((laid.files.claims[flag] == "1").sum()) for flag in flags),
        "claims left out": left_out,
    }
    return replace(line, counts=counts, patients={"claims left out": owners})


def _count(protected: "ProtectedClaims", claims: NDArray[np.bool_]) -> tuple[int, int]:
    """How many of these claims are of patients who are released, and of how many of them."""
    owners = protected.encoding.claims.owners
    mine = owners[claims & protected.suppression.released.patients[owners]]
    return int(mine.size), int(np.unique(mine).size)


def _without_claims(prepared: Prepared, laid: Filed) -> dict[str, int]:
    """Patients released who never had claims, where such patients are kept."""
    if prepared.claims.plan.patients.without_claims != "keep":
        return {}
    n_rows = np.bincount(laid.files.owners, minlength=laid.files.patients.height)
    is_whole = laid.files.patients[TRUNCATED].to_numpy() == "0"
    return {"without claims": int(((n_rows == 0) & is_whole).sum())}


def _missing(data: Claims, laid: Filed) -> dict[str, int]:
    """Released cells of derived columns that are missing, and were not suppressed."""
    counts = {}
    for table, names in ((CLAIMS, data.plan.claims.derived), (PATIENTS, data.plan.patients.derived)):
        frame = laid.files.of(table)
        for name in names:
            if name in frame.columns:
                flag = f"{SUPPRESSED}{name}"
                hidden = frame[flag] == "1" if flag in frame.columns else pl.Series([False])
                counts[f"{name} missing"] = int((frame[name].is_null() & ~hidden).sum())
    return counts


def _others(data: Claims, laid: Filed) -> dict[str, int]:
    """Released cells in the group of all other codes, of columns that are released as they were grouped."""
    columns = [data.plan.claim_column(role) for role in data.plan.grouping.columns]
    return {
        f"{column!r} in group {OTHER}": int((laid.files.claims[column] == OTHER).sum())
        for column in columns
        if column is not None and _is_finest(laid, CLAIMS, column)
    }


def _top_coded(data: Claims, laid: Filed) -> dict[str, int]:
    """Released cells with the label of large numbers, of columns that are released as they were top-coded."""
    return {
        f"{coding.column!r} top-coded": int(laid.files.of(table)[coding.column].str.ends_with("+").sum())
        for coding in data.plan.top_coding
        for table in (PATIENTS, CLAIMS)
        if _is_finest(laid, table, coding.column)
    }


def _is_finest(laid: Filed, table: str, name: str) -> bool:
    """Whether a column is released, with nothing generalized."""
    return any(column.name == name and not column.level for column in laid.form.of(table))
