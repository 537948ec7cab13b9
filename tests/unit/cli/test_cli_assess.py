"""``cloister assess`` as users type it."""

import json
import stat

import polars as pl
import pytest

import cloister as cl
from cloister.cli.main import run
from cloister.io import write_csv
from cloister.testing import hospital_patients

QI = ("--qi", "age", "--qi", "sex", "--qi", "zip")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with patients and their codes."""
    write_csv(hospital_patients(n=200), tmp_path / "patients.csv")
    write_csv(hospital_patients(n=200).vstack(hospital_patients(1, 800)), tmp_path / "people.csv")
    lines = [f"{i},{' '.join(sorted({f'{i % 7:03d}', f'{i % 3:03d}', f'{i % 11:03d}', 'V51'}))}" for i in range(60)]
    (tmp_path / "codes.csv").write_text("id,codes\n" + "\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *words):
    """Run ``assess`` with ``--json`` and return what it prints."""
    assert run(["assess", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_line_and_python_tell_the_same(place, capsys):
    """The JSON of the command is the summary of the function, source and notes aside."""
    frame = pl.read_csv("patients.csv", infer_schema=False)
    found = told(capsys, "table", "patients.csv", *QI, "--sampling-fraction", "0.05", "--threshold", "ema")
    assessed = cl.assess(frame, qi=["age", "sex", "zip"], sampling_fraction=0.05, threshold="ema", threads=1)

    assert (found.pop("source"), found.pop("notes")) == ("patients.csv", [])
    assert found == json.loads(json.dumps(assessed.summary()))
    assert found["prosecutor"]["threshold"] == 0.09
    assert found["journalist"]["people"] == 4000


def test_codes_from_the_command_line_and_python(place, capsys):
    """The same for code sets; what is sampled follows the seed."""
    found = told(capsys, "codes", "codes.csv", "-m", "2,4", "-m", "1", "-k", "3", "--seed", "7")
    assessed = cl.assess(cl.CodeSets.read("codes.csv"), m=[1, 2, 4], k=3, seed=7)

    assert found.pop("source") == "codes.csv"
    assert [note for note in found.pop("notes") if "taken as" not in note] == []
    assert found == json.loads(json.dumps(assessed.summary()))
    assert [(risk["m"], risk["exact"]) for risk in found["partial_knowledge"]] == [(1, True), (2, True), (4, False)]


def test_a_population_table(place, capsys):
    """Against a table of all people the risk is counted; the table may have other columns, too."""
    found = told(capsys, "table", "patients.csv", *QI, "--population", "people.csv")

    assert (found["journalist"]["how"], found["journalist"]["people"]) == ("counted", 1000)
    assert found["uniqueness"]["population"]["chosen"] == "counted"
    assert found["marketer"]["average"] <= found["prosecutor"]["average"]


def test_without_quasi_identifiers_identifiers_are_looked_for(place, capsys):
    """Nothing is said of risk, and that is said."""
    found = told(capsys, "table", "patients.csv")

    assert "prosecutor" not in found
    assert {finding["column"] for finding in found["safe_harbor"]["findings"]} >= {"mrn", "name", "zip", "admitted"}
    assert any("--qi" in note for note in found["notes"])
    assert run(["assess", "table", "patients.csv"]) == 0
    assert "Safe Harbor" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("shape", "words"),
    [("table", ("patients.csv", *QI, "--sampling-fraction", "0.3")), ("codes", ("codes.csv", "-m", "1,4"))],
)
def test_nothing_is_written_unless_asked(place, capsys, shape, words):
    """No file appears without --out; with it a private file with the JSON; it is never written over."""
    before = sorted(place.iterdir())
    assert run(["assess", shape, *words]) == 0
    assert "Confidential" in capsys.readouterr().out
    assert sorted(place.iterdir()) == before

    assert run(["assess", shape, *words, "--out", "risk.json", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert stat.S_IMODE((place / "risk.json").stat().st_mode) == 0o600
    written = (place / "risk.json").read_text()
    assert json.loads(written) == told(capsys, shape, *words)
    assert run(["assess", shape, *words, "--out", "risk.json"]) == 2
    assert "exists" in capsys.readouterr().err
    assert (place / "risk.json").read_text() == written


REFUSED = {
    "unknown column": ("table", "patients.csv", "--qi", "agee"),
    "column twice": ("table", "patients.csv", "--qi", "age", "--qi", "age"),
    "a hierarchy": ("table", "patients.csv", "--qi", "age=interval:5"),
    "threshold": ("table", "patients.csv", *QI, "--threshold", "fda"),
    "fraction": ("table", "patients.csv", *QI, "--sampling-fraction", "2"),
    "fraction and table": ("table", "patients.csv", *QI, "--sampling-fraction", "0.1", "--population", "people.csv"),
    "population without the columns": ("table", "patients.csv", *QI, "--population", "codes.csv"),
    "population without quasi-identifiers": ("table", "patients.csv", "--sampling-fraction", "0.1"),
    "population too small": ("table", "people.csv", *QI, "--population", "patients.csv"),
    "size of uniques": ("table", "patients.csv", *QI, "--largest-unique", "0"),
    "census": ("table", "patients.csv", "--zip-census", "1990"),
    "threads": ("table", "patients.csv", *QI, "--threads", "0"),
    "no file": ("table", "nothing.csv"),
    "m": ("codes", "codes.csv", "-m", "1,two"),
    "m of nothing": ("codes", "codes.csv", "-m", "0"),
    "m too large": ("codes", "codes.csv", "-m", "21"),
    "k": ("codes", "codes.csv", "-k", "1"),
    "seed": ("codes", "codes.csv", "--seed", "-1"),
    "no codes": ("codes", "patients.csv"),
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused(place, capsys, words):
    """Bad settings end with exit code 2 and one sentence, also as JSON."""
    assert run(["assess", *words]) == 2
    assert capsys.readouterr().err.startswith("cloister: ")
    assert run(["assess", *words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "input"


def test_settings_of_the_other_shape_are_refused(place):
    """Python says what does not belong to the data, and refuses data of no record."""
    frame, codes = hospital_patients(n=10), cl.CodeSets.read("codes.csv")
    with pytest.raises(cl.InputError, match="m, k: not for a table"):
        cl.assess(frame, m=[1], k=5)
    with pytest.raises(cl.InputError, match="qi, threshold: not for code sets"):
        cl.assess(codes, qi=["age"], threshold=0.1)
    with pytest.raises(cl.InputError, match="no records"):
        cl.assess(frame.clear(), qi=["age"])
    with pytest.raises(cl.InputError, match="Give one of"):
        cl.assess(frame, qi=["age"], population=frame, sampling_fraction=0.1)


def test_too_many_sets_of_columns_are_refused_or_left_out():
    """What nobody asked for is made smaller; what was asked for is refused with its number."""
    wide = pl.DataFrame({f"c{j}": ["x", "y"] for j in range(120)})
    columns = wide.columns

    assert cl.assess(wide, qi=columns).special_uniques.largest == 2
    with pytest.raises(cl.InputError, match="288,100 sets"):
        cl.assess(wide, qi=columns, largest_unique=3)


@pytest.mark.parametrize("kind", ["to_pandas", "to_arrow", "lazy"])
def test_dataframes_of_every_kind(kind):
    """The same numbers whatever kind of dataframe comes."""
    frame = hospital_patients(n=100)
    columns = ["age", "sex", "ethnicity"]
    other = cl.assess(getattr(frame, kind)(), qi=columns)

    assert other.summary()["prosecutor"] == cl.assess(frame, qi=columns).summary()["prosecutor"]


def test_the_order_of_rows_and_threads_change_nothing():
    """Every number but that of the riskiest records is the same for any order of the rows."""
    frame = hospital_patients(n=300)
    columns = ["age", "sex", "zip"]
    one = cl.assess(frame, qi=columns, sampling_fraction=0.02, threads=1).summary()
    two = cl.assess(frame.reverse(), qi=columns, sampling_fraction=0.02, threads=3).summary()
    for summary in (one, two):
        del summary["special_uniques"]["riskiest_records"]

    assert one == two


@pytest.mark.parametrize(
    ("header", "shape"),
    [("age;sex;zip", "table"), ("id,codes", "codes"), ("id,code,age", "trajectories"), ("table", "table")],
)
def test_the_shape_of_a_file_is_guessed(cloister, tmp_path, header, shape):
    """What is guessed is stated, with the words that say otherwise; a file may be called like a shape."""
    path = tmp_path / ("data.csv" if header != "table" else "table")
    mark = ";" if ";" in header else ","
    path.write_text("\n".join([header, *(mark.join([f"{n}"] * (1 + header.count(mark))) for n in range(20))]))
    found = cloister("assess", path, "--json")
    guessed = cloister("assess", path)

    assert found.err == ""
    assert f"{path.name} is read as {shape}. To read otherwise, name the shape, as in cloister assess" in guessed.err


def test_two_files_are_claims(cloister, tmp_path):
    """Patients and their claims, whatever their columns are called."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    assert "a.csv and b.csv are read as claims." in cloister("assess", tmp_path / "a.csv", tmp_path / "b.csv").err
