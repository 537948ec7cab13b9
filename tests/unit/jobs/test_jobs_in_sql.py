"""``verify.sql`` of a job: what it counts of two parts, and that `cloister verify` runs it and compares it."""

import json

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.jobs_files import HEAD, TABLE, write_hospital
from tests.oracles import joined_parts as oracle
from tests.soak.command import cloister

from cloister.cli.main import run
from cloister.jobs.statements import MOST_COLUMNS, ShownPart, script_of_shown

NAMES = ("u", "v", "part", "two words")
CELLS = st.sampled_from(["a", "b", None])
ROWS = st.lists(st.tuples(*[CELLS] * len(NAMES)), min_size=1, max_size=12)


def broken_promises(one, two, names, k, exempt, stated=(1, 1)):
    """What the script finds of two parts with these rows, by promise; each states so many released records."""
    columns = {name: f'"{name}"' for name in names}
    shown = [
        ShownPart(part, f"{part}/data.csv", ",", columns, columns, frozenset(exempt), k) for part in ("one", "two")
    ]
    frames = {
        f"{part}/data.csv": pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
        for part, rows in (("one", one), ("two", two))
    }
    frames["release.json"] = json.dumps({"parts": [{"records": {"released": 1}}] * 2})
    for part, n in zip(("one", "two"), stated, strict=True):
        frames[f"{part}/release.json"] = json.dumps({"records": {"released": n}})
    return {one.promise: one.violations for one in script_of_shown(["one", "two"], shown).run_on(frames)}


@given(ROWS, ROWS, st.integers(2, 3), st.sets(st.sampled_from(NAMES)), st.integers(1, 3))
@examples(200)
def test_values_lead_to_none_or_to_at_least_k(one, two, k, exempt, times):
    """By the definition, over every set of columns that are not all quasi-identifiers of both parts."""
    found = broken_promises(one * times, two * times, NAMES, k, exempt)
    counts = [violations for promise, violations in found.items() if "that one and two both have" in promise]
    few = oracle.leads_to_few(one * times, two * times, NAMES, k, frozenset(exempt))

    assert len(counts) == (len(exempt) < len(NAMES))
    assert few == any(counts)


def test_suppressed_rows_lead_to_nobody():
    """A row of * in every column stands for a suppressed patient."""
    found = broken_promises([("*", "*"), ("a", "a")], [("*", "*"), ("*", "b")], ("u", "v"), 2, ())

    assert {*found.values()} == {0, None}


def test_counts_of_parts_are_those_that_they_state():
    """Another number in release.json of the job than in that of the part is a broken promise."""
    found = broken_promises([("a",)], [("b",)], ("u",), 2, (), stated=(1, 7))

    assert [one for promise, one in found.items() if "states of each part" in promise] == [1]


def test_too_many_columns_are_not_counted():
    """What is not counted in SQL is said, not passed over."""
    names = tuple(f"c{place}" for place in range(MOST_COLUMNS + 1))
    found = broken_promises([("a",) * len(names)], [("a",) * len(names)], names, 2, ())

    assert {violations for promise, violations in found.items() if "both have" in promise} == {None}


WITH_WARD = TABLE.replace('"name", "ward"', '"name"').replace('["diagnosis"]', '["diagnosis", "ward"]')
TWO_TABLES = HEAD.replace("attack = true", "attack = false") + WITH_WARD.replace(
    "[[protect]]", '[[protect]]\nname = "a"'
)
TWO_TABLES += """
[[protect]]
name = "b"
shape = "table"
source = "patients"
undecided = ["drop"]
keep = ["ward"]
accept_empty = true
[protect.qi]
age = "interval:10,20/top=90/bottom=0@3"
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The release of a job of two tables that have a ward in common."""
    folder = write_hospital(tmp_path_factory.mktemp("made"), TWO_TABLES)
    assert run(["run", str(folder / "job.toml"), "-q"]) == 0
    return folder / "release"


def test_duckdb_alone_checks_the_parts_together(release, monkeypatch):
    """The script in the folder of the job runs without cloister, and no promise is broken."""
    monkeypatch.chdir(release)
    found = dict(duckdb.sql((release / "verify.sql").read_text()).fetchall())

    assert {*found.values()} == {0, None}
    assert "values of age, ward, alone or together, that a and b both have are in at least 5 rows of each" in found


def test_another_script_is_refused(release):
    """The manifest of the job has the hash of its script."""
    script = release / "verify.sql"
    text = script.read_text()
    holds = cloister("verify", release, "-v")
    script.write_text(text.replace("BETWEEN 1 AND 4", "BETWEEN 1 AND 1"))
    refused = cloister("verify", release)
    script.write_text(text)

    assert holds.code == 0
    assert "that a and b both have are in at least 5 rows" in holds.out
    assert "does not list the files of the job as they are" in refused.err
