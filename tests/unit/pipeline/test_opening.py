"""`cl.open`, and the types in which a release comes back."""

import datetime
import json
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import cloister as cl

PEOPLE = pl.DataFrame(
    {
        "age": [30 + n % 10 for n in range(80)],
        "visit": [datetime.date(2024, 1, 1 + n % 2) for n in range(80)],
        "stage": ["II", "I", "III", "I"] * 20,
        "smoker": [n % 2 == 0 for n in range(80)],
        "weight": [60.5 + n for n in range(80)],
    }
)
QUASI = {"age": "interval:5,10", "visit": "date:month", "smoker": "suppress"}


def released(frame, **more):
    """A release of a frame like that of the patients."""
    return cl.protect_table(frame, qi=QUASI, rule=["k-anonymity=4"], drop=["weight"], **more)


def test_what_is_released_as_recorded_keeps_its_type(tmp_path):
    """Numbers, days and booleans come back as such from dataframes and, by `cl.open`, from the folder of CSV."""
    release = released(PEOPLE, keep=["stage"], levels={"age": 0, "visit": 0, "smoker": 0})
    release.write(tmp_path / "out")
    opened = cl.open(tmp_path / "out").data

    assert release.data.schema == opened.schema
    assert opened.schema == {"age": pl.Int64, "visit": pl.Date, "stage": pl.String, "smoker": pl.Boolean}
    assert release.data.equals(opened)


def test_labels_stand_in_their_order(tmp_path):
    """Labels of numbers and dates are categories in the order of their bounds; what says nothing is last."""
    release = released(PEOPLE, keep=["stage"], levels={"age": 1, "visit": 1, "smoker": 1})
    release.write(tmp_path / "out")
    opened = cl.open(tmp_path / "out")

    assert opened.data["age"].dtype == pl.Enum(["[30-34]", "[35-39]"])
    assert opened.data["visit"].dtype == pl.Enum(["2024-01"])
    assert opened.data["smoker"].to_list() == ["*"] * 80
    assert "k-anonymity (k 4)" in repr(opened)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_ordered_categories_keep_their_order(kind):
    """Categories that are released come back in their order; one that nobody has is not named."""
    order = ["0", "I", "II", "III"]
    frame = PEOPLE.with_columns(pl.col("stage").cast(pl.Enum(order)))
    if kind == "pandas":
        frame = PEOPLE.to_pandas().assign(stage=pd.Categorical(PEOPLE["stage"], categories=order, ordered=True))
    stage = released(frame, keep=["stage"]).data["stage"]

    categories = list(stage.cat.categories) if kind == "pandas" else stage.dtype.categories.to_list()
    assert categories == ["I", "II", "III"]


def test_a_changed_release_is_not_opened(tmp_path):
    """Whoever opens a release has it verified, unless they say otherwise."""
    released(PEOPLE, keep=["stage"]).write(tmp_path / "out")
    data = Path(tmp_path / "out" / "data.csv")
    data.write_text(data.read_text().replace("III", "II", 1))
    with pytest.raises(cl.GuaranteeViolation, match=r"data\.csv was changed"):
        cl.open(tmp_path / "out")
    assert cl.open(tmp_path / "out", verify=False).data.height == 80


def test_parts_of_a_job_are_opened_one_by_one(tmp_path, monkeypatch):
    """The folder of a job names its parts, and its README opens one of them; one part alone needs no name."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.drop("weight").write_csv("people.csv")
    protected = (
        '[[protect]]\nname = "{}"\nshape = "table"\nsource = "a"\n{} = ["stage"]\n[protect.qi]\nage = "interval:5"\n'
        'visit = "suppress"\nsmoker = "suppress"\n'
    )
    head = 'name = "j"\noutput = "out"\nk = 4\n[sources.a]\nfile = "people.csv"\n'
    Path("job.toml").write_text(head + protected.format("a", "keep"))
    cl.run_job("job.toml")
    assert 'cl.open("FOLDER")' in Path("out/README.txt").read_text()
    assert cl.open("out").data.height == 80
    Path("job.toml").write_text(head + protected.format("a", "keep") + protected.format("b", "drop"))
    cl.run_job("job.toml", overwrite=True)
    with pytest.raises(cl.InputError, match="as out/a"):
        cl.open("out")
    assert 'cl.open("FOLDER/a")' in Path("out/README.txt").read_text()
    assert cl.open("out/a").data.height == 80


def test_the_readme_says_what_is_there(tmp_path):
    """Every file of the folder stands in its README, with what was promised."""
    released(PEOPLE, keep=["stage"]).write(tmp_path / "out")
    text = (tmp_path / "out" / "README.txt").read_text()

    assert [path.name for path in (tmp_path / "out").iterdir() if path.name not in (*text.split(), "README.txt")] == []
    assert "shared by at least 4 records" in text


README = """PROTECTED PATIENT DATA: TABLE
Released by cloister VERSION on DAY.

GUARANTEE (VERIFIED)
* Every combination of quasi-identifiers that occurs is shared by at least 4 records.
Section 7 of report.html lists assumptions and limits.

FILES
  data.csv        the protected data, one record per line
  codebook.csv    what each column and label means: type, order, lower and upper bound
  verify.sql      checks the guarantee without cloister (see below)
  release.json    settings, guarantee, losses and risks, for programs
  report.html     report for people, with charts; open it in a browser
  report.json     the numbers of the report
CSV files are UTF-8, cells separated by ','. An empty cell is a missing value.

HOW TO READ IT
* All labels of a column have the same level and do not overlap.
* The codebook has the bounds of every label of numbers and dates: [40-44] is from 40 to 44, both included;
  [9.5, 10) from 9.5 to below 10; >=90 is 90 and above; * is any value.
* Treat intervals as categories or as interval-censored values; do not use midpoints.

VERIFY
  pip install cloister==VERSION
  cloister verify FOLDER
Without cloister, with DuckDB, in this folder:
  duckdb < verify.sql
or in Python, after pip install duckdb:
  import duckdb
  print(duckdb.sql(open("verify.sql").read()))
Each row is one guarantee; the number of violations must be 0.
In Python: import cloister as cl; release = cl.open("FOLDER"); release.data
"""


def test_the_readme_of_a_table_is_as_it_was_read_through(tmp_path):
    """The whole file, line by line; only the version and the day may differ."""
    frame = pl.DataFrame({"sex": ["F", "M"] * 20})
    asked = {"qi": {"sex": "suppress"}, "rule": ["k-anonymity=4"], "purpose": "one-coding"}
    cl.protect_table(frame, **asked).write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())

    expected = README.replace("VERSION", manifest["cloister"]).replace("DAY", manifest["created"][:10])
    assert (tmp_path / "out" / "README.txt").read_text() == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2"], pl.Int64),
        (["24", "22.5"], pl.Float64),
        (["1.50", "3.00"], pl.Float64),
        (["2024-02-28", "2024-03-01"], pl.Date),
        *((odd, pl.String) for odd in (["007", "7"], ["250.1", "250.10"], ["+5", "5"], ["1e400", "1"])),
        *((odd, pl.String) for odd in (["2024-02-30", "2024-02-28"], ["0000-01-01", "2024-01-01"])),
        (["12345678901234567890", "12345678901234567891"], pl.String),
    ],
)
def test_no_value_changes_its_meaning(values, kind, tmp_path):
    """Numbers and days are such only where no two texts become one and none loses a zero; all else stays text."""
    frame = pl.DataFrame({"sex": ["F", "M"] * 20, "lab": sorted(values * 20)})
    cl.protect_table(frame, qi={"sex": "suppress"}, rule=["k-anonymity=4"], keep=["lab"]).write(tmp_path / "out")
    found = cl.open(tmp_path / "out").data["lab"]

    assert found.dtype == kind
    assert found.dtype != pl.String or set(found) == set(values)
