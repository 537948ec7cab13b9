"""What somebody finds who knows some events of a patient's history: pairs of a code and an age, or claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.results import Risk

from .assessment import knowledge_summary, risk_summary
from .partial_knowledge import PartialKnowledge, partial_knowledge
from .prosecutor import group, measure_risk

PATIENT = "\0patient"
"""Column of events: the number of the patient. No column read has such a name."""

_ITEM, _NTH, _CELL = "\0item", "\0nth", "\0cell"


@dataclass(frozen=True)
class KnownEvents:
    """What attackers know of the events of a patient, and what they find.

    Attributes
    ----------
    what : in a word, as ``codes``
    """

    what: str
    columns: tuple[str, ...]
    with_patient: bool
    knowledge: PartialKnowledge


@dataclass(frozen=True)
class OfPatients:
    """What the quasi-identifiers of patients tell alone."""

    quasi_identifiers: tuple[str, ...]
    prosecutor: Risk
    alone: int


def of_patients(texts: pl.DataFrame, threshold: float) -> OfPatients:
    """Return what the columns of a frame of one row a patient tell; a missing value is a value of its own."""
    sizes = group(texts, texts.columns).sizes
    return OfPatients(
        tuple(texts.columns), measure_risk(pl.Series(sizes), threshold), int(np.count_nonzero(sizes == 1))
    )


@dataclass(frozen=True, eq=False)
class HistoriesAssessment:
    """The risk of histories of patients, as they are, from attackers who know some events of a patient.

    Attributes
    ----------
    shape : ``trajectories`` or ``claims``
    """

    shape: str
    n_patients: int
    n_events: int
    known: tuple[KnownEvents, ...]
    of_patients: OfPatients | None = None

    def __repr__(self) -> str:
        return f"HistoriesAssessment({self.shape}, {self.n_patients} patients, {self.n_events} events)"

    def summary(self) -> dict[str, Any]:
        """Return all numbers as plain values, as ``--json`` prints them."""
        first = self.known[0].knowledge
        return {
            "shape": self.shape,
            "patients": self.n_patients,
            "events": self.n_events,
            "k": first.k,
            "seed": first.seed,
            "partial_knowledge": [
                {
                    "what": one.what,
                    "columns": list(one.columns),
                    "with_patient": one.with_patient,
                    "patients": one.knowledge.n_records,
                    "different": one.knowledge.n_items,
                    "risks": [knowledge_summary(risk) for risk in one.knowledge.risks],
                }
                for one in self.known
            ],
            "of_patients": None if self.of_patients is None else _of_patients(self.of_patients),
        }


def _of_patients(found: OfPatients) -> dict[str, Any]:
    prosecutor = risk_summary(found.prosecutor)
    return {"quasi_identifiers": list(found.quasi_identifiers), "prosecutor": prosecutor, "alone": found.alone}


@dataclass(frozen=True)
class Attackers:
    """What attackers may know.

    Attributes
    ----------
    known : numbers of events, from 1 to 20
    k : patients that a set of events should at least have, from 2 on
    """

    known: Sequence[int]
    k: int
    seed: int = 0
    repeats: bool = False


def known_of(
    events: pl.DataFrame,
    what: str,
    columns: Sequence[str],
    attackers: Attackers,
    cells: NDArray[np.int64] | None = None,
) -> KnownEvents | None:
    """Return what attackers find who know values of these columns together; None where no event has any.

    Parameters
    ----------
    columns : at least one; a missing value is a value of its own beside others, and an event without any is known by
        nobody
    cells : (n_patients,) number of each patient's quasi-identifiers, where attackers know those too
    """
    some = events.filter(~pl.all_horizontal(pl.col(column).is_null() for column in columns))
    if not some.height:
        return None
    keyed = some.select(PATIENT, *columns)
    if cells is not None:
        # the same event of somebody with other quasi-identifiers is another event, so that it is no match
        keyed = keyed.with_columns(pl.Series(_CELL, cells[some[PATIENT].to_numpy()]))
    names = keyed.columns[1:]
    if attackers.repeats:
        keyed = keyed.with_columns(pl.int_range(pl.len()).over([PATIENT, *names]).alias(_NTH))
        names = [*names, _NTH]
    items = keyed.select(names).unique().sort(names).with_row_index(_ITEM)
    held = keyed.join(items, on=names, nulls_equal=True).select(PATIENT, _ITEM).unique().sort(PATIENT, _ITEM)
    counts = held.group_by(PATIENT, maintain_order=True).len()["len"].to_numpy()
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    numbers = held[_ITEM].to_numpy().astype(np.int32)
    found = partial_knowledge(offsets, numbers, known=attackers.known, k=attackers.k, seed=attackers.seed)
    return KnownEvents(what, tuple(columns), cells is not None, found)


def cells_of(patients: pl.DataFrame) -> NDArray[np.int64]:
    """Return a number for each row, the same for the same values; missing is a value of its own."""
    names = patients.columns
    kinds = patients.unique().sort(names).with_row_index(_ITEM)
    joined = patients.join(kinds, on=names, how="left", nulls_equal=True, maintain_order="left")
    numbers: NDArray[np.int64] = joined[_ITEM].to_numpy().astype(np.int64)
    return numbers
