"""Data for pages: read once for all pages, columns summarized, values masked; the library computes the figures."""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import polars as pl

from cloister.errors import InputError, NoSafeRelease
from cloister.evidence.column import Column, Guess
from cloister.evidence.hierarchies import propose_hierarchy
from cloister.evidence.table import guess_table
from cloister.exploration.running import files_named
from cloister.hierarchy import CutHierarchy, Hierarchy, preview
from cloister.hierarchy.cut_preview import CountedNumbers, preview_cuts
from cloister.hierarchy.file_hierarchy import LevelPreview
from cloister.io import Source, Tally, as_text, sha256
from cloister.io.query import file_of, is_address, is_file_of_sql
from cloister.jobs.job import FileSource, Job
from cloister.jobs.running import JobRun, options_of
from cloister.jobs.wording import in_keys
from cloister.pipeline.table_shape import rows_where_it_runs
from cloister.pipeline.tables import TableInMemory
from cloister.release.figures import band_sizes
from cloister.release.head import MANIFEST
from cloister.results import SearchResult
from cloister.risk.determination import PREVIEWED, preview_revealing
from cloister.risk.prosecutor import group
from cloister.risk.safe_harbor import IdentifierSign, look_for_identifiers
from cloister.risk.special_uniques import Separation, separation_of
from cloister.search import load_kernels, search
from cloister.search.problem import Candidate, SearchProblem
from cloister.settings.reading import how_read
from cloister.shapes.protocol import Protection, Rows, Run, shape_of
from cloister.shapes.table.format.facts import class_sizes
from cloister.shapes.table.format.options import FULL_DOMAIN, TableOptions
from cloister.shapes.table.method.data import EncodedTable, TableRequest
from cloister.shapes.table.method.encode import encode, with_packed
from cloister.sources import Form, parse_profile, read_table

from .job_state import JobState, version_of

Made = TypeVar("Made")
KEPT, MOST_FIGURES = 6, 500
"""Tables that are kept, and figures about them."""

SEARCH_S = 1.0
"""For the transformation that levels by hand begin with."""

MOST_DRAWN, MOST_COUNTED = 2_000, 20_000_000
"""Transformations that are drawn and listed together, and records counted for that."""

MEASURED_BY = (
    *("shape", "source", "name", "k", "qi", "hierarchies", "missing_as", "rule", "suppression", "loss", "weight"),
    *("purpose", "patient", "drop", "sensitive", "keep", "undecided", "accept"),
)
"""Keys of a part that say what a transformation gives; methods of other kinds have none."""

SAMPLE = 8
"""Records that are shown, as shapes or as they are."""

SHAPES = ((r"[\p{L}--\p{Lu}]", "a"), (r"\p{Lu}", "A"), (r"\p{N}", "9"))
"""Patterns of letters and digits, and the characters that mask them."""


@dataclass(frozen=True)
class ColumnFacts:
    """A summary of a column: suggested role, distinct values, records without a value, records with a unique value."""

    name: str
    guess: Guess | None = None
    distinct: int = 0
    missing: int = 0
    alone: float = 0.0
    kind: str = ""
    bars: tuple[int, ...] = ()  # records by values, as a small picture shows them
    forms: tuple[str, ...] = ()
    signs: tuple[IdentifierSign, ...] = ()

    @property
    def suggestion(self) -> str | None:
        """The role that evidence suggests; None where there is none, or it is not sure."""
        return None if self.guess is None or self.guess.sureness == "not sure" else self.guess.role


@dataclass(frozen=True)
class FirstRecords:
    """The first records of a file, and figures about its columns."""

    name: str
    stamp: str  # of the file as it was then; another one says that the file changed
    records: int
    columns: tuple[ColumnFacts, ...]
    cells: tuple[tuple[str, ...], ...]  # of the first records, as shapes unless values were asked for
    notes: tuple[str, ...]
    problem: str


@dataclass(frozen=True)
class Measurable:
    """A table with encoded values, ready for measuring transformations."""

    key: str  # what it was made of
    table: EncodedTable
    # the best transformation found in a moment, with what is proven of it; None if none is safe
    best: SearchResult | None

    @property
    def most(self) -> int:
        """The number of transformations that can be measured while the user waits."""
        return max(1, min(MOST_DRAWN, MOST_COUNTED // max(1, self.table.problem.task.rows.records.size)))

    @property
    def around_best(self) -> tuple[list[int], list[int]]:
        """Bounds of the complete lattice, or of a part around the best transformation that can be measured in time."""
        problem = self.table.problem
        whole = problem.lowest.tolist(), list(problem.top)
        if problem.lattice <= self.most:
            return whole
        low = list(problem.top if self.best is None else (self.best.levels[name] for name in problem.names))
        high = list(low)
        for place in range(len(low)):
            wider = low.copy(), high.copy()
            wider[0][place] = max(low[place] - 1, whole[0][place])
            wider[1][place] = min(high[place] + 1, whole[1][place])
            if count_between(*wider) <= self.most:
                low, high = wider
        return low, high


class DataRead:
    """A cache of the last data read, with one lock: file names are relative to a job's folder, one job at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: OrderedDict[str, object] = OrderedDict()
        self._figures: OrderedDict[str, object] = OrderedDict()
        self._lock = threading.RLock()
        self._revealing = threading.Lock()

    @contextmanager
    def at(self, folder: Path) -> Iterator[None]:
        """Change to the folder of a job for the block."""
        with self._lock, chdir(folder):
            yield

    def _once(self, key: str, make: Callable[[], Made], *, is_small: bool = False) -> Made:
        """What was made for a key, or is made now; those not asked for longest are forgotten."""
        kept, most = (self._figures, MOST_FIGURES) if is_small else (self._made, KEPT)
        if key not in kept:
            kept[key] = make()
        kept.move_to_end(key)
        while len(kept) > most:
            kept.popitem(last=False)
        return cast("Made", kept[key])

    def source(self, folder: Path, called: str, source: FileSource, form: Form = "table") -> Source:
        """Return the data of a source; read it only once while its file stays the same."""
        with self.at(folder):
            self._confine_source(source, folder)
            key = f"source {form} {stamp_of(folder, source)}"
            return self._once(key, lambda: read_table(source.data(called), form, **how_read(source)))

    def sample(
        self,
        folder: Path,
        called: str,
        source: FileSource,
        form: Form = "table",
        *,
        values: bool = False,
        figures: bool = True,
    ) -> FirstRecords:
        """Return the first records of a source and, if requested, figures about its columns."""
        read = self.source(folder, called, source, form)
        columns, problem = tuple(ColumnFacts(name) for name in read.frame.columns), ""
        with self.at(folder):
            stamp = stamp_of(folder, source)
            if figures:
                make = partial(_columns, read, form)
                columns, problem = self._once(f"columns {form} {stamp}", make, is_small=True)
        head = pl.DataFrame([as_text(column) for column in read.frame.head(SAMPLE)])
        shown = head if values else pl.DataFrame([shapes_in(column) for column in head])
        cells = tuple(tuple("" if cell is None else cell for cell in row) for row in shown.iter_rows())
        return FirstRecords(
            read.name, stamp, read.frame.height, columns, cells, tuple(map(in_keys, read.notes)), problem
        )

    def levels(self, state: JobState, part: str, column: str) -> tuple[LevelPreview, ...]:
        """Return a preview of the levels of a quasi-identifier."""
        with self.at(state.path.parent):
            source = state.job.sources[state.job.parts[part].sources["source"]]

            def make() -> tuple[LevelPreview, ...]:
                table, request = self._table(state, part)
                hierarchy = request.quasi_identifiers[column].hierarchy
                records = self.counts(table.frame[column], stamp)
                if isinstance(hierarchy, CutHierarchy):
                    key = f"numbers {column} {stamp}"
                    counted = self._once(key, lambda: CountedNumbers.of(records), is_small=True)
                    found = None if counted is None else preview_cuts(hierarchy, counted, column)
                    if found is not None:
                        return found
                return preview(hierarchy, {value or None: count for value, count in records.items()}, column)

            stamp = stamp_of(state.path.parent, source)
            key = f"levels {column} {version_of(state.text)} {stamp}"
            return self._once(key, make, is_small=True)

    def remember(self, key: str, make: Callable[[], Made]) -> Made:
        """Return what was made for a key, or is made now; a key says all that it is made of."""
        with self._lock:
            return self._once(key, make, is_small=True)

    def counts(self, column: pl.Series, stamp: str) -> Mapping[str, int]:
        """Return the records of each value of a column as text; "" is missing. ``stamp``: of its file."""

        def make() -> Mapping[str, int]:
            return dict(as_text(column).fill_null("").value_counts(sort=False, name="records").iter_rows())

        return self.remember(f"counts {column.name} {stamp}", make)

    def propose(self, folder: Path, called: str, source: FileSource, column: str) -> str:
        """Return the hierarchy that the content of a column suggests."""
        read = self.source(folder, called, source)
        with self.at(folder):
            key = f"proposed {column} {stamp_of(folder, source)}"
            return self._once(key, lambda: propose_hierarchy(read.frame[column]), is_small=True)

    def together(self, folder: Path, called: str, source: FileSource, columns: Sequence[str]) -> Separation | None:
        """Return how well some columns together distinguish records; None for no column."""
        read = self.source(folder, called, source)
        known = [column for column in columns if column in read.frame.columns]
        if not known:
            return None
        with self.at(folder):
            key = f"together {stamp_of(folder, source)} {known}"

            def make() -> Separation:
                return separation_of(group(pl.DataFrame([as_text(read.frame[column]) for column in known]), known))

            return self._once(key, make, is_small=True)

    def find_revealing(
        self, folder: Path, called: str, source: FileSource, columns: Sequence[str], *, is_awaited: bool
    ) -> list[tuple[str, tuple[str, ...]]] | None:
        """Return the sets of columns that reveal each of some columns; None if nobody waits and it is not known."""
        read = self.source(folder, called, source)
        with self.at(folder):
            keys = {name: f"revealing {name} {stamp_of(folder, source)}" for name in columns}
        if not all(key in self._figures for key in keys.values()):
            if not is_awaited:
                return None
            with self._revealing:  # one search at a time, for which other pages do not wait
                some = read.frame.gather_every(1 + read.frame.height // PREVIEWED)
                texts = pl.DataFrame([as_text(column) for column in some])
                for name in (name for name, key in keys.items() if key not in self._figures):
                    self.remember(keys[name], partial(list, preview_revealing(texts, name)))
        return [(name, one) for name, key in keys.items() for one in self.remember(key, list[tuple[str, ...]])]

    def _confine_source(self, source: FileSource, folder: Path) -> None:
        """Refuse a file of data, of SQL or of a database that lies outside; called in the folder of the job."""
        texts = [source.file, *([source.query] if source.query and is_file_of_sql(source.query) else [])]
        if any(not path.resolve().is_relative_to(self.folder) for path in files_named(texts, folder)):
            raise InputError("The file of this job is outside this folder. Run the job from the command line.")
        if source.url is not None:
            confine_address(source.url, folder, self.folder)

    def confine(self, job: Job, folder: Path, also: Sequence[str] = ()) -> None:
        """Refuse a job that reads or writes a file outside the folder of the application.

        ``also``: further words that may name files
        """
        named: list[Path] = []
        with self.at(folder):
            for part in job.parts.values():
                for called in part.sources.values():
                    self._confine_source(job.sources[called], folder)
                engine = str(part.keywords.get("engine", ""))
                if is_address(engine):
                    confine_address(engine, folder, self.folder)
                named += files_named({key: one for key, one in part.keywords.items() if key != "engine"}, folder)
                named += [value for value in part.options().values() if isinstance(value, Path)]
            named += files_named(list(also), folder)
            outside = [path.name for path in named if not path.resolve().is_relative_to(self.folder)]
        if outside:
            raise InputError(
                f"The job names {outside[0]}, which is outside this folder. Move it here, open the folder around "
                "both, or run the job from the command line."
            )

    def prepared(self, state: JobState, part: str, job: Job | None = None) -> Protection:
        """Prepare the run of a part of a job, as saved or as edited."""
        job = job or state.job
        own, folder = job.parts[part], state.path.parent
        self.confine(job, folder)
        with self.at(folder):
            options = options_of(JobRun(job, state.path, folder / job.output), part)
            shape = shape_of(own.shape)
            shape.check(options)
            if type(options) is not TableOptions:
                return shape.prepare(options, Run())
            called = own.sources["source"]
            read = self.source(folder, called, job.sources[called])
            if not options.escape_formulas:  # else each page would pack the texts of a million rows again
                quasi = sorted(own.keywords.get("qi", {}))
                key = f"packed {quasi} {stamp_of(folder, job.sources[called])}"
                read = self._once(key, lambda: replace(read, frame=with_packed(read.frame, quasi)))
            return shape.prepare(replace(options, engine="memory"), Run(), read)

    def announce(self, state: JobState, part: str, prepared: Protection) -> Rows:
        """Describe the run in words, with its engine and its method."""
        with self.at(state.path.parent):
            options = options_of(JobRun(state.job, state.path, state.path.parent / state.job.output), part)
            if isinstance(options, TableOptions) and isinstance(prepared, TableInMemory):
                return rows_where_it_runs(options, prepared.source, prepared.summary)
            return prepared.summary

    def _table(self, state: JobState, part: str) -> tuple[Source, TableRequest]:
        prepared = self.prepared(state, part)
        if not isinstance(prepared, TableInMemory):
            raise InputError("This page is about tables that are read into memory.")
        return prepared.source, prepared.request

    def class_sizes(self, state: JobState, part: str) -> tuple[str, Mapping[str, int]] | None:
        """Return the class sizes of the table of a part as recorded, in bands, with the stamp of its file.

        None for another shape. A release counts patients, as here, where its ids distinguish them.
        """
        job = state.job
        if job.parts[part].shape != "table":
            return None
        with self.at(state.path.parent):
            table, request = self._table(state, part)
            patient = request.patients.column if request.patients and request.id else None
            sizes = class_sizes(Tally(table.frame), list(request.quasi_identifiers), patient)
            stamp = stamp_of(state.path.parent, job.sources[job.parts[part].sources["source"]])
            return stamp, band_sizes(sizes, members=True)

    def compare(
        self, state: JobState, part: str, release: Path, make: Callable[[pl.DataFrame, dict[str, Hierarchy]], Made]
    ) -> Made:
        """Apply ``make`` to the table of a release and its hierarchies; only once while both are unchanged."""
        source = state.job.sources[state.job.parts[part].sources["source"]]

        def made() -> Made:
            table, request = self._table(state, part)
            quasi = request.quasi_identifiers
            return make(table.frame, {name: one.hierarchy for name, one in quasi.items()})

        with self.at(state.path.parent):
            stamp = f"{stamp_of(state.path.parent, source)} {sha256(release / MANIFEST)}"
            return self._once(f"compare {part} {version_of(state.text)} {stamp}", made)

    def check(self, state: JobState, part: str) -> None:
        """Raise the errors of protecting a part that can be found without protecting it."""
        with self.at(state.path.parent):
            self.prepared(state, part).check()

    def measurable(self, state: JobState, part: str) -> Measurable:
        """Return the table of a part, ready for measuring any levels; prepare it only once while nothing changes."""
        job = state.job
        of_job = state.section(part)
        section = {key: value for key, value in of_job.items() if key in MEASURED_BY} | {"method": FULL_DOMAIN}
        if "codes" in of_job:
            section["drop"] = [*section.get("drop", []), of_job["codes"]]
        changed = state.with_content(state.with_section(part, section))
        source = job.sources[job.parts[part].sources["source"]]
        with self.at(state.path.parent):
            key = f"measurable {part} {version_of(changed.text)} {stamp_of(state.path.parent, source)}"

            def make() -> Measurable:
                read, request = self._table(changed, part)
                load_kernels(request.kernels)
                table, best = encode(read.frame, request, read.name), None
                with suppress(NoSafeRelease):
                    best = search("optimal", table.problem, time_limit=SEARCH_S)
                return Measurable(key, table, best)

            return self._once(key, make)

    def between(self, found: Measurable, low: Sequence[int], high: Sequence[int]) -> tuple[Candidate, ...] | None:
        """Measure every transformation between two; return None if there are too many to wait for."""
        if count_between(low, high) > found.most:
            return None
        problem = replace(found.table.problem, lowest=np.array(low), highest=np.array(high))

        def make() -> tuple[Candidate, ...]:
            return tuple(problem.measure(levels) for levels in problem.transformations())

        with self._lock:
            return self._once(f"between {found.key} {low} {high}", make)

    def measure(self, problem: SearchProblem, levels: Sequence[int]) -> Candidate:
        """Measure a transformation."""
        with self._lock:
            return problem.measure(levels)


def confine_address(url: str, folder: Path, around: Path) -> None:
    """Refuse a database file, named relative to a folder, outside another folder; any server is allowed."""
    place = file_of(url)
    if place is not None and not (folder / place).resolve().is_relative_to(around):
        raise InputError("The database is outside this folder. Move it here, or use the command line.")


def count_between(low: Sequence[int], high: Sequence[int]) -> int:
    """Count the transformations between two, both included; 0 if the first is higher in any column."""
    return math.prod(max(0, most - least + 1) for least, most in zip(low, high, strict=True))


def stamp_of(folder: Path, source: FileSource) -> str:
    """Return a stamp of a source that changes when its file or its reading settings change."""
    collection = None if source.url is not None else parse_profile(source.file)
    files = [folder / source.file] if collection is None else [folder / file for file in collection.files()]
    parts = [str(folder), str(source.url), str(source.query)]
    if source.url is not None:  # what a server gave is read once while the application runs
        path = folder / (file_of(source.url) or "")
        files = [file for file in (path, path.with_name(f"{path.name}.wal")) if file.is_file()]
        files += [folder / source.query] if source.query and is_file_of_sql(source.query) else []
    for file in files:
        try:
            status = file.stat()
            parts.append(repr((str(file), status.st_mtime_ns, status.st_size, status.st_ino)))
        except OSError:
            raise InputError(f"{file.name} is not there any more. Choose another file.", file=file.name) from None
    return version_of(repr(source) + repr(parts))


def shapes_in(text: pl.Series) -> pl.Series:
    """Mask values: A for capitals, a for other letters and 9 for digits."""
    for pattern, letter in SHAPES:
        text = text.str.replace_all(pattern, letter)
    return text


def _columns(read: Source, form: Form) -> tuple[tuple[ColumnFacts, ...], str]:
    """Figures of all columns, and why their roles could not be guessed."""
    guesses, problem = {}, ""
    if form == "table":
        try:
            guesses = {one.column: one for one in guess_table(read.frame, read.name, read.labels).columns}
        except InputError as error:
            problem = str(error)
    texts = pl.DataFrame([as_text(column) for column in read.frame])
    signs = () if form in ("codes", "trajectories") else look_for_identifiers(texts, texts)  # without roles
    n = max(1, texts.height)
    found = []
    for text in texts:
        column = Column.of(text, "")
        shapes = shapes_in(column.values).value_counts(sort=True)
        found.append(
            ColumnFacts(
                text.name,
                guesses.get(text.name),
                column.n_values,
                text.null_count(),
                float((column.records == 1).sum()) / n,
                column.kind,
                tuple(column.distribution()),
                tuple(shapes[shapes.columns[0]].head(3).to_list()),
                tuple(sign for sign in signs if sign.column == text.name),
            )
        )
    return tuple(found), problem
