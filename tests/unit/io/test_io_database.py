"""Databases as sources: DuckDB and SQLite files, addresses, queries; what is refused, with nothing of it told."""

import sqlite3
from decimal import Decimal

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.engines.duckdb import duckdb_database
from cloister.errors import InputError
from cloister.io import Query, as_text, is_address, read_table

SECRET = "hunter2"


def texts(frame):
    """Every column as the text that is released of it."""
    return {column.name: as_text(column).to_list() for column in frame}


def refusal(action):
    """The message of a refusal, which holds no value, no address, no SQL, and hides no exception of others."""
    with pytest.raises(InputError) as refused:
        action()
    message = refused.value.message

    assert not [word for word in (SECRET, "/tmp", "FROM", "host/db") if word in message]
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    return message


def in_duckdb(path, statements):
    """Run statements in a DuckDB file, and return its address."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(statements)
    return f"duckdb:{path}"


def open_there(query):
    """Open a table that is to be protected in its file."""
    with duckdb_database(query):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A DuckDB file with a table of a row, in many types."""
    return in_duckdb(
        tmp_path_factory.mktemp("duckdb") / "hospital.duckdb",
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t AS SELECT '001' AS code, 12::HUGEINT AS huge, "
        "1.50::DECIMAL(9, 2) AS exact, DATE '2020-02-29' AS day, TIMESTAMPTZ '2020-01-01 01:00:00+01' AS moment, "
        "TIME '01:02:03' AS clock, INTERVAL 3 DAY AS span, '11111111-2222-3333-4444-555555555555'::UUID AS key, "
        "'\\xC3\\xA9'::BLOB AS bytes, 'sad'::mood AS mood, NULL AS nothing, true AS yes, "
        "'101'::BIT AS bits, '{}'::JSON AS json, "
        "[1] AS list, {'a': 1} AS struct, 'infinity'::DATE AS never, 'hunter2' AS secret, '\\xFF'::BLOB AS garbage, "
        "'' AS empty, 'NaN'::DOUBLE AS nan, 2.0::DOUBLE AS two",
    )


def test_types_of_duckdb_become_plain_ones(address):
    """Text stays text, numbers numbers; what only DuckDB has becomes its text; empty and NaN are missing."""
    of_duckdb = read_table(
        Query(address, "SELECT * EXCLUDE (list, struct, never, secret, garbage) FROM t -- all\n;", "t")
    )

    expected = {
        "code": "001",
        "huge": "12",
        "exact": "1.50",
        "day": "2020-02-29",
        "moment": "2020-01-01T00:00:00+00:00",
    }
    expected |= {"clock": "01:02:03", "span": "3 days", "key": "11111111-2222-3333-4444-555555555555", "bytes": "é"}
    expected |= {"mood": "sad", "nothing": None, "yes": "true", "bits": "101", "json": "{}"}
    expected |= {"empty": None, "nan": None, "two": "2"}
    assert {name: [text] for name, text in expected.items()} == texts(of_duckdb.frame)
    assert (of_duckdb.format, of_duckdb.delimiter, of_duckdb.encoding, of_duckdb.name) == ("csv", None, None, "t")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT code, list FROM t", "column 'list' holds lists"),
        ("SELECT struct FROM t", "column 'struct' holds lists, structs"),
        ("SELECT never FROM t", "column 'never' has dates outside the years 1 to 9999, such as infinity (1 records)"),
        ("SELECT garbage FROM t", "column 'garbage' holds bytes that are not UTF-8 text"),
        ("SELECT code, code FROM t", "columns 1 and 2 have the same name"),
        ("SELECT code FROM t WHERE false", "gives no records"),
        ("SELECT nope FROM t", "names a column that is not there"),
        ("SELECT * FROM nope", "names a table or function that is not there"),
        ("SELECT secret::INTEGER FROM t", "failed in the database"),
        ("SELEC 'hunter2'", "cannot be read as SQL"),
        ("SELECT 'hunter2", "cannot be read as SQL"),
        ("", "must be one SELECT"),
        ("SELECT 1; SELECT 2", "has 2 statements"),
        ("DELETE FROM t", "must be one SELECT"),
        ("EXPLAIN SELECT 1", "must be one SELECT"),
        ("COPY t TO 'hunter2.csv'", "must be one SELECT"),
        ("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "writes and locks nothing"),
        ("SELECT * INTO u FROM t", "writes and locks nothing"),
        ("SELECT * FROM t FOR UPDATE", "writes and locks nothing"),
        ("PRAGMA database_list", "must be one SELECT"),
        ("ATTACH 'hunter2.db' AS other", "must be one SELECT"),
        ("LOAD httpfs", "must be one SELECT"),
        ("SELECT getenv('HOME')", "names a table or function that is not there"),
    ],
)
def test_what_cannot_be_read_is_refused(address, query, words, capfd):
    """One sentence or two name the source and the column; nothing of the query or the data is said, on no stream."""
    message = refusal(lambda: read_table(Query(address, query, "patients")))

    assert "patients" in message
    assert words in message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("hidden", ["read_text('{0}')", "'{0}'", "read_csv('{0}')", "glob('{0}')", "read_blob('{0}')"])
@pytest.mark.parametrize("where", ["a view", "a macro", "a query"])
@pytest.mark.parametrize("opened", [read_table, open_there])
def test_nothing_outside_a_duckdb_file_is_read(opened, where, hidden, tmp_path, capfd):
    """A file of DuckDB is data: no view, macro or query reads another file, whether read or protected there."""
    (tmp_path / "other.csv").write_text("name,code\nhunter2,001\n")
    hidden = f"SELECT * FROM {hidden.format(tmp_path / 'other.csv')}"
    url = in_duckdb(tmp_path / "received.duckdb", f"CREATE VIEW v AS {hidden}; CREATE MACRO m() AS TABLE {hidden}")
    query = Query(url, {"a view": "FROM v", "a macro": "FROM m()", "a query": hidden}[where], "patients")

    assert "reads something outside its file" in refusal(lambda: opened(query))
    assert capfd.readouterr() == ("", "")


def test_variables_of_a_program_are_no_tables(address):
    """A query reads no dataframe of the Python program that asks."""
    frame = pl.DataFrame({"a": [1]})

    assert "a table or function that is not there" in refusal(lambda: read_table(Query(address, "SELECT * FROM frame")))
    assert frame.height == 1


def test_a_file_of_duckdb_is_read_while_it_is_protected(address):
    """A second connection to a file that is open here already is as closed as the first."""
    with duckdb_database(Query(address, "SELECT code FROM t", "t")):
        assert read_table(Query(address, "SELECT code, moment FROM t")).frame.height == 1
        assert "outside its file" in refusal(lambda: read_table(Query(address, "FROM read_text('/proc/self/environ')")))


@pytest.mark.parametrize("reads", ["load_extension('hunter2')", "readfile('hunter2')"])
def test_nothing_outside_a_sqlite_file_is_read(reads, tmp_path):
    """A view or query of SQLite loads no extension, reads no file, and attaches none."""
    with sqlite3.connect(tmp_path / "received.db") as connection:
        connection.execute(f"CREATE VIEW v AS SELECT {reads} AS a")
    connection.close()

    for query in ("SELECT * FROM v", f"SELECT {reads} AS a"):
        assert "failed in the database" in refusal(lambda query=query: read_table(Query(url_of(tmp_path), query, "x")))
    assert "must be one SELECT" in refusal(lambda: read_table(Query(url_of(tmp_path), "ATTACH 'x' AS y", "x")))


def url_of(folder):
    """The address of the SQLite file."""
    return f"sqlite:{folder}/received.db"


def test_a_file_that_is_no_database_is_refused(tmp_path):
    """It is not there, or of another kind; neither is made."""
    (tmp_path / "text.db").write_text("hunter2\n" * 999)

    assert "no database file gone.duckdb" in refusal(
        lambda: read_table(Query(f"duckdb:{tmp_path}/gone.duckdb", "FROM t"))
    )
    assert "cannot be opened" in refusal(lambda: read_table(Query(str(tmp_path / "text.db"), "SELECT 1", "x")))
    assert "no database file gone.db" in refusal(lambda: read_table(Query(f"sqlite:{tmp_path}/gone.db", "SELECT 1")))
    assert [path.name for path in tmp_path.iterdir()] == ["text.db"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://owner:hunter2@host/db",
        "postgresql://owner:hun/ter2@host/db",
        "postgresql://owner:hun?ter2@host/db",
        "postgresql://host/db?password=hunter2",
        "postgresql://host/db?PassWord=hunter2",
        "postgresql://host/db?sslmode=require&sslpassword=hunter2",
        "postgresql://host/db?%70assword=hunter2",
        "flightsql://host?token=hunter2",
        "snowflake://host/db?private_key=hunter2",
        "x://host?access_key_id=hunter2",
    ],
)
def test_an_address_with_a_secret_is_refused(url):
    """Credentials come from the environment alone; the refusal says how, and not what."""
    assert "PGPASSWORD" in refusal(lambda: Query(url, "SELECT 1", "patients"))


@pytest.mark.parametrize("url", ["postgresql://owner@host:5432/db?sslkey=a.key&passfile=b", "postgresql:///?service=x"])
def test_addresses_may_name_a_user_and_files_of_libpq(url):
    """A user is no secret, and files that hold secrets are libpq's own matter."""
    assert repr(Query(url, "SELECT 1", "patients")) == "Query(name='patients')"


@pytest.mark.parametrize("url", ["patients.csv", "", "host/db", "a:b.csv", "postgresql://host\n/db"])
def test_what_is_no_address_is_refused(url):
    """A file of data is none."""
    assert not is_address(url) or "\n" in url
    assert "names no database" in refusal(lambda: Query(url, "SELECT 1", "patients"))


def test_a_driver_that_is_not_installed_is_named():
    """The scheme of an address is the name of a driver; which package has it is said."""
    assert "adbc-driver-nosuchthing" in refusal(lambda: read_table(Query("nosuchthing://host", "SELECT 1", "patients")))


def test_columns_of_sqlite_are_of_one_type(tmp_path):
    """Text anywhere makes a column text, digits kept; a fraction makes it fractions; also after 3,000 rows without."""
    path = tmp_path / "lab.db"
    rows = [
        (f"{i:05}", i, i if i < 3000 else 0.123456789, None if i < 3000 else "x", 1.25 if i < 3000 else "<2")
        for i in range(3002)
    ]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id TEXT, whole INTEGER, part, late, mixed)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    frame = read_table(Query(str(path), "SELECT * FROM t ORDER BY id")).frame

    assert [pl.String, pl.Int64, pl.Float64, pl.String, pl.String] == frame.dtypes
    found = texts(frame)
    assert [f"{i:05}" for i in range(3002)] == found["id"]
    assert found["part"][:2] + found["part"][-2:] == ["0", "1", "0.123456789", "0.123456789"]
    assert found["late"][:2] + found["late"][-2:] == [None, None, "x", "x"]
    assert [found["mixed"][0], found["mixed"][-1]] == ["1.25", "<2"]
    assert "failed in the database" in refusal(lambda: read_table(Query(f"sqlite:{path}", "SELECT nope FROM t", "lab")))
    assert "must be one SELECT" in refusal(lambda: read_table(Query(f"sqlite:{path}", "DELETE FROM t", "lab")))


CELLS = {
    "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(allow_nan=True, allow_infinity=False),
    "exact": st.integers(-(10**8), 10**8).map(lambda cents: Decimal(cents) / 100),
    "day": st.dates(),
    "moment": st.datetimes(),
    "yes": st.booleans(),
}
TYPES = {"text": pl.String, "whole": pl.Int64, "real": pl.Float64, "exact": pl.Decimal(12, 2), "day": pl.Date}
TYPES |= {"moment": pl.Datetime("us"), "yes": pl.Boolean}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | cells for name, cells in CELLS.items()}), min_size=1, max_size=20
)


@examples(12)
@given(rows=ROWS)
def test_a_table_in_duckdb_is_read_as_the_same_table_in_parquet(rows, tmp_path_factory):
    """Whatever the values, each column has the same canonical text as in a Parquet file."""
    folder = tmp_path_factory.mktemp("same")
    given_rows = pl.DataFrame(rows, schema=TYPES)
    given_rows.write_parquet(folder / "t.parquet")
    url = in_duckdb(folder / "t.duckdb", f"CREATE TABLE t AS FROM '{folder}/t.parquet'")

    expected = read_table(folder / "t.parquet").frame
    assert texts(expected) == texts(read_table(Query(url, "SELECT * FROM t")).frame)
