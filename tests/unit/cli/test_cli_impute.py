"""``cloister impute``: complete tables in one file for mice and Stata."""

import polars as pl
import pytest

import cloister as cl
from cloister.cli.main import run


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A released table in the folder of somebody who types commands."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"age": [21, 23, 28, 41, 44, 45, None, None, None], "ill": [True, False, True] * 3})
    cl.protect_table(frame, qi={"age": "interval:10"}, rule=["k-anonymity=3"], keep=["ill"]).write(tmp_path / "table")
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table", "-n", "0"], "-n must be a whole number from 1 to 1,000"),
        (["table", "--format", "dta"], "--format is csv or parquet"),
        (["table", "--hierarchy", "age"], "--hierarchy is COLUMN=FILE"),
        (["table/.."], "is not a release"),
        (["table", "--out", "table/inside"], "would be inside a release"),
        (["table", "--out", "table"], "exists already"),
    ],
)
def test_wrong_input_ends_with_a_sentence(released, words, message, capsys):
    """Nothing is written, and the message says what to do."""
    assert run(["impute", *words, *(["--out", "out"] if "--out" not in words else [])]) != 0
    assert message in capsys.readouterr().err
    assert not (released / "out").exists()
