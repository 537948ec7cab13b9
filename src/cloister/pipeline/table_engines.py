"""Protection of a table that stays in its file or database: an engine counts its records.

A file is written from the tally of its protected records; a database makes the protected table itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import polars as pl

from cloister.engines.choice import ChosenEngine, name_of_table
from cloister.engines.in_database import Database, Making, Recoded, fetch_released, make, n_changed
from cloister.engines.statements import Engine, count_ids, fetch_tally, names_of, unique_share
from cloister.errors import InputError, InternalError, Message, TooLittleMemory, setting
from cloister.io import Tally, as_text
from cloister.io.foreign import interruptible
from cloister.io.query import Query
from cloister.release.folder import TABLE
from cloister.release.release import Release
from cloister.results import Stopwatch
from cloister.search import load_kernels
from cloister.search.problem import Report
from cloister.shapes.protocol import Original, Prepared, Rows, Run
from cloister.shapes.table.format.manifest import DatabasePlace
from cloister.shapes.table.format.options import TableOptions
from cloister.shapes.table.method.data import EncodedTable, Ids, ProtectedTable, Role, TableRequest
from cloister.shapes.table.method.encode import check_ids, encode_columns
from cloister.shapes.table.method.protect import DatabaseRelease, TalliedRelease
from cloister.shapes.table.method.recoding.choice import at_level, check_levels
from cloister.shapes.table.method.roles import resolve_roles
from cloister.shapes.table.method.settings import available_cores
from cloister.shapes.table.verify.elsewhere import verify_there

from .output_paths import IN_MEMORY
from .provenance import require_verified
from .table_request import PreparedRequest, rows_if_counted
from .tables import TableRun, take_encoded

IN_WORDS = {
    "microaggregate": Message("averages (", setting("microaggregate"), ")"),
    "ids": Message("keyed ids (", setting("ids", "hmac"), ")"),
    "merge_bound": "merged classes",
}
"""Settings that need rows, where their names do not say it."""


@dataclass(frozen=True)
class OpenedTable:
    """An open engine over a table."""

    engine: Engine
    format: str = "csv"
    delimiter: str | None = ","
    database: Database | None = None
    notes: Sequence[str] = ()


@contextmanager
def open_engine(options: TableOptions, chosen: ChosenEngine) -> Iterator[OpenedTable]:
    """Yield the chosen engine, over the table that the options name."""
    missing, data = options.missing, options.data
    threads = available_cores() if options.threads is None else options.threads
    if isinstance(data, Query):
        with _database(data, options) as inside:
            yield inside
        return
    if chosen.where == "spark":
        from cloister.engines.spark.tables import SparkFiles, spark_table

        with spark_table(SparkFiles(data, options.encoding, options.delimiter), options.engine, missing) as table:
            yield OpenedTable(table, table.format, table.delimiter)
        return
    from cloister.engines.duckdb import duckdb_file

    with duckdb_file(
        data, delimiter=options.delimiter, encoding=options.encoding, missing=missing, threads=threads
    ) as file:
        yield OpenedTable(file, file.format, file.delimiter)


@contextmanager
def _database(query: Query, options: TableOptions) -> Iterator[OpenedTable]:
    missing = options.missing
    if query.scheme == "duckdb":
        from cloister.engines.duckdb import duckdb_database

        with duckdb_database(query, missing) as inside:
            yield OpenedTable(inside, database=inside)
        return
    from cloister.engines.postgresql import postgresql

    with postgresql(query, missing) as server:
        yield OpenedTable(server, database=server, notes=server.call.notes)


class PreparedOnEngine(PreparedRequest):
    """A table that stays in its file or database, where an engine counts it."""

    def __init__(
        self,
        options: TableOptions,
        run: Run,
        table: OpenedTable,
        request: TableRequest,
        earlier_notes: Sequence[str],
        read_instead: Callable[[], Prepared] | None = None,
    ) -> None:
        """Set ``read_instead``: a function that reads the table into memory, if the user named no engine."""
        refuse_what_needs_rows(request, table.engine.name)
        super().__init__(options, run, request, earlier_notes)
        self.table, self.read_instead = table, read_instead
        self.original = Original(None)

    def protect(self) -> Release:
        """Protect the table by its counts; a database makes the protected table itself."""
        try:
            return self.protect_or_list("the search", self._protect)
        except (TooLittleMemory, MemoryError):
            if self.read_instead is None:
                raise
        name = self.table.engine.name
        self.earlier_notes = (*self.earlier_notes, f"the engine was memory in the end, as {name} had too little of it")
        return self.read_instead().protect()

    def _protect(self, progress: Report | None, custody: Mapping[str, object]) -> Release:
        table, seed, watch = self.table, self.options.seed, self.run.watch
        if table.database is not None:
            name = self.options.table or name_of_table(self.options.out.name)
            return protect_table_in_database(
                table.database, name, self.request, seed=seed, progress=progress, watch=watch, custody=custody
            )
        return protect_counted_table(
            table.engine,
            self.request,
            format=table.format,
            delimiter=table.delimiter,
            seed=seed,
            progress=progress,
            watch=watch,
            custody=custody,
        )

    def columns(self) -> Sequence[str]:
        """Return the columns of the table."""
        return names_of(self.table.engine.columns)

    def values(self, column: str) -> pl.Series:
        """Return the distinct values of a column."""
        return fetch_tally(self.table.engine, [column]).frame[column]

    def check(self) -> None:
        """Raise the errors that protection would raise before its search."""
        counted = count_table(self.table.engine, self.request, released=self.table.database is None)
        problem = encode_columns(counted.tally, counted.roles, self.request).problem
        if self.request.levels is not None:
            check_levels(problem, self.request.levels)

    def request_in_words(self) -> Rows:
        """Return a summary of the request, without running it."""
        name = self.table.engine.name
        return rows_if_counted(self.options, self.request, f"counted by {name}", name)


@dataclass(frozen=True)
class CountedTable:
    """The counted records of a table, with the roles of its columns."""

    tally: Tally  # of the released columns; those that were not counted are in it as missing
    roles: Mapping[str, Role]
    # released columns that were not counted: an id that becomes a number, and what stays where it is
    uncounted: tuple[str, ...] = ()


def refuse_what_needs_rows(request: TableRequest, engine: str) -> None:
    """Reject settings that need rows, as an engine knows only counts of a table."""
    needing = request.needing_rows()
    needing += ["ids"] if request.id is not None and request.ids is Ids.HMAC else []
    needing += ["merge_bound"] if request.merge_bound is not None else []
    if needing:
        words = {**IN_WORDS, "method": f"the method {request.chosen_method}"}
        raise InputError(
            f"The engine {engine} knows counts of a table and not its rows, so that ",
            words.get(needing[0], needing[0].replace("_", " ")),
            " cannot be done with it. Give ",
            IN_MEMORY,
            ", or leave it out.",
        )


def count_table(engine: Engine, request: TableRequest, *, released: bool = True) -> CountedTable:
    """Resolve the roles of a table's columns, and count its records.

    ``released``: whether all released columns are counted; else those alone that hierarchies or rules are about.
    """
    roles = resolve_roles(names_of(engine.columns), request, engine.file, partial(unique_share, engine))
    if request.id is not None:
        found = count_ids(engine, request.id)
        check_ids(
            request.id, engine.file, records=found.records, missing=found.records - found.given, distinct=found.distinct
        )
    judged = {rule.about for rule in request.rules}
    shown = [column for column, role in roles.items() if role is not Role.DROPPED]
    uncounted = tuple(
        column
        for column in shown
        if column == request.id
        or (roles[column] in (Role.SENSITIVE, Role.KEPT) and not released and column not in judged)
    )
    tally = fetch_tally(engine, [column for column in shown if column not in uncounted])
    nothing = [pl.lit(None, dtype=pl.Int64).alias(column) for column in uncounted]
    return CountedTable(tally.replace_rows(tally.frame.with_columns(nothing).select(shown)), roles, uncounted)


@dataclass
class _Made:
    """A protected table in its database."""

    database: Database
    making: Making
    counted: CountedTable
    id_column: str | None
    stays: bool = False

    def stayed(self) -> list[str]:
        """Released columns that were not counted."""
        return [column for column in self.counted.uncounted if column in self.making.columns]

    def stay(self) -> None:
        """Commit it."""
        self.database.commit()
        self.stays = True

    def leave(self) -> None:
        """Remove it, if it was committed."""
        if not self.stays:
            return
        try:
            self.database.undo(self.making.table)
            self.stays = False
        except InputError:
            pass
        if self.stays:
            raise InputError(
                f"The folder of the release could not be put in its place, and the protected table {self.making.table} "
                "could not be removed from the database. It is safe, but has no report: remove it there."
            )

    @cached_property
    def tally(self) -> Tally:
        """The tally of the protected table, in the order of its values; what was not counted is missing.

        Counted once, from the table that will stay: nobody else can change it inside the transaction.
        """
        database, making = self.database, self.making
        # What was not counted must stand with the labels of its own records; counting compares all else.
        if {*self.stayed()} - {self.id_column} and (changed := database.fetch(n_changed(database, making)).item()):
            raise InternalError(f"{changed} records of the protected table are none of the original.")
        here = [column for column in making.columns if column not in self.counted.uncounted]
        found = fetch_released(database, making.table, here)
        texts = pl.DataFrame([as_text(column).fill_null("").alias(f"c{j}") for j, column in enumerate(found.frame)])
        return self._with_uncounted(found.gather(texts.select(pl.arg_sort_by(*texts.columns)).to_series()))

    def _with_uncounted(self, found: Tally) -> Tally:
        """Put missing values in the place of what was not counted, and the first number of each row as its id."""
        nothing = [pl.lit(None, dtype=pl.Int64).alias(column) for column in self.stayed()]
        frame, records = found.frame.with_columns(nothing), found.weights
        if self.id_column is not None:
            frame = frame.with_columns((records.cum_sum() - records + 1).alias(self.id_column))
        return found.replace_rows(frame.select(self.making.columns))


def protect_counted_table(
    engine: Engine,
    request: TableRequest,
    *,
    format: str,  # noqa: A002  (as a source calls it)
    delimiter: str | None,
    seed: int = 0,
    progress: Report | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
) -> TalliedRelease:
    """Take a table that an engine counts through the stages.

    *Guarantee*: that of `cloister.pipeline.tables.protect_table`; the data file has the same bytes. Cost: one count of
    the table where it is; memory for the different combinations of released values, not for the records.
    """
    watch = watch or Stopwatch()
    table_run, _, _ = _take_counted(engine, request, watch, progress)
    return table_run.release(
        TalliedRelease,
        engine.file,
        seed=seed,
        watch=watch,
        custody=custody,
        format=format,
        delimiter=delimiter,
        id_column=request.numbered_id,
    )


def protect_table_in_database(
    database: Database,
    table: str,
    request: TableRequest,
    *,
    seed: int = 0,
    progress: Report | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
) -> DatabaseRelease:
    """Take a table through the stages while its records stay in their database.

    *Guarantee*: that of `cloister.pipeline.tables.protect_table`, for the table that is made in the database; its
    records are those that the file would have. What leaves the database are counts: of the combinations of
    quasi-identifiers (and of columns that rules are about), of ids, and of the protected table. Not promised:
    anything about what the database itself logs. The table stays only once the transaction is committed. Cost: three
    passes over the records.
    """
    watch = watch or Stopwatch()
    refuse_what_needs_rows(request, database.name)
    if request.keep_suppressed:
        raise InputError(
            "Rows of * are not made in a database. Leave out ", setting("keep_suppressed"), ", or give ", IN_MEMORY
        )
    if database.is_there(table):
        raise InputError(f"There is a table {table} in the database already. Give another name with ", setting("table"))
    table_run, counted, encoded_table = _take_counted(database, request, watch, progress, released=False)
    made = _Made(database, _making(table, encoded_table, table_run.protected, request), counted, request.numbered_id)
    with watch.stage("protect"):
        make(database, made.making)
    with watch.stage("verify"):
        require_verified(verify_there(database.fetch, table_run.derived.stated, database.dialect, table))
        require_verified(table_run.check(made.tally))
    place = DatabasePlace(name=table, not_counted=tuple(made.stayed()), dialect=database.dialect)
    return table_run.release(
        DatabaseRelease,
        database.file,
        seed=seed,
        watch=watch,
        custody=custody,
        format="parquet",
        table=table,
        made=made,
        also={TABLE: place.as_json()},
    )


def _take_counted(
    engine: Engine, request: TableRequest, watch: Stopwatch, progress: Report | None, *, released: bool = True
) -> tuple[TableRun, CountedTable, EncodedTable]:
    """Count a table and take its tally through the stages; see `count_table`."""
    refuse_what_needs_rows(request, engine.name)
    with watch.stage("start"):
        interruptible(partial(load_kernels, request.kernels))
    with watch.stage("read"):
        counted = count_table(engine, request, released=released)
    with watch.stage("encode"):
        table = encode_columns(counted.tally, counted.roles, request)
        counted = replace(counted, tally=table.tally)  # the same, packed
    return take_encoded(table, request, engine.file, watch, progress=progress), counted, table


def _making(table: str, encoded_table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Making:
    """What is to be made: labels of values at the levels chosen, and the classes that are omitted."""
    recoded, labels = [], []
    for column, hierarchy in encoded_table.hierarchies.items():
        (level,) = protected.levels[column]
        recoded.append(Recoded(column, dict(zip(hierarchy.values, hierarchy.labels[level], strict=True))))
        labels.append(at_level(as_text(encoded_table.frame[column]), hierarchy, level))
    is_left_out = np.ones(encoded_table.frame.height, dtype=np.bool_)
    is_left_out[protected.originals.drop_nulls().to_numpy()] = False
    left_out = pl.DataFrame(labels).filter(is_left_out).unique()
    columns = tuple(protected.tally.frame.columns)
    return Making(table, columns, tuple(recoded), left_out, request.numbered_id)
