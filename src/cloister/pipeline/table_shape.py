"""A table as a shape: from settings to a request, and its execution in memory, with codes or on an engine."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import polars as pl

from cloister.engines.choice import ChosenEngine, check_table_name, check_word, choose_engine, is_database
from cloister.errors import InputError, NamedSetting, join_parts, setting
from cloister.exploration.setting_keys import KeyedShape
from cloister.io import CodeColumns, Source, as_text
from cloister.jobs.job import FileSource, Job, Part
from cloister.jobs.linked_columns import RecordedValues
from cloister.release.release import Release
from cloister.settings.declaration import Keywords, check_settings
from cloister.settings.reading import how_read, reading_of
from cloister.shapes.protocol import Original, Prepared, Rows, Run
from cloister.shapes.table.format.options import FULL_DOMAIN, PURPOSES, TableOptions
from cloister.shapes.table.method.encode import encode, with_cut_points, with_packed
from cloister.shapes.table.method.recoding.choice import check_levels
from cloister.sources import read_table

from .output_paths import IN_MEMORY
from .table_refusals import accepted_as_recorded
from .table_request import PreparedRequest, notes_on_decimals, notes_on_method, request_of, rows_if_counted, rows_of
from .tables import protect_table
from .undecided import find_evidence, propose_quasi_identifier, require_decided

if TYPE_CHECKING:
    from cloister.search.problem import Report
    from cloister.shapes.table_with_codes.format.data import CodesRequested


@dataclass(frozen=True, kw_only=True)
class JoinedOptions(TableOptions):
    """The settings of a table whose codes are those of another source."""

    codes_from: FileSource


class TableShape(KeyedShape[TableOptions]):
    """The shape of patients with one row each."""

    name = "table"
    usual_grid: Mapping[str, Sequence[str]] = MappingProxyType({"purpose": PURPOSES})
    reading: tuple[str, ...] = ()

    def check(self, options: TableOptions) -> None:
        """Reject invalid words, seeds, engines and names of tables."""
        check_settings(TableOptions, vars(options))
        check_word(options.engine)
        if options.table is not None:
            if not is_database(options.engine):
                raise InputError(setting("table"), " needs the address of a database as ", setting("engine"))
            check_table_name(options.table)

    def read(self, options: TableOptions) -> Source:
        """Read the table into memory, and join the codes of another source if there is one."""
        table = read_table(options.data, **how_read(options))
        return _with_codes(table, options, options.codes_from) if isinstance(options, JoinedOptions) else table

    def of_part(self, keywords: Keywords, part: Part, job: Job, path: Path) -> TableOptions:
        """Return the settings of a part of a job; ``codes`` may name another source."""
        options: TableOptions = super().of_part(keywords, part, job, path)
        if options.codes is None or options.codes not in job.sources:
            return options
        if options.engine not in ("auto", "memory"):
            raise InputError("A table with a source of codes needs its rows. Give ", IN_MEMORY, ", or leave it out.")
        return JoinedOptions(**vars(replace(options, engine="memory")), codes_from=job.sources[options.codes])

    def prepare(self, options: TableOptions, run: Run, read: Source | None = None) -> Prepared:
        """Build the request, for a table in memory or for a table that an engine counts."""
        if read is not None:
            return PreparedTable(options, run, read)
        is_auto, chosen = options.engine == "auto", engine_of(options)
        why = () if chosen.why is None else (chosen.why,)
        if chosen.where == "memory":
            return self._in_memory(options, run, why)
        from .table_engines import PreparedOnEngine, open_engine  # SQL is loaded only for that

        own = run.engines.enter_context(ExitStack())
        try:
            with run.watch.stage("read"):
                table = own.enter_context(open_engine(options, chosen))
        except InputError:
            if not is_auto:
                raise
            return self._in_memory(options, run)  # which reads more, or says more of what is wrong
        request, notes = request_of(options, [column.name for column in table.engine.columns], is_counted=True)

        def read_instead() -> Prepared:
            own.close()
            return self._in_memory(options, run)

        notes = [*why, *table.notes, *notes, *notes_on_method(options, request, table.engine.name)]
        return PreparedOnEngine(options, run, table, request, notes, read_instead if is_auto else None)

    def frontier(self, options: TableOptions, read: Callable[[TableOptions], object]) -> list[dict[str, object]]:
        """Return k and levels of the Pareto-optimal transformations by risk and loss, without suppression."""
        from cloister.search import load_kernels
        from cloister.search.risk_frontier import risk_frontier

        wanted = replace(options, engine="memory", method=FULL_DOMAIN, k=options.k or 2)
        prepared = PreparedTable(wanted, Run(), cast("Source", read(wanted)))
        load_kernels(prepared.request.kernels)
        problem = encode(prepared.source.frame, prepared.request, prepared.source.name).problem
        found = [one for one in risk_frontier(problem) if one.smallest >= max(2, options.k or 2)]
        if not found:
            raise InputError("No transformation has classes that large with nothing suppressed. Ask for a smaller k.")
        return [{"k": one.smallest, "method": FULL_DOMAIN, "levels": problem.by_name(one.levels)} for one in found]

    def _in_memory(self, options: TableOptions, run: Run, why: Sequence[str] = ()) -> Prepared:
        with run.watch.stage("read"):
            source = self.read(options)
        return PreparedTable(options, run, source, why)


class PreparedTable(PreparedRequest):
    """A table in memory, with or without a column of codes."""

    def __init__(
        self, options: TableOptions, run: Run, source: Source, why: Sequence[str] = (), id_key: bytes | None = None
    ) -> None:
        propose = partial(propose_quasi_identifier, source.frame)
        asked, notes = request_of(options, source.frame.columns, file=source.name, propose=propose, id_key=id_key)
        if not asked.escape_formulas:  # which looks into text
            source = replace(source, frame=with_packed(source.frame, asked.quasi_identifiers))
        request = with_cut_points(asked, source.frame)
        notes = [*why, *source.notes, *notes, *notes_on_decimals(request, source.frame)]
        super().__init__(options, run, request, notes)
        self.source, self.how_read = source, source.notes
        missing = () if isinstance(options, JoinedOptions) else tuple(options.missing)
        self.codes = _codes_requested(options, missing)
        hierarchies = {column: wanted.hierarchy for column, wanted in request.quasi_identifiers.items()}
        self.original = Original(source.frame, hierarchies, missing=missing)

    def protect(self) -> Release:
        """Protect the table, and return the verified release."""
        return self.protect_or_list("the method", self._protect)

    def _protect(self, progress: "Report | None", custody: Mapping[str, object]) -> Release:
        protecting: Callable[..., Release] = protect_table
        if self.codes is not None:  # what a column of codes takes more is loaded only for that
            from .tables_with_codes import protect_table_with_codes

            protecting = partial(protect_table_with_codes, asked=self.codes)
        self.refuse_undecided()
        seed, watch = self.options.seed, self.run.watch
        return protecting(self.source, self.request, seed=seed, progress=progress, watch=watch, custody=custody)

    @property
    def undecided(self) -> dict[str, str]:
        """The columns without a role, with the evidence found in each."""
        return find_evidence(self.source.frame, self.request, self._of_codes)

    @property
    def _of_codes(self) -> list[str]:
        return [] if self.codes is None else [self.codes.column]

    def recorded_values(self) -> RecordedValues | None:
        """Return the columns that are released as recorded; None if patients have several rows."""
        frame, request = self.source.frame, self.request
        columns = [as_text(frame[name]).alias(name) for name in self.recorded if name in frame.columns]
        if not columns or request.patients is not None:
            return None
        return RecordedValues(
            pl.DataFrame(columns), request.k, None if request.id is None else as_text(frame[request.id])
        )

    def refuse_undecided(self) -> None:
        """Reject a table with undecided columns, and list the evidence found in each."""
        require_decided(self.source.frame, self.request, self.source.name, self._of_codes)

    def columns(self) -> Sequence[str]:
        """Return the columns of the table."""
        return self.source.frame.columns

    def values(self, column: str) -> pl.Series:
        """Return the values of a column."""
        return self.source.frame.get_column(column)

    def check(self) -> None:
        """Raise the errors that protection would raise before its search."""
        source, request, codes = self.source, self.request, self.codes
        self.refuse_undecided()
        if codes is None:
            encoded = encode(source.frame, request, source.name)
            accepted_as_recorded(encoded, request, source.name)
            if request.levels is not None:
                check_levels(encoded.problem, request.levels)
            return
        from cloister.shapes.table_with_codes.format.data import read_codes, with_presence
        from cloister.shapes.table_with_codes.method.request import asking_presence, check_column, k_of

        codes.request(k_of(request))
        check_column(source.frame, request, codes, source.name)
        read_codes(source.frame, codes, source.name)
        reduced = with_presence(source.frame, codes.column, codes.missing)
        encode(reduced, asking_presence(request, codes.column), source.name)

    def request_in_words(self) -> Rows:
        """Return a summary of the request, without running it."""
        return rows_of(self.request, f"{self.source.frame.height:,}", self.codes)


def engine_of(options: TableOptions) -> ChosenEngine:
    """Return the engine that protects a table."""
    if options.engine == "auto" and options.encoding is not None:  # DuckDB reads UTF-8
        return ChosenEngine("memory")
    return choose_engine(options.engine, options.data, _needs_rows(options))


def rows_where_it_runs(options: TableOptions, prepared: PreparedTable) -> Rows:
    """Return a summary of the request for a table in memory, for the engine that would protect it."""
    chosen = engine_of(options)
    if chosen.where == "memory":
        return prepared.request_in_words()
    request, _ = request_of(options, prepared.columns(), is_counted=True)
    records = f"{prepared.source.frame.height:,}, counted by {chosen.where}"
    return rows_if_counted(options, request, records, chosen.where)


def _with_codes(table: Source, options: TableOptions, source: FileSource) -> Source:
    """Return the table with the codes of another source in an additional column."""
    from cloister.shapes.codes.data import read_given

    from .tables_with_codes import with_codes

    assert options.codes is not None
    given = read_given(
        source.data(options.codes), CodeColumns(source.id), repeats=False, drop_empty=True, **how_read(source)
    )
    return with_codes(table, options.id, given.codes, options.codes, given.name)


def _needs_rows(options: TableOptions) -> NamedSetting | None:
    """Return the first setting that needs the rows of the table; None if no setting does."""
    needing = [
        setting(name, options.method or "") if name == "method" else setting(name) for name in options.needing_rows()
    ]
    asked = {
        setting("codes"): options.codes is not None,
        setting("escape_formulas"): options.escape_formulas,
        setting("crosswalk"): options.crosswalk is not None,
        setting("attack"): options.attack,
        setting("ids", "hmac"): options.ids.startswith("hmac"),
        **{setting(name): True for name in reading_of(options).cleaning},
    }
    return next(iter([*needing, *(name for name, is_asked in asked.items() if is_asked)]), None)


def _codes_requested(options: TableOptions, missing: tuple[str, ...]) -> "CodesRequested | None":
    """Return the request for a column of codes; its module is loaded only on demand."""
    of_codes = {name: getattr(options, name) for name in ("m", "policy", "max_cluster_size")}
    of_codes |= {"merge_classes": options.merge_bound}
    given = [setting(name) for name, value in of_codes.items() if value is not None]
    if options.codes is None:
        if given:
            raise InputError(
                "Leave out ", join_parts(" and ", given), ", or name a column of codes with ", setting("codes")
            )
        return None
    from cloister.shapes.table_with_codes.format.data import CodesRequested

    m = 2 if options.m is None else options.m
    return CodesRequested(options.codes, m, options.policy, missing, options.max_cluster_size)
