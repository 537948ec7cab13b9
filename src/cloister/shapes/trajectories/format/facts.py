"""Facts of the released files of trajectories: for the manifest, the report and the codebook.

Anyone who verifies a release derives them again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from cloister.hierarchy.bound import ROOT
from cloister.io import Tally, as_text
from cloister.release.codebook import Row, Type, codebook_of, type_of
from cloister.release.derived import Derived, Part, Place
from cloister.release.figures import Counted, ReportCounts, label_counts
from cloister.release.head import AttributesFile

from .data import AGE, CODE, DETAIL, ID, Diversity, WrittenTrajectories
from .manifest import (
    DataColumns,
    DiversityRule,
    KAnonymityRule,
    PairCounts,
    PublishedTrajectories,
    ReleasedPatients,
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
AS_RECORDED_UNDER = ("interval", "suppress")  # Kinds of hierarchies in which a number represents only itself

Rules = tuple[KAnonymityRule] | tuple[KAnonymityRule, DiversityRule]


@dataclass(frozen=True, repr=False)
class DerivedTrajectories(Derived):
    """The parts that follow from released trajectories, settings, columns and the number of suppressed patients."""

    files: WrittenTrajectories
    settings: PublishedTrajectories
    columns: DataColumns
    n_suppressed: int

    @cached_property
    def sizes(self) -> pl.Series:
        """The patients of each distinct trajectory."""
        names = self.files.columns
        alike = self.files.frame.group_by(ID).agg(names).group_by(names)
        return alike.agg(pl.len().cast(pl.Int64).alias("patients"))["patients"]

    @property
    def records(self) -> ReleasedPatients:
        """The numbers of original and released patients."""
        n_patients, n_suppressed = int(self.sizes.sum()), self.n_suppressed
        return ReleasedPatients.model_validate(
            {"in": n_patients + n_suppressed, "released": n_patients, "suppressed": n_suppressed}
        )

    @cached_property
    def counts(self) -> PairCounts:
        """The numbers of released rows and patients with information."""
        frame = self.files.frame
        lost = {name: frame[name] == ROOT for name in self.files.columns}
        is_empty = frame.select(pl.all_horizontal(*lost.values())).to_series()
        alone = frame.select(pl.len().over(ID) == 1).to_series()
        return PairCounts.of_known(
            pairs=int((~is_empty).sum()),
            codes_suppressed=int(lost[CODE].sum()),
            ages_suppressed=int(lost[AGE].sum()),
            patients_suppressed=int((is_empty & alone).sum()),
            trajectories=len(self.sizes),
            details_suppressed=int(lost[DETAIL].sum()) if DETAIL in lost else None,
        )

    def parts(self) -> dict[Place, Part]:
        """Return columns of attributes, numbers of patients, rules, counts of pairs, and risk."""
        attributes, settings = self.files.attributes, self.settings
        parts: dict[Place, Part] = {
            ("records",): self.records,
            ("guarantee", "rules"): rules_of(settings.k, settings.diversity_requested()),
            **{("utility", name): count for name, count in self.counts if count is not None},
            ("risk",): _risk_of(self.sizes),
        }
        if attributes is not None:
            parts["attributes",] = AttributesFile.of(attributes.columns[1:])
        return parts

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the data file, and the file of attributes if there is one."""
        attributes = self.files.attributes
        return {"data": self.files.frame} | ({} if attributes is None else {"attributes": attributes})

    def codebook(self) -> pl.DataFrame:
        """Return one row for each released label, and one for each other column."""
        return codebook(self.files, {name: one.hierarchy for name, one in self.columns.quasi_identifiers.items()})

    def report_counts(self) -> ReportCounts:
        """Return the patients of each trajectory, and the pairs with each label."""
        names = self.files.columns
        texts = {"data": pl.DataFrame([as_text(self.files.frame[column]) for column in names])}
        if self.files.attributes is not None and self.files.attributes.width > 1:
            texts["attributes"] = pl.DataFrame([as_text(column) for column in self.files.attributes.drop(ID)])
        columns = tuple(Counted("data", name, "pairs", label_counts(texts["data"][name])) for name in names)
        by = "how many share their trajectory"
        files = {name: Tally(frame) for name, frame in texts.items()}
        return ReportCounts(k=self.settings.k, sizes=self.sizes, of="patients", by=by, columns=columns, files=files)


def _risk_of(sizes: pl.Series) -> TrajectoryRisk:
    n_patients, smallest = int(sizes.sum()), int(sizes.to_numpy().min())
    return TrajectoryRisk(
        highest=1 / smallest,
        average=len(sizes) / n_patients,
        share_above_threshold=int(sizes.filter(1 / sizes > RISK_THRESHOLD).sum()) / n_patients,
        threshold=RISK_THRESHOLD,
        smallest=smallest,
        largest=int(sizes.to_numpy().max()),
    )


def rules_of(k: int, diversity: Diversity | None) -> Rules:
    """Return the guarantee as rules."""
    rule = KAnonymityRule(model="k-anonymity", k=k)
    if diversity is None:
        return (rule,)
    of = {"codes": tuple(sorted(diversity.codes))} if diversity.column is None else {"column": diversity.column}
    return rule, DiversityRule.model_validate({"model": "frequency l-diversity", "l": diversity.l, **of})


def codebook(released: WrittenTrajectories, kinds: Mapping[str, str]) -> pl.DataFrame:
    """Return one row for each released label of codes, ages and details, and one for each other column.

    ``kinds``: of the hierarchies, by column
    """
    number = "number of the patient in this release; the pairs of a patient stand in their order"
    rows: list[Row] = [(ID, "identifier", None, None, None, number)]
    for column, kind in kinds.items():
        for label in released.frame[column].unique().sort():
            rows.append((column, "quasi-identifier", kind, None, label, _meaning(column, label, kind)))
    attributes = pl.DataFrame() if released.attributes is None else released.attributes[:, 1:]
    rows += [(name, "auxiliary", None, None, None, "as recorded, in attributes.csv") for name in attributes.columns]
    types: dict[str, Type] = {column.name: type_of(column) for column in attributes}
    return codebook_of(rows, types | {ID: "number", CODE: "text", **({DETAIL: "text"} if DETAIL in kinds else {})})


def _meaning(column: str, label: str, kind: str) -> str:
    if label == ROOT:
        return f"any {column}, or that nothing is told"
    if column != AGE:
        return f"this {column}, or any below it in the hierarchy"
    if kind not in AS_RECORDED_UNDER and NUMBER_ALONE.fullmatch(label):
        return "this age, or any below it in the hierarchy"
    found = (meaning for pattern, meaning in MEANINGS_OF_AGES if pattern.fullmatch(label))
    return next(found, "a group of ages of the hierarchy")
