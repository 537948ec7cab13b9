"""A small hospital on disk, and the command line run inside the test's process."""

import json
import shutil
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.made.diagnoses import WIDE
from tests.made.patients import COMMON, HEADER, RARE

from cloister.cli.main import run

PATIENTS = HEADER + "".join([*COMMON, *RARE])
OPTIONS = (
    *("--id", "mrn", "--drop", "name", "--sensitive", "diagnosis", "-k", "5", "--purpose", "one-coding"),
    *("--qi", "age=interval:10/top=90/bottom=0", "--qi", "sex", "--qi", "zip=prefix:5"),
)


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code, and what it wrote to the two streams."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """Standard output as the one JSON object that it must be."""
        return json.loads(self.out)


@pytest.fixture
def cloister(capsys, monkeypatch, tmp_path) -> Callable[..., Ran]:
    """Run a command in the test's folder, with its words as arguments."""
    monkeypatch.chdir(tmp_path)

    def command(*words: object) -> Ran:
        capsys.readouterr()
        code = run([str(word) for word in words])
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return command


@pytest.fixture
def data(tmp_path) -> Path:
    """A CSV file of 62 patients, two of whom stand out."""
    path = tmp_path / "patients.csv"
    path.write_text(PATIENTS)
    return path


@pytest.fixture
def diagnoses(tmp_path) -> Path:
    """A file of the codes of 33 patients."""
    path = tmp_path / "diagnoses.csv"
    path.write_text(WIDE)
    return path


@pytest.fixture
def protect(cloister, data, tmp_path) -> Callable[..., Ran]:
    """Run ``protect table`` on the patients with roles and k given; more words come after, and win."""

    def command(*words: object, out: str = "release", source: Path = data) -> Ran:
        return cloister("protect", "table", source, *OPTIONS, *words, "--out", tmp_path / out)

    return command


@pytest.fixture
def bare(cloister, data, tmp_path) -> Callable[..., Ran]:
    """Run ``protect table`` on the patients with these options only."""

    def command(*words: object, out: str = "release", source: Path = data) -> Ran:
        return cloister("protect", "table", source, *words, "--out", tmp_path / out)

    return command


@pytest.fixture(scope="session")
def released_once(tmp_path_factory) -> Callable[..., Path]:
    """Run a command that releases something, once for the same words and files; nobody changes its folder."""
    made: dict[object, Path] = {}

    def command(words: tuple[object, ...], files: dict[str, str]) -> Path:
        key = (words, *files.items())
        if key not in made:
            made[key] = tmp_path_factory.mktemp("once")
            for name, text in files.items():
                (made[key] / name).write_text(text)
            with chdir(made[key]):
                assert run([*map(str, words), "--out", "release", "-q"]) == 0
        return made[key]

    return command


@pytest.fixture
def released(released_once, tmp_path) -> Callable[..., Path]:
    """The same with all files copied into the test's folder, where they may be changed."""

    def command(*words: object, **files: str) -> Path:
        shutil.copytree(released_once(words, files), tmp_path, dirs_exist_ok=True)
        return tmp_path / "release"

    return command


@pytest.fixture
def release(released) -> Path:
    """The folder of a release."""
    return released("protect", "table", "patients.csv", *OPTIONS, **{"patients.csv": PATIENTS})


@pytest.fixture
def manifest(tmp_path) -> Callable[..., dict]:
    """Read the manifest of a release."""
    return lambda name="release": json.loads((tmp_path / name / "release.json").read_bytes())


@pytest.fixture
def refused(tmp_path) -> Callable[..., str]:
    """A command failed with one message on standard error, and left nothing new in the folder."""
    before = {path.name for path in tmp_path.iterdir()}

    def check(ran: Ran, code: int = 2, *, new: frozenset[str] = frozenset()) -> str:
        assert ran.code == code, ran
        assert ran.out == ""
        assert ran.err.startswith("cloister: ")
        assert ran.err.count("\n") == 1
        assert ran.err.endswith((".\n", "?\n"))
        assert "Traceback" not in ran.err
        assert not {path.name for path in tmp_path.iterdir()} - before - new - {"patients.csv"}
        return ran.err

    return check
