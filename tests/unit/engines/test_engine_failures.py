"""What engines do when something goes wrong: one clear error, nothing half-written, no value and no secret in it."""

import errno
import json
import os
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest
from sqlglot import parse_one
from tests.made.renames import before_each_rename
from tests.unit.engines.test_tables_on_engines import TABLE, N, patients, request_of

from cloister.cli.main import run
from cloister.engines.duckdb import duckdb_file
from cloister.engines.postgresql import postgresql
from cloister.errors import InputError, InternalError
from cloister.io import memory, write_csv, write_parquet
from cloister.io.query import Query
from cloister.io.write import write_parquet_of
from cloister.pipeline.protecting import protect
from cloister.pipeline.table_engines import CountedProtection, DatabaseProtection, OpenedTable
from cloister.release.folder import json_bytes

SECRETS = ("it's", "Zoë", "p007", "back\\slash")
WORDS = (
    *("--id", "mrn", "--qi", "age=interval:10,20", "--qi", 'se"x=suppress', "--qi", "zip code=prefix:3"),
    *("--sensitive", "n", "--keep", "weight", "--undecided", "drop", "-k", "4", "--suppression", "0.2"),
)


@pytest.fixture
def hospital(postgresql) -> object:
    """A server with the patients, and no protected table."""
    postgresql.load("patients", patients())
    postgresql.run(f"DROP TABLE IF EXISTS {TABLE}; DROP TABLE IF EXISTS release")
    return postgresql


def query(server) -> Query:
    """All patients of a server."""
    return Query(server.url, "select * from patients", "patients")


def tables(server) -> list[str]:
    """Names of the tables of a server."""
    return [
        row[0] for row in server.run("select table_name from information_schema.tables where table_schema='public'")
    ]


def cut_off(server) -> None:
    """End all connections but the one that asks for it."""
    others = "pid <> pg_backend_pid() and datname is not null"
    server.run(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")


def said_well(message: str, server=None) -> None:
    """A message holds no value, no password and no SQL."""
    assert not any(secret in message for secret in SECRETS)
    assert "SELECT" not in message
    assert server is None or server.environment["PGPASSWORD"] not in message


def command(server, tmp_path, *words: object) -> int:
    """Protect the patients inside the server by the command line."""
    options = ("--query", "select * from patients", "--engine", server.url, "--out", tmp_path / "release", *words)
    return run([str(word) for word in ("protect", "table", server.url, *WORDS, *options)])


def test_only_counts_leave_a_database(hospital, tmp_path):
    """By the server's own log, every statement of ours that returns rows counts them, and none is of the rows."""
    before = len(hospital.log())

    assert command(hospital, tmp_path, "-q") == 0

    log = hospital.log()[before:]
    asked = re.findall(r"(?:statement|execute [^:]*): (.*?)(?=\n\d{4}-\d\d-\d\d |\Z)", log, flags=re.DOTALL)
    of_driver = re.compile(r"pg_catalog\.|version\(\)|^\s*(COPY \()?SELECT CURRENT_SCHEMA\(\)")
    own = [text.strip() for text in asked if not of_driver.search(text)]
    returning = [text for text in own if re.match(r"(SELECT|COPY \((SELECT|WITH)|WITH|TABLE|VALUES)\b", text)]
    assert len(returning) >= 6
    assert [text for text in returning if "COUNT(" not in text] == []
    assert not any("COPY" in text and " TO STDOUT" in text and "COUNT(" not in text for text in own)
    assert [[str(N - 28)]] == hospital.run("select count(*) from release")
    hospital.run("drop table release")


def test_a_lost_connection_leaves_nothing(hospital, tmp_path):
    """When the server ends the connection before the table is made, the error says so, and there is no table."""
    with postgresql(query(hospital)) as database:
        cut_off(hospital)
        with pytest.raises(InputError, match="was lost") as caught:
            protect(DatabaseProtection(database, TABLE, request_of()))

    said_well(caught.value.message, hospital)
    assert TABLE not in tables(hospital)


def test_a_connection_lost_while_the_table_is_made(hospital, monkeypatch):
    """When it is lost in the middle of making the table, nothing of it stays."""
    from cloister.engines import in_database

    keys = in_database._keys

    def cut(*of_what):
        cut_off(hospital)
        return keys(*of_what)

    monkeypatch.setattr(in_database, "_keys", cut)
    with pytest.raises(InputError, match="was lost") as caught, postgresql(query(hospital)) as database:
        protect(DatabaseProtection(database, TABLE, request_of()))

    said_well(caught.value.message, hospital)
    assert TABLE not in tables(hospital)


def test_an_account_that_may_make_nothing(hospital, tmp_path, monkeypatch, capsys):
    """An account without permission to make tables is told so, with exit code 2, and nothing is written."""
    hospital.run(
        "drop owned by reader; drop role if exists reader;"
        if hospital.run("select 1 from pg_roles where rolname='reader'")
        else "select 1"
    )
    hospital.run("create role reader login password 'only to read'; grant select on patients to reader")
    monkeypatch.setenv("PGUSER", "reader")
    monkeypatch.setenv("PGPASSWORD", "only to read")

    assert command(hospital, tmp_path) == 2

    said = capsys.readouterr().err
    assert "may not make tables" in said
    assert "only to read" not in said
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    "where", ["cloister.release.release.write_csv", "cloister.pipeline.table_engines.require_verified"]
)
def test_what_fails_on_our_side_undoes_the_table(hospital, tmp_path, monkeypatch, where, capsys):
    """When the folder cannot be written, or our own check fails, the table does not stay either."""

    def fail(*_):
        if where.endswith("verified"):
            raise InternalError("The release did not pass verification: a test")
        raise InputError("The disk is full.")

    monkeypatch.setattr(where, fail)

    assert command(hospital, tmp_path, "--table", TABLE) in (2, 3)

    said_well(capsys.readouterr().err, hospital)
    assert TABLE not in tables(hospital)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_appear_takes_the_table_back(hospital, tmp_path, monkeypatch):
    """When the folder cannot get its name after the table was committed, the table is removed again."""
    before_each_rename(monkeypatch, _refuse)

    assert command(hospital, tmp_path, "--table", TABLE) != 0

    assert TABLE not in tables(hospital)


def _refuse(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_table_that_is_there_is_not_touched(hospital, tmp_path, capsys):
    """A table of the name is refused, and stays as it is."""
    hospital.run(f"create table {TABLE} as select 1 as one")

    assert command(hospital, tmp_path, "--table", TABLE) == 2

    assert "There is a table" in capsys.readouterr().err
    assert hospital.run(f"select one from {TABLE}") == [["1"]]


@pytest.mark.parametrize("name", ["drop table patients", 'x"y', "1a", "a.b.c.d", "", "pg_temp.x", "cloister_source"])
def test_names_that_are_none(name, tmp_path, capsys):
    """A name of a table that not every database takes is refused before anything is asked."""
    words = (
        *("protect", "table", "postgresql://nowhere/db", "--query", "select 1"),
        *("--engine", "postgresql://nowhere/db"),
    )

    assert run([*words, *WORDS, "--table", name, "--out", str(tmp_path / "release")]) == 2

    said = capsys.readouterr().err
    assert "needs a name of letters" in said or "must stay" in said


def test_a_secret_in_the_engine_is_not_repeated(tmp_path, capsys):
    """An engine whose address holds a password is refused without showing it."""
    secret = "postgresql://me:hunter2@host/db"

    assert run(["protect", "table", "p.csv", *WORDS, "--engine", secret, "--out", str(tmp_path / "release")]) == 2

    assert "hunter2" not in capsys.readouterr().err


def test_a_release_in_a_database_is_checked_there(hospital, tmp_path, capsys):
    """What was released holds by the database; one changed cell, one exchanged id, and it does not."""
    assert command(hospital, tmp_path, "-q") == 0
    folder, verify = str(tmp_path / "release"), ("--engine", hospital.url, "-q")
    report = (tmp_path / "release" / "report.html").read_text()
    assert "table release, in the database" in report
    assert "not checked, because the values stay in the database: n, weight" in report

    assert run(["verify", folder, "-q"]) == 2
    assert "Name the database as --engine" in capsys.readouterr().err
    assert run(["verify", folder, *verify]) == 0
    write_parquet(patients(), tmp_path / "patients.parquet")
    assert run(["verify", folder, *verify, "--original", str(tmp_path / "patients.parquet")]) == 0
    for change in (
        "update release set \"zip code\" = '999' where mrn = 7",
        "update release set mrn = 0 where mrn = 9",
        "update release set mrn = 373 - mrn where mrn in (1, 372)",
        "delete from release where mrn = 12",
        "alter table release add column patient text",
    ):
        hospital.run("drop table if exists kept; create table kept as select * from release")
        hospital.run(change)
        assert run(["verify", folder, *verify]) == 1
        hospital.run("drop table release; alter table kept rename to release")
    assert run(["verify", folder, *verify]) == 0
    hospital.run("drop table release")


def released(path: Path, **changes: object) -> object:
    """What DuckDB makes of a file."""
    with duckdb_file(path) as engine:
        return protect(CountedProtection(OpenedTable(engine), request_of(**changes)))


def test_a_broken_record_is_named_by_its_line(tmp_path):
    """A record with another number of cells is refused near its line, without its values."""
    path = tmp_path / "patients.csv"
    write_csv(patients().with_columns(n=pl.lit("x")), path)
    lines = path.read_text().splitlines()
    lines[200] += ",Zoë,too many"
    path.write_text("\n".join(lines) + "\n")

    with pytest.raises(InputError, match="near line 201") as caught:
        released(path)

    said_well(caught.value.message)


def test_text_that_is_not_utf8(tmp_path):
    """Bytes that are no UTF-8 text are refused, not replaced."""
    path = tmp_path / "patients.csv"
    write_csv(patients(), path)
    path.write_bytes(path.read_bytes().replace("Zoë".encode(), b"Zo\xeb"))

    with pytest.raises(InputError, match="undecodable bytes") as caught:
        released(path)

    said_well(caught.value.message)


def test_a_parquet_file_that_ends_early(tmp_path):
    """A file that was not copied whole is refused."""
    path = tmp_path / "patients.parquet"
    write_parquet(patients(), path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])

    with pytest.raises(InputError, match="not a whole Parquet file"):
        released(path)


def test_too_little_memory_is_said(tmp_path, monkeypatch):
    """Where there is less memory than the counts need, and no disk, one sentence says so."""
    monkeypatch.setattr(memory, "MEMORY_LIMIT", "1MiB")
    path = tmp_path / "many.parquet"
    write_parquet(pl.DataFrame({"mrn": range(300_000), "age": [f"{i:09}" for i in range(300_000)]}), path)
    request = request_of(quasi_identifiers={"age": request_of().quasi_identifiers["zip code"]}, sensitive=(), keep=())

    with pytest.raises(InputError, match="different records than the engine") as caught, duckdb_file(path) as engine:
        protect(CountedProtection(OpenedTable(engine), request))

    assert "000000" not in caught.value.message


def test_nothing_is_left_in_temporary_folders(tmp_path, monkeypatch):
    """What DuckDB sets aside lies in a private folder that is gone afterwards, also after an error."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "own"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "own").mkdir()
    write_parquet(patients(), tmp_path / "patients.parquet")
    seen = []

    with duckdb_file(tmp_path / "patients.parquet") as engine:
        seen = [(path.name, path.stat().st_mode & 0o777) for path in (tmp_path / "own").iterdir()]
        engine.fetch(parse_one("select 1 as one"))

    assert [mode for _, mode in seen] == [0o700]
    assert os.listdir(tmp_path / "own") == []


def test_names_that_differ_in_case_alone(tmp_path):
    """DuckDB cannot tell such columns apart, and says so rather than mixing them up."""
    path = tmp_path / "patients.parquet"
    write_parquet(pl.DataFrame({"Age": [1, 2], "age": [3, 4]}), path)

    with pytest.raises(InputError, match="differ in upper and lower case"), duckdb_file(path):
        pass


def test_another_encoding_is_left_to_memory(tmp_path):
    """A file in another encoding is not read piece by piece, and the message says what to do."""
    path = tmp_path / "patients.csv"
    path.write_text("mrn,age\n1,2\n", encoding="utf-16")

    with pytest.raises(InputError, match='engine="memory"'), duckdb_file(path):
        pass


def test_a_file_in_use_by_a_writer(tmp_path):
    """A DuckDB file that cannot be opened for writing is refused in our words."""
    from cloister.engines.duckdb import duckdb_database

    path = tmp_path / "hospital.duckdb"
    path.write_bytes(b"not a database at all" * 100)

    asked = Query(f"duckdb:{path}", "select 1 as one", "one")
    with pytest.raises(InputError, match="cannot be opened") as caught, duckdb_database(asked):
        pass

    assert duckdb.__name__ not in caught.value.message.split()[0]


def test_text_that_is_not_utf8_further_on(tmp_path):
    """Bytes that are no UTF-8 text are refused also after what is looked at first."""
    path = tmp_path / "patients.csv"
    write_csv(pl.concat([patients().with_columns(n=pl.lit("x" * 20))] * 80), path)
    path.write_bytes(path.read_bytes() + "p1,30,F,100,Zoë,1,2020-01-01,true\n".encode("latin-1"))

    with pytest.raises(InputError, match="cannot be read as a table") as caught:
        released(path, id=None, drop=("mrn",))

    said_well(caught.value.message)


@pytest.mark.parametrize(
    "asked",
    [
        "select * from patients order by random() limit 9",
        "select * from patients limit 9",
        "from patients using sample 9",
    ],
)
def test_queries_that_give_other_rows_each_time(tmp_path, asked):
    """A query that DuckDB would answer otherwise for every count is refused, with what to do."""
    from cloister.engines.duckdb import duckdb_database

    path = tmp_path / "hospital.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table patients as select range as n from range(99)")

    with (
        pytest.raises(InputError, match="other rows each time"),
        duckdb_database(Query(f"duckdb:{path}", asked, "few")),
    ):
        pass


def test_an_engine_for_a_release_of_files(tmp_path, capsys):
    """The address of a database is of no use where the records are in the folder, and that is said."""
    write_parquet(patients(), tmp_path / "patients.parquet")
    words = ("protect", "table", str(tmp_path / "patients.parquet"), *WORDS, "--out", str(tmp_path / "release"), "-q")
    assert run([*words]) == 0

    assert run(["verify", str(tmp_path / "release"), "--engine", "duckdb:x.duckdb"]) == 2

    assert "--engine names a database" in capsys.readouterr().err


def test_functions_of_the_query_cannot_write(hospital, tmp_path, capsys):
    """A query whose functions write is refused, and what they wrote is undone, also where a table is to be made."""
    hospital.run(
        "create table if not exists audit (x int);"
        "create or replace function wrote(x bigint) returns bigint language plpgsql as $$"
        "begin insert into audit values (x); return x; end $$"
    )
    asked = Query(hospital.url, "select wrote(age) as age from patients", "patients")

    with pytest.raises(InputError, match="25006") as caught, postgresql(asked):
        pass

    said_well(caught.value.message, hospital)
    assert hospital.run("select count(*) from audit") == [["0"]]


def test_tables_of_others_are_not_taken_for_ours(hospital, tmp_path):
    """Where temporary tables come last in the search path, tables of others with our names are passed over."""
    hospital.run(
        "create table cloister_source as select * from patients limit 0;"
        "create table cloister_levels_0 as select 1 as k;"
        "alter role owner set search_path = public, pg_temp"
    )
    try:
        assert command(hospital, tmp_path, "-q") == 0
        assert hospital.run("select count(*) from release") == [[str(N - 28)]]
    finally:
        hospital.run("alter role owner reset search_path; drop table cloister_source, cloister_levels_0")


def test_what_stays_cannot_be_expected_anything_of(hospital, tmp_path, capsys):
    """Classes by a column that was not counted are not told, and a rule cannot be about one that was not counted."""
    assert command(hospital, tmp_path, "--rule", "t-closeness:n=0.9", "-q") == 0
    folder, verify = tmp_path / "release", ("--engine", hospital.url, "-q")

    assert run(["verify", str(folder), *verify, "-k", "4", "--qi", "weight"]) == 2
    assert "were not counted" in capsys.readouterr().err
    manifest = json.loads((folder / "release.json").read_text())
    manifest["table"]["not_counted"] = ["mrn", "n", "weight"]
    (folder / "release.json").write_bytes(json_bytes(manifest))
    assert run(["verify", str(folder), *verify]) == 1


def test_a_full_disk_is_called_so_whatever_writes():
    """What Polars says of a full disk becomes the error that the disk's own message is made of."""
    frame = pl.DataFrame({"x": [f"{i:08}" for i in range(100_000)]}).lazy()

    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space left") as caught:
        write_parquet_of(frame, full, InputError("The table cannot be written."))

    assert caught.value.errno == errno.ENOSPC


def test_what_does_not_fit_into_memory_is_set_aside(tmp_path, monkeypatch):
    """More different records than memory holds are counted all the same, by way of the disk."""
    monkeypatch.setattr(memory, "MEMORY_LIMIT", "24MiB")
    n, path = 600_000, tmp_path / "many[1]*.parquet"
    write_parquet(pl.DataFrame({"age": [f"{i:012}" for i in range(n)]}), path)

    with duckdb_file(path) as engine:
        found = engine.fetch(parse_one("select count(*) as n from (select distinct age from cloister_source) as t"))

    assert found.item() == n


def test_a_file_that_is_counted_is_the_only_one_that_is_read(tmp_path):
    """The connection that counts a file reads no other."""
    write_parquet(patients(), tmp_path / "patients.parquet")
    write_csv(patients(), tmp_path / "other.csv")

    with duckdb_file(tmp_path / "patients.parquet") as engine, pytest.raises(InputError):
        engine.fetch(parse_one(f"select * from read_text('{tmp_path}/other.csv')", dialect="duckdb"))
