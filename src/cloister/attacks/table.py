"""Attack a released table: the adversary knows exact quasi-identifiers of a patient, and perhaps codes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import ROOT, BoundHierarchy
from cloister.io import Tally, as_text, from_native, without_formulas
from cloister.io.columns import check_columns
from cloister.kernels.ragged import postings
from cloister.privacy import KAnonymity
from cloister.release.folder import read_tables
from cloister.release.head import CLUSTERS
from cloister.settings.reading import how_read
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.clusters_file import read_clusters
from cloister.shapes.disassociation.format.data import Disassociation
from cloister.shapes.generalization.format.data import BETWEEN
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table.format.manifest import TableManifest, guarantee_of
from cloister.shapes.table.format.options import MODE
from cloister.shapes.table.verify.recheck import source_of
from cloister.shapes.table_with_codes.format.data import (
    AnyTableWithCodesManifest,
    CodesRequested,
    TableWithCodesManifest,
    read_codes,
    with_presence,
)
from cloister.shapes.table_with_codes.format.terms import ReleasedTerms, TableWithTermsManifest
from cloister.sources import read_table
from cloister.verification.driver import Request

from .adversary import GONE, NOT_KNOWN, Adversary, Integers, KnowledgeStep, Match, RecordSet, Refinement, match_of
from .chunks import InChunks
from .codes import TermRecords, as_recorded, code_steps
from .label_matching import Labelled, Nearest, RecordPredicates, group_rows, labels_of, number_texts
from .refinement import LOWEST_LEVELS, ShownClasses, refine
from .simulation import OpenedRelease, Sensitive, Traces, as_lists, patient_ids, released_of

QI = "quasi-identifier"


def open_table(folder: Path, manifest: TableManifest, known: Request, seed: int) -> OpenedRelease:
    """Open a release of a table."""
    original = _read_original(known, manifest)
    return _open_reduced(folder, manifest, original, known, lambda frame: frame, seed)


def _read_original(known: Request, manifest: TableManifest) -> pl.DataFrame:
    given, words = known.original, known.words
    if isinstance(given, str | Path):
        frame = read_table(given, **how_read(words), usual_delimiter=manifest.settings.delimiter).frame
    else:
        frame = from_native(given).frame
    return without_formulas(frame) if manifest.settings.escape_formulas else frame


@dataclass(frozen=True, eq=False, repr=False)
class Targets:
    """The patients who are looked for, and the record of the original of which something is known."""

    record: Integers  # (n_patients,) the record of each patient; one of them at random, where there are several
    patient: Integers  # (n_original_records,) whose each record is

    @classmethod
    def of(cls, original: pl.DataFrame, patient: str | None, seed: int) -> "Targets":
        """Choose a record of each patient; without a column of patients each record is another's."""
        everyone = np.arange(original.height)
        if patient is None:
            return cls(everyone, everyone)
        check_columns([patient], original.columns, "the original")
        whose = as_text(original[patient]).rank("dense").cast(pl.Int64).to_numpy() - 1
        order = np.random.default_rng(seed).permutation(original.height)
        return cls(order[np.unique(whose[order], return_index=True)[1]], whose)


def _open_reduced(
    folder: Path,
    manifest: TableManifest,
    original: pl.DataFrame,
    asked: Request,
    reduced: Callable[[pl.DataFrame], pl.DataFrame],
    seed: int = 0,
) -> OpenedRelease:
    """Open a table; ``reduced`` brings its data file into the form in which ``original`` was protected."""
    promise, k = guarantee_of(manifest), max(rule.class_size for rule in manifest.guarantee.rules)
    frame = reduced(read_released(folder, manifest, promise))
    source = source_of(Tally(original), manifest, asked.hierarchies, frame)
    columns, targets = list(promise.levels), Targets.of(original, promise.patient, seed)
    n_patients, is_several = targets.record.size, promise.patient is not None
    ids = original[promise.id] if promise.id is not None and promise.id in original.columns else None
    released_ids = pl.Series() if promise.id is None else frame[promise.id]
    if is_several and promise.id is None:
        raise InputError(
            "Patients have several records in this release, and it does not show which are of one patient: so an "
            "attack cannot count the patients who match."
        )
    # who is which of the patients that are numbered again in each class is not in a crosswalk
    rows = released_of(None if is_several else asked.secret(), ids, released_ids, n_patients)
    known = [number_texts(as_text(source.frame[column])) for column in columns]
    of_targets = [(texts, numbers[targets.record]) for texts, numbers in known]
    released, groups = _released_records(frame, promise, source.hierarchies, of_targets, rows)
    labels, sizes, own = group_rows([numbers for _, numbers in known], original.height)
    exact = tuple([(number,) for number in range(len(texts))] for texts, _ in known)
    recorded = {name: as_text(frame[name]) for name in manifest.columns if manifest.role(name) in ("sensitive", "kept")}
    every_record = released
    if is_several:
        every_record = replace(released, values=tuple(numbers for _, numbers in known))
        released = replace(released, sizes=_count_patients(groups, released_ids))
        sizes = _count_patients(own, pl.Series(targets.patient))
    predicates = RecordPredicates.of(every_record, groups, recorded, original, targets.patient)
    searched = Labelled(labels, sizes, released.values, exact, own[targets.record])
    adversary = _knowing_columns(len(columns), released, searched, is_several=is_several)
    sensitive = [
        Sensitive(column, as_text(original[column]).gather(targets.record), groups, text, released, adversary)
        for column, text in recorded.items()
        if manifest.role(column) == "sensitive"
    ]
    # labels that resist downcoding are not the lowest at which their records agree
    has_lowest_levels = manifest.method in LOWEST_LEVELS and promise.questions is None
    traces = Traces(released, adversary, groups, as_lists(pl.DataFrame(list(recorded.values()))), rows)
    return OpenedRelease(
        shape="table",
        method=manifest.method,
        k=k,
        n_patients=n_patients,
        n_released=n_patients if is_several else frame.height,
        is_known_who=not np.any(rows == NOT_KNOWN),
        adversaries=(adversary,),
        sensitive=tuple(sensitive),
        ids=None if ids is None else patient_ids(ids.gather(targets.record), n_patients),
        traces=None if is_several else traces,
        predicates=predicates,
        refinement=_refine(frame, promise, source.hierarchies, manifest) if has_lowest_levels else None,
    )


def _knowing_columns(n_columns: int, released: Labelled, original: Labelled, *, is_several: bool) -> Adversary:
    """Return the adversary who knows 1, 2, ... quasi-identifiers, of one record where a patient has several."""
    of = " of one record" if is_several else ""
    some = [KnowledgeStep(f"{n} {QI}{'s' if n > 1 else ''}{of}", n) for n in range(1, n_columns)]
    everything = KnowledgeStep((f"all {n_columns} {QI}s" if n_columns > 1 else f"the {QI}") + of, None)
    return Adversary(
        steps=(*some, everything),
        n_items=np.full(released.own.size, n_columns),
        released=released,
        original=original,
        covers=lambda _target, _known: True,
    )


def _count_patients(groups: Integers, patients: pl.Series) -> Integers:
    """Return how many patients have a record in each group.

    ``groups, patients``: of each record; released ones have the numbers that patients have in their class
    """
    both = pl.DataFrame([pl.Series("group", groups), patients.alias("patient")])
    counted = both.group_by("group").agg(pl.col("patient").n_unique()).sort("group")
    return counted["patient"].cast(pl.Int64).to_numpy()


def _refine(
    frame: pl.DataFrame, promise: Guarantee, hierarchies: Mapping[str, BoundHierarchy], manifest: TableManifest
) -> Refinement:
    """Return what follows for somebody who knows the rules by which the method chose the labels of classes."""
    shown = {column: number_texts(as_text(frame[column])) for column in promise.levels}
    labels, sizes, _ = group_rows([numbers for _, numbers in shown.values()], frame.height)
    by_column = dict(zip(shown, labels, strict=True))
    generalized = [column for column in shown if column not in promise.averaged]
    rules, is_merged = manifest.guarantee.rules, manifest.settings.merge_bound is not None
    is_by_size = all(isinstance(rule, KAnonymity) for rule in rules) and not promise.averaged and not is_merged
    classes = ShownClasses(
        sizes,
        {column: by_column[column] for column in generalized},
        {column: shown[column][0] for column in generalized},
        {column: hierarchies[column] for column in generalized},
        {column: promise.recoded.get(column, (promise.levels[column],)) for column in generalized},
    )
    return refine(classes, manifest.method, max(rule.class_size for rule in rules) if is_by_size else None)


def read_released(folder: Path, manifest: TableManifest, promise: Guarantee) -> pl.DataFrame:
    """Return the released records without the rows of suppressed records."""
    if manifest.table is not None:
        raise InputError(
            "The records of this release are in a database, and attacks look at files. Write the protected table to a "
            "file, and simulate on a release that is made of files."
        )
    (frame,) = read_tables(folder, manifest).values()
    if not promise.stars:
        return frame
    others = [as_text(frame[column]) == ROOT for column in promise.columns if column != promise.id]
    is_suppressed = np.logical_and.reduce([column.fill_null(False).to_numpy() for column in others])
    return frame.filter(~pl.Series(is_suppressed))


def _released_records(
    frame: pl.DataFrame,
    promise: Guarantee,
    hierarchies: Mapping[str, BoundHierarchy],
    known: Sequence[tuple[list[str | None], Integers]],
    rows: Integers,
) -> tuple[Labelled, Integers]:
    shown = [number_texts(as_text(frame[column])) for column in promise.levels]
    labels, sizes, group = group_rows([numbers for _, numbers in shown], frame.height)
    fits: list[list[tuple[int, ...]]] = []
    nearest = {}
    for place, (column, highest) in enumerate(promise.levels.items()):
        values, texts = known[place][0], shown[place][0]
        if column in promise.averaged:
            is_mode = promise.averaged[column] == MODE
            number = {one: float(at) for at, one in enumerate({*texts, *values} - {None})} if is_mode else {}
            averages, own_numbers = (
                np.array([number.get(text, np.nan) if is_mode else _number(text) for text in some])
                for some in (texts, values)
            )
            nearest[place] = Nearest(averages[labels[place]], own_numbers, 1.0 if is_mode else np.inf)
            fits.append([()] * len(values))
        else:
            levels = promise.recoded.get(column, (highest,))
            fits.append(labels_of(values, hierarchies[column], levels, texts))
    own = np.where(rows >= 0, group[rows] if frame.height else GONE, rows)
    return Labelled(labels, sizes, tuple(numbers for _, numbers in known), tuple(fits), own, nearest), group


def _number(text: str | None) -> float:
    """The number that a cell holds; not a number where it is empty or holds none."""
    try:
        return float("nan") if text is None else float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        return float("nan")


NO_TARGET = -1  # In place of a number of items: the patient is not looked for


@dataclass(frozen=True, eq=False, repr=False)
class InClasses:
    """Chunks inside classes of a table: the adversary knows all quasi-identifiers and some codes."""

    classes: Labelled  # the classes that have codes, one group each
    chunks: InChunks
    place: Integers  # (n_patients,) the patient's place among those with codes

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Search with all quasi-identifiers and some codes of a target, and return the result."""
        who = int(self.place[target])
        candidates = self.chunks.fitting(self.chunks.known_codes(who, known))
        fitting = self.classes.groups(target, range(len(self.classes.labels)))
        candidates[~np.isin(self.chunks.released.class_of, fitting)] = 0
        return self.chunks.match_among(who, candidates)


@dataclass(frozen=True, eq=False, repr=False)
class TableAndCodes:
    """The original table with its codes."""

    table: Labelled  # the records by their quasi-identifiers; its groups are of those alone
    with_codes: TermRecords  # the records that have codes
    # place, records: (n_patients,) the patient's place among these, and the patient at each place
    place: Integers
    records: Integers

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Search with all quasi-identifiers and some codes of a target, and return the result."""
        held = self.records[self.with_codes.groups(int(self.place[target]), known)]
        alike = held[self.table.own[held] == self.table.own[target]]
        return match_of(alike, np.ones(self.place.size, dtype=np.int64), target)


@dataclass(frozen=True, eq=False, repr=False)
class InTerms:
    """Records with terms inside classes of a table: the adversary knows all quasi-identifiers and some codes."""

    classes: Labelled  # all records, by their quasi-identifiers
    group_of: Integers  # (n_rows,) the group of each record
    rows_of: Sequence[Integers]  # the records of each group, ascending
    # with_code, has_term: for each code the records that have a term with it, and their groups
    with_code: Sequence[Integers]
    has_term: Sequence[Integers]
    codes: CodeSets  # of the patients that have any
    place: Integers  # (n_patients,) the patient's place among those with codes
    own: Integers  # (n_patients,) the patient's own record, `GONE` or `NOT_KNOWN`

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Search with all quasi-identifiers and some codes of a target; a code in no term of a class excludes none."""
        fitting = self.classes.groups(target, range(len(self.classes.labels)))
        rows = np.concatenate([*(self.rows_of[group] for group in fitting.tolist()), np.empty(0, dtype=np.int64)])
        begin = int(self.codes.offsets[self.place[target]])
        for code in self.codes.items[begin + np.array(known, dtype=np.int64)].tolist():
            is_shown = np.isin(self.group_of[rows], self.has_term[code])
            rows = rows[~is_shown | np.isin(rows, self.with_code[code])]
        return match_of(rows, np.ones(self.group_of.size, dtype=np.int64), int(self.own[target]))


@dataclass(frozen=True, eq=False, repr=False)
class _OpenedBoth:
    """An opened table whose codes are reduced to their presence, and what adversaries who know codes search."""

    table: OpenedRelease
    reduced: pl.DataFrame  # the original, with codes reduced
    codes: CodeSets  # of the patients that have any
    place: Integers  # (n_patients,) the patient's place among those with codes
    n_codes: Integers  # (n_patients,) of each patient, or `NO_TARGET`
    original: TableAndCodes

    def add_adversary(self, m: int, released: RecordSet) -> OpenedRelease:
        """Return the release with one more adversary, who knows all quasi-identifiers and codes."""
        adversary = Adversary(
            steps=code_steps(m, "all quasi-identifiers and "),
            n_items=self.n_codes,
            released=released,
            original=self.original,
            covers=lambda _target, known: len(known) <= m,
        )
        return replace(self.table, adversaries=(*self.table.adversaries, adversary))


def _open_both(folder: Path, manifest: AnyTableWithCodesManifest, known: Request) -> _OpenedBoth:
    original, column, missing = _read_original(known, manifest), manifest.codes.column, known.words.missing
    reduced = with_presence(original, column, missing)
    opened = _open_reduced(folder, manifest, reduced, known, lambda frame: with_presence(frame, column, missing))
    read = read_codes(original, CodesRequested(column, missing=tuple(missing)), "the original")
    place = np.full(original.height, NO_TARGET, dtype=np.int64)
    place[read.records] = np.arange(read.records.size)
    n_codes = np.full(original.height, NO_TARGET, dtype=np.int64)
    n_codes[read.records] = np.diff(read.codes.offsets)
    table = opened.adversaries[0].original
    assert isinstance(table, Labelled)
    searched = TableAndCodes(table, as_recorded(read.codes), place, read.records)
    return _OpenedBoth(opened, reduced, read.codes, place, n_codes, searched)


def open_table_with_codes(folder: Path, manifest: TableWithCodesManifest, known: Request, _seed: int) -> OpenedRelease:
    """Open a release of a table with a column of disassociated codes."""
    both = _open_both(folder, manifest, known)
    released = read_clusters(folder / CLUSTERS)
    shown = pl.DataFrame(released.classes, schema=dict.fromkeys(released.class_columns, pl.String), orient="row")
    source = source_of(Tally(both.reduced), manifest, known.hierarchies, shown)
    unknown = np.full(both.codes.n_records, NOT_KNOWN, dtype=np.int64)  # who is in which cluster is not released
    clusters = InChunks(released, both.codes, unknown)
    classes = _classes(released, both.reduced, guarantee_of(manifest), source.hierarchies)
    return both.add_adversary(released.m, InClasses(classes, clusters, both.place))


def open_table_with_terms(folder: Path, manifest: TableWithTermsManifest, known: Request, _seed: int) -> OpenedRelease:
    """Open a release of a table with a column of generalized codes."""
    both, promise, column = _open_both(folder, manifest, known), guarantee_of(manifest), manifest.codes.column
    table, traces = both.table.adversaries[0].released, both.table.traces
    assert isinstance(table, Labelled)
    assert traces is not None
    frame = read_released(folder, manifest, promise)
    terms = ReleasedTerms.of(frame, column, [name for name in promise.levels if name != column])
    numbers = pl.DataFrame({"code": pl.Series(both.codes.vocabulary), "number": np.arange(both.codes.n_codes)})
    held = terms.held.join(terms.members, on=["class", "term"]).join(numbers, on="code").sort("row")
    code, row, n_codes = held["number"].to_numpy(), held["row"].cast(pl.Int64).to_numpy(), both.codes.n_codes
    group_of = traces.groups
    having = InTerms(
        table,
        group_of,
        postings(group_of, np.arange(group_of.size), table.sizes.size),
        postings(code, row, n_codes),
        postings(code, group_of[row], n_codes),
        both.codes,
        both.place,
        traces.numbers,
    )
    opened = both.add_adversary(manifest.codes.settings.m, having)
    shown = as_text(frame[column]).str.replace_all(r"[()]", "").str.replace_all(BETWEEN, " ", literal=True)
    recorded = {**traces.recorded, column: shown.str.split(" ")}
    return replace(opened, traces=replace(traces, recorded=recorded))


def _classes(
    released: Disassociation, frame: pl.DataFrame, promise: Guarantee, hierarchies: Mapping[str, BoundHierarchy]
) -> Labelled:
    labels, values, fits = [], [], []
    for place, column in enumerate(released.class_columns):
        texts, own = number_texts(pl.Series([row[place] for row in released.classes], dtype=pl.String))
        known, numbers = number_texts(as_text(frame[column]))
        labels.append(own)
        values.append(numbers)
        if column in promise.averaged:  # an average may be that of any number
            fits.append([tuple(range(len(texts)))] * len(known))
        else:
            levels = promise.recoded.get(column, (promise.levels[column],))
            fits.append(labels_of(known, hierarchies[column], levels, texts))
    sizes = np.ones(len(released.classes), dtype=np.int64)
    nobody = np.full(frame.height, NOT_KNOWN, dtype=np.int64)
    return Labelled(tuple(labels), sizes, tuple(values), tuple(fits), nobody)
