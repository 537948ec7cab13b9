"""A release folder and its original, opened for an attack; what all shapes have."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.io import as_text

from .adversary import Adversary, Integers
from .inference import Grouped, Inferable

GONE, NOT_KNOWN = -1, -2
"""In place of a released record: the patient has none; it is not known."""


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """What could lead from the records of one part of a release to those of another.

    Attributes
    ----------
    released : which groups fit whom; None where the guarantee is about the mean over patients, so that few may fit one
    adversary : what is known; as much of it as the guarantee covers is used
    groups : (n_records,) group of each released record
    recorded : by column, what is released as it was recorded: lists of texts, (n_records,)
    numbers : (n_patients,) number of the released record of each patient, `GONE` or `NOT_KNOWN`
    """

    released: Grouped | None
    adversary: Adversary
    groups: Integers
    recorded: dict[str, pl.Series]
    numbers: Integers


@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """A release and what it was made from, ready for an attack.

    Attributes
    ----------
    shape, method, k : of the release; k is what the guarantee promises
    n_patients, n_released : of the original, and in the release
    is_known_who : whether it is known which released record is whose
    adversaries : who attack
    sensitive : what they may want to learn: sensitive columns, or a further code
    ids : (n_patients,) original ids as text; None where there are none
    traces : for attacks on several parts; None where the release has no records
    """

    shape: str
    method: str
    k: int
    n_patients: int
    n_released: int
    is_known_who: bool
    adversaries: tuple[Adversary, ...]
    sensitive: tuple[Inferable, ...] = ()
    ids: pl.Series | None = field(default=None, repr=False)
    traces: Traces | None = None


def released_of(crosswalk: pl.DataFrame | None, ids: pl.Series | None, released: pl.Series) -> Integers:
    """Return the released record of each patient of the original, by the crosswalk; `GONE` where there is none.

    Parameters
    ----------
    crosswalk : columns ``released`` and ``original``; None where it is not given, then all are `NOT_KNOWN`
    ids : (n_patients,) of the original; their numbers from 1 on where there are none
    released : (n_records,) the released ids

    Raises
    ------
    InputError
        The crosswalk is not that of this release and this original.
    """
    n_patients = 0 if ids is None else len(ids)
    if crosswalk is None or ids is None:
        return np.full(n_patients, NOT_KNOWN, dtype=np.int64)
    if crosswalk.columns != ["released", "original"]:
        raise InputError("The crosswalk does not have the columns released and original, as one of such a release has.")
    rows = pl.DataFrame([as_text(released).alias("released"), pl.Series("row", np.arange(len(released)))])
    told = pl.DataFrame([as_text(crosswalk["released"]), as_text(crosswalk["original"])])
    found = told.join(rows, on="released", how="left").join(
        pl.DataFrame([as_text(ids).alias("original"), pl.Series("patient", np.arange(n_patients))]),
        on="original",
        how="left",
    )
    whole = found.height == told.height and not found["row"].null_count() and not found["patient"].null_count()
    if not whole or found["patient"].n_unique() != found.height or found["row"].n_unique() != found.height:
        raise InputError("The crosswalk does not map each record of the release to one patient of the original.")
    numbers = np.full(n_patients, GONE, dtype=np.int64)
    numbers[found["patient"].to_numpy()] = found["row"].to_numpy()
    return numbers


def patient_ids(ids: pl.Series | None, n_patients: int) -> pl.Series:
    """Return ids as text; the places of patients from 1 on where they have none."""
    return pl.Series(np.arange(1, n_patients + 1)).cast(pl.String) if ids is None else as_text(ids)
