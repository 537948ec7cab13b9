"""A release folder that appears whole or not at all."""

import errno
import os
import shutil
import signal
import stat
import threading
from pathlib import Path

import pytest
from tests.made.renames import before_each_rename

from cloister.errors import InputError
from cloister.io import Place, appearing, folder, private_file, release_folder, sha256, write_private


def is_release(path: Path) -> bool:
    """Whether there is a manifest."""
    return (path / "release.json").exists()


def make(target: Path, content: str = "new", *, overwrite: bool = False) -> None:
    """A release of one file."""
    with release_folder(target, overwrite=overwrite, is_earlier_release=is_release) as partial:
        (partial / "release.json").write_text(content)


def fail(target: Path, error: BaseException | type[BaseException], *, overwrite: bool = False) -> None:
    """A release that comes to nothing; until then an earlier one stays."""
    with release_folder(target, overwrite=overwrite, is_earlier_release=is_release) as partial:
        (partial / "data.csv").write_text("x")
        assert target.exists() == overwrite
        raise error


def names(path: Path) -> set[str]:
    """What is in a folder."""
    return {entry.name for entry in path.iterdir()}


def test_it_appears_at_the_end(tmp_path):
    """Until the block ends the target is not there; then it is, whole, and nothing else."""
    target = tmp_path / "release"

    with release_folder(target) as partial:
        (partial / "sub").mkdir()
        (partial / "sub" / "data.csv").write_text("x")
        assert not target.exists()
        assert partial.parent.parent == tmp_path
        assert partial.parent.name.startswith(".release.partial-")
        assert [stat.S_IMODE(path.stat().st_mode) for path in (partial.parent, partial)] == [0o700, 0o700]

    assert names(tmp_path) == {"release"}
    assert (target / "sub" / "data.csv").read_text() == "x"


def test_what_was_done_elsewhere_is_undone_if_nothing_appears(tmp_path):
    """``otherwise`` is called if the block fails."""
    undone = []
    with pytest.raises(ValueError, match="no"), appearing(Place(tmp_path / "a"), otherwise=lambda: undone.append(1)):
        raise ValueError("no")

    assert (undone, names(tmp_path)) == ([1], set())


def test_a_stop_between_renames_undoes_nothing_elsewhere(tmp_path, monkeypatch):
    """A stop that waited for the renames is raised after them: the folders are there, and nothing is undone."""
    put, undone = folder._put, []

    def stopped(move):
        put(move)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(folder, "_put", stopped)
    with pytest.raises(KeyboardInterrupt), appearing(Place(tmp_path / "a"), otherwise=lambda: undone.append(1)):
        pass

    assert (undone, names(tmp_path)) == ([], {"a"})


def test_everything_is_private(tmp_path):
    """Folders are 0700 and files 0600, whatever the umask and whoever wrote them; links are not followed."""
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    for umask in (0, 0o777):
        before = os.umask(umask)
        try:
            with release_folder(tmp_path / f"r{umask}") as partial:
                write_private(partial / "own", b"x")
                os.close(os.open(partial / "other", os.O_CREAT | os.O_WRONLY, 0o666))
                (partial / "sub").mkdir(mode=0o777)
                (partial / "sub").chmod(0o777)
                (partial / "link").symlink_to(outside)
        finally:
            os.umask(before)
        release = tmp_path / f"r{umask}"
        modes = {path: stat.S_IMODE((release / path).stat().st_mode) for path in (".", "sub", "own", "other")}
        assert modes == {".": 0o700, "sub": 0o700, "own": 0o600, "other": 0o600}
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_nothing_is_left_of_a_failure(tmp_path, error):
    """An exception or an interruption removes what was written, and is passed on."""
    with pytest.raises(error):
        fail(tmp_path / "release", error)

    assert names(tmp_path) == set()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_earlier_release_survives_a_failure(tmp_path, error):
    """While a release is made, and if that fails, the earlier one stays in its place."""
    target = tmp_path / "release"
    make(target, "old")

    with pytest.raises(error):
        fail(target, error, overwrite=True)

    assert names(tmp_path) == {"release"}
    assert (target / "release.json").read_text() == "old"


def test_an_earlier_release_is_replaced(tmp_path):
    """With leave to overwrite the new release stands in the old one's place, and the old one is gone."""
    make(tmp_path / "release", "old")

    make(tmp_path / "release", "new", overwrite=True)

    assert names(tmp_path) == {"release"}
    assert (tmp_path / "release" / "release.json").read_text() == "new"


def test_overwriting_nothing_is_no_error(tmp_path):
    """Leave to overwrite is not a demand."""
    make(tmp_path / "release", overwrite=True)

    assert names(tmp_path) == {"release"}


def test_what_exists_is_refused(tmp_path):
    """Without leave nothing is overwritten; with it only an earlier release is."""
    make(tmp_path / "release", "old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    before = names(tmp_path)

    with pytest.raises(InputError, match="exists already"):
        make(tmp_path / "release")
    with pytest.raises(InputError, match="exists already"):
        make(tmp_path / "folder")
    for name in ("folder", "file"):
        with pytest.raises(InputError, match="not an earlier release"):
            make(tmp_path / name, overwrite=True)
    assert names(tmp_path) == before
    assert (tmp_path / "release" / "release.json").read_text() == "old"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_symbolic_link_is_refused(tmp_path, overwrite):
    """A link is neither followed nor replaced, wherever it points."""
    make(tmp_path / "release")
    (tmp_path / "link").symlink_to("release")
    (tmp_path / "broken").symlink_to("none")

    for name in ("link", "broken"):
        with pytest.raises(InputError, match="symbolic link"):
            make(tmp_path / name, overwrite=overwrite)


def test_a_missing_parent_is_refused(tmp_path):
    """The folder above is not made, as a wrong path would hide the release."""
    with pytest.raises(InputError, match="does not exist"):
        make(tmp_path / "none" / "release")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="does not exist"):
        make(tmp_path / "file" / "release")
    with pytest.raises(InputError, match="name"):
        make(Path("/"))
    assert names(tmp_path) == {"file"}


def test_a_relative_target(tmp_path, monkeypatch):
    """A target without a folder is in the current one, also if that changes meanwhile."""
    monkeypatch.chdir(tmp_path)

    with release_folder(Path("release")):
        monkeypatch.chdir("/")

    assert names(tmp_path) == {"release"}


PROBLEMS = [
    (errno.ENOSPC, "disk is full"),
    (errno.EDQUOT, "quota"),
    (errno.EROFS, "read-only"),
    (errno.EACCES, "permission"),
    (errno.EPERM, "permission"),
    (errno.EIO, "cannot be written"),
]


@pytest.mark.parametrize(("number", "words"), PROBLEMS)
def test_a_disk_that_refuses_from_the_start(tmp_path, monkeypatch, number, words):
    """A folder that cannot be made is an error of the user's, with what to do."""

    def refuse(path: Path, **_options: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)

    with pytest.raises(InputError, match=words):
        make(tmp_path / "release")
    assert names(tmp_path) == set()


@pytest.mark.parametrize(("number", "words"), PROBLEMS)
def test_a_disk_that_refuses_on_the_way(tmp_path, monkeypatch, number, words):
    """A disk that fills up while the release is written is the same error, and nothing is left."""
    monkeypatch.setattr("cloister.io.folder.secrets.token_hex", lambda _size: "x")
    partial = tmp_path / ".release.partial-x"

    with pytest.raises(InputError, match=words):
        fail(tmp_path / "release", OSError(number, os.strerror(number), str(partial / "data.csv")))

    assert names(tmp_path) == set()


def test_a_full_disk_without_a_name(tmp_path):
    """Writing to an open file names no path; a full disk is a full disk all the same."""
    with pytest.raises(InputError, match="disk is full"), release_folder(tmp_path / "release"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_other_errors_of_the_system_are_passed_on(tmp_path):
    """An error about a file elsewhere is not the release's."""
    with pytest.raises(FileNotFoundError), release_folder(tmp_path / "release"):
        Path(tmp_path, "none").read_bytes()

    assert names(tmp_path) == set()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_rename_that_fails(tmp_path, monkeypatch, overwrite):
    """If the last rename fails the earlier release is back in its place."""
    target = tmp_path / "release"
    if overwrite:
        make(target, "old")

    def refuse(path: Path, _to: Path) -> None:
        raise OSError(errno.EACCES, "Permission denied", str(path))

    before_each_rename(monkeypatch, refuse)

    with pytest.raises(InputError, match="permission"):
        make(target, overwrite=overwrite)
    assert names(tmp_path) == ({"release"} if overwrite else set())
    assert not overwrite or (target / "release.json").read_text() == "old"


def test_a_target_that_appears_meanwhile(tmp_path):
    """What somebody else puts in the place is left alone."""
    with pytest.raises(InputError, match="exists already"), release_folder(tmp_path / "release"):
        (tmp_path / "release").mkdir()

    assert names(tmp_path) == {"release"}


def test_a_folder_that_vanishes(tmp_path):
    """A release whose folder was removed under it is an error, and no release."""
    with pytest.raises(InputError, match="cannot be written"), release_folder(tmp_path / "release") as partial:
        shutil.rmtree(partial)

    assert names(tmp_path) == set()


def test_sha256(tmp_path):
    """The digest is that of the bytes."""
    write_private(tmp_path / "a", b"abc")

    assert sha256(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_private_files(tmp_path):
    """A private file has mode 0600 and its bytes, and is never written twice."""
    write_private(tmp_path / "key", b"\0secret")

    assert (tmp_path / "key").read_bytes() == b"\0secret"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with pytest.raises(InputError, match="exists already"):
        write_private(tmp_path / "key", b"other")
    assert (tmp_path / "key").read_bytes() == b"\0secret"


def test_an_interrupted_file_is_removed(tmp_path):
    """A file whose writing is interrupted does not stay."""

    def interrupted() -> None:
        with private_file(tmp_path / "a") as file:
            file.write(b"x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert names(tmp_path) == set()


def test_file_systems_without_sync(tmp_path, monkeypatch):
    """A file system that cannot sync a folder is no error; one that fails to is."""

    def refuse(number: int) -> None:
        def fsync(_descriptor: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", fsync)

    refuse(errno.EINVAL)
    folder.sync(tmp_path)
    refuse(errno.EIO)
    with pytest.raises(OSError, match="error"):
        folder.sync(tmp_path)


def together(folder: Path, content: str, *, overwrite: bool = False) -> None:
    """A release, a file and a folder of secrets that appear together."""
    release = Place(folder / "release", overwrite, is_release)
    secrets = Place(folder / "secrets", overwrite, is_release)
    with appearing(release, Place(folder / f"map{content}.csv", is_file=True), secrets) as (data, table, exact):
        (data / "release.json").write_text(content)
        table.write_text(content)
        (exact / "release.json").write_text(content)


def test_several_appear_together(tmp_path):
    """Folders and files appear at the end of the block, and earlier folders are replaced."""
    together(tmp_path, "1")
    together(tmp_path, "2", overwrite=True)

    assert names(tmp_path) == {"release", "secrets", "map1.csv", "map2.csv"}
    assert (tmp_path / "release" / "release.json").read_text() == "2"
    assert (tmp_path / "secrets" / "release.json").read_text() == "2"
    assert stat.S_IMODE((tmp_path / "map2.csv").stat().st_mode) == 0o600


@pytest.mark.parametrize("failing", ["release", "map2.csv", "secrets"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_several_appear_or_none(tmp_path, monkeypatch, failing, overwrite):
    """If one of them cannot be put in its place, none is there, and earlier ones are as they were."""
    if overwrite:
        together(tmp_path, "1")
    before = names(tmp_path)

    def refuse(path: Path, to: Path) -> None:
        if to.name == failing:
            raise OSError(errno.EACCES, "Permission denied", str(path))

    before_each_rename(monkeypatch, refuse)
    with pytest.raises(InputError, match=f"{failing} cannot be written"):
        together(tmp_path, "2", overwrite=overwrite)

    assert names(tmp_path) == before
    assert all((tmp_path / name / "release.json").read_text() == "1" for name in before if "map" not in name)


@pytest.mark.parametrize("name", ["release", "map2.csv", "secrets"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_between_two_renames(tmp_path, monkeypatch, name, number):
    """A request to stop waits until all are in their places, and has its effect then."""
    ended = []

    def end(_number: int, _frame: object) -> None:
        ended.append(names(tmp_path))
        raise KeyboardInterrupt

    def interrupted(_path: Path, to: Path) -> None:
        if to.name == name:
            os.kill(os.getpid(), number)

    handlers = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    before_each_rename(monkeypatch, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            together(tmp_path, "2")
        assert [signal.getsignal(each) for each in handlers] == [end, end]
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)

    assert ended == [{"release", "map2.csv", "secrets"}]
    assert names(tmp_path) == {"release", "map2.csv", "secrets"}


def test_other_threads_are_not_asked_to_wait(tmp_path):
    """Outside the main thread, where no signal has an effect, folders appear as well."""
    thread = threading.Thread(target=together, args=(tmp_path, "1"))
    thread.start()
    thread.join()

    assert names(tmp_path) == {"release", "secrets", "map1.csv"}
