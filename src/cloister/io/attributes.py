"""Auxiliary attributes: columns about patients besides codes, one row per patient, joined by id, released unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting

from .columns import ID_NAMES, as_text
from .frames import from_native


@dataclass(frozen=True, eq=False, repr=False)
class AttributesTable:
    """Auxiliary columns of patients, one row per patient in the order given."""

    frame: pl.DataFrame  # (n_patients,) rows of text, null where missing; without the id
    name: str

    def of(self, patients: NDArray[np.int64]) -> "AttributesTable":
        """Return the rows at these positions."""
        return AttributesTable(self.frame[patients], self.name)


def lacking() -> InputError:
    """Return the message for a release with auxiliary attributes whose original has none."""
    return InputError(
        "The release has auxiliary columns, and the file that they come from is needed to compare them. Give ",
        setting("attributes"),
    )


def join_attributes(
    frame: pl.DataFrame,
    ids: pl.Series | None,
    name: str,
    id: str | None,  # noqa: A002  (as the command line calls it)
    events: str,
) -> AttributesTable:
    """Return the auxiliary columns in the order of the patients."""
    if ids is None:
        raise InputError("Auxiliary columns are joined by id, but the patients have none.")
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


def joined_frame(frame: object, ids: pl.Series | None, events: str) -> AttributesTable | None:
    """Return the columns of a dataframe of any library in the order of the patients; None where there is none."""
    return None if frame is None else join_attributes(from_native(frame).frame, ids, "attributes", None, events)


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
        raise InputError(f"{name} has no column besides {id!r}. Add one, or leave the file out.", file=name)
    for column in columns:
        same = column.str.strip_chars() == keys
        if column.name.strip().casefold() in ID_NAMES or same.fill_null(False).all():
            raise InputError(
                f"Column {column.name!r} of {name} identifies patients, and original ids are never released. Remove "
                "it, or give it another name if it holds something else.",
                file=name,
                column=column.name,
            )


def ranks(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Return the rank of each row by content, column by column, missing first; equal for equal rows."""
    rank = np.zeros(frame.height, dtype=np.int64)
    for column in frame.get_columns():
        dense = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        rank = np.unique(rank * (int(dense.max(initial=0)) + 1) + dense, return_inverse=True)[1].astype(np.int64)
    return rank
