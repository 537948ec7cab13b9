"""``cloister impute``: complete tables in files for mice and Stata."""

import json

import polars as pl
import pytest
from tests.made.claims_files import write_files

import cloister as cl
from cloister.cli.main import run


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A released table in the folder of somebody who types commands."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"age": [21, 23, 28, 41, 44, 45, None, None, None], "ill": [True, False, True] * 3})
    cl.protect_table(frame, qi={"age": "interval:10"}, rule=["k-anonymity=3"], keep=["ill"]).write(tmp_path / "table")
    cl.protect_codes(cl.CodeSets.from_records([["401.9"]] * 6), k=3).write(tmp_path / "codes")
    return tmp_path


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_one_file_has_the_release_and_the_tables(released, form, capsys):
    """Table 0 has no drawn cells, the others are those of Python, and a README says how to read them."""
    assert run(["impute", "table", "-n", "2", "--seed", "7", "--out", "out", "--format", form]) == 0
    long = pl.read_csv("out/imputed.csv") if form == "csv" else pl.read_parquet("out/imputed.parquet")

    assert "has tables 1 to 2" in capsys.readouterr().out
    assert long.columns == [".imp", ".id", "age", "ill"]
    assert long.filter(pl.col(".imp") == 0)["age"].null_count() == 9
    for number, table in enumerate(cl.open("table").impute(n=2, seed=7), start=1):
        assert long.filter(pl.col(".imp") == number).drop(".imp", ".id").equals(table)
    assert "mi import flong" in (released / "out" / "README.txt").read_text()


def test_claims_are_two_files_with_equal_numbers(tmp_path, monkeypatch, capsys):
    """Patients and claims are the tables of Python, joined by number and id; JSON names the files."""
    monkeypatch.chdir(write_files(tmp_path))
    assert (
        run(
            [
                "protect",
                "claims",
                "patients.csv",
                "claims.csv",
                "--plan",
                "plan.toml",
                "--out",
                "release",
                "-q",
                "--accept-empty",
            ]
        )
        == 0
    )
    assert run(["impute", "release", "-n", "2", "--out", "out", "--json"]) == 0

    said = json.loads(capsys.readouterr().out)
    assert said == {
        "out": "out", "files": ["patients.csv", "claims.csv", "README.txt"], "n": 2, "release": "release", "seed": 0
    }  # fmt: skip
    patients, claims = (pl.read_csv(f"out/{name}.csv") for name in ("patients", "claims"))
    assert patients.columns[:3] == claims.columns[:3] == [".imp", ".id", "mrn"]
    assert claims.join(patients, on=[".imp", "mrn"], how="anti").height == 0
    shown = cl.open("release")
    assert {table.height // 3 for table in (patients,)} == {shown.tables["patients"].height}
    assert claims.height == 3 * shown.tables["claims"].height
    assert "sup_ columns" in (tmp_path / "out" / "README.txt").read_text()


def test_trajectories_are_one_file_and_need_the_hierarchy(tmp_path, monkeypatch, capsys):
    """Each pair is a row; without the file of its hierarchy the command asks for it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "codes.csv").write_text("401.1;401;*\n401.9;401;*\n")
    visits = "".join(f"P{n},{code},{41 + n}\n" for n, code in enumerate(["401.1", "401.9", "401.1"]))
    (tmp_path / "visits.csv").write_text("id,code,age\n" + visits)
    assert (
        run(
            [
                "protect",
                "trajectories",
                "visits.csv",
                "-k",
                "3",
                "--code-hierarchy",
                "codes.csv",
                "--out",
                "release",
                "-q",
                "--accept-empty",
            ]
        )
        == 0
    )
    assert run(["impute", "release", "--out", "out"]) == 2
    assert "--hierarchy code=FILE" in capsys.readouterr().err
    assert run(["impute", "release", "-n", "2", "--out", "out", "--hierarchy", "code=codes.csv"]) == 0

    long = pl.read_csv("out/imputed.csv", schema_overrides={"code": pl.String})
    assert long.columns == [".imp", ".id", "id", "code", "age"]
    assert long.filter(pl.col(".imp") == 0).select("code", "age").null_count().row(0) == (3, 3)
    drawn = long.filter(pl.col(".imp") > 0)
    assert {*drawn["code"]} <= {"401.1", "401.9"}
    assert drawn["age"].is_between(40, 44).all()
    assert "Suppressed\npairs are absent" in (tmp_path / "out" / "README.txt").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table", "-n", "0"], "-n must be a whole number from 1 to 1,000"),
        (["table", "--format", "dta"], "--format is csv or parquet"),
        (["table", "--hierarchy", "age"], "--hierarchy is COLUMN=FILE"),
        (["table/.."], "is not a release"),
        (["codes"], "these are not imputed"),
        (["table", "--out", "table/inside"], "would be inside a release"),
        (["table", "--out", "table"], "exists already"),
    ],
)
def test_wrong_input_ends_with_a_sentence(released, words, message, capsys):
    """Nothing is written, and the message says what to do."""
    assert run(["impute", *words, *(["--out", "out"] if "--out" not in words else [])]) != 0
    assert message in capsys.readouterr().err
    assert not (released / "out").exists()
