"""Files as newcomers bring them, each with a trap: ``init`` and ``run`` with the bulk decision release no identifier.

All are made up. For each it is said which roles its columns must be given; every other column is released, says
something, and is named in the job with the reason for what it was taken for.
"""

import datetime
import json
import random

import polars as pl
import pytest

import cloister as cl
from cloister.errors import UndecidedColumns
from cloister.jobs.first_jobs import FirstJobRequest, write_first_job
from cloister.jobs.running import JobRun, write_job

N = 300


def rows(make, n=N):
    """A column of made-up values."""
    return [make(number) for number in range(n)]


def picked(*values, seed=1, weights=None, n=N):
    """A column of some values, in a random order."""
    return random.Random(seed).choices(values, weights, k=n)


def ages(seed=2, low=18, high=90, n=N):
    """A column of ages."""
    draw = random.Random(seed)
    return [draw.randint(low, high) for _ in range(n)]


def odd(values, *others):
    """A column with some other values in the middle."""
    return [*values[:100], *others, *values[100 + len(others) :]]


def decimals(low, high, digits=1, seed=3, n=N):
    """A column of measured numbers."""
    draw = random.Random(seed)
    return [round(draw.uniform(low, high), digits) for _ in range(n)]


def days(form, seed=4, n=N):
    """A column of days of two years."""
    draw = random.Random(seed)
    return [(datetime.date(2022, 1, 1) + datetime.timedelta(draw.randrange(730))).strftime(form) for _ in range(n)]


BASE = {"id": rows(lambda n: 1000 + n), "age": ages(), "sex": picked("F", "M")}
SOME_AGES = {"age": "quasi-identifier", "sex": "quasi-identifier"}

TRAPS = {
    "one age of -1": ({**BASE, "age": odd(ages(), -1)}, SOME_AGES),
    "ages as pandas writes them": ({**BASE, "age": [f"{age}.0" for age in ages()]}, SOME_AGES),
    "ages of infants": ({**BASE, "age": odd(ages(), 0.08, 0.32, 1.5)}, SOME_AGES),
    "one word among ages": ({**BASE, "age": odd(ages(), "unknown")}, SOME_AGES),
    "another word among ages": ({**BASE, "age": odd(ages(), "forty")}, SOME_AGES),
    "NA": ({**BASE, "age": odd(ages(), "NA", "NA"), "bmi": odd(decimals(17, 45), "N/A", "N/A")}, SOME_AGES),
    "question marks": ({**BASE, "race": odd(picked("a", "b", "c"), *"????")}, {"race": "quasi-identifier"}),
    "unknown is a kind": (
        {**BASE, "smoking_status": picked("never", "smokes", "Unknown")},
        {"smoking_status": "quasi-identifier"},
    ),
    "stroke": (
        {
            "id": rows(lambda n: 9000 + 7 * n),
            "gender": picked("Male", "Female", "Other", weights=[40, 60, 0.4]),
            "age": odd([f"{age}.0" for age in ages(low=2)], 0.32, 1.24),
            "hypertension": picked(0, 1, weights=[9, 1]),
            "heart_disease": picked(0, 1, weights=[19, 1], seed=5),
            "ever_married": picked("Yes", "No", seed=6),
            "work_type": picked("Private", "Govt_job", "children", seed=7),
            "Residence_type": picked("Urban", "Rural", seed=8),
            "avg_glucose_level": decimals(55, 270, 2, seed=16),
            "bmi": odd(decimals(15, 50), "N/A", "N/A", "N/A"),
            "smoking_status": picked("never smoked", "formerly smoked", "Unknown", seed=9),
            "stroke": picked(0, 1, weights=[19, 1], seed=10),
        },
        {"id": "id", "bmi": "quasi-identifier", "stroke": "undecided", "avg_glucose_level": "undecided"},
    ),
    "a region that is none": (
        {**BASE, "Regional Node Examined": picked(*range(30), seed=3)},
        {"Regional Node Examined": "undecided"},
    ),
    "the state of a disease": ({**BASE, "disease_state": picked("stable", "worse")}, {"disease_state": "sensitive"}),
    "a state": ({**BASE, "State": picked("NY", "CA", "TX", "OH")}, {"State": "quasi-identifier"}),
    "not the sex": ({**BASE, "SexOrientation": picked("a", "b", "c")}, {"SexOrientation": "quasi-identifier"}),
    "what was spent": ({**BASE, "expend": decimals(0, 9000, 2)}, {"expend": "undecided"}),
    "German days": ({**BASE, "admitted": days("%d.%m.%Y")}, {"admitted": "quasi-identifier"}),
    "a German clinic": (
        {
            "PatNr": rows(lambda n: 1000 + n),
            "Alter": ages(),
            "Geschlecht": picked("m", "w"),
            "Gewicht": decimals(45, 120),
            "Nachname": picked("Huber", "Maier", "Wagner"),
            "Diagnose": picked("I10", "E11.9", "J45"),
        },
        {
            "PatNr": "id",
            "Alter": "quasi-identifier",
            "Geschlecht": "quasi-identifier",
            "Gewicht": "quasi-identifier",
            "Nachname": "drop",
            "Diagnose": "sensitive",
        },
    ),
    "a sex by what it holds": ({**BASE, "q1": picked("Male", "Female")}, {"q1": "quasi-identifier"}),
    "American days": ({**BASE, "visit": days("%m/%d/%Y")}, {"visit": "quasi-identifier"}),
    "days that may be either": ({**BASE, "visit": picked("01/02/2022", "03/04/2022", "05/06/2022")}, {"visit": "drop"}),
    "days and times": ({**BASE, "seen_on": days("%Y-%m-%d 00:00:00")}, {"seen_on": "quasi-identifier"}),
    "one day missing": ({**BASE, "seen_on": odd(days("%Y-%m-%d"), "unknown")}, {"seen_on": "quasi-identifier"}),
    "several rows a patient": (
        {**BASE, "id": rows(lambda n: n), "PatientId": picked(*range(1000, 1120), seed=11)},
        {"PatientId": "patient"},
    ),
    "an outcome": (
        {**BASE, "outcome": picked("alive", "dead"), "stage": picked("I", "II", "III")},
        {"outcome": "undecided", "stage": "undecided"},
    ),
    "months beside the age": (
        {**BASE, "AgeMonths": [12 * age + n % 12 for n, age in enumerate(ages())]},
        {"AgeMonths": "drop"},
    ),
    "a decade beside the age": (
        {**BASE, "AgeDecade": [f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in ages()]},
        {"AgeDecade": "quasi-identifier"},
    ),
    "notes": (
        {**BASE, "note": rows(lambda n: f"seen by doctor {n}, came back after {n % 9} days with pain")},
        {"note": "drop"},
    ),
    "measures": (
        {**BASE, "Pulse": ages(12, 45, 120), "chol": decimals(2, 9, 2), "BPSysAve": ages(13, 90, 200)},
        {"Pulse": "undecided", "chol": "undecided", "BPSysAve": "undecided"},
    ),
    "no id": ({name: BASE[name] for name in ("age", "sex")}, SOME_AGES),
    "names of people": ({**BASE, "Last Name": rows(lambda n: f"Doe{n}")}, {"Last Name": "drop"}),
    "maiden names, of some": (
        {
            **BASE,
            "MAIDEN": rows(lambda n: None if n % 2 else f"Doe{n}"),
            "DRIVERS": rows(lambda n: f"S{n}" if n % 3 else None),
        },
        {"MAIDEN": "drop", "DRIVERS": "drop"},
    ),
    "ages with a unit": ({**BASE, "age": [f"{age} years" for age in ages()]}, {"age": "quasi-identifier"}),
    "months": ({**BASE, "seen": days("%m/%Y")}, {"seen": "drop"}),
    "the id of a kind": (
        {**BASE, "admission_type_id": picked(*range(1, 9), seed=15)},
        {"admission_type_id": "undecided"},
    ),
    "a town": ({**BASE, "hometown": picked("Ulm", "Bonn")}, {"hometown": "drop"}),
    "an empty column": ({**BASE, "weight": [None] * N}, {"weight": "drop"}),
    "one value only": ({**BASE, "country": ["US"] * N}, {"country": "quasi-identifier"}),
    "ZIP codes": ({**BASE, "zip": picked("02139", "02138", "10001", "10002-1234")}, {"zip": "quasi-identifier"}),
    "codes of diagnoses": (
        {**BASE, "diagnosis": picked("250.00", "401.9", "428.0", "E11.9", weights=[9, 9, 9, 0])},
        {"diagnosis": "sensitive"},
    ),
    "bands of ages": (
        {**BASE, "age": [f"[{age // 10 * 10}-{age // 10 * 10 + 10})" for age in ages()]},
        {"age": "quasi-identifier"},
    ),
    "education in numbers": (
        {**BASE, "education-num": picked(*range(1, 17), seed=14), "hours.per.week": ages(15, 10, 60)},
        {"education-num": "quasi-identifier", "hours.per.week": "undecided"},
    ),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", TRAPS)
def test_init_and_run_release_what_is_no_identifier(name, tmp_path):
    """Columns have the roles they must have; the job runs as it is, and no released column is empty."""
    columns, roles = TRAPS[name]
    frame = pl.DataFrame(
        {column: [None if v is None else str(v) for v in values] for column, values in columns.items()}
    )
    frame.write_csv(tmp_path / "some people.csv")
    made, _ = write_first_job(FirstJobRequest("table", tmp_path / "some people.csv", tmp_path / "job.toml"))
    found = {guess.column: guess.role for guess in made.columns}

    assert {column: found[column] for column in roles} == roles
    assert made.problem is None
    out = tmp_path / made.job.output
    assert out.name == "some_people-release"
    write_job(JobRun(made.job.deciding(("sensitive",)), tmp_path / "job.toml", out))
    part = json.loads((out / "some_people" / "release.json").read_text())
    assert all(guess.why for guess in made.columns)
    assert set(part["columns"]) == {column for column, role in found.items() if role != "drop"}
    losses = part["utility"]["columns"]
    assert [column for column, lost in losses.items() if lost["labels"] == 1 and lost["loss"] > 0.9] == []


def test_a_file_of_nothing_known(tmp_path):
    """Where nothing is known of any column, the job has them undecided, and releases nothing."""
    pl.DataFrame({"a": picked("x", "y"), "b": picked("u", "v")}).write_csv(tmp_path / "file.csv")
    made, _ = write_first_job(FirstJobRequest("table", tmp_path / "file.csv", tmp_path / "job.toml"))

    assert {one.column: one.role for one in made.columns} == {"a": "undecided", "b": "undecided"}
    assert made.problem.startswith("no column is a quasi-identifier")
    with pytest.raises(UndecidedColumns, match=r"No quasi-identifier was named\. 2 columns of file\.csv are undecided"):
        write_job(JobRun(made.job, tmp_path / "job.toml", tmp_path / made.job.output))


@pytest.mark.parametrize(("column", "values"), [("year_of_diagnosis", (2021, 2022)), ("steps", (250, 401, 428))])
def test_numbers_that_look_like_codes_are_to_be_decided(column, values, tmp_path):
    """Numbers in the form of codes of diagnoses are not surely codes: people must decide."""
    pl.DataFrame({**BASE, column: picked(*values)}).write_csv(tmp_path / "file.csv")
    made, _ = write_first_job(FirstJobRequest("table", tmp_path / "file.csv", tmp_path / "job.toml"))

    assert [(one.role, one.sureness) for one in made.columns if one.column == column] == [("undecided", "not sure")]


def test_words_among_numbers_and_decimal_commas_are_read_as_the_job_says(tmp_path):
    """The job names the column and the comma, never the value; thousands and lists of codes are no decimals."""
    n = 400
    frame = pl.DataFrame(
        {
            "age": ["marker 40", *(str(20 + place % 60) for place in range(1, n))],
            "sex": ["M", "F"] * (n // 2),
            "bmi": [f"{18 + place % 20},{place % 10}" for place in range(n)],
        }
    )
    frame.write_csv(tmp_path / "data.csv", separator=";")
    made = cl.init(tmp_path / "data.csv", tmp_path / "job.toml")

    assert 'numbers = ["age"]' in made.text
    assert 'decimal = ","' in made.text
    assert "marker" not in made.text
    assert {one.column: one.role for one in made.columns} == dict.fromkeys(frame.columns, "quasi-identifier")
    for other in ("1,234", "2,1,7"):
        frame.with_columns(bmi=pl.lit(other)).write_csv(tmp_path / "other.csv", separator=";")
        assert "decimal" not in cl.init(tmp_path / "other.csv", tmp_path / f"{other}.toml").text


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
def test_one_odd_date_does_not_decide(form, tmp_path):
    """The job reads it as missing, and its column is released."""
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2021, 2, 3), eager=True).dt.strftime(form)[:399]
    frame = pl.DataFrame({"seen": ["marker", *days], "sex": ["M", "F"] * 200})
    frame.write_csv(tmp_path / "data.csv")
    made = cl.init(tmp_path / "data.csv", tmp_path / "job.toml")

    assert 'dates = ["seen"]' in made.text
    assert "marker" not in made.text
    assert {one.column: one.role for one in made.columns} == dict.fromkeys(frame.columns, "quasi-identifier")


def test_names_of_surveys_are_quasi_identifiers_and_numbers_of_one_record_undecided(tmp_path):
    """A letter before a known word is ignored where the content agrees; almost unique numbers are undecided."""
    draw, n = random.Random(1), 500
    frame = pl.DataFrame(
        {
            "iage": [draw.randint(18, 90) for _ in range(n)],
            "isex": [draw.randint(1, 2) for _ in range(n)],
            "expend": [round(draw.uniform(1, 9000), 2) for _ in range(n)],
            "RIAGENDR": [draw.randint(1, 2) for _ in range(n)],
            "RIDRETH1": [draw.randint(1, 5) for _ in range(n)],
            "PLZ": [f"8013{draw.randint(0, 9)}" for _ in range(n)],
            "usage": [draw.randint(1000, 1020) for _ in range(n)],
            "physician": [draw.choice(["Dr. A", "Dr. B"]) for _ in range(n)],
        }
    )
    frame.write_csv(tmp_path / "data.csv")
    found = {one.column: one.role for one in cl.init(tmp_path / "data.csv", tmp_path / "job.toml").columns}

    taken = ["iage", "isex", "RIAGENDR", "RIDRETH1", "PLZ"]
    assert found == dict.fromkeys(taken, "quasi-identifier") | {
        "expend": "undecided",
        "usage": "undecided",
        "physician": "drop",
    }
