"""Facts of the released records of a table, for manifest, codebook and report; recomputed in verification."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from cloister.hierarchy import ROOT
from cloister.hierarchy.value_lists import read_list
from cloister.io import Tally, as_text
from cloister.io.columns import as_held
from cloister.privacy import KPatients, least_group
from cloister.release.codebook import MEANING_OF_LIST, Row, Type, codebook_of, type_of
from cloister.release.derived import Derived, Part, Place
from cloister.release.figures import Counted, Counts, ReportCounts, band_sizes, label_counts
from cloister.risk.recorded_columns import UniqueRecords, count_unique_records

from .guarantee import Guarantee
from .manifest import (
    PublishedSettings,
    QuasiIdentifierColumn,
    TableIdColumn,
    TableRisk,
    TableSections,
    guarantee_of,
    record_counts,
)
from .options import MODE

RISK_THRESHOLD = 0.2  # risk above which a record counts as at high risk
AGREEMENT = 1e-9  # how far a risk may be above the threshold by rounding alone
DATA = "data"


@dataclass(frozen=True)
class TableFacts:
    """The parts of a manifest that follow from the released records and the settings."""

    released: int
    risk: TableRisk
    labels: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class DerivedTable(Derived):
    """The parts of a release that follow from a table's records and from its stated parts.

    ``every``: all records of the data file; ``released``: those that were not suppressed
    ``without``: a column of codes, of which another part of the release says more
    """

    every: Tally
    released: Tally
    stated: TableSections
    facts: TableFacts
    without: str | None = None

    @cached_property
    def unique(self) -> UniqueRecords | None:
        """The number of records that are unique by the columns released as recorded; None without any."""
        return count_unique(self.released, guarantee_of(self.stated), self.without)

    def parts(self) -> dict[Place, Part]:
        """Return derived settings, numbers of records, the minimized loss, labels and risk."""
        stated, settings, rules = self.stated, self.stated.settings, self.stated.guarantee.rules
        suppressed = 1 if stated.suppressed is None else stated.suppressed  # which is masked as any below k
        return {
            ("settings", "k"): least_group(rules),
            ("settings", "rules"): [rule.words() for rule in rules],
            ("settings", "microaggregate"): stated.averages(),
            ("records",): record_counts(suppressed, self.facts.released, settings.k),
            ("utility", "loss"): stated.utility.losses[settings.loss],
            **{("utility", "columns", name, "labels"): n for name, n in self.facts.labels.items()},
            ("risk",): self.facts.risk,
        }

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the data file; empty for a table with codes reduced to their presence."""
        return {DATA: self.every.frame} if self.without is None else {}

    def codebook(self) -> pl.DataFrame:
        """Return one row for each released label of each quasi-identifier, and one for each other column."""
        return codebook(self.every.frame, self.stated)

    def report_counts(self) -> ReportCounts:
        """Return the records of each class, the records with each label, and all records, for signs of identifiers."""
        released, guarantee = self.released, guarantee_of(self.stated)
        skipped = {self.without, *guarantee.averaged}
        hidden = {guarantee.id if guarantee.numbered else None, self.without}
        texts = [as_text(column) for column in released.frame if column.name not in hidden]
        return ReportCounts(
            k=guarantee.k,
            sizes=class_sizes(released, list(guarantee.levels), guarantee.id and guarantee.patient),
            of="records" if guarantee.patient is None or guarantee.id is None else "patients",
            by="the size of their class",
            columns=tuple(
                Counted(DATA, column, "records", count_labels(released, column))
                for column in guarantee.levels
                if column not in skipped
            ),
            files={DATA: released.replace_rows(pl.DataFrame(texts))},
            complete=None if guarantee.averaged else count_complete(released, list(guarantee.levels)),
            recorded=self.unique,
        )


def facts_of(records: Tally, settings: PublishedSettings, patients: KPatients | None = None) -> TableFacts:
    """Return the facts of released records, without rows of suppressed records.

    ``patients``: where a patient may have several records, the rule that names their column: classes are counted by it.
    """
    quasi = [name for name in records.frame.columns if name in settings.hierarchies]
    sizes = class_sizes(records, quasi, None if patients is None else patients.column).sort()
    n, smallest, largest = int(sizes.sum()), int(sizes[0]), int(sizes[-1])
    return TableFacts(
        released=records.n_records,
        risk=TableRisk(
            highest=1 / smallest,
            average=len(sizes) / n,
            share_above_threshold=int(sizes.filter(sizes * RISK_THRESHOLD < 1 - AGREEMENT).sum()) / n,
            threshold=RISK_THRESHOLD,
            classes=len(sizes),
            smallest_class=smallest,
            largest_class=largest,
            records_by_class_size=band_sizes(sizes, members=True),
        ),
        labels={name: as_text(records.frame.get_column(name).unique()).n_unique() for name in quasi},
    )


def class_sizes(released: Tally, columns: Sequence[str], patient: str | None = None) -> pl.Series:
    """Return the number of records in each class of these columns; of patients, if an id distinguishes them."""
    texts = pl.DataFrame([as_held(released.frame[column]).alias(f"c{j}") for j, column in enumerate(columns)])
    if patient is None or patient not in released.frame.columns:
        return released.replace_rows(texts).count(texts.columns)["records"]
    people = texts.with_columns(released.frame[patient].alias("patient"))
    return people.group_by(texts.columns).agg(pl.col("patient").n_unique().cast(pl.Int64))["patient"]


def count_unique(released: Tally, guarantee: Guarantee, without: str | None = None) -> UniqueRecords | None:
    """Return the number of released records that are unique by the columns released as recorded; None without any.

    Columns of a tally that were not counted, as they stay in a database, are not among them.
    """
    counted = [] if released.counts is None else released.frame.get_columns()
    unseen = [column.name for column in counted if column.null_count() == len(column)]
    others = {*guarantee.levels, guarantee.id, without, *unseen}
    recorded = [column for column in released.frame.columns if column not in others]
    return count_unique_records(_row_by_row(released), list(guarantee.levels), recorded) if recorded else None


def _row_by_row(released: Tally) -> pl.DataFrame:
    """Return one row for each record."""
    if released.counts is None:
        return released.frame
    places = pl.int_range(released.frame.height, eager=True).repeat_by(released.counts).explode()
    return released.frame.select(pl.all().gather(places))


def count_labels(records: Tally, column: str) -> Counts:
    """Return the number of records with each label of a column."""
    return label_counts(as_text(records.frame[column]), records.weights)


AS_RECORDED = "as recorded"
OF_CLASS = "of the recorded values of the records with the same quasi-identifiers"
MEANING_OF_AVERAGE = {
    "mean": f"mean {OF_CLASS}, to two decimals; may be no patient's value",
    "median": f"median {OF_CLASS}, to two decimals; may be no patient's value",
    MODE: f"most frequent {OF_CLASS}; may not be the patient's value",
}
MEANING_OF_PATIENTS = "number of the patient among those with the same quasi-identifiers"
MEANING_OF_IDS = {"number": "number of the record within this release", "hmac": "keyed hash of the original id"}


def codebook(released: pl.DataFrame, manifest: TableSections) -> pl.DataFrame:
    """Return one row for each released label of each quasi-identifier, and one for each other column.

    A column that was averaged has one row. How many values a label covers is not published: where the domain is the
    values present, that counts suppressed ones.
    """
    rows: list[Row] = []
    types: dict[str, Type] = {}
    for name, column in manifest.columns.items():
        if not isinstance(column, QuasiIdentifierColumn):
            types[name] = type_of(released.get_column(name)) if name in released.columns else "text"
            meaning = MEANING_OF_IDS[column.ids] if isinstance(column, TableIdColumn) else AS_RECORDED
            if manifest.guarantee.patients is not None and isinstance(column, TableIdColumn):
                meaning = MEANING_OF_PATIENTS
            rows.append((name, column.role, None, None, None, meaning))
            continue
        level = " ".join(map(str, column.used_levels))
        if column.average is not None:
            meaning, types[name] = MEANING_OF_AVERAGE[column.average], "text" if column.average == MODE else "number"
            rows.append((name, column.role, column.hierarchy, level, None, meaning))
            continue
        top, has_stars = manifest.utility.columns[name].top, manifest.settings.keep_suppressed
        for label in as_text(released.get_column(name)).unique().sort().to_list():
            is_run = manifest.settings.labels is not None and column.hierarchy == "interval"
            meaning = _meaning(label, top, column.used_levels, has_stars, is_run)
            meaning = MEANING_OF_LIST if column.lists and read_list(label) else meaning
            rows.append((name, column.role, column.hierarchy, level, label, meaning))
    return codebook_of(rows, types)


def _meaning(label: str | None, top: int, levels: tuple[int, ...], has_stars: bool, is_joined: bool) -> str:
    if label == ROOT and has_stars:
        return "any value, or a suppressed record"
    if label is None:
        return "missing"
    if levels == (0,):
        return AS_RECORDED
    if levels == (top,):
        return "any value"
    group = "one or several adjacent intervals of the hierarchy" if is_joined else "a group of values of the hierarchy"
    return f"a value or {group}" if 0 in levels else group


def count_complete(released: Tally, quasi_identifiers: Sequence[str]) -> int:
    """Return the number of released records without ``*`` in any quasi-identifier."""
    texts = pl.DataFrame(
        [as_text(released.frame[name]).alias(f"c{place}") for place, name in enumerate(quasi_identifiers)]
    )
    is_complete = texts.select(pl.all_horizontal(pl.all().ne_missing(ROOT))).to_series()
    return released.filter(is_complete).n_records
