"""What happens around a run: a clock that jumps, and an input that changes while it is read."""

import datetime
import itertools
from pathlib import Path

import pytest

from cloister.cli.main import run
from cloister.engines.duckdb import DuckDBFile
from cloister.pipeline import protecting as stages

ROWS = "id,age,sex\n" + "".join(f"{n},{30 + n % 9},{'FM'[n % 2]}\n" for n in range(90))
WORDS = ["protect", "table", "p.csv", "--id", "id", "--qi", "age=interval:5", "--qi", "sex", "-k", "5", "--quiet"]


@pytest.fixture(autouse=True)
def patients(tmp_path, monkeypatch):
    """A folder with a file of patients."""
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(ROWS)


@pytest.mark.parametrize("year", [1, 1969, 2038, 9999])
def test_a_clock_that_jumps_changes_the_date_alone(monkeypatch, year):
    """A release made at any time, and in a run during which the clock goes back, holds and has the same data."""
    assert run([*WORDS, "--out", "now"]) == 0
    times = itertools.chain(
        [datetime.datetime(year, 12, 31, 23, 59, 59)], itertools.repeat(datetime.datetime(year, 1, 1))
    )

    class Jumping(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return next(times).replace(tzinfo=tz)

    monkeypatch.setattr(stages, "datetime", Jumping)
    assert run([*WORDS, "--out", "then"]) == 0
    assert Path("then/data.csv").read_bytes() == Path("now/data.csv").read_bytes()
    assert run(["verify", "then", "--original", "p.csv", "--quiet"]) == 0


def test_an_input_that_changes_while_it_is_read_is_refused(monkeypatch, capsys):
    """Where a file is read in several passes, one that is written to between them gives no release."""
    answer = DuckDBFile._answer

    def and_write(self, sql):
        found = answer(self, sql)
        with open("p.csv", "a", encoding="utf-8") as file:
            file.write("x,31,F\n")
        return found

    monkeypatch.setattr(DuckDBFile, "_answer", and_write)
    assert run([*WORDS, "--engine", "duckdb", "--out", "out"]) == 2
    assert "p.csv changed while it was read" in capsys.readouterr().err
    assert not Path("out").exists()
