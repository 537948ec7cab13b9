"""What both files of a release of claims tell together of each patient, worked out from what is written."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data_file import CLAIMS, PATIENTS, QUASI, ClaimsForm, WrittenClaims

OWNER, KIND = "\0owner", "\0kind"
NEAR = 2e-6
"""How far figures with six decimals may be from what they stand for."""


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


def _has_form(files: WrittenClaims, form: ClaimsForm) -> bool:
    declared = all(files.of(table).columns == form.names(table) for table in (PATIENTS, CLAIMS))
    return declared and files.patients.height > 0
