"""What a run says of its phases while it works: the same words for the terminal and for the application."""

import json

import pytest

from cloister.cli.main import run
from cloister.cli.output import PHASES, PROGRESS, Screen, _words
from cloister.results import Stopwatch
from cloister.search.problem import Progress
from cloister.testing import hospital

TABLE = ("patients.csv", "--id", "mrn", "--qi", "age=interval:10,20/top=80", "--qi", "sex", "--undecided", "drop")


def told(err):
    """What a front end is told is done, in order, each once in a row."""
    every = [json.loads(line).get("doing", "").split(" ")[0] for line in err.splitlines()]
    return [one for place, one in enumerate(every) if one and one != every[place - 1 : place][:1]]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The hospital, and a front end that listens."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PROGRESS, "json")
    hospital(n=200).write(tmp_path)
    return tmp_path


@pytest.mark.parametrize("more", [(), ("--purpose", "one-coding"), ("--attack",)], ids=str)
def test_every_phase_of_a_run_is_told(place, capsys, more):
    """From reading to writing, in this order; nothing stays at the search when it is over."""
    assert run(["protect", "table", *TABLE, "-k", "3", "--out", "out", "--json", *more]) == 0
    phases = [one for one in dict.fromkeys(told(capsys.readouterr().err)) if one in PHASES.values()]

    assert [one for one in phases if one != "starting"][:3] == ["reading", "encoding", "protecting"]
    assert {"verifying", "measuring", "writing"} <= {*phases}
    assert ("attacking" in phases) == ("--attack" in more)


def test_a_job_tells_its_phases(place, capsys):
    """Those of its parts, and that all is verified at the end."""
    (place / "job.toml").write_text(
        'name = "n"\noutput = "out"\nk = 3\n[sources.p]\nfile = "patients.csv"\nid = "mrn"\n'
        '[[protect]]\nshape = "table"\nsource = "p"\nundecided = ["drop"]\n[protect.qi]\nsex = "suppress"\n'
    )
    assert run(["run", "job.toml", "--json"]) == 0
    phases = told(capsys.readouterr().err)

    assert phases[-1] == "verifying"
    assert {"reading", "encoding", "protecting", "measuring", "writing"} <= {*phases}


def test_a_phase_names_what_the_others_took(capsys, monkeypatch):
    """Stages within stages go back to the outer one; what took no time is not listed."""
    monkeypatch.setenv(PROGRESS, "json")
    watch = Stopwatch({"read": 3.2, "encode": 0.1}, Screen(quiet=True).phase)
    with watch.stage("write"), watch.stage("attack"):
        pass
    lines = [json.loads(line)["doing"] for line in capsys.readouterr().err.splitlines()]

    assert lines == [f"{one} (so far: reading 3 s)" for one in ("writing", "attacking", "writing")]


def test_a_search_that_is_over_is_not_said_to_search():
    """With no part left the levels are being released."""
    assert _words(Progress(2.0, 0.1, 0.1, 0, 9)) == "protecting: the search found its levels in 2 s"
    assert "searching 2 s" in _words(Progress(2.0, 0.1, 0.1, 3, 9))
