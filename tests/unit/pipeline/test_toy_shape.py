"""A shape of somebody else's with a form of its own: a room and its lines of the registry, and no line elsewhere."""

import random

import pytest
from tests.made import toy_shape

import cloister as cl
from cloister.cli.main import run
from cloister.jobs.job import section_of
from cloister.pipeline.releasing import write_release
from cloister.shapes.protocol import Run


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a text, and the shape in the registry."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    lines = [draw.choice(["cough", "fever", "rash", "fall", "ache"]) for _ in range(60)] + ["yaws"]
    (tmp_path / "notes.txt").write_text("\n".join(lines), encoding="utf-8")
    toy_shape.register(monkeypatch)
    yield tmp_path
    section_of.cache_clear()


def job(**told):
    """A job of one part, attacked."""
    return {
        "name": "notes",
        "output": "out",
        "k": 3,
        "attack": True,
        "sources": {"notes": {"file": "notes.txt"}},
        "protect": [{"shape": "words", "source": "notes", **told}],
    }


def test_it_is_protected_attacked_and_checked_again(place, capsys):
    """By its settings, written, attacked before it appears; a recipient verifies it, a forged word is refused."""
    options = toy_shape.WordsOptions(data=place / "notes.txt", k=3, out=place / "out", attack=True)
    written = write_release("words", options, Run())

    assert written.manifest["attack"]
    assert "Each word is of at least 3 patients" in (place / "out" / "report.html").read_text()
    assert "Each word is of at least 3 patients" in (place / "out" / "README.txt").read_text()
    assert run(["verify", "out", "--original", "notes.txt", "-v"]) == 0
    assert run(["attack", "out", "--original", "notes.txt"]) == 0
    assert "all words are of at least 3 patients" in capsys.readouterr().out
    data = place / "out" / "data.csv"
    data.write_text(data.read_text() + "yaws\n")
    assert run(["verify", "out"]) == 1


def test_it_runs_in_a_job_with_settings_of_its_own(place):
    """A key of its own is read, a wrong one refused; the release of the job holds."""
    done = cl.run_job(job(shout=True))

    assert [part["name"] for part in done["parts"]] == ["notes"]
    assert "COUGH" in (place / "out" / "notes" / "data.csv").read_text()
    assert cl.verify_folder(place / "out").holds
    with pytest.raises(cl.InputError, match="whisper"):
        cl.run_job(job(whisper=True))


def test_it_is_explored(place):
    """Every setting of a grid, keys of its own among them."""
    found = cl.explore(job(), grid={"k": [2, 4], "shout": [True, False]})

    assert [one.figures.risk for one in found.outcomes] == [0.5, 0.5, 0.25, 0.25]
    assert list(place.iterdir()) == [place / "notes.txt"]
