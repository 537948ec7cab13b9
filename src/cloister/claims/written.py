"""A release of claims as it is written: labels, flags, numbers for ids, rows in released order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import as_text

from .data import Claims
from .data_file import (
    CLAIMS,
    FLAG,
    IDENTIFIER,
    KEPT,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    QUASI,
    SUPPRESSED,
    TRUNCATED,
    ClaimsForm,
    ReleasedColumn,
    WrittenClaims,
)
from .encode import Encoding
from .encoded import EncodedColumn
from .ladders import hierarchy_named, split_bounds
from .plan_sections import PSEUDONYMS
from .prepare import numbered
from .released import Released
from .released_order import Rows, released_order

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Laid:
    """What is written, and who is who.

    Attributes
    ----------
    files : the two files
    form : their columns
    patients : row of each released patient among those that were encoded, in released order
    """

    files: WrittenClaims
    form: ClaimsForm
    patients: Numbers


def form_of(data: Claims, encoding: Encoding, levels: tuple[int, ...]) -> ClaimsForm:
    """Return the columns of a release at these levels.

    Raises
    ------
    InputError
        Two columns would have the same name.
    """
    parts = []
    of_claims = len(encoding.claims.patients)
    for table, section, kept, columns, own in (
        (PATIENTS, data.plan.patients, encoding.kept_of_patients, encoding.claims.patients, levels[:of_claims]),
        (CLAIMS, data.plan.claims, encoding.kept_of_claims, encoding.claims.claims, levels[of_claims:]),
    ):
        (name,) = data.plan.patient_columns("id") if table == PATIENTS else data.plan.claim_columns("id")
        made = [ReleasedColumn(name, IDENTIFIER, ids=data.plan.ids.patients.partition(":")[0])]
        for column, level in zip(columns, own, strict=True):
            words = hierarchy_told(section.qi[column.name], data)
            made.append(ReleasedColumn(column.name, QUASI, words, level, column.n_levels - 1))
        made += [_kept(data, table, column, str(section.roles.get(column))) for column in kept]
        flags = [TRUNCATED] if table == PATIENTS else [f"{SUPPRESSED}{column.name}" for column in columns]
        parts.append((*made, *(ReleasedColumn(flag, FLAG) for flag in flags)))
        _check_names(table, [column.name for column in parts[-1]])
    return ClaimsForm(*parts)


def hierarchy_told(words: str, data: Claims) -> str:
    """The word of a hierarchy without bounds; of a file, its kind alone."""
    spec, _ = split_bounds(words)
    return "file" if hierarchy_named(words, data.plan.grouping.tables).hierarchy.kind == "file" else spec


def _kept(data: Claims, table: str, column: str, role: str) -> ReleasedColumn:
    if role not in PSEUDONYMS:
        return ReleasedColumn(column, KEPT)
    shared = role if getattr(data.plan.ids, role) == "number" else f"{role} of {table}"
    return ReleasedColumn(column, PSEUDONYM, numbered_with=shared)


def _check_names(table: str, names: list[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"The release has a column {twice[0]!r} of {table} of its own. Rename yours, or drop it.")


def lay_out(data: Claims, encoding: Encoding, released: Released, levels: tuple[int, ...]) -> Laid:
    """Return the files of a release.

    Parameters
    ----------
    data : the frames that were encoded
    levels : of each column, those of patients first
    """
    form, encoded = form_of(data, encoding, levels), encoding.claims
    people = np.flatnonzero(released.patients)
    rows = np.flatnonzero(released.claims & released.patients[encoded.owners])
    position = np.cumsum(released.patients) - 1
    owners = position[encoded.owners[rows]]
    n_own = len(encoded.patients)
    patients = [_labels(column, level, people) for column, level in zip(encoded.patients, levels[:n_own], strict=True)]
    patients += [_as_kept(data.patients, name, encoding.patient_rows[people]) for name in encoding.kept_of_patients]
    patients.append(pl.Series(TRUNCATED, released.truncated[people].astype(np.int64)).cast(pl.String))
    claims, flags = [], []
    for h, (column, level) in enumerate(zip(encoded.claims, levels[n_own:], strict=True)):
        hidden = ~released.cells[h][rows]
        claims.append(_labels(column, level, rows, hidden))
        flags.append(pl.Series(f"{SUPPRESSED}{column.name}", hidden.astype(np.int64)).cast(pl.String))
    claims += [_as_kept(data.claims, name, encoding.claim_rows[rows]) for name in encoding.kept_of_claims]
    frames = pl.DataFrame(patients), pl.DataFrame([*claims, *flags])
    hashes = _hashes(data, form, encoding.patient_rows[people])
    order, claim_order = released_order(
        _rows(form, PATIENTS, frames[0]), _rows(form, CLAIMS, frames[1]), owners, hashes
    )
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    sorted_frames = numbered(frames[0][order], frames[1][claim_order], data)
    names = pl.Series(np.arange(1, order.size + 1)).cast(pl.String) if hashes is None else hashes[order]
    ids = names, names.gather(pl.Series(place[owners[claim_order]]))
    tables = [
        pl.DataFrame([own.alias(form.of(table)[0].name), *(as_text(s) for s in frame.get_columns())])
        for table, own, frame in zip((PATIENTS, CLAIMS), ids, sorted_frames, strict=True)
    ]
    return Laid(WrittenClaims(tables[0], tables[1]), form, people[order].astype(np.int64))


def _hashes(data: Claims, form: ClaimsForm, rows: Numbers) -> pl.Series | None:
    """Keyed hashes of the patients' ids, as step 1 made them; None where ids are numbers."""
    return None if form.ids == NUMBER else _as_kept(data.patients, form.of(PATIENTS)[0].name, rows)


def _labels(column: EncodedColumn, level: int, rows: Numbers, hidden: Any = None) -> pl.Series:
    texts = pl.Series(column.name, [*(label or None for label in column.labels[level]), None], dtype=pl.String)
    numbers = column.at(level)[rows].astype(np.int64)
    absent = numbers < 0 if hidden is None else (numbers < 0) | hidden
    numbers[absent] = texts.len() - 1
    return texts.gather(pl.Series(numbers))


def _as_kept(frame: pl.DataFrame, name: str, rows: Numbers) -> pl.Series:
    return as_text(frame[name]).gather(pl.Series(rows))


def _rows(form: ClaimsForm, table: str, frame: pl.DataFrame) -> Rows:
    ids = {
        column.name: (str(column.numbered_with), frame[column.name])
        for column in form.of(table)
        if column.role == PSEUDONYM
    }
    return Rows(frame.drop(*ids), ids)
