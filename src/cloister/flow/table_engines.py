"""A table whose rows stay where they are: an engine counts them, and what it counts is protected."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cloister.engines.choice import ChosenEngine, name_of_table
from cloister.engines.relation import Database, Engine, names_of
from cloister.engines.statements import fetch_tally
from cloister.errors import InputError
from cloister.io.query import Query
from cloister.release import Release
from cloister.results import Manifest
from cloister.shape import Original, Prepared, Rows, Run
from cloister.tabular.data import TableRequest
from cloister.tabular.encode import encoded
from cloister.tabular.options import TableOptions
from cloister.tabular.recoding.choice import check_levels
from cloister.tabular.settings import available_cores

from .counted_tables import count_table, protect_counted_table, refuse_what_needs_rows
from .database_tables import protect_table_in_database
from .places import custody_of
from .table_words import list_values, rows_of
from .tables import COMPILED, must_compile


@dataclass(frozen=True)
class Opened:
    """An engine over a table."""

    engine: Engine
    format: str = "csv"
    delimiter: str | None = ","
    database: Database | None = None
    notes: Sequence[str] = ()


@contextmanager
def opened(options: TableOptions, chosen: ChosenEngine) -> Iterator[Opened]:
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
            yield Opened(table, table.format, table.delimiter)
        return
    from cloister.engines.duckdb import duckdb_file

    with duckdb_file(
        data, delimiter=options.delimiter, encoding=options.encoding, missing=missing, threads=threads
    ) as file:
        yield Opened(file, file.format, file.delimiter)


@contextmanager
def _database(query: Query, options: TableOptions) -> Iterator[Opened]:
    missing = options.missing
    if query.scheme == "duckdb":
        from cloister.engines.duckdb import duckdb_database

        with duckdb_database(query, missing) as inside:
            yield Opened(inside, database=inside)
        return
    from cloister.engines.postgresql import postgresql

    with postgresql(query, missing) as server:
        yield Opened(server, database=server, notes=server.call.notes)


class PreparedOnEngine(Prepared):
    """A table that stays where it is, and is counted there."""

    def __init__(
        self, options: TableOptions, run: Run, table: Opened, request: TableRequest, told: Sequence[str]
    ) -> None:
        refuse_what_needs_rows(request, table.engine.name)
        self.options, self.run, self.table, self.request, self.told = options, run, table, request, told
        self.original = Original(None)
        self.recorded = (*request.sensitive, *request.keep)

    def protect(self) -> Release:
        """Take its tally through the stages; in a database the protected table is made there."""
        run, options, table = self.run, self.options, self.table
        run.compiling(must_compile(self.request.search_name), COMPILED)
        custody = custody_of(options.data, options.custodian_dir)
        try:
            with run.voice.searching() as progress:
                told: dict[str, Any] = {
                    "seed": options.seed, "progress": progress, "watch": run.watch, "custody": custody
                }  # fmt: skip
                if table.database is not None:
                    name = options.table or name_of_table(options.out.name)
                    return protect_table_in_database(table.database, name, self.request, **told)
                return protect_counted_table(
                    table.engine, self.request, format=table.format, delimiter=table.delimiter, **told
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

    def notes(self, _release: Release, _manifest: Manifest) -> list[str]:
        """Return what was taken for granted."""
        return [*self.told]

    def request_in_words(self) -> Rows:
        """Return what would be done."""
        return rows_of(self.request, f"counted by {self.table.engine.name}")[:-1]
