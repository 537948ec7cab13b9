"""The paper's worked example: six records of age and sex, 2-anonymity, one record suppressed.

Prasser, Kohlmayer, Kuhn (2016), Fig. 2. The table stands only in the picture; this one is made such that it has the
qualities that the text states: 90 % by generalization and 75 % after suppression at (1, 0), 50 % at (0, 1).
"""

import json
from pathlib import Path

import polars as pl
import pytest

from cloister.cli.main import run
from cloister.hierarchy import hierarchy_rows
from cloister.privacy import KAnonymity
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode

SEX = [("F", "*"), ("M", "*")]
AGE = [
    (str(age), label, "*")
    for label, ages in (("<40", (34, 38)), ("40-59", (45, 52)), (">=60", (66, 70)))
    for age in ages
]
RECORDS = [("34", "M"), ("38", "M"), ("34", "M"), ("66", "F"), ("70", "F"), ("45", "M")]


@pytest.fixture
def problem():
    """Six ages in three groups of two: a group covers one leaf more than a value, one of five."""
    frame = pl.DataFrame(RECORDS, schema=["age", "sex"], orient="row")
    hierarchies = {"age": QuasiIdentifier(hierarchy_rows(AGE)), "sex": QuasiIdentifier(hierarchy_rows(SEX))}
    return encode(frame, TableRequest(hierarchies, (KAnonymity(2),))).problem


def test_quality_by_generalization_alone_is_90_percent(problem):
    """Age at level 1 costs 0.2 of one attribute of two."""
    assert problem.task.costs.mean[0, 1] == pytest.approx(0.2)
    assert 1 - problem.aggregate([0.2, 0.0]) == pytest.approx(0.9)


def test_quality_after_suppression_is_75_percent(problem):
    """One of six records is unique at (1, 0); suppressing it costs all its values."""
    measured = problem.measure((1, 0))

    assert measured.suppressed == 1
    assert 1 - measured.loss == pytest.approx(0.75)


def test_quality_without_sex_is_50_percent(problem):
    """At (0, 1) sex is gone, before anything is suppressed."""
    assert problem.task.costs.mean[1, 1] == pytest.approx(1.0)
    assert 1 - problem.aggregate([0.0, 1.0]) == pytest.approx(0.5)


def test_coarser_policies_than_without_sex_are_excluded(problem):
    """The bound of (0, 1) is worse than the 75% of (1, 0), and that of (1, 1) and (2, 1) no better: both are pruned."""
    best = problem.measure((1, 0)).loss
    bounds = [problem.measure(levels).bound for levels in ((0, 1), (1, 1), (2, 1))]

    assert bounds == sorted(bounds)
    assert bounds[0] == pytest.approx(0.5)
    assert bounds[0] > best


def test_the_example_by_the_command_line(tmp_path, monkeypatch):
    """At (1, 0), after one record is suppressed, quality is 75%, proven best; two classes remain."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("six", [("age", "sex"), *RECORDS]), ("age", AGE), ("sex", SEX)):
        Path(f"{name}.csv").write_text("\n".join(",".join(row) for row in rows))
    words = ["protect", "table", "six.csv", "--qi", "age=age.csv", "--qi", "sex=sex.csv", "-k", "2"]
    choice = ["--method", "full-domain", "--suppression", "0.2", "--custodian-dir", "own", "--out", "out", "--quiet"]
    assert run([*words, *choice]) == 0
    own = json.loads(Path("own/internal.json").read_text())

    assert (own["loss"], own["bound"], own["suppressed"]) == (0.25, 0.25, 1)
    assert sorted(pl.read_csv("out/data.csv").rows()) == [("<40", "M")] * 3 + [(">=60", "F")] * 2
    assert run(["verify", "out", "--quiet"]) == 0
