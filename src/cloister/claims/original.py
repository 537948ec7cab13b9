"""The original of a release as its verifier takes it: frames after steps 1 to 6, and the hierarchies of the plan."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data import PATIENT, Claims
from .data_file import CLAIMS, PATIENTS
from .ladders import hierarchy_named
from .plan_sections import HMAC
from .prepare import years_of
from .verify_original import PreparedOriginal


def original_of(prepared: Claims, origin: NDArray[np.int64] | None) -> PreparedOriginal:
    """Return the original.

    Parameters
    ----------
    prepared : after steps 1 to 6
    origin : (n_released,) row of each released patient, if known
    """
    plan = prepared.plan
    rows = prepared.patients.select(PATIENT).with_row_index("row")
    owners = prepared.claims.select(PATIENT).join(rows, on=PATIENT, how="left", maintain_order="left")["row"]
    hierarchies = {
        table: {column: hierarchy_named(words, plan.grouping.tables).hierarchy for column, words in qi.items()}
        for table, qi in ((PATIENTS, plan.patients.qi), (CLAIMS, plan.claims.qi))
    }
    (name,) = plan.patient_columns("id")
    ids = prepared.patients[name] if plan.ids.patients.startswith(HMAC) else None
    years = None
    if plan.claim_column("date") is not None:
        years = years_of(prepared).fill_null(0).to_numpy().astype(np.int64)
    rows_of = owners.to_numpy().astype(np.int64)
    return PreparedOriginal(prepared.patients, prepared.claims, rows_of, hierarchies, origin, years, ids)


def crosswalk_of(source: Claims, prepared: Claims, patients: NDArray[np.int64], ids: pl.Series) -> pl.DataFrame:
    """Return the secret map from released to original ids.

    Parameters
    ----------
    source : as read
    patients : (n_released,) row of each released patient among the prepared ones
    ids : (n_released,) as released
    """
    (name,) = source.plan.patient_columns("id")
    numbers = prepared.patients[PATIENT].gather(pl.Series(patients))
    own = source.patients[name].gather(numbers)  # patients are numbered by their rows
    return pl.DataFrame([ids.alias("released"), own.alias("original")])


def origin_from(crosswalk: pl.DataFrame, source: Claims, prepared: Claims, ids: pl.Series) -> NDArray[np.int64] | None:
    """Return the rows of released patients from the map that was written with a release; None where it does not fit.

    A patient who is not among the prepared ones, since the plan leaves such patients out, has the row -1.

    Parameters
    ----------
    ids : as released, in released order
    """
    if crosswalk.columns != ["released", "original"]:
        return None
    (name,) = source.plan.patient_columns("id")
    numbers = source.patients.select(pl.col(name).alias("original"), PATIENT)
    rows = prepared.patients.select(PATIENT).with_row_index("row")
    told = crosswalk.cast(pl.String)
    found = ids.alias("released").to_frame().join(told, on="released", how="left", maintain_order="left")
    found = found.join(numbers, on="original", how="left", maintain_order="left")
    found = found.join(rows, on=PATIENT, how="left", maintain_order="left")
    if told.height != ids.len() or found.height != ids.len() or found[PATIENT].null_count():
        return None
    return found["row"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
