"""A method that does a step wrongly makes a release that its verifier rejects, which does the steps by other code."""

import random
from dataclasses import replace

import polars as pl
import pytest
from tests.made.claims_files import PLAN, write_files

from cloister.cli.main import run
from cloister.pipeline import claims as pipeline
from cloister.shapes.claims.format.data import StepLine
from cloister.shapes.claims.method import prepare as method

TEXT = (
    PLAN.replace('age = "age"', 'age = "age@1"')
    .replace('note = "keep"', 'note = "drop"')
    .replace('pos = "place"\ndx = "diagnosis"', 'pos = "suppress@0"\ndx = "suppress"')
    + '[grouping]\ncolumns = ["place"]\n[[top_coding]]\ncolumn = "age"\n'
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Patients of whom some are newborn and some have HIV; their claims, and a plan."""
    draw, last = random.Random(2), []
    for number in range(40):
        last += [f"N{number},2024-0{draw.randint(1, 9)}-01,F\n", f"H{number},1970-06-15,M\n"]
        month = last[-2].split("-")[1]
        last += [f"N{number},2024-{month}-11,401.9,Office,D1,n0\n", f"N{number},2024-12-11,401.9,Office,D1,n0\n"]
        last += [f"H{number},2024-05-11,042,Office,D1,n0\n", f"H{number},2024-06-11,401.9,Office,D1,n0\n"]
    return write_files(tmp_path_factory.mktemp("files"), TEXT, n_patients=900, last=last)


def protected(files, out):
    """Protect the claims; return the exit code, and what verifying them with original and crosswalk takes."""
    given = [str(files / name) for name in ("patients.csv", "claims.csv")]
    more = ["--plan", str(files / "plan.toml"), "--crosswalk", str(out / "map.csv"), "-q"]
    return run(["protect", "claims", *given, *more, "--out", str(out / "release")]), ["--original", *given, *more]


def of_data(change):
    """A step whose result is changed, though its line says what it should have done."""

    def make(step):
        def wrong(data):
            done = step(data)
            return done._replace(claims=change(data, done.claims))

        return wrong

    return make


def of_line(change):
    """A step whose line is changed."""

    def make(step):
        return lambda data: (done := step(data))._replace(line=change(done.line))

    return make


def one_year_more(_, done):
    """Everybody is a year older."""
    return replace(done, patients=done.patients.with_columns(pl.col("age") + 1))


def places_exchanged(_, done):
    """Offices are hospitals, and the other way round."""
    names = {"OFFICE": "INPATIENT HOSPITAL", "INPATIENT HOSPITAL": "OFFICE"}
    return replace(done, claims=done.claims.with_columns(pl.col("pos").cast(pl.String).replace(names)))


def counting(n):
    """A line that counts more than there was."""
    return lambda line: StepLine(line.step, line.total + n, line.counts, line.patients, line.patients_in_all)


def test_steps_done_rightly_hold(files, tmp_path):
    """As they are, the steps of the method are those of the verifier."""
    code, against = protected(files, tmp_path)

    assert code == 0
    assert run(["verify", str(tmp_path / "release"), *against]) == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ("exclusions", of_data(lambda data, _: data)),  # patients kept who should go
        ("removals", of_data(lambda data, _: data)),  # claims kept that should go
        ("removals", of_data(lambda _, done: replace(done, claims=done.claims[1:]))),  # a claim gone that should stay
        ("removals", of_line(counting(20))),
        ("add_derived_columns", of_data(one_year_more)),
        ("grouping", of_data(places_exchanged)),
        ("top_coding", of_data(lambda data, _: data)),
    ],
)
def test_a_step_done_wrongly_is_rejected(files, tmp_path, monkeypatch, capsys, step, wrong):
    """Nothing is released; and if it was, the release says that the step was done, and the original that it was not."""
    monkeypatch.setattr(method, step, wrong(getattr(method, step)))
    refused, _ = protected(files, tmp_path)
    left = list(tmp_path.iterdir())
    monkeypatch.setattr(pipeline, "repeat_steps", method.prepare)
    code, against = protected(files, tmp_path)

    assert (refused, left, code) == (3, [], 0)
    assert run(["verify", str(tmp_path / "release"), *against]) == 1
