"""The part of the benchmark of scale whose records are in PostgreSQL: what it took, and what left the database."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import sqlglot
from sqlglot import exp
from tests.made.postgresql_server import PostgreSQLServer, serving, why_not

from benchmarks.scale.made_up import DIAGNOSIS, HIERARCHIES, ID, batches, combinations, quasi_identifiers, write
from benchmarks.scale.runs import Row, answer_of, apart, cloister, manifest_of, watched

TABLE, MADE = "patients", "protected"
ENTRY = re.compile(r"^[-\d]+ [:.\d]+ \w+ \[\d+\] (\w+):  ", re.MULTILINE)
SAID = re.compile(r"(?:statement|execute [^:]*): (.*)", re.DOTALL)
GIVES_NO_ROWS = re.compile(
    r"\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|ANALYZE|DROP|CREATE (TEMPORARY )?(TABLE|VIEW)"
    r"|COPY [^()]*\([^()]*\) FROM STDIN|INSERT INTO (?!.*RETURNING))\b",
    re.DOTALL,
)
OF_COLUMNS = re.compile(r"\s*SELECT\s.*FROM information_schema\.columns WHERE table_name = 'protected'", re.DOTALL)
"""The names of the columns of the protected table, which verify compares."""
COPIED = re.compile(r"\s*COPY\s*\((.*)\)\s*TO\s", re.DOTALL)
OF_THE_DRIVER = re.compile(r"\s*SELECT\s+(version\(\)|CURRENT_SCHEMA\(\)|[\w\s,]+FROM\s+pg_catalog\.)")


@dataclass(frozen=True)
class Asked:
    """The statements of cloister that gave rows, and those of them that are no counts."""

    statements: int
    others: tuple[str, ...]


def load(url: str, environment: dict[str, str], n: int, seed: int) -> None:
    """Load so many patients into the database, some at a time."""
    from adbc_driver_postgresql import dbapi

    os.environ.update(environment)
    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        for number, frame in enumerate(batches(n, seed, identified=True)):
            cursor.adbc_ingest(TABLE, frame.to_arrow(), mode="append" if number else "create")
        cursor.execute(f"ANALYZE {TABLE}")
        connection.commit()


def same_records(url: str, environment: dict[str, str], path: Path) -> bool:
    """Whether the table that was made has the records of a file, by their new ids."""
    from adbc_driver_postgresql import dbapi

    os.environ.update(environment)
    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {MADE} ORDER BY {ID}")
        made = pl.from_arrow(cursor.fetch_arrow_table())
    return pl.read_parquet(path).sort(ID).equals(made)


def statements(log: str) -> Iterator[str]:
    """Everything that the log of a server says it was sent."""
    parts = ENTRY.split(log)[1:]
    for kind, text in zip(parts[::2], parts[1::2], strict=True):
        if kind == "LOG" and (found := SAID.match(text)):
            yield found[1]


def asked(log: str) -> Asked:
    """Look at every statement that gave rows, but for what the driver asks of the catalog when it connects."""
    ours, others = 0, []
    for statement in statements(log):
        if GIVES_NO_ROWS.match(statement) or OF_THE_DRIVER.match(statement):
            continue
        ours += 1
        copied = COPIED.match(statement)
        if copied is not None and OF_COLUMNS.match(copied[1]):
            continue
        if copied is None or not is_count(sqlglot.parse_one(copied[1], dialect="postgres")):
            others.append(statement)
    return Asked(ours, tuple(others))


def is_count(query: exp.Expression) -> bool:
    """Whether every row of a query is a count: of all, or of groups by quasi-identifiers and nothing else."""
    if not isinstance(query, exp.Select):
        return False
    inner, grouped = query.args["from_"].this, query.args.get("group")
    told = [one.unalias() for one in query.expressions]
    if grouped is not None:
        names = {name for one in grouped.expressions for name in _columns(one, inner)}
        others = [one for one in told if not isinstance(one, exp.Count)]
        return len(others) < len(told) and names <= set(HIERARCHIES) and all(o in grouped.expressions for o in others)
    if any(isinstance(one, exp.Count) for one in told):
        of_new_ids = isinstance(inner, exp.Table) and inner.name == MADE  # the lowest and the highest are told
        return all(isinstance(one, exp.Count) or (of_new_ids and isinstance(one, exp.Min | exp.Max)) for one in told)
    columns_alone = all(isinstance(one, exp.Column) for one in told)
    return columns_alone and isinstance(inner, exp.Subquery) and is_count(inner.this)


def _columns(expression: exp.Expression, inner: exp.Expression) -> set[str]:
    """The columns of the table that an expression is of, seen through the names that a subquery gives them."""
    named = {column.name for column in expression.find_all(exp.Column)}
    if not isinstance(inner, exp.Subquery):
        return named
    meant = {one.alias_or_name: {c.name for c in one.find_all(exp.Column)} for one in inner.this.expressions}
    return set().union(*(meant[name] for name in named))


def measure(folder: Path, n: int, seed: int, limit: float) -> list[Row]:
    """Protect and verify so many patients inside the database and, for comparison, from a file in memory."""
    if (reason := why_not()) is not None:
        raise SystemExit(f"There can be no server here: {reason}.")
    file = folder / f"identified-{n}.parquet"
    apart(write, file, n, seed, identified=True)
    different = apart(combinations, file)
    words = [*quasi_identifiers(), "--id", ID, "--sensitive", DIAGNOSIS, "-k", "5", "--quiet"]
    inside, outside = folder / "inside", folder / "outside"
    with serving() as server:
        apart(load, server.url, server.environment, n, seed)
        before = len(server.log())
        with watched(server._process.pid) as most:
            rows = [_inside(server, n, different, [*words, "--out", str(inside)], limit)]
        found = asked(server.log()[before:])
        rows.append(_outside(file, n, different, [*words, "--out", str(outside)], limit))
        same = apart(same_records, server.url, server.environment, outside / "data.parquet")
    for row in rows:
        print(f"{n:,} records, {row.engine}: {row.protect}, verified: {row.verify}")
    is_same = answer_of(rows[0].manifest) == answer_of(rows[1].manifest)
    print(f"PostgreSQL: {found.statements} statements of ours gave rows; {len(found.others)} of them more than counts")
    print(f"PostgreSQL: the server itself held at most {most[0]:.2f} GiB, what its processes share counted in each")
    print(f"PostgreSQL: levels, records, losses, risk: {'as' if is_same else 'NOT AS'} memory has them")
    print(f"PostgreSQL: the records that were made: {'those' if same else 'NOT THOSE'} of memory's file, ids as well")
    assert found.statements
    assert not found.others, found.others
    assert is_same
    assert same
    return rows


def _inside(server: PostgreSQLServer, n: int, different: int, words: list[str], limit: float) -> Row:
    out, there = words[-1], server.environment
    data = [server.url, "--query", f"SELECT * FROM {TABLE}", "--engine", server.url, "--table", MADE]
    protect = cloister("protect", "table", *data, *words, limit=limit, environment=there)
    verify = cloister("verify", out, "--engine", server.url, "-q", limit=limit, environment=there)
    return Row("postgresql", n, different, protect, verify, manifest_of(Path(out)))


def _outside(file: Path, n: int, different: int, words: list[str], limit: float) -> Row:
    protect = cloister("protect", "table", str(file), "--engine", "memory", *words, limit=limit)
    verify = cloister("verify", words[-1], "-q", limit=limit)
    return Row("memory", n, different, protect, verify, manifest_of(Path(words[-1])))
