"""Protection of a table that stays in its file or database: an engine counts its records.

A file is written from the tally of its protected records; a database makes the protected table itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from cloister.engines.choice import ChosenEngine
from cloister.engines.in_database import Database, Making, Recoded, fetch_released, make, n_changed
from cloister.engines.statements import Engine, count_ids, fetch_tally, names_of, unique_share
from cloister.errors import InputError, InternalError, Message, setting
from cloister.io import Source, Tally, as_text
from cloister.io.query import Query
from cloister.release.folder import TABLE
from cloister.release.manifest import AnyManifest, with_parts
from cloister.release.release import Release
from cloister.results import DisclosiveColumn, Verdict
from cloister.shapes.protocol import Original, Protection, Run
from cloister.shapes.table.format.manifest import DatabasePlace
from cloister.shapes.table.format.options import TableOptions
from cloister.shapes.table.method.data import EncodedTable, Ids, ProtectedTable, Role, TableRequest
from cloister.shapes.table.method.encode import check_ids, encode_columns
from cloister.shapes.table.method.protect import DatabaseRelease, TableRelease, TalliedRelease
from cloister.shapes.table.method.recoding.choice import at_level, check_levels
from cloister.shapes.table.method.roles import resolve_roles
from cloister.shapes.table.method.settings import available_cores
from cloister.shapes.table.verify.elsewhere import verify_there

from .output_paths import IN_MEMORY
from .protecting import StagedProtection, require_verified
from .table_refusals import accepted_where_counted
from .tables import EncodedInput, describe_release, protect_rows
from .undecided import list_unmatched

InMemory = Callable[[Run], Protection]
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
    format: Literal["csv", "parquet"] = "csv"
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


@dataclass(frozen=True)
class CountedTable:
    """The counted records of a table, with the roles of its columns."""

    tally: Tally  # of the released columns; those that were not counted are in it as missing
    roles: Mapping[str, Role]
    # released columns that were not counted: an id that becomes a number, and what stays where it is
    uncounted: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTally:
    """The tally of a table that is ready for the search; its columns that were not counted, and that were accepted."""

    table: EncodedTable
    uncounted: tuple[str, ...]
    accepted: Sequence[DisclosiveColumn] = ()


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTally:
    """A protected tally, and the table that a database made of it."""

    table: ProtectedTable
    made: "TableMade | None" = None


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
class TableMade:
    """A protected table in its database."""

    database: Database
    making: Making
    uncounted: tuple[str, ...]  # released columns that were not counted
    id_column: str | None
    stays: bool = False

    def stayed(self) -> list[str]:
        """Released columns that were not counted."""
        return [column for column in self.uncounted if column in self.making.columns]

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
        here = [column for column in making.columns if column not in self.uncounted]
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


class CountedProtection(StagedProtection[EncodedTally, ProtectedTally]):
    """A table that stays in its file, where an engine counts its records.

    *Guarantee*: that of a table in memory; the data file has the same bytes. Cost: one count of the table where it is;
    memory for the different combinations of released values, not for the records.
    """

    released = True  # whether all released columns are counted
    kernels_in_words = "the search"

    def __init__(self, table: OpenedTable, request: TableRequest, *, seed: int = 0) -> None:
        refuse_what_needs_rows(request, table.engine.name)
        self.table, self.request, self.seed = table, request, seed
        self.kernels, self.original = request.kernels, Original(None)
        self.recorded = (*request.sensitive, *request.keep)
        self.unmatched_values: Path | None = None
        self.in_memory: InMemory | None = None

    def encode(self) -> EncodedTally:
        """Count the records, and bind the hierarchies."""
        engine, request = self.table.engine, self.request
        counted = count_table(engine, request, released=self.released)
        accepted = accepted_where_counted(engine, counted.roles, request)
        table = encode_columns(counted.tally, counted.roles, request)
        if request.levels is not None:
            check_levels(table.problem, request.levels)
        return EncodedTally(table, counted.uncounted, accepted)

    def list_unmatched(self) -> None:
        """Write the values that are in no hierarchy, if that was requested."""
        if self.unmatched_values is not None:
            columns = names_of(self.table.engine.columns)
            list_unmatched(self.request, columns, self._values, self.unmatched_values)

    def _values(self, column: str) -> pl.Series:
        """The distinct values of a column."""
        return fetch_tally(self.table.engine, [column]).frame[column]

    def protect(self, encoded: EncodedTally, run: Run) -> ProtectedTally:
        """Generalize, and suppress."""
        return ProtectedTally(protect_rows(encoded.table, self.request, run))

    def describe(self, encoded: EncodedTally, protected: ProtectedTally) -> TableRelease:
        """Measure what was lost, and describe the release."""
        release = self.describe_tally(encoded, protected)
        return TalliedRelease(**vars(release), id_column=self.request.numbered_id)

    def describe_tally(self, encoded: EncodedTally, protected: ProtectedTally) -> TableRelease:
        """Measure a protected tally, and describe its release."""
        source = Source(encoded.table.frame, self.table.format, self.table.delimiter, None, self.table.engine.file)
        return describe_release(
            EncodedInput(encoded.table, encoded.accepted), protected.table, self.request, source, self.seed
        )

    @property
    def may_be_in_memory(self) -> bool:
        """Whether nobody named this engine."""
        return self.in_memory is not None

    def read_into_memory(self, run: Run) -> Protection:
        """Return the table in memory; this engine had too little of it."""
        assert self.in_memory is not None
        instead = self.in_memory(run)
        why = f"the engine was memory in the end, as {self.table.engine.name} had too little of it"
        instead.assumptions = [*instead.assumptions, why]
        return instead

    def notes(self, release: Release, _manifest: AnyManifest) -> Sequence[str]:
        """Return assumptions made while reading, and notes on columns without information."""
        assert isinstance(release, TableRelease)
        return [*self.assumptions, *release.notes]


class DatabaseProtection(CountedProtection):
    """A table that stays in its database, which makes the protected table itself.

    *Guarantee*: that of a table in memory, for the table that is made in the database; its records are those that the
    file would have. What leaves the database are counts: of the combinations of quasi-identifiers (and of columns that
    rules are about), of ids, and of the protected table. Not promised: anything about what the database itself logs.
    The table stays only once the transaction is committed. Cost: three passes over the records.
    """

    released = False

    def __init__(self, database: Database, name: str, request: TableRequest, *, seed: int = 0) -> None:
        super().__init__(OpenedTable(database, "parquet", None), request, seed=seed)
        if request.keep_suppressed:
            raise InputError(
                "Rows of * are not made in a database. Leave out ", setting("keep_suppressed"), ", or give ", IN_MEMORY
            )
        self.database, self.name = database, name

    def encode(self) -> EncodedTally:
        """Count the records, and bind the hierarchies."""
        if self.database.is_there(self.name):
            raise InputError(
                f"There is a table {self.name} in the database already. Give another name with ", setting("table")
            )
        return super().encode()

    def protect(self, encoded: EncodedTally, run: Run) -> ProtectedTally:
        """Generalize and suppress the tally, and let the database make the table; it is not committed yet."""
        protected = super().protect(encoded, run).table
        making = _making(self.name, encoded.table, protected, self.request)
        make(self.database, making)
        return ProtectedTally(protected, TableMade(self.database, making, encoded.uncounted, self.request.numbered_id))

    def describe(self, encoded: EncodedTally, protected: ProtectedTally) -> DatabaseRelease:
        """Measure what was lost, and describe the release."""
        made, database = protected.made, self.database
        assert made is not None
        release = self.describe_tally(encoded, protected)
        place = DatabasePlace(name=self.name, not_counted=tuple(made.stayed()), dialect=database.dialect)
        manifest = with_parts(release.manifest, **{TABLE: place.as_json()})
        return DatabaseRelease(**vars(release) | {"manifest": manifest}, table=self.name, made=made)

    def verify(self, release: Release) -> Verdict:
        """Return the verdict on the table in the database: by SQL there, then by its counts."""
        assert isinstance(release, DatabaseRelease)
        database = self.database
        require_verified(verify_there(database.fetch, release.derived.stated, database.dialect, self.name))
        return release.recheck()


def _making(table: str, encoded_table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Making:
    """Return what the database has to build: labels of values at the chosen levels, and the suppressed classes."""
    recoded, labels = [], []
    for column, hierarchy in encoded_table.hierarchies.items():
        (level,) = protected.levels[column]
        recoded.append(Recoded(column, dict(zip(hierarchy.values, hierarchy.labels[level], strict=True))))
        labels.append(at_level(as_text(encoded_table.frame[column]), hierarchy, level))
    is_suppressed = np.ones(encoded_table.frame.height, dtype=np.bool_)
    is_suppressed[protected.originals.drop_nulls().to_numpy()] = False
    suppressed = pl.DataFrame(labels).filter(is_suppressed).unique()
    columns = tuple(protected.tally.frame.columns)
    return Making(table, columns, tuple(recoded), suppressed, request.numbered_id)
