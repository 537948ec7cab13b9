"""What killed runs leave, and what others plant, beside a release: ours is removed, nothing else is touched."""

import errno
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.made.renames import before_each_rename, without_exchange

from cloister.cli.main import run
from cloister.errors import InputError
from cloister.io import folder, release_folder, remove_dead_partials
from cloister.io.folder import Partial, begin_partial


def is_release(path: Path) -> bool:
    """Whether there is a manifest."""
    return (path / "release.json").exists()


def make(target: Path, content: str = "new", *, overwrite: bool = False) -> None:
    """A release of one file."""
    with release_folder(target, overwrite=overwrite, is_earlier_release=is_release) as folder:
        (folder / "release.json").write_text(content)


def names(path: Path) -> set[str]:
    """What is in a folder."""
    return {entry.name for entry in path.iterdir()}


def begun(target: Path) -> Partial:
    """What a living run has written of ``target``."""
    found = begin_partial(target, is_file=False)
    (found.content / "data.csv").write_text("half")
    return found


def killed(target: Path) -> Path:
    """What a run leaves beside ``target`` that was killed; its lock is gone with it."""
    found = begun(target)
    found.lock.close()
    return found.path


def copied_as(path: Path, name: str) -> Path:
    """A folder of another name with the record and the files of a dead run."""
    other = path.with_name(name)
    other.mkdir(mode=0o700)
    for entry in path.iterdir():
        if entry.is_file():
            (other / entry.name).write_bytes(entry.read_bytes())
            (other / entry.name).chmod(0o600)
    return other


@pytest.mark.parametrize("name", ["release", "other", "r*[a]?", " ", "ä\udcff", ".partial-", "a\nb"])
def test_the_next_run_removes_what_a_dead_one_left(tmp_path, name):
    """Whatever its target was called: it is gone after the next run in that folder, and named."""
    left = killed(tmp_path / name)
    assert remove_dead_partials(tmp_path) == {left.name: []}
    killed(tmp_path / name)

    make(tmp_path / "release")

    assert names(tmp_path) == {"release"}


def test_a_living_run_is_left_alone(tmp_path):
    """What is still written to stays, by whomever of our programs or threads."""
    living = begun(tmp_path / "release")

    make(tmp_path / "other")

    assert names(tmp_path) == {"other", living.path.name}
    living.remove()


def test_another_machine_is_left_alone(tmp_path, monkeypatch):
    """A lock means nothing on another machine that shares the disk, so what it writes stays."""
    monkeypatch.setattr(folder.platform, "node", lambda: "elsewhere")
    left = killed(tmp_path / "release")
    monkeypatch.undo()

    make(tmp_path / "release")

    assert names(tmp_path) == {"release", left.name}


def planted(tmp_path: Path) -> dict[str, Path]:
    """Folders that look like those of dead runs but are not."""
    left = killed(tmp_path / "mine")
    empty = tmp_path / ".release.partial-00000000"
    empty.mkdir(mode=0o700)
    foreign = copied_as(left, ".mine.partial-00000001")
    os.chown(foreign, 12345, 12345)
    shared = copied_as(left, ".mine.partial-00000002")
    shared.chmod(0o770)
    record = copied_as(left, ".mine.partial-00000003")
    (record / ".cloister-run").chmod(0o666)
    renamed = copied_as(left, ".release.partial-00000005")
    link = tmp_path / ".mine.partial-00000004"
    link.symlink_to(tmp_path / "kept")
    odd = copied_as(left, ".mine.partial-\x1b[2J")
    old = copied_as(left, ".release.replaced-0bbfd16a-7777-abcdef01-12345678")
    left.rename(tmp_path / "kept")
    return {path.name: path for path in (empty, foreign, shared, record, renamed, link, odd, old, tmp_path / "kept")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give folders to others")
def test_what_others_plant_is_neither_released_nor_removed(tmp_path):
    """Without our record and owner, open to others, under another name, or a link: it stays what and where it is."""
    before = planted(tmp_path)
    inside = {name: names(path) for name, path in before.items()}

    make(tmp_path / "release")

    assert names(tmp_path) == set(before) | {"release"}
    assert {name: names(path) for name, path in before.items()} == inside
    assert (tmp_path / "release" / "release.json").read_text() == "new"


def test_a_planted_release_is_not_promoted(tmp_path):
    """A folder that says it is an earlier release moved aside by a crash is not put in the place of one."""
    for purpose in ("replaced", "partial"):
        path = tmp_path / f".release.{purpose}-0bbfd16a-7777-abcdef01-12345678"
        (path / ".cloister-earlier").mkdir(parents=True)
        (path / "release.json").write_text("planted")

    remove_dead_partials(tmp_path)

    assert not (tmp_path / "release").exists()


def test_the_exchange_has_no_moment_without_a_release(tmp_path, monkeypatch):
    """Where an earlier release is replaced nothing is renamed away from its place; it is there before and after."""
    target, seen = tmp_path / "release", []
    make(target, "old")
    before_each_rename(monkeypatch, lambda _source, to: seen.append((to / "release.json").read_text()))
    monkeypatch.setattr(Path, "rename", lambda *_: 1 / 0)

    make(target, overwrite=True)

    assert seen == ["old"]
    assert names(tmp_path) == {"release"}
    assert (target / "release.json").read_text() == "new"


def test_without_an_exchange(tmp_path, monkeypatch):
    """Where the system cannot exchange folders a release is replaced all the same, and what is there is not."""
    without_exchange(monkeypatch)
    make(tmp_path / "release", "old")
    with pytest.raises(InputError, match="exists already"), release_folder(tmp_path / "other"):
        (tmp_path / "other").mkdir()

    make(tmp_path / "release", overwrite=True)

    assert names(tmp_path) == {"release", "other"}
    assert (tmp_path / "release" / "release.json").read_text() == "new"


@pytest.mark.parametrize("number", [1, 2])
def test_killed_without_an_exchange(tmp_path, number):
    """Killed between the two renames that such a system needs, the next run puts the earlier release back."""
    make(tmp_path / "release", "old")
    program = (
        "import os, sys; from pathlib import Path; from cloister.io import folder, release_folder\n"
        "calls = []\n"
        "def refuse(*_):\n"
        "    calls.append(1); len(calls) == int(sys.argv[2]) and os.kill(os.getpid(), 9)\n"
        "folder.rename_by_system = refuse\n"
        "with release_folder(Path(sys.argv[1]), overwrite=True, is_earlier_release=lambda _: True) as folder:\n"
        "    (folder / 'release.json').write_text('new')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "release"), str(number)])
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "release").exists() == (number == 1)

    remove_dead_partials(tmp_path)

    assert names(tmp_path) == {"release"}
    assert (tmp_path / "release" / "release.json").read_text() == "old"


def test_an_earlier_release_that_cannot_be_moved_back_is_not_lost(tmp_path, monkeypatch):
    """If renaming fails both ways the earlier release waits in the partial folder, and the next run puts it back."""
    without_exchange(monkeypatch)
    make(tmp_path / "release", "old")
    rename = Path.rename

    def refuse(path: Path, to: Path) -> Path:
        if to.name == "release":
            raise OSError(errno.EIO, "Input/output error", str(path))
        return rename(path, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises(InputError, match="cannot be written"):
            make(tmp_path / "release", overwrite=True)
    assert not (tmp_path / "release").exists()

    remove_dead_partials(tmp_path)

    assert (tmp_path / "release" / "release.json").read_text() == "old"


@pytest.mark.parametrize("exchanging", [True, False])
def test_only_what_stood_there_is_replaced(tmp_path, monkeypatch, exchanging):
    """Of two runs that may overwrite one release, the one that ends later says that the other was faster."""
    if not exchanging:
        without_exchange(monkeypatch)
    for name in ("none before", "one before"):
        target = tmp_path / name
        if name == "one before":
            make(target, "old")
        with (
            pytest.raises(InputError, match=r"replaced one before meanwhile|none before cannot be written: it exists"),
            release_folder(target, overwrite=True, is_earlier_release=is_release),
        ):
            make(target, "of another run", overwrite=True)

        assert (target / "release.json").read_text() == "of another run"
    assert names(tmp_path) == {"none before", "one before"}


def test_what_became_something_else_is_not_replaced(tmp_path):
    """A folder that is no release any more when the new one is whole is not overwritten."""
    target = tmp_path / "release"
    make(target, "old")

    with (
        pytest.raises(InputError, match="not an earlier release"),
        release_folder(target, overwrite=True, is_earlier_release=is_release),
    ):
        (target / "release.json").rename(target / "notes.txt")

    assert names(target) == {"notes.txt"}


def test_an_earlier_release_that_is_removed_meanwhile(tmp_path):
    """Where somebody removes what was to be replaced the new release appears all the same."""
    target = tmp_path / "release"
    make(target, "old")

    with release_folder(target, overwrite=True, is_earlier_release=is_release) as folder:
        (folder / "release.json").write_text("new")
        shutil.rmtree(target)

    assert (names(tmp_path), (target / "release.json").read_text()) == ({"release"}, "new")


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    """Where no lock can be had releases are written, and nobody's partial folder is taken for dead."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    left = killed(tmp_path / "release")

    make(tmp_path / "release")

    assert names(tmp_path) == {"release", left.name}


def test_a_killed_process_is_cleaned_up_after(tmp_path):
    """What a killed process leaves is private, and `cloister verify` beside it removes it with a note."""
    program = (
        "import os, sys; from pathlib import Path; from cloister.io import release_folder\n"
        "with release_folder(Path(sys.argv[1])) as partial:\n"
        "    (partial / 'data.csv').write_text('x'); os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "release")])
    [left] = tmp_path.iterdir()

    assert done.returncode == -signal.SIGKILL
    assert left.name.startswith(".release.partial-")
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    verify = [sys.executable, "-m", "cloister", "verify", str(tmp_path / "release")]
    said = subprocess.run(verify, capture_output=True, text=True)

    assert said.stderr.startswith(f"Note: removed {left.name}, which an interrupted run left.\n")
    assert names(tmp_path) == set()


@pytest.mark.parametrize("command", [("verify",), ("attack", "--original", "patients.csv"), ("compare",)])
def test_commands_that_read_a_release_clean_its_folder(tmp_path, monkeypatch, command):
    """Whatever is done with a release, what dead runs left beside it is removed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release").mkdir()
    killed(tmp_path / "other")

    run([command[0], "release", *command[1:]])

    assert names(tmp_path) == {"release"}
