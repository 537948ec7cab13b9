"""Risk assessment of original data: all figures on re-identification, for the custodian.

For histories, the adversary knows some events of a patient: pairs of a code and an age, or claims.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.results import Risk

from .identifiers import CLASSES
from .partial_knowledge import PartialKnowledge, partial_knowledge
from .prosecutor import PopulationRisk, count_risk, estimate_risk, estimate_weighted_risk, group, measure_risk
from .safe_harbor import CENSUSES, EVERY, IdentifierSign, look_for_identifiers
from .special_uniques import SpecialUniques, allowed_largest, find_special_uniques

RISKIEST = 5  # records that are named, by their number, as those that stand out most
OF_PEOPLE = ("how", "people", "highest", "average", "share_above_threshold")

Plain = dict[str, object]
"""Numbers and words, as ``--json`` prints them."""


def _plain(risk: Risk) -> Plain:
    return asdict(risk) | {"histogram": dict(risk.histogram)}


@dataclass(frozen=True, eq=False)
class TableAssessment:
    """The risk of an original table with one row per patient.

    Attributes
    ----------
    population : risk from someone who does not know it; None where nothing is known of the population
    """

    n_records: int
    quasi_identifiers: tuple[str, ...]
    findings: tuple[IdentifierSign, ...]
    census: str
    prosecutor: Risk | None = None
    sample_uniques: int = 0
    population: PopulationRisk | None = None
    special_uniques: SpecialUniques | None = None

    def __repr__(self) -> str:
        return f"TableAssessment({self.n_records} records, {len(self.quasi_identifiers)} quasi-identifiers)"

    def summary(self) -> Plain:
        """Return all figures as plain values, as printed by ``--json``."""
        summary: Plain = {
            "shape": "table",
            "records": self.n_records,
            "quasi_identifiers": list(self.quasi_identifiers),
        }
        risk, people, found = self.prosecutor, self.population, self.special_uniques
        if risk is not None and found is not None:
            alone = {"records": self.sample_uniques, "share": self.sample_uniques / self.n_records}
            uniqueness = None if people is None else people.uniqueness(risk.threshold)
            summary |= {
                "prosecutor": _plain(risk),
                "journalist": None if people is None else {name: getattr(people, name) for name in OF_PEOPLE},
                "marketer": None if people is None else {"how": people.how, "average": people.marketer},
                "uniqueness": {"sample": alone, "population": uniqueness},
                "special_uniques": {
                    "largest": found.largest,
                    "by_size": {str(size): count for size, count in enumerate(found.by_size, start=1)},
                    "records": found.records,
                    "highest_score": int(found.scores.max(initial=0)),
                    "mean_score": float(found.scores.mean()) if found.scores.size else 0.0,
                    "contributions": found.contributions,
                    "riskiest_records": [{"record": row, "score": score} for row, score in found.riskiest(RISKIEST)],
                },
                "attributes": [asdict(each) | {"columns": list(each.columns)} for each in found.separations],
            }
        summary["safe_harbor"] = {
            "zip_areas": [{"census": areas.year, "source": areas.source} for areas in CENSUSES[self.census]],
            "findings": [asdict(finding) | {"identifier": CLASSES[finding.letter]} for finding in self.findings],
        }
        return summary


@dataclass(frozen=True)
class CodesAssessment:
    """The risk of original code sets, from adversaries who know some codes of a patient."""

    knowledge: PartialKnowledge

    def summary(self) -> Plain:
        """Return all figures as plain values, as printed by ``--json``."""
        known = self.knowledge
        return {
            "shape": "codes",
            "records": known.n_records,
            "codes": known.n_items,
            "k": known.k,
            "seed": known.seed,
            "partial_knowledge": [asdict(risk) for risk in known.risks],
        }


def assess_table(
    frame: pl.DataFrame,
    texts: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    *,
    threshold: float,
    people: pl.DataFrame | None = None,
    fraction: float | None = None,
    weights: NDArray[np.float64] | None = None,
    largest_unique: int | None = None,
    census: str = EVERY,
    threads: int = 1,
) -> TableAssessment:
    """Return the risk of a table.

    Parameters
    ----------
    frame, texts : the table in its types and as text; at least one record
    people, fraction, weights : what the patients are a part of, if known: all people as text, the fraction that was
        sampled, or (n_records,) for how many people each record is
    """
    findings = look_for_identifiers(frame, texts, census=census)
    if not quasi_identifiers:
        return TableAssessment(len(texts), (), findings, census)
    grouped = group(texts, quasi_identifiers)
    against: PopulationRisk | None = None
    if people is not None:
        against = count_risk(grouped, texts, people, threshold)
    elif fraction is not None:
        against = estimate_risk(grouped, fraction, threshold)
    elif weights is not None:
        against = estimate_weighted_risk(grouped, weights, threshold)
    return TableAssessment(
        len(texts),
        tuple(quasi_identifiers),
        findings,
        census,
        measure_risk(pl.Series(grouped.sizes), threshold),
        int(np.count_nonzero(grouped.sizes == 1)),
        against,
        find_special_uniques(grouped, allowed_largest(grouped, largest_unique), threads),
    )


def load_kernels() -> None:
    """Run every kernel once, on four records."""
    texts = pl.DataFrame({"a": ["x", "x", "y", None], "b": ["x", "y", "y", "y"]})
    find_special_uniques(group(texts, texts.columns), 2)
    partial_knowledge(np.array([0, 4, 8]), np.array([0, 1, 2, 3] * 2, dtype=np.int32), known=[2, 3, 4], k=2)


PATIENT = "\0patient"  # column of events: the number of the patient. No column read has such a name
_ITEM, _NTH, _CELL = "\0item", "\0nth", "\0cell"


@dataclass(frozen=True)
class KnownEvents:
    """The knowledge of adversaries about a patient's events, and the resulting risk."""

    what: str
    columns: tuple[str, ...]
    with_patient: bool
    knowledge: PartialKnowledge


@dataclass(frozen=True)
class OfPatients:
    """The risk from the quasi-identifiers of patients without their events."""

    quasi_identifiers: list[str]
    prosecutor: Risk
    alone: int

    def plain(self) -> Plain:
        """Return all figures as plain values."""
        return asdict(self) | {"prosecutor": _plain(self.prosecutor)}


def of_patients(texts: pl.DataFrame, threshold: float) -> OfPatients:
    """Measure the risk from the columns of a frame with one row per patient; missing is a value of its own."""
    sizes = group(texts, texts.columns).sizes
    return OfPatients(texts.columns, measure_risk(pl.Series(sizes), threshold), int((sizes == 1).sum()))


@dataclass(frozen=True, eq=False)
class HistoriesAssessment:
    """The risk of original patient histories, from adversaries who know some events of a patient."""

    shape: str
    n_patients: int
    n_events: int
    known: tuple[KnownEvents, ...]
    of_patients: OfPatients | None = None

    def __repr__(self) -> str:
        return f"HistoriesAssessment({self.shape}, {self.n_patients} patients, {self.n_events} events)"

    def summary(self) -> Plain:
        """Return all figures as plain values, as printed by ``--json``."""
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
                    "risks": [asdict(risk) for risk in one.knowledge.risks],
                }
                for one in self.known
            ],
            "of_patients": None if self.of_patients is None else self.of_patients.plain(),
        }


@dataclass(frozen=True)
class Attackers:
    """The assumed knowledge of adversaries.

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
    """Measure the risk from adversaries who know values of these columns together; None if no event has any.

    Parameters
    ----------
    columns : at least one; a missing value is a value of its own, but nobody knows an event of which all are missing
    cells : (n_patients,) number of each patient's quasi-identifiers, where attackers know those too
    """
    some = events.filter(~pl.all_horizontal(pl.col(column).is_null() for column in columns))
    if not some.height:
        return None
    keyed = some.select(PATIENT, *columns)
    if cells is not None:
        # the same event of someone with other quasi-identifiers is another event, so that it is no match
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
    """Number each row, equal rows alike; missing is a value of its own."""
    names = patients.columns
    kinds = patients.unique().sort(names).with_row_index(_ITEM)
    joined = patients.join(kinds, on=names, how="left", nulls_equal=True, maintain_order="left")
    numbers: NDArray[np.int64] = joined[_ITEM].to_numpy().astype(np.int64)
    return numbers
