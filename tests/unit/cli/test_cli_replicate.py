"""``cloister replicate``: researchers' analyses of the original and of a release."""

import json
import stat

import polars as pl
import pytest

import cloister as cl
from cloister.cli.main import run

pytest.importorskip("lifelines")


@pytest.fixture
def released(tmp_path, monkeypatch):
    """An original and its release in the folder of somebody who types commands."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"age": [*range(20, 60)] * 3, "ill": [number * number % 7 < 3 for number in range(120)]})
    frame.write_csv("original.csv")
    cl.protect_table(frame, qi={"age": "interval:5,10"}, k=5, keep=["ill"]).write(tmp_path / "release")
    return ["replicate", "release", "--original", "original.csv"]


def test_terms_are_printed_and_written(released, tmp_path, capsys):
    """Estimates and intervals are a table, a sentence says how they overlap, and a private file has all of it."""
    assert run([*released, "--analysis", "logistic: ill ~ age", "-n", "2", "--out", "terms.csv"]) == 0
    out = capsys.readouterr().out

    assert "logistic: ill ~ age" in out
    assert "of 1 terms" in out
    assert pl.read_csv("terms.csv").height == 6
    assert stat.S_IMODE((tmp_path / "terms.csv").stat().st_mode) == 0o600
    assert run([*released, "--analysis", "logistic: ill ~ age", "-n", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["terms"]) == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--analysis", "ill ~ age"], "MODEL: FORMULA"),
        (["--analysis", "logistic: ill ~ sex"], "'sex', which is not in the original or is not released"),
        (["--analysis", "logistic: ill ~ age", "-n", "1"], "-n must be a whole number from 2 to 1,000"),
        (["--analysis", "logistic: ill ~ age", "--out", "release/x"], "would be inside a release"),
        (["--analysis", "logistic: ill ~ age", "--out", "original.csv"], "exists already"),
    ],
)
def test_wrong_input_ends_with_a_sentence(released, words, message, capsys):
    """The exit code is 2, and the message says what to do."""
    assert run([*released, *words]) == 2
    assert message in capsys.readouterr().err
