"""A release folder of trajectories, checked again from its files alone, or with the original and its crosswalk.

What the files say and no more (facts of the manifest, figures of the report, the codebook) are pure functions of them:
they write a release, and verifying it calls them again and compares.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.checker import Checker, Facts, Opened, Request, origins
from cloister.codebook import Row, Type, codebook_of, type_of
from cloister.errors import InputError, setting
from cloister.hierarchy import Hierarchy, parse_hierarchy
from cloister.hierarchy.bound import ROOT
from cloister.io import EventColumns, as_text
from cloister.manifest.head import DATA
from cloister.reading import how_read
from cloister.release_folder import ATTRIBUTES, read_data
from cloister.report_figures import Counted, ReportCounts, label_counts
from cloister.results import Verdict

from .data import AGE, CODE, COLUMNS, ID, Diversity, Trajectories, WrittenTrajectories
from .domain import FittedTrajectories, fitted
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
from .request import GivenTrajectories, read_given
from .verify import ExpectedGuarantee, Secret, losses_agree, verify

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


def facts_of(files: WrittenTrajectories, settings: PublishedTrajectories) -> TrajectoriesFacts:
    """Return what files say that were released under these settings."""
    sizes = files.frame.group_by(ID).agg(CODE, AGE).group_by(CODE, AGE).len()["len"].to_list()
    n_patients = sum(sizes)
    auxiliary = AttributeColumn(role="auxiliary")
    attributes = {} if files.attributes is None else dict.fromkeys(files.attributes.columns[1:], auxiliary)
    no_code, no_age = files.frame[CODE] == ROOT, files.frame[AGE] == ROOT
    alone = files.frame.select(pl.len().over(ID) == 1).to_series()
    return TrajectoriesFacts(
        attributes=AttributesFile(columns=attributes) if attributes else None,
        records=ReleasedPatients.model_validate({"in": n_patients, "released": n_patients, "suppressed": 0}),
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
    for column, kind, meaning in ((CODE, codes, _of_code), (AGE, ages, _of_age)):
        for label in released.frame[column].unique().sort():
            rows.append((column, "quasi-identifier", kind, None, label, meaning(label, kind)))
    beside = pl.DataFrame() if released.attributes is None else released.attributes[:, 1:]
    rows += [(name, "auxiliary", None, None, None, "as recorded, in attributes.csv") for name in beside.columns]
    types: dict[str, Type] = {column.name: type_of(column) for column in beside}
    return codebook_of(rows, types | {ID: "number", CODE: "text"})


def _of_code(label: str, _kind: str) -> str:
    return "any code, or that nothing is told" if label == ROOT else "this code, or any below it in the hierarchy"


def _of_age(label: str, kind: str) -> str:
    if label == ROOT:
        return "any age, or that nothing is told"
    if kind not in AS_RECORDED_UNDER and NUMBER_ALONE.fullmatch(label):
        return "this age, or any below it in the hierarchy"
    found = (meaning for pattern, meaning in MEANINGS_OF_AGES if pattern.fullmatch(label))
    return next(found, "a group of ages of the hierarchy")


@dataclass(frozen=True)
class TrajectoriesOriginal:
    """What only the custodian has."""

    given: GivenTrajectories
    crosswalk: pl.DataFrame | None = None
    code_hierarchy: Hierarchy | None = None
    age_hierarchy: Hierarchy | None = None

    def fitted_as(self, manifest: TrajectoriesManifest) -> FittedTrajectories:
        """Return trajectories and hierarchies as they were protected."""
        asked, columns = manifest.settings, manifest.columns
        codes = _hierarchy(asked.code_hierarchy, columns.code.hierarchy, self.code_hierarchy, "code_hierarchy")
        ages = _hierarchy(asked.age_hierarchy, columns.age.hierarchy, self.age_hierarchy, "age_hierarchy")
        return fitted(self.given.trajectories, codes, ages, asked.on_unknown_code)


ReleaseFolder = Opened[TrajectoriesManifest, WrittenTrajectories, Secret]


class TrajectoriesChecker(Checker[TrajectoriesManifest, WrittenTrajectories, Secret]):
    """Checks trajectories."""

    def read_files(self, folder: Path, manifest: TrajectoriesManifest) -> WrittenTrajectories:
        """Read the data file and the attributes file."""
        delimiter, name = manifest.settings.delimiter, next(name for name in DATA if name in manifest.files)
        frame = read_data(folder / name, delimiter).cast(pl.String)
        if tuple(frame.columns) != COLUMNS:
            raise InputError(f"{name} does not have the columns id, code and age.")
        attributes = None
        if manifest.attributes is not None:
            attributes = read_data(folder / ATTRIBUTES, delimiter).cast(pl.String)
            if attributes.columns[:1] != [ID]:
                raise InputError(f"{ATTRIBUTES} does not begin with the column id.")
            attributes = attributes.with_columns(_numbers(attributes[ID], ATTRIBUTES))
        return WrittenTrajectories(frame.with_columns(_numbers(frame[ID], name)), attributes)

    def read_original(
        self, request: Request, manifest: TrajectoriesManifest, files: WrittenTrajectories
    ) -> Secret | None:
        """Read what the custodian has."""
        original = read_original(request, manifest)
        return None if original is None else _secret(original, manifest, files)

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the guarantee."""
        return verify(release.files, _guarantee(release), release.original)

    def facts(self, release: ReleaseFolder) -> Facts:
        """Compare the manifest with what follows from the files."""
        manifest, files, k = release.manifest, release.files, release.manifest.settings.k
        differing = facts_of(files, manifest.settings).differing(manifest)
        failures = [f"{part} in release.json does not follow from the files" for part in differing]
        if not losses_agree(manifest.utility, files, release.original, k):
            failures.append("the losses in release.json are not those of the files")
        listed = codebook(files, manifest.columns.code.hierarchy, manifest.columns.age.hierarchy)
        return Facts(failures, listed, shown_of(files, k))

    def unexpected(self, release: ReleaseFolder) -> list[str]:
        """Compare with what the recipient expects."""
        k = release.request.k
        if k is None or k <= release.manifest.settings.k:
            return []
        more = verify(release.files, replace(_guarantee(release), k=k))
        return [f"as asked, with k = {k}: {failure}" for failure in more.failures]


def _guarantee(release: ReleaseFolder) -> ExpectedGuarantee:
    settings = release.manifest.settings
    return ExpectedGuarantee(settings.k, settings.drop_empty_pairs, settings.diversity_requested())


def read_original(request: Request, manifest: TrajectoriesManifest) -> TrajectoriesOriginal | None:
    """Return the original and its crosswalk; the original may have been read before."""
    given, words, settings = request.original, request.words, manifest.settings
    if given is None:
        return None
    if isinstance(given, Trajectories):
        given = GivenTrajectories(given)
    if not isinstance(given, GivenTrajectories):
        if not isinstance(given, str | Path):
            raise InputError("The original of trajectories is given as the file that they were read from.")
        given = read_given(
            given,
            EventColumns(**settings.input_columns.model_dump(), unit=settings.age_unit or "years"),
            request.attributes,
            **how_read(words),
            usual_delimiter=settings.delimiter,
        )
    hierarchies = request.hierarchies
    return TrajectoriesOriginal(given, request.secret(), hierarchies.get("code"), hierarchies.get("age"))


def _numbers(column: pl.Series, name: str) -> pl.Series:
    numbers = column.cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers.cast(pl.String) == column).all():
        raise InputError(f"The ids of {name} are not numbers as a release writes them.")
    return numbers


def _secret(original: TrajectoriesOriginal, manifest: TrajectoriesManifest, released: WrittenTrajectories) -> Secret:
    domain = original.fitted_as(manifest)
    attributes = None if original.given.attributes is None else original.given.attributes.frame
    if attributes is None and released.attributes is not None:
        raise InputError(
            "The release has auxiliary columns, and the file that they come from is needed to compare them. Give "
            f"{setting('attributes')}."
        )
    given = original.given.trajectories
    ids = pl.Series(np.arange(1, given.n_patients + 1)) if given.ids is None else given.ids
    origin = origins(original.crosswalk, ids, int(released.frame[ID][-1]))
    return Secret(domain.trajectories, domain.codes, domain.ages, attributes, origin)


def _hierarchy(spec: str, kind: str, given: Hierarchy | None, name: str) -> Hierarchy:
    if kind != "file":
        return parse_hierarchy(spec)
    if given is None:
        raise InputError(
            f"The release names a hierarchy file, {Path(spec).name}, that is not in it. Give {setting(name)}."
        )
    return given
