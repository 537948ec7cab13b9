"""Write a folder atomically, alone or together with other folders and files.

The folder is written inside ``.NAME.partial-XXXXXXXX``, a folder next to NAME that only its owner can access. At the
end it is renamed. If it replaces an earlier folder, the system exchanges the two in one step, so NAME always exists.
The partial folder contains the future NAME, and a record that is locked as long as the run lives. The next run in that
folder removes only folders that are certainly ours: of the same owner, that nobody else can write to, with the record
of a run on this machine that has ended. So no other user who can write there can make us remove or rename anything
else.
"""

import ctypes
import errno
import fcntl
import os
import platform
import re
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from cloister.errors import InputError
from cloister.io.write import cannot_write

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AS_NAMED, _NO_REPLACE, _EXCHANGE = -100, 1, 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
"""Words of renameat2, and what it answers where the system or the file system cannot do it."""

_RECORD, _EARLIER, _TABLES = ".cloister-run", ".cloister-earlier", ".cloister-tables"
_NAME = re.compile(r"\.(?P<target>.+)\.partial-[0-9a-f]{8}", re.DOTALL)
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW

watcher: int | None = None
"""A pipe on which a process that watches this one, if any, hears of folders that it would have to clean."""


@dataclass(frozen=True)
class Partial:
    """A folder that a living run writes to."""

    path: Path
    lock: BinaryIO
    content: Path
    earlier: Path

    def remove(self) -> None:
        """Remove the folder and its content as far as possible; the record last: the next run recognizes it by that."""
        for place in (self.content, self.earlier, self.path):
            shutil.rmtree(place, ignore_errors=True)
        self.lock.close()

    def give_up(self) -> None:
        """The same, unless it holds an earlier release that could not be moved back: the next run tries again."""
        if os.path.lexists(self.earlier):
            self.lock.close()
        else:
            self.remove()


def begin_partial(target: Path, *, is_file: bool) -> Partial:
    """Create the partial folder next to ``target``."""
    path = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    if watcher is not None:
        os.write(watcher, os.fsencode(path.parent.absolute()) + b"\0")
    path.mkdir(mode=0o700)
    try:
        path.chmod(0o700)
        # The record is written once it is locked, as it counts from then on.
        record, flags = _record(target.name), os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS
        lock = os.fdopen(os.open(path / _RECORD, flags, 0o600), "wb", buffering=0)
        os.fchmod(lock.fileno(), 0o600)
        with suppress(OSError):  # a file system without locks: nobody ever takes this run for dead
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if lock.write(record) < len(record):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    partial = Partial(path, lock, path / target.name, path / _EARLIER)
    if not is_file:
        try:
            partial.content.mkdir(mode=0o700)
            partial.content.chmod(0o700)
        except BaseException:
            partial.remove()
            raise
    return partial


def note_table(content: Path, table: str) -> None:
    """Record the name of a table before the run commits it to a database.

    Anyone who removes the remains of the run, killed before its folder appeared, can name the table.
    """
    found, path = content.stat(), content.parent / _TABLES
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600), "a") as file:
        file.write(f"{found.st_dev} {found.st_ino} {table}\n")
    sync(path)
    sync(content.parent)


def remove_dead_partials(folder: Path, *, with_tables: bool = False) -> dict[str, list[str]]:
    """Remove files of killed runs from ``folder``; return the names of the tables that they left in a database.

    An earlier release that such a run had moved away, where the system cannot exchange two folders in one step, is
    moved back.

    ``with_tables``: also remove records that name a table of no release; the caller then reports the table
    """
    names = os.listdir(folder) if os.access(folder, os.R_OK | os.X_OK) else []
    removed = {}
    for name in filter(None, map(_NAME.fullmatch, sorted(names))):
        path = folder / name.group()
        with suppress(OSError):
            opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
            try:
                tables = _remove_if_dead(path, path.with_name(name["target"]), opened, with_tables)
                if tables is not None:
                    removed[path.name] = tables
            finally:
                os.close(opened)
    return removed


def _is_ours(opened: int) -> bool:
    """Whether a folder or file belongs to us, and nobody else can have written to it."""
    found = os.fstat(opened)
    return found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def _remove_if_dead(path: Path, target: Path, opened: int, with_tables: bool) -> list[str] | None:
    """Remove the folder of a dead run, and return the tables that it left, else None.

    Works on the open folder, as its name may lead elsewhere.
    """
    if not _is_ours(opened):
        return None
    lock = os.open(_RECORD, os.O_RDWR | _FLAGS, dir_fd=opened)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_ours(lock) or os.read(lock, 4096) != _record(target.name):
            return None
        if _EARLIER in os.listdir(opened) and not os.path.lexists(target):
            os.rename(_EARLIER, target, src_dir_fd=opened)
        tables = _tables_left(opened, target)
        if tables and not with_tables:
            return None
        # Remove all that is in an open folder, the record last, by which the next run knows it.
        for name in sorted(os.listdir(opened), key=lambda name: name == _RECORD):
            if stat.S_ISDIR(os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=opened)
            else:
                os.unlink(name, dir_fd=opened)
        path.rmdir()
        return tables
    finally:
        os.close(lock)


def _tables_left(opened: int, target: Path) -> list[str]:
    """Return the tables that a dead run may have left, unless the folder that names them appeared."""
    if _TABLES not in os.listdir(opened):
        return []
    with os.fdopen(os.open(_TABLES, os.O_RDONLY | _FLAGS, dir_fd=opened), encoding="utf-8") as file:
        noted = [line.split() for line in file.read().splitlines()]
    there = identity(target)
    return [table for device, number, table in noted if (int(device), int(number)) != there]


def _record(name: str) -> bytes:
    """What a run writes down: its machine, as a lock means nothing on another that shares the disk, and its target."""
    return b"cloister\n" + os.fsencode(platform.node()) + b"\n" + os.fsencode(name)


@dataclass(frozen=True)
class Place:
    """The target of a folder or a single file."""

    target: Path  # must not exist, or be an earlier release and ``overwrite`` given; never a symbolic link
    overwrite: bool = False
    # whether a folder is a release, called only with ``overwrite``
    is_earlier_release: Callable[[Path], bool] = lambda _: False
    is_file: bool = False


@dataclass
class _Move:
    """An output path, the partial folder next to it, and the earlier release that was there at the start."""

    place: Place
    partial: Partial
    earlier: tuple[int, int] | None
    is_done: bool = False
    has_appeared: bool = False  # with all others: nothing undoes it any more


@contextmanager
def release_folder(
    target: Path, *, overwrite: bool = False, is_earlier_release: Callable[[Path], bool] = lambda _: False
) -> Iterator[Path]:
    """Yield an empty folder (0700); it becomes ``target`` if the block ends without an exception.

    See `appearing`, of which this is the case of one folder.
    """
    with appearing(Place(target, overwrite, is_earlier_release)) as (partial,):
        yield partial


@contextmanager
def appearing(*places: Place, otherwise: Callable[[], None] = lambda: None) -> Iterator[tuple[Path, ...]]:
    """Yield empty folders (0700), or paths of files: all appear if the block ends without an exception, else none.

    What was written is made readable by its owner alone, whatever the umask. On any exception, an interruption
    included, it is removed and all places are as they were. They appear in the order given, while requests to stop
    wait: none is left alone there. A stop that waited is raised after they appeared. The remains of a killed
    run next to a path are removed first.

    ``otherwise``: called if the places do not appear
    """
    moves: list[_Move] = []
    try:
        for place in places:
            moves.append(_begin(replace(place, target=Path(os.path.abspath(place.target)))))
        yield tuple(move.partial.content for move in moves)
        _finish(moves)
    except BaseException as error:
        with stops_wait():
            for move in moves:
                move.partial.give_up()
            if not any(move.has_appeared for move in moves):
                otherwise()
        for move in moves:
            if isinstance(error, OSError) and is_about(error, move.partial.path):
                raise cannot_write(move.place.target.name, error) from None
        raise


def _begin(place: Place) -> _Move:
    target = place.target
    try:
        if not target.name:
            raise InputError("A release needs a folder of its own, with a name.")
        if not target.parent.is_dir():
            raise InputError(f"The folder {target.parent} does not exist. Make it first.", file=target.name)
        if target.is_symlink():
            raise InputError(f"{target.name} is a symbolic link. Name the folder that it points to.", file=target.name)
        # Dead partials first: one of them may hold the earlier release, which then is in its place again.
        remove_dead_partials(target.parent)
        _check_free(place)
        earlier = identity(target)
        return _Move(place, begin_partial(target, is_file=place.is_file), earlier)
    except OSError as error:
        raise cannot_write(target.name, error) from None


def _check_free(place: Place) -> None:
    target = place.target
    if not os.path.lexists(target):
        return
    if not place.overwrite:
        message = f"{target.name} exists already. Choose another name, or allow to overwrite an earlier release."
        raise InputError(message, file=target.name)
    if not target.is_dir() or not place.is_earlier_release(target):
        message = f"{target.name} is not an earlier release and is not overwritten. Choose another name."
        raise InputError(message, file=target.name)


def _finish(moves: list[_Move]) -> None:
    for move in moves:
        try:
            make_private(move.partial.path)
        except OSError as error:
            raise cannot_write(move.place.target.name, error) from None
    with stops_wait():  # a stop between two renames would leave one of them alone
        for number, move in enumerate(moves):
            try:
                _put(move)
            except BaseException as error:  # rename everything, or nothing
                for done in reversed(moves[: number + 1]):
                    _undo(done)
                if isinstance(error, OSError):
                    raise cannot_write(move.place.target.name, error) from None
                raise
        for move in moves:
            move.has_appeared = True
            move.partial.remove()


def _put(move: _Move) -> None:
    """Rename what was written to its target; only what stood there at the start is replaced."""
    target, partial = move.place.target, move.partial
    if not os.path.lexists(target):
        move.earlier = None  # also where someone removed it meanwhile
    if move.earlier is None:
        rename_to_free(partial.content, target)
        move.is_done = True
    else:
        _check_free(move.place)
        move.is_done = exchange(partial.content, target)
        if not move.is_done:
            target.rename(partial.earlier)
            rename_to_free(partial.content, target)
            move.is_done = True
        # Checked after the exchange, since another run may come between any look and the rename.
        replaced = partial.earlier if os.path.lexists(partial.earlier) else partial.content
        if identity(replaced) != move.earlier:
            raise InputError(f"Another run replaced {target.name} meanwhile. Nothing of this one was released.")
    sync(target.parent)


def _undo(move: _Move) -> None:
    """Take back what `_put` did, as far as the disk lets us."""
    target, partial = move.place.target, move.partial
    was_exchanged = move.earlier is not None and not os.path.lexists(partial.earlier)
    with suppress(OSError):
        if move.is_done and was_exchanged:
            exchange(partial.content, target)
        elif move.is_done:
            target.rename(partial.content)
        if os.path.lexists(partial.earlier) and not os.path.lexists(target):
            partial.earlier.rename(target)


def identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode, which identify a folder; None if it does not exist."""
    if not os.path.lexists(path):
        return None
    found = path.lstat()
    return found.st_dev, found.st_ino


def is_about(error: OSError, folder: Path) -> bool:
    """Whether ``error`` comes from writing to ``folder``: the disk is full or locked, or it names a path in it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return True
    return isinstance(error.filename, str) and Path(error.filename).is_relative_to(folder)


def make_private(folder: Path) -> None:
    """Make ``folder`` and its content readable by the owner only, and flush it to disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        files = [path for name in names if not (path := Path(parent, name)).is_symlink()]
        for path, mode in [*((file, 0o600) for file in files), (Path(parent), 0o700)]:
            path.chmod(mode)
            sync(path)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk, where the file system supports it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; return False, and do nothing, where the system cannot."""
    return rename_by_system(one, other, _EXCHANGE)


def rename_to_free(source: Path, target: Path) -> None:
    """Rename ``source`` and replace nothing; where the system cannot guarantee that, ``target`` is looked for."""
    if rename_by_system(source, target, _NO_REPLACE):
        return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    source.rename(target)


def rename_by_system(one: Path, other: Path, flag: int) -> bool:
    """Call renameat2 of Linux; False where there is none, or the file system does not take ``flag``."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AS_NAMED, os.fsencode(one), _AS_NAMED, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function


@contextmanager
def stops_wait() -> Iterator[None]:
    """Delay interruptions and requests to end until the block ends.

    Other threads than the main one are never interrupted, and nothing is done there.
    """
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        found = {number: signal.getsignal(number) for number in STOPS}
        before = {number: handler for number, handler in found.items() if handler not in (None, signal.SIG_IGN)}
    try:
        for number in before:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
