"""An assessment: all numbers about an attacker who has the data, for their custodian."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from cloister.kernels._jit import is_compiled
from cloister.results import Risk

from .identifiers import CLASSES
from .partial_knowledge import Estimate, KnowledgeRisk, PartialKnowledge, partial_knowledge
from .population import PopulationRisk, counted_risk, estimated_risk
from .prosecutor import GroupedRecords, group, measure_risk
from .safe_harbor import CENSUSES, EVERY, IdentifierSign, look_for_identifiers
from .special_uniques import SpecialUniques, allowed_largest, find_special_uniques

RISKIEST = 5
"""Records that are named, by their number, as those that stand out most."""


@dataclass(frozen=True)
class SampledPopulation:
    """What the patients are a part of: a table of all people as text, or the fraction that was sampled."""

    texts: pl.DataFrame | None = None
    fraction: float | None = None


@dataclass(frozen=True, eq=False)
class TableAssessment:
    """The risk of a table of one row a patient, as it is.

    Attributes
    ----------
    n_records : rows
    quasi_identifiers : columns that the attacker knows; without any, identifiers alone were looked for
    prosecutor : risk from somebody who knows that the patient is in the data
    sample_uniques : records alone in their class
    population : risk from somebody who does not know it; None where nothing is known of the population
    special_uniques : records that few columns are enough to find, and what tells records apart
    findings : signs of identifiers by the rules of Safe Harbor, in all columns
    census : of which lists of small ZIP areas were taken
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

    def summary(self) -> dict[str, Any]:
        """Return all numbers as plain values, as ``--json`` prints them."""
        summary: dict[str, Any] = {
            "shape": "table",
            "records": self.n_records,
            "quasi_identifiers": list(self.quasi_identifiers),
        }
        if self.prosecutor is not None:
            summary["prosecutor"] = risk_summary(self.prosecutor)
            uniques: dict[str, Any] = {
                "sample": {"records": self.sample_uniques, "share": self.sample_uniques / self.n_records},
                "population": None,
            }
            summary |= {"journalist": None, "marketer": None, "uniqueness": uniques}
        if self.population is not None:
            told = self.population
            summary["journalist"] = {
                "how": told.how,
                "people": told.people,
                "highest": told.highest,
                "average": told.average,
                "share_above_threshold": told.share_above_threshold,
            }
            summary["marketer"] = {"how": told.how, "average": told.marketer}
            summary["uniqueness"]["population"] = {
                "chosen": told.chosen,
                "shares": told.uniques,
                "without_solution": list(told.without_solution),
            }
        if self.special_uniques is not None:
            summary |= _special(self.special_uniques)
        summary["safe_harbor"] = {
            "zip_areas": [{"census": areas.year, "source": areas.source} for areas in CENSUSES[self.census]],
            "findings": [asdict(finding) | {"identifier": CLASSES[finding.letter]} for finding in self.findings],
        }
        return summary


def _special(found: SpecialUniques) -> dict[str, Any]:
    return {
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


@dataclass(frozen=True)
class CodesAssessment:
    """The risk of sets of codes, as they are, from attackers who know some codes of a patient."""

    knowledge: PartialKnowledge

    def summary(self) -> dict[str, Any]:
        """Return all numbers as plain values, as ``--json`` prints them."""
        known = self.knowledge
        return {
            "shape": "codes",
            "records": known.n_records,
            "codes": known.n_items,
            "k": known.k,
            "seed": known.seed,
            "partial_knowledge": [knowledge_summary(risk) for risk in known.risks],
        }


def risk_summary(risk: Risk) -> dict[str, Any]:
    """Return the numbers about an attacker who knows the quasi-identifiers, as plain values."""
    return asdict(risk) | {"histogram": dict(risk.histogram)}


def knowledge_summary(risk: KnowledgeRisk) -> dict[str, Any]:
    """Return the numbers about an attacker who knows so many items, as plain values."""
    shares: Mapping[str, Estimate | None] = {
        "records_unique": risk.records_unique,
        "records_below_k": risk.records_below_k,
        "chance_unique": risk.chance_unique,
        "chance_below_k": risk.chance_below_k,
        "sets_unique": risk.sets_unique,
        "sets_below_k": risk.sets_below_k,
    }
    told = {name: None if share is None else asdict(share) for name, share in shares.items()}
    return {"m": risk.m, "exact": risk.exact, **told, "undecided": risk.undecided}


def assess_table(
    frame: pl.DataFrame,
    texts: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    *,
    threshold: float,
    population: SampledPopulation | None = None,
    largest_unique: int | None = None,
    census: str = EVERY,
    threads: int = 1,
) -> TableAssessment:
    """Return the risk of a table.

    Parameters
    ----------
    frame, texts : the table in its types and as text; at least one record
    quasi_identifiers : columns of it, different ones; none: identifiers alone are looked for
    threshold : risk taken as acceptable, above 0 and at most 1
    population : what the patients are a part of, if that is known
    largest_unique : sets of up to so many columns are looked at for special uniques; 3 unless that would take long
    census : of the lists of small ZIP areas

    Raises
    ------
    InputError
        The population does not fit the table, or a setting cannot be used.
    """
    findings = look_for_identifiers(frame, texts, census=census)
    if not quasi_identifiers:
        return TableAssessment(len(texts), (), findings, census)
    grouped = group(texts, quasi_identifiers)
    largest = allowed_largest(grouped, largest_unique)
    return TableAssessment(
        len(texts),
        tuple(quasi_identifiers),
        findings,
        census,
        measure_risk(pl.Series(grouped.sizes), threshold),
        int(np.count_nonzero(grouped.sizes == 1)),
        None if population is None else _against(grouped, texts, population, threshold),
        find_special_uniques(grouped, largest, threads),
    )


def _against(
    grouped: GroupedRecords, texts: pl.DataFrame, population: SampledPopulation, threshold: float
) -> PopulationRisk | None:
    if population.texts is not None:
        return counted_risk(grouped, texts, population.texts, threshold)
    return None if population.fraction is None else estimated_risk(grouped, population.fraction, threshold)


def must_compile() -> bool:
    """Whether loading the kernels takes long this time: some ten seconds, once on each machine."""
    return not (is_compiled("special_uniques._stand_out") and is_compiled("itemset_support._least_of"))


def load_kernels() -> None:
    """Run every kernel once, on four records."""
    texts = pl.DataFrame({"a": ["x", "x", "y", None], "b": ["x", "y", "y", "y"]})
    find_special_uniques(group(texts, texts.columns), 2)
    partial_knowledge(np.array([0, 4, 8]), np.array([0, 1, 2, 3] * 2, dtype=np.int32), known=[2, 3, 4], k=2)
