"""What the released files of trajectories say, and no more: facts of the manifest, figures of the report, the codebook.

Pure functions of the files: they write a release, and verifying it calls them again and compares.
"""

import re
from dataclasses import dataclass

import polars as pl

from cloister.hierarchy.bound import ROOT
from cloister.io import as_text
from cloister.release.codebook import Row, Type, codebook_of, type_of
from cloister.release.figures import Counted, ReportCounts, label_counts
from cloister.release.head import AttributesFile

from .data import AGE, CODE, ID, Diversity, WrittenTrajectories
from .manifest import (
    DiversityRule,
    KAnonymityRule,
    PairCounts,
    PublishedTrajectories,
    ReleasedPatients,
    TrajectoriesManifest,
    TrajectoryRisk,
)

RISK_THRESHOLD = 0.2  # Risk above which a patient counts as at high risk
NUMBER_ALONE = re.compile(r"[0-9.]+")
MEANINGS_OF_AGES = (
    (NUMBER_ALONE, "as recorded"),
    (re.compile(r"\[.*[0-9]\]"), "an age in this interval, both ends included; a decimal counts as its whole part"),
    (re.compile(r"\[.*[0-9]\)"), "an age in this interval, from its first number to below its last"),
    (re.compile(r">=[0-9.]+"), "this age and all above"),
    (re.compile(r"<[0-9.]+"), "all ages below"),
)
AS_RECORDED_UNDER = ("interval", "suppress")  # Kinds of hierarchies under which a number stands for itself alone

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
        rules, names = manifest.guarantee.rules, {"rules": "guarantee.rules", "counts": "utility"}
        stated = TrajectoriesFacts(manifest.attributes, manifest.records, rules, counts, manifest.risk)
        return [names.get(name, name) for name, part in vars(self).items() if part != getattr(stated, name)]


def facts_of(files: WrittenTrajectories, settings: PublishedTrajectories, n_left_out: int) -> TrajectoriesFacts:
    """Return what files say that were released under these settings, some patients left out."""
    sizes = files.frame.group_by(ID).agg(CODE, AGE).group_by(CODE, AGE).len()["len"].to_list()
    n_patients = sum(sizes)
    records = {"in": n_patients + n_left_out, "released": n_patients, "suppressed": n_left_out}
    attributes = None if files.attributes is None else AttributesFile.of(files.attributes.columns[1:])
    no_code, no_age = files.frame[CODE] == ROOT, files.frame[AGE] == ROOT
    alone = files.frame.select(pl.len().over(ID) == 1).to_series()
    return TrajectoriesFacts(
        attributes=attributes,
        records=ReleasedPatients.model_validate(records),
        rules=rules_of(settings.k, settings.diversity_requested()),
        counts=PairCounts(
            pairs=int((~(no_code & no_age)).sum()),
            codes_untold=int(no_code.sum()),
            ages_untold=int(no_age.sum()),
            patients_untold=int((no_code & no_age & alone).sum()),
            trajectories=len(sizes),
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


def shown_of(files: WrittenTrajectories, k: int) -> ReportCounts:
    """Return what is shown of trajectories."""
    alike = files.frame.group_by(ID).agg(CODE, AGE).group_by(CODE, AGE).agg(pl.len().alias("patients"))
    texts = {"data": pl.DataFrame([as_text(files.frame[column]) for column in (CODE, AGE)])}
    if files.attributes is not None and files.attributes.width > 1:
        texts["attributes"] = pl.DataFrame([as_text(column) for column in files.attributes.drop(ID)])
    columns = tuple(Counted("data", name, "pairs", label_counts(texts["data"][name])) for name in (CODE, AGE))
    by = "how many share their trajectory"
    return ReportCounts(k=k, sizes=alike["patients"], of="patients", by=by, columns=columns, files=texts)


def codebook(released: WrittenTrajectories, codes: str, ages: str) -> pl.DataFrame:
    """Return one row for each label of codes and of ages that is released, and one for each other column."""
    number = "number of the patient in this release; the pairs of a patient stand in their order"
    rows: list[Row] = [(ID, "identifier", None, None, None, number)]
    for column, kind in ((CODE, codes), (AGE, ages)):
        for label in released.frame[column].unique().sort():
            rows.append((column, "quasi-identifier", kind, None, label, _meaning(column, label, kind)))
    beside = pl.DataFrame() if released.attributes is None else released.attributes[:, 1:]
    rows += [(name, "auxiliary", None, None, None, "as recorded, in attributes.csv") for name in beside.columns]
    types: dict[str, Type] = {column.name: type_of(column) for column in beside}
    return codebook_of(rows, types | {ID: "number", CODE: "text"})


def _meaning(column: str, label: str, kind: str) -> str:
    if label == ROOT:
        return f"any {column}, or that nothing is told"
    if column == CODE:
        return "this code, or any below it in the hierarchy"
    if kind not in AS_RECORDED_UNDER and NUMBER_ALONE.fullmatch(label):
        return "this age, or any below it in the hierarchy"
    found = (meaning for pattern, meaning in MEANINGS_OF_AGES if pattern.fullmatch(label))
    return next(found, "a group of ages of the hierarchy")
