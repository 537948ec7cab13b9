"""``cloister query``: counts with bounds from a release alone."""

import json
from pathlib import Path

import pytest

from cloister.cli.main import run

ROWS = "".join(f"P{n},{30 + n},{'FM'[n % 2]},{'401.9 250.00' if n % 3 else '401.9'}\n" for n in range(12))


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A folder with releases of codes and of a table with codes."""
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("id,age,sex,codes\n" + ROWS)
    Path("c.csv").write_text("id,codes\n" + "".join(f"{n},401.9 250.00\n" for n in range(9)))
    table = ["--id", "id", "--qi", "age=interval:20", "--qi", "sex", "--codes", "codes", "-k", "3", "-m", "2"]
    assert run(["protect", "table", "p.csv", *table, "--out", "both", "--quiet"]) == 0
    assert run(["protect", "codes", "c.csv", "-k", "3", "--out", "codes", "--quiet"]) == 0


@pytest.mark.usefixtures("released")
def test_several_questions_as_csv_and_json(capsys):
    """Each --codes is a question; CSV and JSON hold the same numbers."""
    assert run(["query", "codes", "--codes", "401.9,250.00", "--codes", "401.9", "--csv"]) == 0
    assert capsys.readouterr().out == "codes,lower,expected,upper\n401.9 250.00,9,9.0,9\n401.9,9,9.0,9\n"
    assert run(["query", "codes", "--codes", "401.9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == [
        {"codes": "401.9", "lower": 9, "expected": 9.0, "upper": 9}
    ]
    assert run(["query", "codes", "--codes", "401.9"]) == 0
    assert "Patients behind codes" in capsys.readouterr().out


@pytest.mark.usefixtures("released")
def test_by_a_column_and_under_conditions(capsys):
    """Codes are counted for each label of a column, and tables by conditions on columns."""
    assert run(["query", "both", "--codes", "401.9", "--by", "sex", "--csv"]) == 0
    assert capsys.readouterr().out == "codes,sex,lower,expected,upper\n401.9,F,6,6.0,6\n401.9,M,6,6.0,6\n"
    assert run(["query", "both", "--where", "sex=F", "--where", "age=20..39", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("lower,expected,upper\n")
    assert run(["query", "both", "--codes", "401.9", "--where", "sex=F", "--quiet", "--unverified"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["codes"], "Nothing is asked"),
        (["codes", "--codes", ","], "names no code"),
        (["codes", "--codes", "1", "--by", "sex"], "no classes"),
        (["both", "--where", "sex"], "COLUMN=VALUE"),
        (["both", "--where", "sex=F", "--by", "sex"], "without --where"),
        (["both", "--where", "sex=3..4"], "pair of ends"),
        (["nowhere", "--codes", "1"], "no folder"),
    ],
)
@pytest.mark.usefixtures("released")
def test_what_cannot_be_asked_ends_with_two(words, message, capsys):
    """Bad questions are refused in a sentence."""
    assert run(["query", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("released")
def test_a_changed_release_answers_nothing(capsys):
    """A release that does not hold ends with 1."""
    place = Path("codes/clusters.json")
    place.write_text(place.read_text().replace('"size": 9', '"size": 8'))

    assert run(["query", "codes", "--codes", "401.9"]) == 1
    assert "does not hold" in capsys.readouterr().err
