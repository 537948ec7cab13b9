"""The input: trajectories with where they came from, and attributes of patients beside."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl

from cloister.errors import InputError, setting
from cloister.io import EventColumns, EventSource, Query, as_text, read_table
from cloister.io.columns import ID_NAMES, listed
from cloister.reading import HowRead
from cloister.sources import read_code_events

from .data import Attributes, Integers, Trajectories, TrajectoriesRequest, Unknown, encode
from .domain import unknown_codes

GWAS_SETS = 18  # Sets of the policy ``gwas``, whatever the data


def is_made_of_data(policy: str) -> bool:
    """Whether the words for a policy are of one whose sets are made of the codes of the data, rare ones among them."""
    return policy.startswith(("level:", "sim:", "sup:"))


@dataclass(frozen=True, eq=False, repr=False)
class AttributesTable:
    """Auxiliary columns of the patients of some trajectories, in their order."""

    frame: pl.DataFrame  # (n_patients,) rows of text, null where missing; without the id
    name: str


@dataclass(frozen=True)
class GivenTrajectories:
    """Trajectories as they were given."""

    trajectories: Trajectories
    attributes: AttributesTable | None = None
    name: str = "trajectories"
    columns: EventColumns = EventColumns()  # noqa: RUF009  (frozen)
    not_released: tuple[str, ...] = ()
    delimiter: str = ","
    format: Literal["csv", "parquet"] = "csv"
    notes: tuple[str, ...] = ()
    source: EventSource | None = field(default=None, repr=False)


def read_given(
    path: str | Path | Query,
    columns: EventColumns,
    attributes: str | Path | None = None,
    *,
    usual_delimiter: str | None = None,
    **how: Unpack[HowRead],
) -> GivenTrajectories:
    """Read trajectories with where they came from."""
    source = read_code_events(path, columns=columns, usual_delimiter=usual_delimiter, **how)
    trajectories, table = encode(source), None
    if attributes is not None:
        beside = read_table(attributes, usual_delimiter=source.delimiter or ",", **how | {"delimiter": None})
        table = joined(beside.frame, trajectories.ids, beside.name, source.columns.id, source.name)
    kept = source.name, source.columns, source.not_released, source.delimiter or ",", source.format, source.notes
    return GivenTrajectories(trajectories, table, *kept, source)


def check_known(given: GivenTrajectories, request: TrajectoriesRequest) -> None:
    """Refuse codes that the hierarchy does not have, and name the first line that has one; not where they may be so."""
    vocabulary, hierarchy = given.trajectories.vocabulary, request.code_hierarchy
    outside = hierarchy.outside(vocabulary) if request.on_unknown_code is Unknown.ERROR else []
    if outside and given.source is not None:
        message = unknown_codes(len(outside), len(vocabulary), hierarchy)
        message = message.replace(". Correct", f" ({given.name}, {{place}} is the first). Correct", 1)
        given.source.refuse(given.source.codes.is_in(outside), message, given.columns.code)


def check_trajectories(trajectories: Trajectories) -> Trajectories:
    """Return trajectories if they can be used."""
    if not isinstance(trajectories, Trajectories):
        raise InputError("Trajectories are needed, as Trajectories.read or Trajectories.from_records return them.")
    if not trajectories.n_patients:
        raise InputError("There are no patients, so there is nothing to release.")
    return trajectories


def joined(frame: pl.DataFrame, ids: pl.Series | None, name: str, id: str | None, events: str) -> AttributesTable:  # noqa: A002
    """Return the auxiliary columns in the order of the patients."""
    if ids is None:
        raise InputError("Auxiliary columns are joined by id, but the trajectories have none.")
    ids = as_text(ids)
    column = id if id in frame.columns else next((usual for usual in ID_NAMES if usual in frame.columns), None)
    if column is None:
        usual = ", ".join(ID_NAMES if id is None else (id, *ID_NAMES))
        raise InputError(f"{name} has no column of patients: none is called {usual}. Call it so.", file=name)
    keys = as_text(frame[column]).str.strip_chars()
    _check_keys(keys, column, name)
    absent, unknown = int((~ids.is_in(keys.implode())).sum()), int((~keys.is_in(ids.implode())).sum())
    if absent or unknown:
        raise InputError(
            f"{events} and {name} must have the same patients, but {absent} of {len(ids)} patients of {events} are not "
            f"in {name}, and {unknown} of {len(keys)} of {name} are not in {events}. Give a row for each and no more.",
            file=name,
        )
    rest = [as_text(frame[other]).alias(other) for other in frame.columns if other != column]
    _check_columns(rest, keys, name, column)
    order = pl.DataFrame({"key": ids}).join(
        pl.DataFrame({"key": keys, "row": np.arange(len(keys))}), on="key", how="left", maintain_order="left"
    )
    return AttributesTable(pl.DataFrame(rest)[order["row"].to_numpy()], name)


def _check_keys(keys: pl.Series, column: str, name: str) -> None:
    absent = keys.is_null() | (keys == "")
    if absent.any():
        first = int(absent.arg_true()[0]) + 1
        raise InputError(
            f"{int(absent.sum())} of {len(keys)} rows of {name} have no patient in column {column!r} (record {first} "
            "is the first). Complete or remove them.",
            file=name,
            row=first,
            column=column,
        )
    if keys.n_unique() != len(keys):
        raise InputError(
            f"{name} must have one row a patient, but has {len(keys)} rows of {keys.n_unique()} patients. Make one row "
            "of each.",
            file=name,
            column=column,
        )


def _check_columns(columns: Sequence[pl.Series], keys: pl.Series, name: str, id: str) -> None:  # noqa: A002
    if not columns:
        raise InputError(
            f"{name} has no column besides {id!r}, so there is nothing to release. Leave it out.", file=name
        )
    for column in columns:
        same = column.str.strip_chars() == keys
        if column.name.strip().casefold() in ID_NAMES or same.fill_null(False).all():
            raise InputError(
                f"Column {column.name!r} of {name} identifies patients, and original ids are never released. Remove "
                "it, or give it another name if it holds something else.",
                file=name,
                column=column.name,
            )


def attributes_of(table: AttributesTable | None, n_patients: int, sensitive: str | None) -> Attributes:
    """Return what the methods see of auxiliary columns."""
    if table is None:
        if sensitive is not None:
            raise InputError(
                f"The sensitive column {sensitive!r} is looked for in an attributes file. Give one with "
                f"{setting('attributes')}."
            )
        return Attributes(np.zeros(n_patients, dtype=np.int64))
    if sensitive is not None and sensitive not in table.frame.columns:
        raise InputError(
            f"{table.name} has no column {sensitive!r} to be sensitive. Its columns: {listed(table.frame.columns)}.",
            file=table.name,
            column=sensitive,
        )
    rank = ranks(table.frame)
    if sensitive is None:
        return Attributes(rank)
    values = table.frame[sensitive].rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    return Attributes(rank, values.astype(np.int32))


def ranks(frame: pl.DataFrame) -> Integers:
    """Return the rank of each row by content, column by column, missing first; equal for equal rows."""
    rank = np.zeros(frame.height, dtype=np.int64)
    for column in frame.get_columns():
        dense = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        rank = np.unique(rank * (int(dense.max(initial=0)) + 1) + dense, return_inverse=True)[1].astype(np.int64)
    return rank
