"""``cloister query``: counts with bounds from a release alone."""

import json
import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from cloister.cli.main import run

ROWS = "".join(f"P{n},{30 + n},{'FM'[n % 2]},{'401.9 250.00' if n % 3 else '401.9'}\n" for n in range(12))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with releases of codes and of a table with codes, made once."""
    folder = tmp_path_factory.mktemp("made")
    with chdir(folder):
        Path("p.csv").write_text("id,age,sex,codes\n" + ROWS)
        Path("c.csv").write_text("id,codes\n" + "".join(f"{n},401.9 250.00\n" for n in range(9)))
        Path("ladder.csv").write_text("F;*\nM;*\n")
        table = ["--id", "id", "--qi", "age=interval:20", "--qi", "sex", "--codes", "codes", "-k", "3", "-m", "2"]
        assert run(["protect", "table", "p.csv", *table, "--out", "both", "--quiet"]) == 0
        assert run(["protect", "codes", "c.csv", "-k", "3", "--out", "codes", "--quiet"]) == 0
    return folder


@pytest.fixture
def released(made, tmp_path, monkeypatch):
    """A copy of it, in which commands run."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


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


@pytest.mark.usefixtures("released")
def test_codes_against_an_outcome(capsys):
    """Each code, or each --codes, is a row with bounds of the odds ratio; JSON has null for infinity."""
    assert run(["query", "both", "--outcome", "sex=F", "--csv"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == "code,lower,expected,upper,code_lower,code_upper,odds_ratio_lower,odds_ratio_upper"
    assert sorted(rows) == ["250.00,4,4.0,4,8,8,1.0,1.0", "401.9,6,6.0,6,12,12,0.0,inf"]
    assert run(["query", "both", "--outcome", "sex=F", "--codes", "401.9", "--codes", "401.9,250.00", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert {row["code"]: row["odds_ratio_upper"] for row in answers} == {"401.9 250.00": 1.0, "401.9": None}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["codes"], "Nothing is asked"),
        (["codes", "--codes", ","], "names no code"),
        (["codes", "--codes", "1", "--by", "sex"], "is a release of code sets"),
        (["codes", "--outcome", "sex=F"], "is a release of code sets"),
        (["both", "--outcome", "sex=F", "--where", "age=40"], "without --where"),
        (["both", "--outcome", "sex"], "--outcome is COLUMN=VALUE"),
        (["both", "--outcome", "codes=401.9"], "columns other than the codes"),
        (["both", "--outcome", "Sex=F"], "Did you mean 'sex'?"),
        (["codes", "--by", "sex"], "--by counts codes"),
        (
            ["codes", "--where", "age=3"],
            "this release of code sets has none of that name. It can be asked about: codes.",
        ),
        (["codes", "--pair", "401.9@38"], "trajectories have them"),
        (["both", "--where", "sex"], "COLUMN=VALUE"),
        (["both", "--where", "sex=F", "--by", "sex"], "without --where"),
        (["both", "--where", "sex=3..4"], "--hierarchy sex=FILE"),
        (["both", "--pair", "401.9@38"], "this release of a table with codes has none: trajectories have them"),
        (["both", "--where", "Age=50"], "Did you mean 'age'?"),
        (["both", "--where", "age>=50"], "age=50.. asks for 50 and more"),
        (["both", "--where", "age=old"], "holds numbers, but what was asked for is no number"),
        (["both", "--where", "age=50..40"], "ends before it begins"),
        (["both", "--where", "age=40", "--where", "age=50"], "asks for 'age' twice"),
        (["both", "--where", "sex=F", "--hierarchy", "sexo=ladder.csv"], "Did you mean 'sex'?"),
        (["both", "--codes", "401.9", "--where", "codes=250.00"], "with --codes, not with --where"),
        (["codes", "--where", "codes=1..3"], "with --codes, not with --where"),
        (["both/data.csv", "--where", "sex=F"], "is a file, and a release is a folder"),
        (["both", "--pair", "401.9@old"], "--pair is CODE@AGE"),
        (["both", "--where", "sex=F", "--hierarchy", "sex"], "--hierarchy is COLUMN=FILE"),
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


@pytest.fixture
def histories(tmp_path, monkeypatch):
    """Trajectories of codes in a hierarchy file."""
    monkeypatch.chdir(tmp_path)
    codes = [(name, group, "any") for name, group in (("flu", "lung"), ("cough", "lung"), ("rash", "skin"))]
    Path("codes.csv").write_text("".join(";".join(row) + "\n" for row in codes))
    rows = [(n, "flu" if n % 2 else "cough", 40 + n % 3) for n in range(12)] + [(n, "rash", 50) for n in range(12)]
    Path("t.csv").write_text("id,code,age\n" + "".join(f"{n},{code},{age}\n" for n, code, age in rows))
    words = ["--code-hierarchy", "codes.csv", "--age-hierarchy", "interval:5", "-k", "3"]
    assert run(["protect", "trajectories", "t.csv", *words, "--out", "out", "--quiet"]) == 0


@pytest.mark.usefixtures("histories")
def test_pairs_of_codes_and_ages_are_one_question(capsys):
    """Codes at different ages are asked for together, with the hierarchy that the release does not have."""
    assert run(["query", "out", "--pair", "lung@40-44", "--pair", "rash@50"]) == 2
    assert "--hierarchy code=FILE" in capsys.readouterr().err
    known = ["--hierarchy", "code=codes.csv", "--csv"]
    assert run(["query", "out", "--pair", "lung@40-44", "--where", "age=50", *known]) == 2
    assert "age is asked for without codes" in capsys.readouterr().err
    assert run(["query", "out", "--pair", "lung@40-44", "--pair", "rash@50", *known]) == 0
    assert capsys.readouterr().out == "lower,expected,upper\n12,12.0,12\n"
    for codes, expected in (("flu", 6), ("flu,cough", 0)):
        assert run(["query", "out", "--codes", codes, *known]) == 0
        answer = capsys.readouterr().out.splitlines()[1].split(",")
        assert float(answer[2]) == expected
    assert run(["query", "out", "--codes", "rash", "--pair", "lung", "--where", "age=50..54", *known]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("rash,")


def test_a_privacy_policy_that_is_not_in_the_release_is_given(tmp_path, monkeypatch, capsys):
    """A release under somebody's own privacy policy is asked once that is given."""
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text("id,codes\n" + "".join(f"{n},401.9 250.00\n" for n in range(9)))
    Path("own.json").write_text('[["401.9"], ["250.00"]]')
    words = ["--method", "ugaclip", "--privacy", "own.json", "-k", "3", "--out", "out", "--quiet"]
    assert run(["protect", "codes", "c.csv", *words]) == 0
    assert run(["query", "out", "--codes", "401.9"]) != 0
    capsys.readouterr()
    assert run(["query", "out", "--codes", "401.9", "--privacy", "own.json", "--csv"]) == 0
    assert capsys.readouterr().out == "codes,lower,expected,upper\n401.9,9,9.0,9\n"


def test_what_is_not_known_is_empty_and_explained(tmp_path, monkeypatch, capsys):
    """Where the release does not say what its groups stand for, the estimate is empty and the cure is named."""
    monkeypatch.chdir(tmp_path)
    Path("h.csv").write_text("a;north;*\nb;north;*\nc;south;*\nd;south;*\n")
    Path("t.csv").write_text("id,place\n" + "".join(f"{n},{'abcd'[n % 4]}\n" for n in range(16)))
    words = ["--id", "id", "--qi", "place=h.csv", "-k", "6", "--out", "out", "--quiet"]
    assert run(["protect", "table", "t.csv", *words]) == 0
    assert run(["query", "out", "--where", "place=a"]) == 0
    assert "--hierarchy COLUMN=FILE" in capsys.readouterr().out
    assert run(["query", "out", "--where", "place=a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == [{"lower": 0, "expected": None, "upper": 16}]
    assert run(["query", "out", "--where", "place=a", "--hierarchy", "place=h.csv", "--csv"]) == 0
    assert capsys.readouterr().out == "lower,expected,upper\n0,4.0,8\n"
