"""Databases where files may stand: in a job of all shapes, and on the command line."""

import json
import os
import re
import signal
import subprocess
import sys

import duckdb
import polars as pl
import pytest
from tests.made.claims_files import PLAN, write_files
from tests.made.jobs_files import JOB, write_hospital

from cloister.cli.main import run
from cloister.io import folder

SOURCES = ("patients", "diagnoses", "visits", "people", "events")
CLAIMS = """
[sources.people]
file = "people.csv"
[sources.events]
file = "events.csv"
[[protect]]
shape = "claims"
patients = "people"
claims = "events"
plan = "plan.toml"
"""
WORDS = ("--qi", "age=interval:20", "--qi", "sex", "--undecided", "drop", "-k", "3", "--suppression", "0.2", "-q")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Five files of all shapes, a job about them, and its release."""
    folder = write_files(tmp_path_factory.mktemp("made"), PLAN.replace('["none", 90]', '["none"]'), n_patients=150)
    for name, former in (("people", "patients"), ("events", "claims")):
        (folder / f"{former}.csv").rename(folder / f"{name}.csv")
    job = JOB.replace("attack = true\n", "").replace("crosswalk =", "# crosswalk =")
    write_hospital(folder, job + CLAIMS)
    assert run(["run", str(folder / "job.toml"), "-q"]) == 0
    return folder


@pytest.fixture(scope="module")
def tables(made):
    """The five as tables: ages and dates in types of their own, codes as text."""
    read = {name: pl.read_csv(made / f"{name}.csv", schema_overrides={"code": pl.String}) for name in SOURCES}
    dated = {"people": pl.col("born").str.to_date(), "events": pl.col("date").str.to_date()}
    return {name: frame.with_columns(dated.get(name, [])) for name, frame in read.items()}


@pytest.fixture
def address(request, tables, tmp_path, monkeypatch):
    """Where the tables are: a DuckDB file in the test's folder, or the server."""
    monkeypatch.chdir(tmp_path)
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        for name, frame in tables.items():
            server.load(name, frame)
        return server.url
    with duckdb.connect("hospital.duckdb") as connection:
        for name, frame in tables.items():
            frame.write_parquet(f"{name}.parquet")
            connection.execute(f"CREATE TABLE {name} AS FROM '{name}.parquet'")
    return "duckdb:hospital.duckdb"


def with_queries(job, url):
    """A job whose sources are queries: the table is called as the file was."""
    return re.sub(r'file = "(\w+)\.csv"', lambda found: f"url = '{url}'\nquery = 'SELECT * FROM {found[1]}'", job)


def files_with(folder, *words):
    """Files of a folder that hold one of these texts."""
    held = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [path for path, data in held.items() if any(word.encode() in data for word in words)]


@pytest.mark.parametrize("address", ["duckdb", "postgresql"], indirect=True)
@pytest.mark.full
def test_a_job_of_all_shapes_gives_what_it_gives_of_files(address, made, cloister, tmp_path):
    """The data files are the same bytes; no file or word names the address or the SQL, which --custodian-dir has."""
    (tmp_path / "plan.toml").write_text((made / "plan.toml").read_text())
    (tmp_path / "job.toml").write_text(with_queries((made / "job.toml").read_text(), address))
    ran = cloister("run", "job.toml", "--custodian-dir", "secret")
    release = tmp_path / "release"

    assert ran.code == 0, ran.err
    written = {path.relative_to(made): path.read_bytes() for path in (made / "release").rglob("*.csv")}
    assert len(written) >= 10
    assert [path for path, data in written.items() if (tmp_path / path).read_bytes() != data] == []
    assert json.loads((release / "patients" / "release.json").read_text())["settings"]["source"] == "patients"
    words = ("SELECT * FROM", address, "127.0.0.1", "hospital.duckdb", os.environ.get("PGPASSWORD", address))
    assert [word for word in words if word in ran.out + ran.err] == []
    assert files_with(release, *words[1:]) == []
    assert [path for path in files_with(release, words[0]) if path.name != "verify.sql"] == []
    assert files_with(tmp_path / "secret", *words[1:]) == []
    assert json.loads((tmp_path / "secret/visits/internal.json").read_text())["query"] == "SELECT * FROM visits"
    assert cloister("verify", release / "patients", "--original", made / "patients.csv", "-q").code == 0


@pytest.fixture
def url(tables, tmp_path):
    """A DuckDB file with the patients, in the test's folder."""
    tables["patients"].write_parquet(tmp_path / "patients.parquet")
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as connection:
        connection.execute(f"CREATE TABLE patients AS FROM '{tmp_path}/patients.parquet'")
    return "duckdb:hospital.duckdb"


def test_the_command_line_takes_an_address_and_a_query(url, cloister, tmp_path):
    """``protect`` gives the bytes that it gives of a Parquet file, as CSV; the query may stand in a file."""
    (tmp_path / "adults.sql").write_text("SELECT * FROM patients; -- all of them\n")
    assert cloister("protect", "table", "patients.parquet", *WORDS, "--out", "of-file").code == 0
    assert cloister("protect", "table", url, "--query", "adults.sql", *WORDS, "--out", "of-query").code == 0
    assert (
        cloister("protect", "table", "hospital.duckdb", "--query", "FROM patients", *WORDS, "--out", "third").code == 0
    )

    expected = pl.read_parquet(tmp_path / "of-file" / "data.parquet").cast(pl.String)
    assert expected.equals(pl.read_csv(tmp_path / "of-query" / "data.csv", infer_schema=False))
    assert (tmp_path / "of-query" / "data.csv").read_bytes() == (tmp_path / "third" / "data.csv").read_bytes()
    assert json.loads((tmp_path / "of-query" / "release.json").read_text())["settings"]["source"] == "adults"


def test_assess_and_init_take_them_too(url, cloister, tmp_path):
    """Risk is that of the file; a first job has url and query, seen from its own folder, and runs."""
    words = ("--qi", "age", "--qi", "sex", "--json")
    of_file = cloister("assess", "table", "patients.parquet", *words).json
    of_query = cloister("assess", "table", url, "--query", "FROM patients", *words).json
    assert {k: v for k, v in of_file.items() if k != "source"} == {k: v for k, v in of_query.items() if k != "source"}

    (tmp_path / "jobs").mkdir()
    assert (
        cloister("init", "table", url, "--query", "SELECT *\nFROM patients", "--out", "jobs/job.toml", "-q").code == 0
    )
    assert (
        'url = "duckdb:../hospital.duckdb"\nquery = "SELECT *\\nFROM patients"\n'
        in (tmp_path / "jobs/job.toml").read_text()
    )
    assert cloister("run", "jobs/job.toml", "-q", "--dry-run", "--undecided", "drop").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{url}",), "Name what to read with --query"),
        (("patients.parquet", "--query", "SELECT 1"), "DATA is a file"),
        (("{url}", "--query", "SELECT 1", "--encoding", "latin-1"), "Leave out --encoding, which is for files"),
        (("{url}", "--query", "gone.sql"), "There is no file gone.sql"),
        (("postgresql://me:hunter2@host/db", "--query", "SELECT 1"), "contains a password"),
        (("{url}", "--query", "DELETE FROM patients"), "must be one SELECT"),
        (("{url}", "--query", "SELECT nope FROM patients"), "names a column that is not there"),
    ],
)
def test_what_does_not_fit_together_is_refused(words, said, url, cloister, refused):
    """One sentence or two, without the address, the SQL or what is in the data."""
    message = refused(
        cloister("protect", "table", *(word.format(url=url) for word in words), *WORDS, "--out", "release")
    )

    assert said in message
    assert not [word for word in ("hunter2", "host/db", "FROM", "SELECT 1") if word in message]


def test_exploring_reads_files(url, cloister, refused):
    """An address is refused where one does not look for it."""
    ran = cloister("explore", "table", url, "--qi", "age", "--undecided", "drop", "--grid", "k=2,3", "--out", "found")

    assert "Comparing settings needs a file" in refused(ran)


KILLED = """
import os, signal, sys
from cloister.cli.main import run
from cloister.io import folder

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

{moment} = killed
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request, url, tables, tmp_path):
    """Where the patients are, and how the rows of a table are counted there: a DuckDB file, or the server."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        server.load("patients", tables["patients"])
        server.run("DROP TABLE IF EXISTS protected_patients")
        return server.url, lambda table: int(server.run(f"SELECT count(*) FROM {table}")[0][0])

    def counted(table):
        with duckdb.connect(str(tmp_path / "hospital.duckdb"), read_only=True) as connection:
            return connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]

    return url, counted


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("moment", "has_appeared"), [("folder._put", False), ("folder.Partial.remove", True)])
def test_a_table_that_a_killed_run_left_is_named(database, cloister, tmp_path, moment, has_appeared):
    """Killed once the table stays, before the folder appears: the next command says so; after that there is no need."""
    url, counted = database
    program = KILLED.format(moment=moment)
    words = ("protect", "table", url, "--query", "SELECT * FROM patients", "--engine", url, *WORDS, "--out", "out")
    words = (*words, "--table", "protected_patients")
    done = subprocess.run([sys.executable, "-c", program, *words], cwd=tmp_path)

    assert (done.returncode, counted("protected_patients") > 0) == (-signal.SIGKILL, True)
    assert (tmp_path / "out").exists() == has_appeared
    again = cloister("protect", "table", "patients.parquet", *WORDS, "--out", "other")
    assert again.code == 0
    assert ("may have left the protected table protected_patients" in again.err) != has_appeared
    assert not list(tmp_path.glob(".*partial*"))


def test_what_nobody_compared_in_a_database_is_said(database, cloister, tmp_path):
    """Columns released as recorded where they are: screen, report and JSON say that they were not checked."""
    url, _ = database
    words = ("--qi", "age=interval:20", "--keep", "sex", "--undecided", "drop", "-k", "3", "--suppression", "0.2")
    words = ("protect", "table", url, "--query", "SELECT * FROM patients", "--engine", url, *words)
    ran = cloister(*words, "--out", "out", "--table", "protected_patients")
    said = "whether sex, released as recorded, reveals a quasi-identifier was not checked"

    assert ran.code == 0, ran.err
    assert f"Warning: {said}" in ran.err
    assert ran.err.count(said) == 1
    assert said in (tmp_path / "out" / "report.html").read_text()
    of_file = cloister("protect", "table", "patients.parquet", *words[7:], "--engine", "duckdb", "--out", "other")
    assert (of_file.code, f"Note: {said}" in of_file.err) == (0, True)


def test_what_names_a_table_is_not_removed_in_silence(tmp_path):
    """Whoever writes a release in Python reads no note: the remains stay for a command that says what they name."""
    left = folder.begin_partial(tmp_path / "out", is_file=False)
    folder.note_table(left.content, "protected_patients")
    left.lock.close()
    with folder.release_folder(tmp_path / "other"):
        pass

    assert left.path.exists()
    assert folder.remove_dead_partials(tmp_path, with_tables=True) == {left.path.name: ["protected_patients"]}
