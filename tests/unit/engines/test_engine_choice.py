"""Which engine is taken, and that it is said."""

import gzip
import json
from pathlib import Path

import duckdb
import polars as pl
import pytest
from tests.unit.engines.test_tables_on_engines import patients

from cloister.cli.main import run
from cloister.engines import choice
from cloister.engines import duckdb as duckdb_engine
from cloister.engines.choice import approximate_records, check_word, choose_engine
from cloister.errors import InputError
from cloister.io import batches, write_csv, write_parquet
from cloister.io.query import Query
from cloister.verification.folder import verify_folder

URL = "postgresql://host/hospital"
QUERY = Query(URL, "select 1 as one", "one")
OPTIONS = (
    *("--id", "mrn", "--qi", "age=interval:10,20", "--qi", 'se"x=suppress', "--qi", "zip code=prefix:3"),
    *("--sensitive", "n", "--undecided", "drop", "-k", "4", "--suppression", "0.2", "--json"),
    *("--purpose", "one-coding"),
)


@pytest.fixture
def data(tmp_path) -> Path:
    """The patients as Parquet."""
    write_parquet(patients(), tmp_path / "patients.parquet")
    return tmp_path / "patients.parquet"


@pytest.fixture
def protect(data, tmp_path, capsys):
    """Protect them by the command line, and return what it prints as JSON."""

    def command(*words: object, code: int = 0, out: str = "release") -> dict:
        options = [str(word) for word in (*OPTIONS, *words, "--out", tmp_path / out)]
        assert code == run(["protect", "table", str(data), *options])
        return json.loads(capsys.readouterr().out)

    return command


def test_small_files_are_read(protect):
    """A small file is read into memory, and nothing needs to be said of that."""
    assert not any("engine" in note for note in protect()["notes"])


def test_large_files_are_counted_and_that_is_said(protect, monkeypatch):
    """From a number of records on a file is counted by duckdb; a note says so, and memory can be asked for."""
    small = protect(out="small")
    monkeypatch.setattr(choice, "LARGE", 100)

    large, overruled = protect(out="large"), protect("--engine", "memory", out="overruled")

    assert [note for note in large["notes"] if "engine" in note] == [
        "the engine is duckdb, as there are about 400 records (--engine memory overrules that)"
    ]
    assert not any("engine" in note for note in overruled["notes"])
    assert small["files"]["data.parquet"] == large["files"]["data.parquet"] == overruled["files"]["data.parquet"]


def test_an_engine_that_changes_the_method_says_so(protect, monkeypatch):
    """Clusters need all rows: what runs in its place is stated, and how to have it all the same."""
    monkeypatch.setattr(choice, "LARGE", 100)
    counted = protect("--purpose", "analysis", out="counted")
    read = protect("--purpose", "analysis", "--engine", "memory", out="read")

    assert (counted["method"], read["method"]) == ("full-domain", "cluster")
    assert [note for note in counted["notes"] if "method" in note] == [
        "the method is full-domain in place of cluster, which needs all rows: duckdb counts records. For cluster, "
        "give --engine memory"
    ]
    assert not any("method" in note for note in read["notes"])


def test_memory_takes_over_where_duckdb_has_too_little(protect, monkeypatch, tmp_path):
    """What was not asked for by name is exchanged, with a note and the same bytes; what was, is refused."""

    def fail(_):
        raise duckdb.OutOfMemoryException("it quotes p007")

    protect("--engine", "memory", out="expected")
    monkeypatch.setattr(choice, "LARGE", 100)
    monkeypatch.setattr(duckdb_engine, "frame_of", fail)
    notes = protect()["notes"]

    assert "the engine was memory in the end, as duckdb had too little of it" in notes
    assert not any("in place of" in note for note in notes)
    assert bytes_of(tmp_path / "release") == bytes_of(tmp_path / "expected")
    assert "can count" in json.dumps(protect("--engine", "duckdb", code=2, out="third"))


def bytes_of(folder):
    """The protected records of a release, to the byte."""
    return (folder / "data.parquet").read_bytes()


def test_large_files_whose_rows_are_needed_are_read_and_that_is_said(protect, monkeypatch):
    """Where rows are needed, a large file is read all the same, and a note says why."""
    monkeypatch.setattr(choice, "LARGE", 100)

    notes = protect("--attack")["notes"]

    assert any("--attack needs all rows" in note for note in notes)


def test_large_files_that_only_memory_reads_are_read(protect, data, monkeypatch):
    """Names that differ in case alone, and another encoding, are no reason to refuse a file that memory reads."""
    monkeypatch.setattr(choice, "LARGE", 100)
    large = protect("--encoding", "utf-8", out="encoded")
    data.unlink()
    write_parquet(patients().with_columns(pl.lit("x").alias("MRN")), data)
    alike = protect("--drop", "MRN", out="alike")

    assert not any("duckdb" in note for release in (large, alike) for note in release["notes"])
    assert large["files"]["data.parquet"] == alike["files"]["data.parquet"]


@pytest.mark.parametrize("option", ["--attack", "--local-recoding", "--crosswalk=secret.csv", "--ids=hmac:key"])
def test_an_engine_that_was_asked_for_is_not_exchanged(protect, option):
    """What an engine cannot do is an error if the engine was asked for, never another engine in silence."""
    assert "needs the rows" in protect("--engine", "duckdb", option, code=2)["error"]["message"]


@pytest.mark.parametrize("word", ["fast", "", "spark:", "duck", "memory ", "http//x"])
def test_words_that_are_no_engine(word):
    """A word that names no engine is refused with those that do, and is not repeated."""
    with pytest.raises(InputError, match="auto, memory, duckdb, spark") as caught:
        check_word(word)

    assert not word or f" {word} " not in caught.value.message.replace("spark (", "")


@pytest.mark.parametrize(
    ("word", "data", "where"),
    [
        ("auto", QUERY, "memory"),
        ("memory", QUERY, "memory"),
        (URL, QUERY, "database"),
        ("duckdb", Path("a.csv"), "duckdb"),
        ("spark", Path("a.csv"), "spark"),
        ("local[2]", Path("a.csv"), "spark"),
        ("sc://host:15002", Path("a.csv"), "spark"),
    ],
)
def test_what_words_mean(word, data, where):
    """Each word leads to its engine; rows of a database are read unless its address is the engine."""
    assert where == choose_engine(word, data, None).where


@pytest.mark.parametrize(
    ("word", "data", "said"),
    [
        ("duckdb", QUERY, "counts files"),
        ("spark", QUERY, "counts files"),
        (URL, Path("a.csv"), "the table must be in it"),
        ("postgresql://other/hospital", QUERY, "the table must be in it"),
        ("duckdb", Path("omop:cdm.zip"), "no collections"),
        ("snowflake://x/y", Query("snowflake://x/y", "select 1 as one", "one"), "inside PostgreSQL and DuckDB"),
    ],
)
def test_engines_that_do_not_fit_the_data(word, data, said):
    """An engine that cannot count what DATA names is refused with what to do."""
    with pytest.raises(InputError, match=said):
        choose_engine(word, data, None)


def test_records_are_estimated_by_the_first_lines(tmp_path):
    """Records of a CSV file are told within a third, packed or not; of Parquet exactly."""
    frame = pl.concat([patients()] * 250)
    write_csv(frame, tmp_path / "a.csv")
    write_parquet(frame, tmp_path / "a.parquet")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))

    n_lines = (tmp_path / "a.csv").read_bytes().count(b"\n")

    assert frame.height == approximate_records(tmp_path / "a.parquet")
    assert abs(approximate_records(tmp_path / "a.csv") / n_lines - 1) < 0.34
    assert approximate_records(tmp_path / "a.csv.gz") in range(2 * n_lines)


@pytest.mark.parametrize("purpose", ["one-coding", "analysis"])
def test_a_large_release_is_checked_in_pieces(protect, data, monkeypatch, tmp_path, purpose):
    """A release and an original too large to be read whole are checked as tallies, with the same outcome."""
    protect("--purpose", purpose)
    monkeypatch.setattr(batches, "LARGE", 1)
    whole = verify_folder(tmp_path / "release")

    assert whole.holds
    words = ["verify", str(tmp_path / "release"), "--original", str(data), "-q"]
    assert run(words) == 0
    changed = patients().with_columns(pl.lit(25).cast(pl.Int64).alias("age"))
    data.unlink()
    write_parquet(changed, data)
    assert run(words) == 1


def test_a_large_release_with_one_cell_changed_is_rejected(protect, monkeypatch, tmp_path):
    """Checked in pieces, a release with another cell, or in another order, does not hold."""
    protect()
    monkeypatch.setattr(batches, "LARGE", 1)
    path = tmp_path / "release" / "data.parquet"
    frame = pl.read_parquet(path)
    for changed in (
        frame.with_columns(pl.when(pl.col("mrn") == 3).then(pl.lit("F")).otherwise(pl.col('se"x')).alias('se"x')),
        frame.reverse(),
        frame.with_columns(pl.when(pl.col("mrn") == 3).then(4).otherwise(pl.col("mrn")).alias("mrn")),
        frame.head(frame.height - 1),
    ):
        path.unlink()
        write_parquet(changed, path)
        assert run(["verify", str(tmp_path / "release"), "-q"]) == 1
