"""A table as a shape: from settings to a request, in memory, with codes or on an engine."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

from cloister.engines.choice import (
    ChosenEngine,
    check_table_name,
    check_word,
    choose_engine,
    is_database,
    name_of_table,
)
from cloister.errors import InputError, NamedSetting, join_parts, setting
from cloister.exploration.setting_keys import KeyedShape
from cloister.io import CodeColumns, Source
from cloister.jobs.job import FileSource, Job, Part
from cloister.settings.declaration import Keywords, check_settings
from cloister.settings.reading import how_read, reading_of
from cloister.settings.run_options import DISASSOCIATION
from cloister.shapes.codes.options import check_method
from cloister.shapes.protocol import Protection, Rows, Run
from cloister.shapes.table.format.options import FULL_DOMAIN, PURPOSES, TableOptions
from cloister.shapes.table.method.data import TableRequest
from cloister.shapes.table.method.encode import encode, with_cut_points, with_packed
from cloister.sources import read_table

from .output_paths import DATA, IN_MEMORY
from .table_request import notes_on_decimals, notes_on_method, request_of, rows_if_counted, rows_of
from .tables import TableProtection
from .undecided import propose_quasi_identifier

if TYPE_CHECKING:
    from cloister.shapes.table_with_codes.format.data import CodesRequested

    from .table_engines import CountedProtection, OpenedTable
    from .tables_with_codes import TableWithCodesProtection, TableWithTermsProtection

AnyTable: TypeAlias = "TableProtection | TableWithCodesProtection | TableWithTermsProtection"


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

    def prepare(self, options: TableOptions, run: Run, read: Source | None = None) -> Protection:
        """Build the request, for a table in memory or for a table that an engine counts."""
        if read is not None:
            return prepare_table(options, read)
        is_auto, chosen = options.engine == "auto", engine_of(options)
        why = () if chosen.why is None else (chosen.why,)
        if chosen.where == "memory":
            return self._in_memory(options, run, why)
        from .table_engines import open_engine  # SQL is loaded only for that

        own = run.engines.enter_context(ExitStack())
        try:
            with run.watch.stage("read"):
                table = own.enter_context(open_engine(options, chosen))
        except InputError:
            if not is_auto:
                raise
            return self._in_memory(options, run)  # which reads more, or says more of what is wrong

        def read_instead(run: Run) -> Protection:
            own.close()
            return self._in_memory(options, run)

        protection = prepare_counted(options, table)
        protection.assumptions = [*why, *protection.assumptions]
        protection.in_memory = read_instead if is_auto else None
        return protection

    def frontier(self, options: TableOptions, read: Callable[[TableOptions], object]) -> list[dict[str, object]]:
        """Return k and levels of the Pareto-optimal transformations by risk and loss, without suppression."""
        from cloister.search import load_kernels
        from cloister.search.risk_frontier import risk_frontier

        wanted = replace(options, engine="memory", method=FULL_DOMAIN, k=options.k or 2)
        table = prepare_table(wanted, cast("Source", read(wanted)))
        load_kernels(table.request.kernels)
        problem = encode(table.source.frame, table.request, table.source.name).problem
        found = [one for one in risk_frontier(problem) if one.smallest >= max(2, options.k or 2)]
        if not found:
            raise InputError("No transformation has classes that large with nothing suppressed. Ask for a smaller k.")
        return [{"k": one.smallest, "method": FULL_DOMAIN, "levels": problem.by_name(one.levels)} for one in found]

    def _in_memory(self, options: TableOptions, run: Run, why: Sequence[str] = ()) -> AnyTable:
        with run.watch.stage("read"):
            source = self.read(options)
        return prepare_table(options, source, why)


def prepare_table(
    options: TableOptions, source: Source, why: Sequence[str] = (), id_key: bytes | None = None
) -> AnyTable:
    """Return a table in memory, with or without a column of codes, and its request.

    ``why``: what is to be noted on the choice of the engine
    """
    propose = partial(propose_quasi_identifier, source.frame)
    asked, notes = request_of(options, source.frame.columns, file=source.name, propose=propose, id_key=id_key)
    if not asked.escape_formulas:  # which looks into text
        source = replace(source, frame=with_packed(source.frame, asked.quasi_identifiers))
    request = with_cut_points(asked, source.frame)
    missing = () if isinstance(options, JoinedOptions) else tuple(options.missing)
    codes = _codes_requested(options, missing)
    protection = _protection_of(options, source, request, codes)
    protection.assumptions = [*why, *source.notes, *notes, *notes_on_decimals(request, source.frame)]
    protection.original = replace(protection.original, missing=missing)
    protection.origin, protection.custodian_dir = {DATA: options.data}, options.custodian_dir
    protection.summary = rows_of(request, f"{source.frame.height:,}", codes)
    return protection


def _protection_of(
    options: TableOptions, source: Source, request: TableRequest, codes: "CodesRequested | None"
) -> AnyTable:
    seed, values = options.seed, options.unmatched_values
    if codes is None:
        return TableProtection(source, request, seed=seed, unmatched_values=values)
    from .tables_with_codes import TableWithCodesProtection, TableWithTermsProtection  # only for a column of codes

    kind = TableWithCodesProtection if codes.method == DISASSOCIATION else TableWithTermsProtection
    return kind(source, request, codes, seed=seed, unmatched_values=values)


def prepare_counted(options: TableOptions, table: "OpenedTable") -> "CountedProtection":
    """Return a table that an engine counts, and its request."""
    from .table_engines import CountedProtection, DatabaseProtection

    engine = table.engine
    request, notes = request_of(options, [column.name for column in engine.columns], is_counted=True)
    if table.database is None:
        protection = CountedProtection(table, request, seed=options.seed)
    else:
        name = options.table or name_of_table(options.out.name)
        protection = DatabaseProtection(table.database, name, request, seed=options.seed)
    protection.assumptions = [*table.notes, *notes, *notes_on_method(options, request, engine.name)]
    protection.unmatched_values = options.unmatched_values
    protection.origin, protection.custodian_dir = {DATA: options.data}, options.custodian_dir
    protection.summary = rows_if_counted(options, request, f"counted by {engine.name}", engine.name)
    return protection


def engine_of(options: TableOptions) -> ChosenEngine:
    """Return the engine that protects a table."""
    if options.engine == "auto" and options.encoding is not None:  # DuckDB reads UTF-8
        return ChosenEngine("memory")
    return choose_engine(options.engine, options.data, _needs_rows(options))


def rows_where_it_runs(options: TableOptions, source: Source, summary: Rows) -> Rows:
    """Return a summary of the request for a table, for the engine that would protect it; ``summary``: in memory."""
    chosen = engine_of(options)
    if chosen.where == "memory":
        return summary
    request, _ = request_of(options, source.frame.columns, is_counted=True)
    records = f"{source.frame.height:,}, counted by {chosen.where}"
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
    of_codes = {name: getattr(options, name) for name in ("m", "codes_method", "policy", "max_cluster_size")}
    of_codes |= {"merge_classes": options.merge_bound}
    given = [setting(name) for name, value in of_codes.items() if value is not None]
    if options.codes is None:
        if given:
            raise InputError(
                "Leave out ", join_parts(" and ", given), ", or name a column of codes with ", setting("codes")
            )
        return None
    from cloister.shapes.table_with_codes.format.data import CodesRequested

    m, method = 2 if options.m is None else options.m, options.codes_method or DISASSOCIATION
    check_method(options, "max_cluster_size", "codes_method", method)
    return CodesRequested(options.codes, m, options.policy, missing, options.max_cluster_size, method=method)
