"""Files as they come: every command, and a job, reads them by the same settings."""

import json

import pytest

LINES = [f"{n};{1 + n % 28}.{1 + n % 3}.2020;{20 + n % 4},5;{'FM'[n % 2]}" for n in range(60)]
TEXT = "\n".join(["id;visit;bmi;sex", *LINES, LINES[3], "61;1.1.2020;22,5;F;see letter", ""])
HOW = ("--date-format", "d.m.yyyy", "--decimal", ",", "--bad-lines", "drop", "--duplicates", "drop")
ASKED = ("--id", "id", "--qi", "visit=date:month,year", "--qi", "bmi=interval:5.0", "--qi", "sex", "-k", "3")
KEYS = 'date_format = ["d.m.yyyy"]\ndecimal = ","\nbad_lines = "drop"\nduplicates = "drop"\n'
JOB = f"""
name = "clinic"
output = "of-job"
k = 3
[sources.visits]
file = "visits.csv"
id = "id"
{KEYS}
[[protect]]
shape = "table"
source = "visits"
[protect.qi]
visit = "date:month,year"
bmi = "interval:5.0"
sex = ""
"""


@pytest.fixture
def visits(tmp_path):
    """A file as a clinic may export it."""
    path = tmp_path / "visits.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_file_as_it_comes_is_protected_and_compared_with_its_release(cloister, visits, tmp_path):
    """What was changed and left out is told, kept for the custodian, and not in the release."""
    ran = cloister(
        "protect", "table", visits, *ASKED, *HOW, "--out", tmp_path / "out", "--custodian-dir", tmp_path / "own"
    )
    said = [
        "1 line was dropped, with other than 4 cells or a quote inside one",
        "numbers with decimal commas were read in bmi",
        "dates as d.m.yyyy were read in visit",
        "1 of 61 rows repeats an earlier one in all columns and was left out",
    ]

    assert ran.code == 0
    assert [note for note in said if f"Note: {note}." not in ran.err] == []
    assert json.loads((tmp_path / "own" / "internal.json").read_text())["read"] == said
    assert "left out" not in (tmp_path / "out" / "release.json").read_text()
    assert cloister("verify", tmp_path / "out", "--original", visits, *HOW).code == 0
    assert cloister("verify", tmp_path / "out", "--original", visits).code == 2


def test_a_job_reads_a_file_as_the_command_does(cloister, visits, tmp_path):
    """The keys of a source are the options."""
    (tmp_path / "job.toml").write_text(JOB)
    assert cloister("protect", "table", visits, *ASKED, *HOW, "--out", tmp_path / "out").code == 0
    assert cloister("run", tmp_path / "job.toml").code == 0

    of_job = tmp_path / "of-job" / "visits" / "data.csv"
    assert of_job.read_bytes() == (tmp_path / "out" / "data.csv").read_bytes()


def test_a_first_job_says_how_its_file_was_read(cloister, visits, tmp_path):
    """What ``init`` was told stands in the job that it writes."""
    assert cloister("init", "table", visits, *HOW, "--out", tmp_path / "first.toml").code == 0
    assert KEYS in (tmp_path / "first.toml").read_text()


def test_a_hierarchy_of_dates_names_the_format_that_reads_them(cloister, visits, tmp_path):
    """Who forgot the option is told which one it is."""
    told = ("--decimal", ",", "--bad-lines", "drop", "--duplicates", "drop")
    ran = cloister("protect", "table", visits, *ASKED, *told, "--out", tmp_path / "out")

    assert ran.code == 2
    assert "are dates as d.m.yyyy: --date-format d.m.yyyy reads them" in ran.err


@pytest.mark.parametrize("command", ["preview", "check", "build"])
def test_hierarchies_are_looked_at_over_values_as_they_are_read(cloister, visits, command):
    """Every ``hierarchy`` command knows what is missing, and how a file is written."""
    told = ("--column", "bmi", "--bad-lines", "drop", "--decimal", ",")

    assert cloister("hierarchy", command, "interval:5.0", visits, *told, "--missing", "22,5").code == 0
    assert cloister("hierarchy", command, "interval:5.0", visits, *told[:4]).code == 2


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_engines_that_read_files_by_themselves_refuse_it(cloister, visits, tmp_path, engine):
    """Nothing that was asked is passed over."""
    ran = cloister("protect", "table", visits, *ASKED, *HOW, "--out", tmp_path / "out", "--engine", engine)

    assert ran.code == 2
    assert "--date-format needs the rows of the table" in ran.err


def test_intervals_of_decimals_name_the_half_open_ones(cloister, visits, tmp_path):
    """Whole widths over decimals are told, with the words that make half-open labels."""
    asked = [word.replace("interval:5.0", "interval:5") for word in ASKED]
    ran = cloister("protect", "table", visits, *asked, *HOW, "--out", tmp_path / "out")

    assert ran.code == 0
    assert "as interval:5.0, labels are half-open" in ran.err
