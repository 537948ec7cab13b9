"""A table whose rows stay where they are: an engine counts them, and what it counts is protected."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from cloister.engines.choice import ChosenEngine, name_of_table
from cloister.engines.in_database import Making, Recoded, fetch_released, make, n_changed, n_out_of_order
from cloister.engines.relation import Database, Engine, names_of
from cloister.engines.statements import fetch_tally
from cloister.errors import InputError, InternalError, setting
from cloister.io import RECORDS, as_text, records_of, table_columns
from cloister.io.foreign import interruptible
from cloister.io.query import Query
from cloister.manifests import AnyManifest
from cloister.release import Custody, Release
from cloister.release_folder import TABLE
from cloister.search import load_kernels
from cloister.search.problem import Report
from cloister.shape import Original, Prepared, Rows, Run
from cloister.stopwatch import Stopwatch
from cloister.tabular.data import EncodedTable, ProtectedTable, TableRequest
from cloister.tabular.encode import encoded
from cloister.tabular.manifest import DatabasePlace
from cloister.tabular.options import TableOptions
from cloister.tabular.recoding.choice import at_level, check_levels
from cloister.tabular.release import DatabaseRelease, TableRelease
from cloister.tabular.settings import available_cores

from .counted_tables import CountedTable, count_table, protect_counted_table, refuse_what_needs_rows
from .places import IN_MEMORY, custody_of
from .stages import completed, passed
from .table_words import list_values, rows_of
from .tables import TableRun, take_encoded


@dataclass(frozen=True)
class OpenedTable:
    """An engine over a table."""

    engine: Engine
    format: str = "csv"
    delimiter: str | None = ","
    database: Database | None = None
    notes: Sequence[str] = ()


@contextmanager
def opened(options: TableOptions, chosen: ChosenEngine) -> Iterator[OpenedTable]:
    """Yield the engine chosen, over the table that the options name."""
    missing, data = options.missing, options.data
    threads = available_cores() if options.threads is None else options.threads
    if isinstance(data, Query):
        with _database(data, options) as inside:
            yield inside
        return
    if chosen.where == "spark":
        from cloister.engines.spark.code_blocks import SparkFiles
        from cloister.engines.spark.tables import spark_table

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


class PreparedOnEngine(Prepared):
    """A table that stays where it is, and is counted there."""

    def __init__(
        self, options: TableOptions, run: Run, table: OpenedTable, request: TableRequest, earlier_notes: Sequence[str]
    ) -> None:
        refuse_what_needs_rows(request, table.engine.name)
        self.options, self.run, self.table, self.request, self.earlier_notes = (
            options,
            run,
            table,
            request,
            earlier_notes,
        )
        self.original = Original(None)
        self.recorded = (*request.sensitive, *request.keep)

    def protect(self) -> Release:
        """Take its tally through the stages; in a database the protected table is made there."""
        run, options, table = self.run, self.options, self.table
        run.compiling(self.request.kernels, "the search")
        custody = custody_of(options.data, options.custodian_dir)
        try:
            with run.voice.searching() as progress:
                earlier_notes: dict[str, Any] = {
                    "seed": options.seed, "progress": progress, "watch": run.watch, "custody": custody
                }  # fmt: skip
                if table.database is not None:
                    name = options.table or name_of_table(options.out.name)
                    return protect_table_in_database(table.database, name, self.request, **earlier_notes)
                return protect_counted_table(
                    table.engine, self.request, format=table.format, delimiter=table.delimiter, **earlier_notes
                )
        except InputError:
            known = names_of(table.engine.columns)
            list_values(options, self.request, known, lambda column: fetch_tally(table.engine, [column])[column])
            raise

    def check(self) -> None:
        """Raise what protecting would raise before its search."""
        counted = count_table(self.table.engine, self.request, released=self.table.database is None)
        problem = encoded(counted.tally, counted.roles, self.request).problem
        if self.request.levels is not None:
            check_levels(problem, self.request.levels)

    def notes(self, release: Release, _manifest: AnyManifest) -> list[str]:
        """Return what was taken for granted, and what says nothing."""
        return [*self.earlier_notes, *(release.notes if isinstance(release, TableRelease) else ())]

    def request_in_words(self) -> Rows:
        """Return what would be done."""
        return rows_of(self.request, f"counted by {self.table.engine.name}")[:-1]


@dataclass
class _Made:
    """A protected table as it was made in its database."""

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
                "could not be removed from the database. It is safe, but no report tells of it: remove it there."
            )

    @cached_property
    def tally(self) -> pl.DataFrame:
        """The tally of the protected table, in the order of its values; what was not counted is missing.

        Counted once, from the table that will stay: nobody else can change it inside the transaction.
        """
        database, making = self.database, self.making
        if self.id_column is not None:
            wrong = database.fetch(n_out_of_order(database, making.table, making.columns, self.id_column)).item()
            if wrong:
                raise InternalError(f"{wrong} ids of the protected table are not the places of their records.")
        # What was not counted must stand with the labels of its own records; counting compares all else.
        if {*self.stayed()} - {self.id_column} and (changed := database.fetch(n_changed(database, making)).item()):
            raise InternalError(f"{changed} records of the protected table are none of the original.")
        here = [column for column in making.columns if column not in self.counted.uncounted]
        frame = fetch_released(database, making.table, here)
        texts = pl.DataFrame([as_text(frame[column]).fill_null("").alias(f"c{j}") for j, column in enumerate(here)])
        frame = frame[texts.select(pl.arg_sort_by(*texts.columns)).to_series()]
        return self._with_uncounted(frame)

    def _with_uncounted(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put missing values in the place of what was not counted, and the first number of each row as its id."""
        nothing = [pl.lit(None, dtype=pl.Int64).alias(column) for column in self.stayed()]
        frame = frame.with_columns(nothing)
        if self.id_column is not None:
            records = records_of(frame)
            frame = frame.with_columns((records.cum_sum() - records + 1).alias(self.id_column))
        return frame.select([*self.making.columns, RECORDS])


def protect_table_in_database(
    database: Database,
    table: str,
    request: TableRequest,
    *,
    seed: int = 0,
    progress: Report | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
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
            f"Rows of * are not made in a database. Leave out {setting('keep_suppressed')}, or give {IN_MEMORY}."
        )
    if database.is_there(table):
        raise InputError(
            f"There is a table {table} in the database already. Give another name with {setting('table')}."
        )
    with watch.stage("start"):
        interruptible(partial(load_kernels, request.kernels))
    with watch.stage("read"):
        counted = count_table(database, request, released=False)
    with watch.stage("encode"):
        encoded_table = encoded(counted.tally, counted.roles, request)
    course = take_encoded(encoded_table, request, database.file, watch, progress=progress)
    made = _Made(database, _making(table, encoded_table, course.protected, request), counted, request.numbered_id)
    with watch.stage("protect"):
        make(database, made.making)
    with watch.stage("verify"):
        passed(course.check(made.tally))
    return _release(
        course, made, completed(course.manifest.published(), source=database.file, seed=seed, watch=watch), custody
    )


def _release(
    course: TableRun, made: _Made, manifest: dict[str, Any], custody: Mapping[str, Any] | None
) -> DatabaseRelease:
    place = DatabasePlace(name=made.making.table, not_counted=tuple(made.stayed()))
    return DatabaseRelease(
        data=course.protected.frame,
        frame=course.protected.frame,
        codebook=course.codebook,
        manifest=manifest | {TABLE: place.published()},
        format="parquet",
        delimiter=",",
        custody=Custody(course.exact | dict(custody or {}), None),
        shown=partial(course.shown, None),
        counted=made.tally,
        stay=made.stay,
        leave=made.leave,
        _check=course.check,
        notes=course.notes,
    )


def _making(table: str, encoded_table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Making:
    """What is to be made: labels of values at the levels chosen, and the classes that are left out."""
    recoded, labels = [], []
    for column, hierarchy in encoded_table.hierarchies.items():
        (level,) = protected.levels[column]
        recoded.append(Recoded(column, dict(zip(hierarchy.values, hierarchy.labels[level], strict=True))))
        labels.append(at_level(as_text(encoded_table.frame[column]), hierarchy, level))
    is_left_out = np.ones(encoded_table.frame.height, dtype=np.bool_)
    is_left_out[protected.originals.drop_nulls().to_numpy()] = False
    left_out = pl.DataFrame(labels).filter(is_left_out).unique()
    columns = tuple(table_columns(protected.frame))
    return Making(table, columns, tuple(recoded), left_out, request.numbered_id)
