"""A table as a shape: from settings to a request, and what is done with it in memory, with codes or on an engine."""

import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from cloister.engines.choice import check_table_name, check_word, choose_engine, is_database
from cloister.engines.relation import names_of
from cloister.errors import InputError, setting
from cloister.io import CodeColumns, Source
from cloister.jobs.job import FileSource, Job, Part
from cloister.manifests import AnyManifest, typed
from cloister.privacy import KAnonymity
from cloister.reading import how_read, reading_of
from cloister.release import Release
from cloister.settings import Keywords
from cloister.shape import Original, Prepared, Rows, Run
from cloister.sources import read_table
from cloister.tabular.checking.rule_sources import read_rule
from cloister.tabular.data import Ids, TableRequest
from cloister.tabular.encode import encode, with_cut_points
from cloister.tabular.manifest import TableManifest
from cloister.tabular.options import FULL_DOMAIN, PURPOSES, TableOptions
from cloister.tabular.recoding.choice import check_levels
from cloister.tabular.release import TableRelease
from cloister.tabular.settings import parse_ids, requested

from .disclosing import accepted_as_recorded
from .grids import KeyedShape
from .places import IN_MEMORY, custody_of, release_at
from .table_words import (
    averages,
    list_values,
    notes_on_decimals,
    quasi_identifiers,
    rows_of,
    weights_by_column,
    whole_levels,
)
from .tables import protect_table

if TYPE_CHECKING:
    from cloister.table_with_codes.data import CodesRequested


@dataclass(frozen=True, kw_only=True)
class JoinedOptions(TableOptions):
    """The settings of a table whose codes are those of another source."""

    codes_from: FileSource


class TableShape(KeyedShape[TableOptions]):
    """One row a patient."""

    name = "table"
    usual_grid: Mapping[str, Sequence[str]] = MappingProxyType({"purpose": PURPOSES})
    reading: tuple[str, ...] = ()

    def check(self, options: TableOptions) -> None:
        """Refuse engines and names of tables that there are not."""
        check_word(options.engine)
        if options.table is not None:
            if not is_database(options.engine):
                raise InputError(
                    f"{setting('table')} names a table in a database. Give the address of the database as "
                    f"{setting('engine')}, too."
                )
            check_table_name(options.table)

    def read(self, options: TableOptions) -> Source:
        """Read the table into memory, with the codes that are to be joined to it."""
        table = read_table(options.data, **how_read(options))
        return _with_codes(table, options, options.codes_from) if isinstance(options, JoinedOptions) else table

    def of_part(self, earlier_notes: Keywords, part: Part, job: Job, path: Path) -> TableOptions:
        """Return the settings of a part of a job; ``codes`` may name another source."""
        options = super().of_part(earlier_notes, part, job, path)
        if options.codes is None or options.codes not in job.sources:
            return options
        if options.engine not in ("auto", "memory"):
            raise InputError(f"A table with a source of codes needs its rows. Give {IN_MEMORY}, or leave it out.")
        return JoinedOptions(**vars(replace(options, engine="memory")), codes_from=job.sources[options.codes])

    def prepare(self, options: TableOptions, run: Run, read: Source | None = None) -> Prepared:
        """Look up what is asked, of a table in memory, or of one that an engine counts where it is."""
        if read is not None:
            return PreparedTable(options, run, read)
        is_auto = options.engine == "auto"
        if is_auto and options.encoding is not None:  # DuckDB reads UTF-8
            return self._in_memory(options, run)
        chosen = choose_engine(options.engine, options.data, _needs_rows(options))
        why = () if chosen.why is None else (chosen.why,)
        if chosen.where == "memory":
            return self._in_memory(options, run, why)
        from .table_engines import PreparedOnEngine, opened  # SQL is loaded only for that

        try:
            with run.watch.stage("read"):
                table = run.engines.enter_context(opened(options, chosen))
        except InputError:
            if not is_auto:
                raise
            return self._in_memory(options, run)  # which reads more, or says more of what is wrong
        request, notes = request_of(options, names_of(table.engine.columns), is_counted=True)
        return PreparedOnEngine(options, run, table, request, (*why, *table.notes, *notes))

    def _in_memory(self, options: TableOptions, run: Run, why: Sequence[str] = ()) -> Prepared:
        with run.watch.stage("read"):
            source = self.read(options)
        return PreparedTable(options, run, source, why)


class PreparedTable(Prepared):
    """A table in memory, with or without a column of codes."""

    def __init__(self, options: TableOptions, run: Run, source: Source, why: Sequence[str] = ()) -> None:
        self.options, self.run, self.source = options, run, source
        request, notes = request_of(options, source.frame.columns)
        self.request = with_cut_points(request, source.frame)
        self.earlier_notes = [*why, *source.notes, *notes, *notes_on_decimals(self.request, source.frame)]
        self.how_read = source.notes
        missing = () if isinstance(options, JoinedOptions) else tuple(options.missing)
        self.codes = _codes_requested(options, missing)
        hierarchies = {column: wanted.hierarchy for column, wanted in self.request.quasi_identifiers.items()}
        self.original = Original(source.frame, hierarchies, missing=missing)
        self.recorded = (*self.request.sensitive, *self.request.keep)

    def protect(self) -> Release:
        """Take the table through the stages; values without a place in their hierarchy are listed if asked for."""
        run, options = self.run, self.options
        run.compiling(self.request.kernels, "the method")
        protecting: Callable[..., Release] = protect_table
        if self.codes is not None:  # what a column of codes takes more is loaded only for that
            from .tables_with_codes import protect_table_with_codes

            protecting = partial(protect_table_with_codes, asked=self.codes)
        try:
            with run.voice.searching() as progress:
                return protecting(
                    self.source,
                    self.request,
                    seed=options.seed,
                    progress=progress,
                    watch=run.watch,
                    custody=custody_of(options.data, options.custodian_dir),
                )
        except InputError:
            frame = self.source.frame
            list_values(options, self.request, frame.columns, frame.get_column)
            raise

    def check(self) -> None:
        """Raise what protecting would raise before its search."""
        source, request, codes = self.source, self.request, self.codes
        if codes is None:
            encoded = encode(source.frame, request, source.name)
            accepted_as_recorded(encoded, request, source.name)
            if request.levels is not None:
                check_levels(encoded.problem, request.levels)
            return
        from cloister.table_with_codes.data import asking_presence, check_column, k_of, read_codes, with_presence

        codes.request(k_of(request))
        check_column(source.frame, request, codes, source.name)
        read_codes(source.frame, codes, source.name)
        reduced = with_presence(source.frame, codes.column, codes.missing)
        encode(reduced, asking_presence(request, codes.column), source.name)

    def notes(self, release: Release, _manifest: AnyManifest) -> list[str]:
        """Return what was taken for granted, and what says nothing."""
        return [*self.earlier_notes, *(release.notes if isinstance(release, TableRelease) else ())]

    def request_in_words(self) -> Rows:
        """Return what would be done."""
        return rows_of(self.request, f"{self.source.frame.height:,}", self.codes)


def _with_codes(table: Source, options: TableOptions, source: FileSource) -> Source:
    """The table, and the codes of another source in one more column."""
    from cloister.codesets.data import read_given

    from .tables_with_codes import with_codes

    assert options.codes is not None
    given = read_given(
        source.data(options.codes),
        CodeColumns(source.id),
        repeats=False,
        drop_empty=True,
        **how_read(source),
    )
    return with_codes(table, options.id, given.codes, options.codes, given.name)


def _needs_rows(options: TableOptions) -> str | None:
    """The first option that needs the rows of the table; None if nothing was asked for that does."""
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
    """What is asked of a column of codes, which is loaded only for that."""
    of_codes = ("m", "policy", "max_cluster_size", "merge_bound")
    given = [setting(name) for name in of_codes if getattr(options, name) is not None]
    if options.codes is None:
        if given:
            raise InputError(
                f"{', '.join(given)}: for a column of codes only. Name it with {setting('codes')}, or leave it out."
            )
        return None
    from cloister.table_with_codes.data import CodesRequested

    m = 2 if options.m is None else options.m
    return CodesRequested(options.codes, m, options.policy, missing, options.max_cluster_size)


def request_of(
    options: TableOptions, columns: Sequence[str], *, is_counted: bool = False
) -> tuple[TableRequest, list[str]]:
    """Return the request that settings state, and what the user should know of how it was found; see `requested`."""
    found = quasi_identifiers(options.quasi_identifiers, options.hierarchies, options.data, columns, options.missing_as)
    notes = list(found.notes)
    # population tables are read as the table is
    rules = [read_rule(str(rule), missing_as=options.missing_as, **how_read(options)) for rule in options.rules]
    ids, key = _ids(options.ids)
    if key is not None:
        notes.append("ids are keyed hashes: releases made with the same key can be linked")
    looked_up = {
        "quasi_identifiers": found.by_column,
        "rules": (KAnonymity(options.k), *rules),
        "weights": weights_by_column(options.weights, columns),
        "levels": _levels(options, columns),
        "microaggregate": averages(options.microaggregate, columns),
        "ids": ids,
        "id_key": key,
    }
    return requested(vars(options) | looked_up, is_counted=is_counted), notes


def _levels(options: TableOptions, columns: Sequence[str]) -> dict[str, int] | None:
    """The fixed transformation, if one was given."""
    if options.levels and options.levels_from is not None:
        raise InputError(
            f"{setting('levels')} and {setting('levels_from')} both fix the transformation. Give one of them."
        )
    if options.levels:
        return whole_levels(options.levels, columns)
    if options.levels_from is None:
        return None
    earlier = typed(release_at(options.levels_from))
    if not isinstance(earlier, TableManifest) or earlier.method != FULL_DOMAIN:
        raise InputError(
            f"The release {options.levels_from.name} has levels that differ between classes; none can be like it. "
            "Take a release by full-domain generalization.",
            file="release.json",
        )
    if earlier.search is None:
        raise InputError(f"The release {options.levels_from.name} states no levels to be like.", file="release.json")
    return earlier.search.levels


def _ids(text: str) -> tuple[Ids, bytes | None]:
    choice, _, file = text.partition(":")
    ids = parse_ids(choice)
    if (ids is Ids.HMAC) != bool(file):
        raise InputError(
            f"Keyed ids need the file of the key, as in {setting('ids', 'hmac:KEYFILE')}; other ids take none."
        )
    return ids, _key(Path(file)) if file else None


def _key(path: Path) -> bytes:
    """Read a secret key that nobody else can read."""
    try:
        status, key = path.stat(), path.read_bytes()
    except OSError:
        status, key = None, b""
    if status is None:
        raise InputError(f"The key file {path.name} cannot be read.", file=path.name)
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(f"The key file {path.name} can be read by others. Set its mode to 0600.", file=path.name)
    return key
