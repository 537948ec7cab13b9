"""A folder that appears whole or not at all, by itself or together with other folders and files.

It is written to ``.NAME.partial-WHO-XXXX`` beside its place and renamed at the end; an earlier one that it replaces
is moved to ``.NAME.replaced-WHO-XXXX`` first and removed last. WHO is machine, process and run, so that the next run
can tell what a crash left behind from what another process is writing.
"""

import errno
import os
import platform
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cloister.errors import InputError
from cloister.io.disk import cannot_write, is_about, make_private, remove_folder, sha256, sync, write_private
from cloister.io.stops import stops_wait

__all__ = ["Place", "appearing", "release_folder", "repair", "sha256", "write_private"]

_RUN = secrets.token_hex(4)


@dataclass(frozen=True)
class Place:
    """Where a folder, or a single file, is to appear.

    Attributes
    ----------
    target : must not exist, or be an earlier release and ``overwrite`` given; never a symbolic link
    overwrite : whether an earlier release may be replaced; it stays in its place until the new one is whole
    is_earlier_release : whether a folder is a release, called only with ``overwrite``
    is_file : whether a file is to appear instead of a folder
    """

    target: Path
    overwrite: bool = False
    is_earlier_release: Callable[[Path], bool] = lambda _: False
    is_file: bool = False


@dataclass
class _Move:
    """A place, the folder beside it that is written to, and where an earlier release was moved to meanwhile."""

    place: Place
    partial: Path
    replaced: Path | None = None
    is_done: bool = False

    @property
    def source(self) -> Path:
        """What will be renamed: the folder, or the file in it."""
        return self.partial / self.place.target.name if self.place.is_file else self.partial


@contextmanager
def release_folder(
    target: Path, *, overwrite: bool = False, is_earlier_release: Callable[[Path], bool] = lambda _: False
) -> Iterator[Path]:
    """An empty folder (0700) to write to, which becomes ``target`` if the block ends without an exception.

    See `appearing`, of which this is the case of one folder.
    """
    with appearing(Place(target, overwrite, is_earlier_release)) as (partial,):
        yield partial


@contextmanager
def appearing(*places: Place) -> Iterator[tuple[Path, ...]]:
    """Empty folders (0700), or paths of files, to write to: all appear if the block ends well, else none.

    What was written is made readable by its owner alone, whatever the umask. On any exception, an interruption
    included, it is removed and all places are as they were. They appear in the order given, while requests to stop
    wait: none is left alone there.

    Raises
    ------
    InputError : a target is there, its folder is not, or the disk does not take it
    """
    moves: list[_Move] = []
    try:
        for place in places:
            moves.append(_begin(replace(place, target=Path(os.path.abspath(place.target)))))
        yield tuple(move.source for move in moves)
        _finish(moves)
    except BaseException as error:
        with stops_wait():
            for move in moves:
                remove_folder(move.partial)
        for move in moves:
            if isinstance(error, OSError) and is_about(error, move.partial):
                raise cannot_write(move.place.target.name, error) from None
        raise


def _begin(place: Place) -> _Move:
    target = place.target
    try:
        _check_place(target)
        repair(target)
        _check_free(target, place.overwrite, place.is_earlier_release)
        partial = _beside(target, "partial")
        partial.mkdir(mode=0o700)
        partial.chmod(0o700)
    except OSError as error:
        raise cannot_write(target.name, error) from None
    return _Move(place, partial)


def repair(target: Path) -> None:
    """Undo what a crash of an earlier run left beside ``target``.

    An earlier release that was moved aside is moved back where ``target`` is missing, else removed, as it was
    replaced. What a process that is no more was writing is removed; what a living process or another machine writes
    is left alone.

    Raises
    ------
    OSError : the folder cannot be read or written
    """
    for replaced in _left_behind(target, "replaced"):
        if os.path.lexists(target):
            remove_folder(replaced)
        else:
            replaced.rename(target)
    for partial in _left_behind(target, "partial"):
        remove_folder(partial)


def _check_place(target: Path) -> None:
    if not target.name:
        raise InputError("A release needs a folder of its own, with a name.")
    if not target.parent.is_dir():
        raise InputError(f"The folder {target.parent} does not exist. Make it first.", file=target.name)
    if target.is_symlink():
        raise InputError(f"{target.name} is a symbolic link. Name the folder that it points to.", file=target.name)


def _check_free(target: Path, overwrite: bool, is_earlier_release: Callable[[Path], bool]) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        message = f"{target.name} exists already. Choose another name, or allow to overwrite an earlier release."
        raise InputError(message, file=target.name)
    if not target.is_dir() or not is_earlier_release(target):
        message = f"{target.name} is not an earlier release and is not overwritten. Choose another name."
        raise InputError(message, file=target.name)


def _finish(moves: list[_Move]) -> None:
    for move in moves:
        try:
            make_private(move.partial)
        except OSError as error:
            raise cannot_write(move.place.target.name, error) from None
    with stops_wait():
        _put_all(moves)
        for move in moves:
            if move.replaced is not None:
                remove_folder(move.replaced)
            if move.place.is_file:
                remove_folder(move.partial)


def _put_all(moves: list[_Move]) -> None:
    """Rename everything, or nothing: what was renamed is undone if something that follows fails."""
    for number, move in enumerate(moves):
        try:
            _put(move)
        except BaseException as error:
            for done in reversed(moves[: number + 1]):
                _undo(done)
            if isinstance(error, OSError):
                raise cannot_write(move.place.target.name, error) from None
            raise


def _put(move: _Move) -> None:
    """Rename what was written to its target, an earlier release out of the way before."""
    target = move.place.target
    if move.place.overwrite and os.path.lexists(target):
        replaced = _beside(target, "replaced")
        target.rename(replaced)
        move.replaced = replaced
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "appeared meanwhile", str(target))
    move.source.rename(target)
    move.is_done = True
    sync(target.parent)


def _undo(move: _Move) -> None:
    """Take back what `_put` did, as far as the disk lets us."""
    target = move.place.target
    with suppress(OSError):
        if move.is_done:
            target.rename(move.source)
        if move.replaced is not None and not os.path.lexists(target):
            move.replaced.rename(target)


def _beside(target: Path, purpose: str) -> Path:
    return target.with_name(f".{target.name}.{purpose}-{_machine()}-{os.getpid()}-{_RUN}-{secrets.token_hex(4)}")


def _left_behind(target: Path, purpose: str) -> list[Path]:
    """Folders of that purpose beside ``target`` whose process is no more, the newest first."""
    start = f".{target.name}.{purpose}-{_machine()}-"
    found = [path for path in target.parent.iterdir() if path.name.startswith(start) and not path.is_symlink()]
    gone = [path for path in found if not _is_running(path.name.removeprefix(start))]
    return sorted(gone, key=lambda path: path.stat().st_mtime, reverse=True)


def _is_running(rest: str) -> bool:
    """Whether the process lives that wrote PROCESS-RUN-XXXX; a name of another form is somebody else's business.

    A process of our number and another run had it before us, as is usual in containers.
    """
    process, run, *_ = [*rest.split("-"), ""]
    if not process.isdecimal():
        return True
    if int(process) == os.getpid():
        return run == _RUN
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OverflowError, PermissionError):
        return True
    return True


def _machine() -> str:
    """Eight digits for this machine, as process numbers mean nothing on another that shares the disk."""
    return f"{zlib.crc32(platform.node().encode()):08x}"
