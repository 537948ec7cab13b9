"""What the released files of trajectories say, and no more: facts of the manifest, figures of the report, the codebook.

Pure functions of the files: they write a release, and verifying it calls them again and compares.
"""

import re
from dataclasses import dataclass

import polars as pl

from cloister.codebook import Row, Type, codebook_of, type_of
from cloister.hierarchy.bound import ROOT
from cloister.io import as_text
from cloister.report_figures import Counted, ReportCounts, label_counts

from .data import AGE, CODE, ID, Diversity, WrittenTrajectories
from .manifest import (
    AttributeColumn,
    AttributesFile,
    DiversityRule,
    KAnonymityRule,
    PairCounts,
    PublishedTrajectories,
    ReleasedPatients,
    TrajectoriesManifest,
    TrajectoryRisk,
)

RISK_THRESHOLD = 0.2  # Risk above which a patient counts as at high risk
Rules = tuple[KAnonymityRule] | tuple[KAnonymityRule, DiversityRule]


@dataclass(frozen=True)
class TrajectoriesFacts:
    """The parts of a manifest that follow from the released files and the settings."""

    attributes: AttributesFile | None
    records: ReleasedPatients
    rules: Rules
    counts: PairCounts
    risk: TrajectoryRisk

    def differing(self, manifest: TrajectoriesManifest) -> list[str]:
        """Return the parts of a manifest that say something else."""
        counts = PairCounts(**{name: getattr(manifest.utility, name) for name in PairCounts.model_fields})
        found = {
            "attributes": (self.attributes, manifest.attributes),
            "records": (self.records, manifest.records),
            "guarantee.rules": (self.rules, manifest.guarantee.rules),
            "utility": (self.counts, counts),
            "risk": (self.risk, manifest.risk),
        }
        return [part for part, (expected, published) in found.items() if expected != published]


def facts_of(files: WrittenTrajectories, settings: PublishedTrajectories) -> TrajectoriesFacts:
    """Return what files say that were released under these settings."""
    sizes = files.frame.group_by(ID).agg(CODE, AGE).group_by(CODE, AGE).len()["len"].to_list()
    n_patients = sum(sizes)
    attributes = [] if files.attributes is None else files.attributes.columns[1:]
    no_code, no_age = files.frame[CODE] == ROOT, files.frame[AGE] == ROOT
    alone = files.frame.select(pl.len().over(ID) == 1).to_series()
    return TrajectoriesFacts(
        attributes=AttributesFile(columns={name: AttributeColumn(role="auxiliary") for name in attributes})
        if attributes
        else None,
        records=ReleasedPatients.model_validate({"in": n_patients, "released": n_patients, "suppressed": 0}),
        rules=rules_of(settings.k, settings.diversity_requested()),
        counts=(
            PairCounts(
                pairs=int((~(no_code & no_age)).sum()),
                codes_untold=int(no_code.sum()),
                ages_untold=int(no_age.sum()),
                patients_untold=int((no_code & no_age & alone).sum()),
                trajectories=len(sizes),
            )
        ),
        risk=TrajectoryRisk(
            highest=1 / min(sizes),
            average=len(sizes) / n_patients,
            share_above_threshold=sum(size for size in sizes if 1 / size > RISK_THRESHOLD) / n_patients,
            threshold=RISK_THRESHOLD,
            smallest=min(sizes),
            largest=max(sizes),
        ),
    )


def rules_of(k: int, diversity: Diversity | None) -> Rules:
    """Return what is promised."""
    rule = KAnonymityRule(model="k-anonymity", k=k)
    if diversity is None:
        return (rule,)
    of = {"codes": tuple(sorted(diversity.codes))} if diversity.column is None else {"column": diversity.column}
    return rule, DiversityRule.model_validate({"model": "frequency l-diversity", "l": diversity.l, **of})


DATA, ATTRIBUTES = "data", "attributes"


def shown_of(files: WrittenTrajectories, k: int) -> ReportCounts:
    """Return what is shown of trajectories."""
    alike = files.frame.group_by(ID).agg(CODE, AGE).group_by(CODE, AGE).agg(pl.len().alias("patients"))
    texts = {DATA: pl.DataFrame([as_text(files.frame[column]) for column in (CODE, AGE)])}
    if files.attributes is not None and files.attributes.width > 1:
        texts[ATTRIBUTES] = pl.DataFrame(
            [as_text(files.attributes[column]) for column in files.attributes.columns if column != ID]
        )
    return ReportCounts(
        k=k,
        sizes=alike["patients"],
        of="patients",
        by="how many share their trajectory",
        columns=tuple(
            Counted(DATA, column, "pairs", label_counts(as_text(files.frame[column]))) for column in (CODE, AGE)
        ),
        files=texts,
    )


NUMBER = "number of the patient in this release; the pairs of a patient stand in their order"
ANY_CODE = "any code, or that nothing is told"
ANY_AGE = "any age, or that nothing is told"
BELOW = "this code, or any below it in the hierarchy"
BESIDE = "as recorded, in attributes.csv"

NUMBER_ALONE = re.compile(r"[0-9.]+")
MEANINGS_OF_AGES = (
    (NUMBER_ALONE, "as recorded"),
    (re.compile(r"\[.*[0-9]\]"), "an age in this interval, both ends included; a decimal counts as its whole part"),
    (re.compile(r"\[.*[0-9]\)"), "an age in this interval, from its first number to below its last"),
    (re.compile(r">=[0-9.]+"), "this age and all above"),
    (re.compile(r"<[0-9.]+"), "all ages below"),
)
GROUP = "a group of ages of the hierarchy"
AGE_BELOW = "this age, or any below it in the hierarchy"
AS_RECORDED_UNDER = ("interval", "suppress")  # Kinds of hierarchies under which a number stands for itself alone


def codebook(released: WrittenTrajectories, codes: str, ages: str) -> pl.DataFrame:
    """Return one row for each label of codes and of ages that is released, and one for each other column."""
    rows: list[Row] = [(ID, "identifier", None, None, None, NUMBER)]
    rows += [
        (CODE, "quasi-identifier", codes, None, label, (ANY_CODE if label == ROOT else BELOW))
        for label in _labels(released, CODE)
    ]
    rows += [(AGE, "quasi-identifier", ages, None, label, _of_age(label, ages)) for label in _labels(released, AGE)]
    beside = pl.DataFrame() if released.attributes is None else released.attributes[:, 1:]
    rows += [(column, "auxiliary", None, None, None, BESIDE) for column in beside.columns]
    types: dict[str, Type] = {column.name: type_of(column) for column in beside}
    return codebook_of(rows, types | {ID: "number", CODE: "text"})


def _labels(released: WrittenTrajectories, column: str) -> list[str]:
    return [str(label) for label in released.frame[column].unique().sort()]


def _of_age(label: str, kind: str) -> str:
    if label == ROOT:
        return ANY_AGE
    if kind not in AS_RECORDED_UNDER and NUMBER_ALONE.fullmatch(label):
        return AGE_BELOW
    return next((meaning for pattern, meaning in MEANINGS_OF_AGES if pattern.fullmatch(label)), GROUP)
