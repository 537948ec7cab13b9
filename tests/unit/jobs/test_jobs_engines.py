"""Jobs whose tables stay in their database, beside parts that are read."""

import json

import duckdb
import polars as pl
import pytest
from tests.made.jobs_files import JOB, write_hospital

from cloister.cli.main import run
from cloister.errors import InputError
from cloister.jobs.job_file import parse_job

HEAD = 'name = "inside"\noutput = "release"\nk = 3\n'
SOURCE = '[sources.{name}]\nurl = "{url}"\nquery = "select * from {name}"\nid = "{id}"\n'
TABLE = """[[protect]]
shape = "table"
source = "patients"
name = "{name}"
undecided = ["drop"]
suppression = 0.2
engine = "{engine}"
table = "{table}"
{more}
[protect.qi]
age = "interval:20"
sex = "suppress"
"""
CODES = '[[protect]]\nshape = "codes"\nsource = "diagnoses"\nm = 1\n'


@pytest.fixture
def hospital(postgresql, tmp_path, monkeypatch):
    """The hospital's files, loaded into the server, and what writes a job about them."""
    write_hospital(tmp_path, JOB)
    monkeypatch.chdir(tmp_path)
    for name in ("patients", "diagnoses"):
        postgresql.load(name, pl.read_csv(f"{name}.csv", schema_overrides={"code": pl.String}))
    postgresql.run("drop table if exists safe; drop table if exists other")
    ids = {"patients": "mrn", "diagnoses": "id"}
    sources = "".join(SOURCE.format(name=name, url=postgresql.url, id=column) for name, column in ids.items())

    def job(*parts: str) -> None:
        (tmp_path / "inside.toml").write_text(HEAD + sources + "".join(parts))

    return postgresql, job


def table(server, name="people", table="safe", more="") -> str:
    """A part that is protected inside the server."""
    return TABLE.format(name=name, engine=server.url, table=table, more=more)


def test_a_table_stays_and_codes_are_read(hospital, tmp_path, capsys):
    """Both parts are released together: the table in the database, the codes in the folder; the whole holds."""
    server, job = hospital
    job(table(server), CODES)

    assert run(["run", "inside.toml", "-q"]) == 0

    manifest = json.loads((tmp_path / "release" / "people" / "release.json").read_text())
    assert manifest["table"] == {"name": "safe", "not_counted": ["mrn"], "dialect": "postgres"}
    assert [[str(manifest["records"]["released"])]] == server.run("select count(*) from safe")
    assert server.url not in "".join(path.read_text() for path in (tmp_path / "release").rglob("*.json"))
    assert run(["verify", "release", "--engine", server.url, "-q"]) == 0
    server.run("update safe set sex = '*' where ctid in (select ctid from safe where sex <> '*' limit 1)")
    assert run(["verify", "release", "--engine", server.url, "-q"]) == 1


def test_a_part_that_fails_undoes_the_tables_of_others(hospital, tmp_path, capsys):
    """When a later part cannot be protected, no table of an earlier one stays, and there is no folder."""
    server, job = hospital
    job(table(server), CODES.replace("m = 1", "m = 1\nk = 100000"))

    assert run(["run", "inside.toml", "-q"]) != 0

    assert server.run("select count(*) from information_schema.tables where table_name = 'safe'") == [["0"]]
    assert not (tmp_path / "release").exists()


def test_parts_that_cannot_be_compared_are_refused(hospital, capsys):
    """Two parts that release the same columns cannot be told apart when one is in a database, and are refused."""
    server, job = hospital
    job(table(server), table(server, "again", "other"))

    assert run(["run", "inside.toml", "-q"]) != 0

    assert "cannot be seen" in capsys.readouterr().err
    assert server.run("select count(*) from information_schema.tables where table_name in ('safe', 'other')") == [["0"]]


def test_a_job_inside_a_duckdb_file(hospital, tmp_path):
    """The same in a DuckDB file, which is read while the job still has it open."""
    frame = pl.read_csv("patients.csv")
    with duckdb.connect("hospital.duckdb") as connection:
        connection.register("loaded", frame.to_arrow())
        connection.execute("create table patients as select * from loaded")
    url = "duckdb:hospital.duckdb"
    source = SOURCE.format(name="patients", url=url, id="mrn")
    part = TABLE.format(name="people", engine=url, table="safe", more="")
    (tmp_path / "inside.toml").write_text(HEAD + source + part)

    assert run(["run", "inside.toml", "-q"]) == 0
    assert run(["verify", "release", "--engine", url, "-q"]) == 0


def test_parts_that_would_make_one_table():
    """Two parts cannot make a table of one name, and the job says so when it is read."""
    source = SOURCE.format(name="patients", url="duckdb:x", id="mrn")
    parts = [TABLE.format(name=name, engine="duckdb:x", table="safe", more="") for name in ("one", "two")]

    with pytest.raises(InputError, match="would both make the table safe"):
        parse_job(HEAD + source + "".join(parts), "inside.toml")


def test_tables_of_a_job_stay_in_one_database():
    """Two databases cannot keep or undo tables together, so a job names one."""
    sources = "".join(
        SOURCE.format(name=name, url=url, id="id")
        for name, url in (("patients", "postgresql://a/b"), ("diagnoses", "duckdb:x"))
    )
    one = TABLE.format(name="one", engine="postgresql://a/b", table="safe", more="")
    two = TABLE.format(name="two", engine="duckdb:x", table="other", more="").replace('"patients"', '"diagnoses"')

    with pytest.raises(InputError, match="inside one database, but 2 are named"):
        parse_job(HEAD + sources + one + two, "inside.toml")
