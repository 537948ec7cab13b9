"""Laws of the same statements in PostgreSQL and on Spark: they find what DuckDB finds."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.properties.test_verified_rules import RECORDS, RULES, in_order

from cloister.io import Tally
from cloister.io.query import Query
from cloister.io.read import read_query
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table.verify import statements
from cloister.verification.dialects import SPARK, TableLocation, as_texts, table_in_database

IN_SQL = [name for name in RULES if name not in ("t-closeness hierarchical", "delta-presence", "k-map", "k-patients")]


@pytest.fixture(scope="module")
def reached(postgresql_server):
    """A server, with the account in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in postgresql_server.environment.items():
            patch.setenv(name, value)
        yield postgresql_server


def numbered(records):
    """Released records in their order, with numbers for ids."""
    frame = in_order(pl.DataFrame(records, schema={"qi": pl.String, "dx": pl.String}, orient="row"))
    return frame.with_columns(number=pl.int_range(1, frame.height + 1, dtype=pl.Int64))


def promise(frame, rules):
    """What the table promises."""
    return Guarantee(tuple(frame.columns), {"qi": 0}, 2, frame.height, 0, tuple(rules), id="number", numbered=True)


def found_by_duckdb(frame, promised):
    """The violations of each rule, and of the ids, of a table in memory."""
    found = statements.find_broken(Tally(frame), promised, (2, 2))
    return [one.violations for one in found if not one.promise.startswith("rows are sorted")]


def found_in_postgresql(server, frame, promised, table="released"):
    """The violations that the server counts: of the columns, then of all that DuckDB counts."""
    server.load(table, frame)
    script = statements.script_at(promised, (2, 2), table_in_database("postgres", table, promised.columns))
    answer = read_query(Query(server.url, script.text(), table))
    columns, *others = answer["violations"].to_list()
    return columns, others


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", IN_SQL)
@given(records=RECORDS, data=st.data())
@examples(12)
def test_postgresql_counts_what_duckdb_counts(name, records, data, reached):
    """A rule is broken by as many classes, and ids by as many records, whichever database counts."""
    rule, _ = data.draw(RULES[name])
    frame = numbered(records)
    promised = promise(frame, [rule])

    columns, others = found_in_postgresql(reached, frame, promised)

    assert (columns, others) == (0, found_by_duckdb(frame, promised))


def found_by_spark(session, frame, promised):
    """The violations that Spark counts: of the columns, then of all that DuckDB counts."""
    view = session.createDataFrame(frame.to_arrow())
    view.createOrReplaceTempView("patients_released")
    names = {name: name for name in frame.columns}
    columns = " UNION ALL ".join(f"SELECT '{name}', {place}" for place, name in enumerate(names, start=1))
    place = TableLocation(SPARK, "data.csv", as_texts(SPARK, "patients_released", names), f"({columns})")
    rows = session.sql(statements.script_at(promised, (2, 2), place).text()).collect()
    columns, *others = [row["violations"] for row in rows]
    return columns, others


@given(RECORDS, st.lists(st.sampled_from(IN_SQL), min_size=2, max_size=3, unique=True), st.booleans(), st.data())
@examples(20, quick=2)
def test_spark_counts_what_duckdb_counts(sessions, records, names, is_shuffled, data):
    """Rules are broken on Spark by as many classes as DuckDB finds, and ids by as many records."""
    frame = numbered(records)
    if is_shuffled:
        frame = frame.with_columns(frame["number"].reverse())
    promised = promise(frame, [data.draw(RULES[name])[0] for name in names])

    columns, others = found_by_spark(sessions["classic"].session, frame, promised)

    assert (columns, others) == (0, found_by_duckdb(frame, promised))
