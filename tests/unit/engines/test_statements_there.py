"""``verify.sql`` where the records are: inside a database, and on Spark."""

from dataclasses import replace

import duckdb
import polars as pl
import pytest
from tests.unit.engines.test_tables_on_engines import TABLE, inside, patients, request_of, written  # noqa: F401

from cloister.errors import GuaranteeViolation, InputError
from cloister.hierarchy import suppress
from cloister.io import Source
from cloister.io.columns import plain_columns
from cloister.io.query import Query
from cloister.pipeline.protecting import protect
from cloister.pipeline.table_engines import DatabaseProtection
from cloister.pipeline.tables import TableProtection
from cloister.privacy import KAnonymity, LDiversity, TCloseness
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.verification.folder import verify_folder

RULES = (KAnonymity(3), LDiversity(2, "n"), TCloseness(0.5, "n"))
REQUEST = request_of(rules=RULES, keep=(), undecided=("drop",), suppression=0)


@pytest.fixture
def protected(inside, tmp_path):  # noqa: F811
    """A release whose records are in a database, and what runs statements there."""
    url, opened, load = inside
    load(patients())
    with opened(Query(url, "select * from patients", "patients")) as database:
        written(protect(DatabaseProtection(database, TABLE, REQUEST)), tmp_path / "released")
    return url, tmp_path / "released"


def run_there(url, statements, request):
    """Rows that statements return in a database."""
    if url.startswith("postgresql"):
        return request.getfixturevalue("postgresql").run(statements)
    with duckdb.connect(url.removeprefix("duckdb:")) as connection:
        return connection.execute(statements).fetchall()


CHANGES = {
    "a value of a quasi-identifier": """update protected set age = '33' where mrn = 7""",
    "an id": """update protected set mrn = 1000 where mrn = 7""",
    "two ids": """update protected set mrn = case mrn when 7 then 300 else 7 end where mrn in (7, 300)""",
    "a record less": "delete from protected where mrn = 400",
    "a column more": "alter table protected add column more integer",
    "a column of another name": "alter table protected rename column n to m",
}


def test_the_script_of_a_folder_runs_in_the_database(protected, request):
    """The recipient of a table in a database checks it there with ``verify.sql`` alone, and all promises are kept."""
    url, folder = protected

    rows = run_there(url, (folder / "verify.sql").read_text(), request)

    assert len(rows) == 6
    assert {str(n) for promise, n in rows if "t-closeness" not in promise} == {"0"}
    assert verify_folder(folder, engine=url).holds


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_in_the_database_is_found_there(change, protected, request):
    """One change of the protected table breaks a promise of the script, and of ``cloister verify``."""
    url, folder = protected
    run_there(url, CHANGES[change], request)

    with pytest.raises((GuaranteeViolation, InputError)):
        verify_folder(folder, engine=url)
    if change != "a column of another name":
        rows = run_there(url, (folder / "verify.sql").read_text(), request)
        assert any(str(n) not in ("0", "NULL", "None") for _, n in rows)


def test_an_empty_text_is_no_recorded_value(inside, request, tmp_path):  # noqa: F811
    """A class whose recorded values are one value, and empty texts, is not diverse."""
    url, opened, load = inside
    rows = [(f"p{i:03}", 20 + i % 10, (None, "a", "b")[i // 10 % 3]) for i in range(120)]
    load(pl.DataFrame(rows, schema=["mrn", "age", "n"], orient="row"))
    asked = TableRequest({"age": QuasiIdentifier(suppress())}, (KAnonymity(3), LDiversity(2, "n")), id="mrn")
    with opened(Query(url, "select * from patients", "patients")) as database:
        written(protect(DatabaseProtection(database, TABLE, replace(asked, sensitive=("n",)))), tmp_path / "released")
    change = "case when n is null then '' when age < '25' then 'a' else 'b' end"
    run_there(url, f"update protected set n = {change}", request)

    with pytest.raises(GuaranteeViolation, match="l-diversity"):
        verify_folder(tmp_path / "released", engine=url)


def test_a_column_in_other_capitals_is_found(protected, request):
    """DuckDB takes a column in other capitals for the same: the names that it has are compared."""
    url, folder = protected
    run_there(url, 'alter table protected rename column n to "N"', request)

    with pytest.raises((GuaranteeViolation, InputError)):
        verify_folder(folder, engine=url)


def test_a_table_may_have_the_name_of_a_part_of_the_script(inside, request, tmp_path):  # noqa: F811
    """A protected table called ``released`` or ``file``, as the script calls views of its own, is checked as any."""
    url, opened, load = inside
    load(patients())
    for name in ("released", "file"):
        run_there(url, f"drop table if exists {name}", request)
        with opened(Query(url, "select * from patients", "patients")) as database:
            written(protect(DatabaseProtection(database, name, REQUEST)), tmp_path / name)
        assert verify_folder(tmp_path / name, engine=url).holds


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_spark_checks_the_released_file(suffix, classic, tmp_path):
    """On Spark the same statements hold for what is released."""
    source = Source(plain_columns(patients()), suffix, ",", None, "patients")
    release = protect(TableProtection(source, request_of(rules=RULES, suppression=0)))
    release.write(tmp_path / "released")
    verdict = verify_folder(tmp_path / "released", engine=classic.word)
    assert verdict.holds
    assert "the columns of data." + suffix + " are those that release.json lists, in its order" in verdict.checks
    assert "every class has at least 3 records (k-anonymity)" in verdict.checks


@pytest.mark.parametrize("url", ["sqlite:x.sqlite", "mysql://nowhere/db"])
def test_a_table_is_not_looked_for_in_other_databases(url, protected):
    """Only PostgreSQL and DuckDB have protected tables; another address is refused before anything is asked there."""
    with pytest.raises(InputError, match="is checked in PostgreSQL or DuckDB"):
        verify_folder(protected[1], engine=url)


def test_other_shapes_have_no_engine_to_be_checked_by(tmp_path):
    """A release with its records in the folder is not looked for in a database."""
    source = Source(plain_columns(patients()), "csv", ",", None, "patients")
    protect(TableProtection(source, request_of())).write(tmp_path / "released")

    with pytest.raises(InputError, match="engine names a database"):
        verify_folder(tmp_path / "released", engine="postgresql://nowhere/db")
