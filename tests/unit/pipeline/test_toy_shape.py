"""A shape of somebody else's, one line of words a patient: a class, a line of the registry, none elsewhere."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

import cloister as cl
from cloister.codesets.data import CodeSets, GivenCodes
from cloister.codesets.options import CodesOptions
from cloister.jobs import job as sections
from cloister.pipeline.codes_shape import CodesShape
from cloister.pipeline.releasing import write_release
from cloister.registry import SHAPES, ShapeEntry
from cloister.settings import Help, Key
from cloister.shape import Run

WORDS = ("cough", "fever", "rash", "fall", "ache")


@dataclass(frozen=True, kw_only=True)
class LinesOptions(CodesOptions):
    """Settings of its own beside those of code sets."""

    shout: Annotated[bool, Help("Release words in capitals."), Key("true or false")] = False


class LinesShape(CodesShape):
    """One line of words a patient."""

    name = "lines"

    def read(self, options):
        """Read a text, line by line."""
        lines = [line.split() for line in Path(options.data).read_text(encoding="utf-8").splitlines()]
        made = CodeSets.from_records([[word.upper() if options.shout else word for word in line] for line in lines])
        return GivenCodes(made, name=options.data.name)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a text, and the shape registered."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    lines = [" ".join(sorted(draw.sample(WORDS, draw.randint(1, 3)))) for _ in range(60)]
    (tmp_path / "notes.txt").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setitem(SHAPES, "lines", ShapeEntry(f"{__name__}:LinesOptions", f"{__name__}:LinesShape"))
    yield tmp_path
    sections.section_of.cache_clear()


def job(**told):
    """A job of one part, attacked."""
    return {
        "name": "notes",
        "output": "out",
        "k": 3,
        "attack": True,
        "sources": {"notes": {"file": "notes.txt"}},
        "protect": [{"shape": "lines", "source": "notes", **told}],
    }


def test_it_is_protected_attacked_and_checked_again(place):
    """By its settings, written, attacked before it appears, and verified from its files."""
    options = LinesOptions(data=place / "notes.txt", k=3, out=place / "out", attack=True)
    written = write_release("lines", options, Run())

    assert written.manifest["attack"]
    assert cl.verify_folder(place / "out").holds
    assert (place / "out" / "report.html").exists()


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
