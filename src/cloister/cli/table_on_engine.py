"""``protect table`` where the rows stay where they are: an engine counts them, and what it counts is protected."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cloister.cli.output import note
from cloister.cli.places import custody_of
from cloister.cli.prepared import Original, Prepared
from cloister.cli.progress import watched
from cloister.cli.table_request import asked_of_table, list_values
from cloister.engines.choice import ChosenEngine, name_of_table
from cloister.engines.relation import Database, Engine, names_of
from cloister.engines.statements import fetch_tally
from cloister.errors import InputError
from cloister.flow.counted_tables import count_table, protect_counted_table, refuse_what_needs_rows
from cloister.flow.database_tables import protect_table_in_database
from cloister.flow.tables import must_compile
from cloister.io.query import Query
from cloister.release import Release
from cloister.stopwatch import Stopwatch
from cloister.tabular.data import TableRequest
from cloister.tabular.encode import encoded
from cloister.tabular.options import TableOptions
from cloister.tabular.recoding.choice import check_levels
from cloister.tabular.settings import available_cores


@dataclass(frozen=True)
class Opened:
    """An engine over a table.

    Attributes
    ----------
    engine : ready to count
    format, delimiter : of the file that is released
    database : the same engine where the protected table is made in it
    notes : what the user should know about the database
    """

    engine: Engine
    format: str = "csv"
    delimiter: str | None = ","
    database: Database | None = None
    notes: Sequence[str] = ()


@contextmanager
def opened(options: TableOptions, chosen: ChosenEngine) -> Iterator[Opened]:
    """Yield the engine chosen, over the table that the options name.

    Raises
    ------
    InputError
        It is not there, or cannot read the table.
    """
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


def prepare_on_engine(
    options: TableOptions, request: TableRequest, notes: list[str], table: Opened, watch: Stopwatch
) -> Prepared:
    """Return what is about to be done with a table that stays where it is.

    Parameters
    ----------
    request, notes : what is asked of it, and what to say of that
    """
    quiet = options.quiet or options.as_json
    refuse_what_needs_rows(request, table.engine.name)
    custody = custody_of(options.data, options.internal)

    def protect() -> Release:
        if must_compile(request.search_name):
            note("Compiling the search for this machine, once (about 30 s).", quiet=quiet)
        try:
            with watched(quiet=quiet) as report:
                told: dict[str, Any] = {"seed": options.seed, "report": report, "watch": watch, "custody": custody}
                if table.database is not None:
                    return protect_table_in_database(
                        table.database, options.table or name_of_table(options.out.name), request, **told
                    )
                return protect_counted_table(
                    table.engine, request, format=table.format, delimiter=table.delimiter, **told
                )
        except InputError:
            known = names_of(table.engine.columns)
            list_values(options, request, known, lambda column: fetch_tally(table.engine, [column])[column])
            raise

    def check() -> None:
        counted = count_table(table.engine, request, released=table.database is None)
        problem = encoded(counted.tally, counted.roles, request).problem
        if request.levels is not None:
            check_levels(problem, request.levels)

    return Prepared(
        protect,
        check,
        lambda *_: [*table.notes, *notes],
        asked_of_table(request, f"counted by {table.engine.name}")[:-1],
        Original(None),
        (*request.sensitive, *request.keep),
    )
