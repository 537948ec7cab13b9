"""PostgreSQL as a source: types, one transaction that only reads, and what is said when something is wrong."""

import os
import signal
import threading
import time

import polars as pl
import pytest

from cloister.cli.main import run
from cloister.errors import InputError
from cloister.io import Query, as_text, read_table

SECRET = "hunter2"
SLOW = "SELECT i, repeat('x', 1000) AS hunter2, pg_sleep(0.01) AS p FROM generate_series(1, 3000) AS i"


def texts(frame):
    """Every column as the text that is released of it."""
    return {column.name: as_text(column).to_list() for column in frame}


def refusal(server, query, url=None):
    """The message of a refusal, which holds no value, no address, no password, no SQL, and hides no exception."""
    with pytest.raises(InputError) as refused:
        read_table(Query(url or server.url, query, "patients"))
    message = refused.value.message

    password = server.environment["PGPASSWORD"]
    assert not [word for word in (SECRET, "//", str(server.port), password, "FROM", "owner") if word in message]
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    assert "patients" in message
    return message


@pytest.fixture
def table(postgresql):
    """The server, with a table of two rows in many types."""
    postgresql.run(
        "DROP TABLE IF EXISTS t; DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('sad', 'ok');"
        "CREATE TABLE t AS SELECT '001'::text AS code, '250.0'::char(8) AS padded, 1::int2 AS small, "
        "1.50::numeric AS exact, "
        "'NaN'::numeric AS none, 2.0::float8 AS two, DATE '2020-02-29' AS day, TIME '01:02:03' AS clock, "
        "TIMESTAMPTZ '2020-01-01 01:00:00+01' AS moment, INTERVAL '3 days' AS span, true AS yes, "
        "'\\xc3a9'::bytea AS bytes, "
        "'11111111-2222-3333-4444-555555555555'::uuid AS key, 'sad'::mood AS mood, '10.0.0.1'::inet AS place, "
        "'{\"a\": 1}'::jsonb AS json, int4range(1, 3) AS range, ''::text AS empty, NULL AS nothing, "
        "12.30::money AS price, "
        "ARRAY[1] AS list, 'infinity'::date AS never, 'hunter2'::text AS secret, '\\xff'::bytea AS garbage"
    )
    return postgresql


def test_types_become_plain_ones(table):
    """Text stays text, numbers exact; what only PostgreSQL has becomes its text; NaN and the empty text are missing."""
    names = "code, padded, small, exact, none, two, day, clock, moment, span, yes, bytes, key, mood, place, json, range"
    source = read_table(Query(table.url, f"SELECT {names}, empty, nothing, price FROM t; -- all", "t"))

    expected = {"code": "001", "padded": "250.0", "small": "1", "exact": "1.50", "none": None, "two": "2"}
    expected |= {"day": "2020-02-29", "clock": "01:02:03", "moment": "2020-01-01T00:00:00+00:00", "span": "3 days"}
    expected |= {"yes": "true", "bytes": "é", "key": "11111111-2222-3333-4444-555555555555", "mood": "sad"}
    expected |= {"place": "10.0.0.1/32", "json": '{"a": 1}', "range": "[1,3)", "empty": None, "nothing": None}
    assert {name: [text] for name, text in (expected | {"price": "$12.30"}).items()} == texts(source.frame)
    assert (source.format, source.delimiter, source.name) == ("csv", None, "t")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT list FROM t", "column 'list' holds lists"),
        ("SELECT ROW(1, code) AS r FROM t", "column 'r' holds lists, structs"),
        ("SELECT never FROM t", "column 'never' has dates outside the years 1 to 9999"),
        ("SELECT garbage FROM t", "column 'garbage' holds bytes that are not UTF-8"),
        ("SELECT code, code FROM t", "columns 1 and 2 have the same name"),
        ("SELECT code FROM t WHERE false", "gives no records"),
        ("SELECT code FROM FROM t", "its syntax is wrong (SQLSTATE 42601)"),
        ("SELECT nope FROM t", "a column that is not there (SQLSTATE 42703)"),
        ("SELECT * FROM nope", "a table that is not there (SQLSTATE 42P01)"),
        ("SELECT nope(1) AS a", "a function that is not there"),
        ("SELECT secret::int AS a FROM t", "fails on a value, such as text that is no number"),
        ("SELECT 1; SELECT 2", "has 2 statements"),
        ("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "writes and locks nothing"),
    ],
)
def test_what_cannot_be_read_is_refused(table, query, words):
    """One sentence or two name the source and what kind of thing is wrong; nothing of the query or the data."""
    assert words in refusal(table, query)


def test_nothing_can_be_written(table):
    """Neither a function that writes, nor one that asks to write, nor several statements that look like one."""
    table.run(
        "CREATE OR REPLACE FUNCTION note() RETURNS int LANGUAGE sql VOLATILE AS "
        "'INSERT INTO t (code) VALUES (1) RETURNING 1';"
        "CREATE SEQUENCE IF NOT EXISTS counter"
    )
    before = table.run("SELECT count(*) FROM t")

    assert "writes, which a query of a source must not (SQLSTATE 25006)" in refusal(table, "SELECT note() AS a")
    assert "(SQLSTATE 25006)" in refusal(table, "SELECT nextval('counter') AS a")
    assert "(SQLSTATE 25001)" in refusal(
        table, "SELECT set_config('transaction_read_only', 'off', true) AS a, note() AS b"
    )
    refusal(table, "SELECT $a$'$a$ AS a) TO STDOUT; DELETE FROM t; COPY (SELECT 1 AS a")
    assert before == table.run("SELECT count(*) FROM t")


def test_servers_that_refuse_are_told(table, monkeypatch):
    """No server, no such database, a wrong password, none, no permission: each in words of its own, without ours."""
    table.run("DROP ROLE IF EXISTS nobody; CREATE ROLE nobody LOGIN PASSWORD 'hunter2'; REVOKE ALL ON t FROM PUBLIC")
    with monkeypatch.context() as patch:
        patch.setenv("PGUSER", "nobody")
        patch.setenv("PGPASSWORD", "hunter2")
        assert "no permission to read (SQLSTATE 42501)" in refusal(table, "SELECT code FROM t")
        patch.setenv("PGPASSWORD", "hunter22")
        assert "refuses user or password" in refusal(table, "SELECT code FROM t")
        patch.delenv("PGPASSWORD")
        assert "PGUSER and PGPASSWORD" in refusal(table, "SELECT code FROM t")

    assert "cannot be reached" in refusal(table, "SELECT 1 AS a", "postgresql://127.0.0.1:1/db")
    assert "no database of the name" in refusal(table, "SELECT 1 AS a", table.url.replace("/postgres", "/gone"))
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=30")
    assert "(a statement timeout)" in refusal(table, SLOW)


def when_reading(server, action):
    """Do something in another thread once the server works on the slow query."""

    def wait_and_act():
        while not server.run("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'"):
            time.sleep(0.02)
        action()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%'"


def test_a_connection_that_is_lost_is_told(postgresql):
    """A backend that is killed, and a server that is stopped, while rows come: one sentence, and nothing is kept."""
    for end in (lambda: postgresql.run(KILL), postgresql.stop):
        thread = when_reading(postgresql, end)
        assert "was lost while patients was being read" in refusal(postgresql, SLOW)
        thread.join()
    postgresql.start()


def test_an_interruption_ends_the_query(postgresql, tmp_path, monkeypatch, capsys):
    """Ctrl-C while the database works: exit code 130, nothing is written, and the database stops working."""
    monkeypatch.chdir(tmp_path)
    thread = when_reading(postgresql, lambda: os.kill(os.getpid(), signal.SIGINT))
    code = run(["protect", "table", postgresql.url, "--query", SLOW, "--qi", "i", "-k", "2", "--out", "release"])
    thread.join()

    assert code == 130
    assert capsys.readouterr().err == "cloister: The command was interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == []
    while postgresql.run("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'"):
        time.sleep(0.02)  # the query itself would take half a minute
    assert "canceling statement due to user request" in postgresql.log()


def test_text_of_any_kind_comes_over(postgresql):
    """Codes keep their zeros, and signs of every script and of SQL come over as they are."""
    given = pl.DataFrame({"id": ["001", "é'\"\\;--", "患者", None], "a \"b' %s": [1, None, 3, 4]})
    postgresql.load("odd", given)

    assert texts(given) == texts(read_table(Query(postgresql.url, "SELECT * FROM odd")).frame)


@pytest.fixture
def reader(postgresql, monkeypatch):
    """A server with an account that may read one table and make tables in a schema of its own, and nothing else."""
    postgresql.run(
        "DROP SCHEMA IF EXISTS research CASCADE; DROP TABLE IF EXISTS visits, letters; DROP ROLE IF EXISTS reader;"
        "CREATE ROLE reader LOGIN PASSWORD 'only to read'; CREATE SCHEMA research AUTHORIZATION reader;"
        "CREATE TABLE visits AS SELECT i AS mrn, 20 + i % 40 AS age FROM generate_series(1, 400) AS i;"
        "CREATE TABLE letters AS SELECT 'hunter2' AS letter; GRANT SELECT ON visits TO reader"
    )
    monkeypatch.setenv("PGUSER", "reader")
    monkeypatch.setenv("PGPASSWORD", "only to read")
    yield postgresql
    postgresql.run("DROP SCHEMA research CASCADE; DROP TABLE visits, letters; DROP ROLE reader")


POWERS = ("SUPERUSER", "IN ROLE pg_read_server_files", "IN ROLE pg_write_server_files, pg_execute_server_program")


@pytest.mark.parametrize("power", POWERS)
def test_an_account_that_reaches_the_server_is_noted(reader, power, tmp_path, capsys, monkeypatch):
    """Rights to read files or run programs of the server are told of on the screen, read or protected there."""
    reader.run(f"CREATE ROLE strong LOGIN PASSWORD 'hunter2' {power}; GRANT reader TO strong")
    asked = Query(reader.url, "SELECT mrn, age FROM visits", "visits")
    words = ("protect", "table", reader.url, "--query", asked.query, "--engine", reader.url, "--table", "research.v")
    try:
        assert read_table(asked).notes == ()
        monkeypatch.setenv("PGUSER", "strong")
        monkeypatch.setenv("PGPASSWORD", "hunter2")
        (note,) = read_table(asked).notes
        assert run([*words, "--qi", "age=interval:20", "--drop", "mrn", "-k", "5", "--out", str(tmp_path / "r")]) == 0
    finally:
        reader.run("DROP TABLE IF EXISTS research.v; DROP ROLE strong")

    said = capsys.readouterr().err
    assert "files or run programs of the database server" in note
    assert note in " ".join(said.split())
    assert "strong" not in said
    assert not any(note in path.read_text() for path in (tmp_path / "r").iterdir())


def test_the_least_rights_suffice(reader, tmp_path, capsys):
    """SELECT on the source and a schema of its own are all that an account needs to protect and verify there."""
    where = ("--engine", reader.url)
    words = ("protect", "table", reader.url, "--query", "SELECT mrn, age FROM visits", *where, "-k", "5", "-q")

    assert (
        run([*words, "--qi", "age=interval:20", "--id", "mrn", "--table", "research.v", "--out", f"{tmp_path}/r"]) == 0
    )
    assert run(["verify", str(tmp_path / "r"), *where, "-q"]) == 0
    assert reader.run("SELECT count(*) FROM research.v") == [["400"]]
    assert capsys.readouterr().err == ""
    assert "(SQLSTATE 42501)" in refusal(reader, "SELECT letter FROM letters")
