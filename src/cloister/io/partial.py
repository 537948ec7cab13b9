"""Folders that runs write to before anything appears, and the removal of those whose run was killed.

``.NAME.partial-XXXXXXXX`` stands beside NAME and is for its owner alone. It holds what will be NAME, and a record that
is locked as long as the run lives. The next run in that folder removes only what it can take for ours: a folder of the
same owner that nobody else can write to, with the record of a run on this machine that is no more. So nobody who can
write beside it has us remove, or rename, anything else.
"""

import errno
import fcntl
import os
import platform
import re
import secrets
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cloister.io.disk import remove_folder

_RECORD, _EARLIER = ".cloister-run", ".cloister-earlier"
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
        """Remove the folder and all in it, as far as that goes; the record last, by which the next run knows it."""
        for place in (self.content, self.earlier, self.path):
            remove_folder(place)
        self.lock.close()

    def give_up(self) -> None:
        """The same, unless it holds an earlier release that could not be moved back: the next run tries again."""
        if os.path.lexists(self.earlier):
            self.lock.close()
        else:
            self.remove()


def begin_partial(target: Path, *, is_file: bool) -> Partial:
    """Make the folder beside ``target`` that a run writes to."""
    path = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    if watcher is not None:
        os.write(watcher, os.fsencode(path.parent.absolute()) + b"\0")
    path.mkdir(mode=0o700)
    try:
        path.chmod(0o700)
        lock = _locked(path / _RECORD, _record(target.name))
    except BaseException:
        remove_folder(path)
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


def _locked(path: Path, record: bytes) -> BinaryIO:
    """Write a record, and return it open and locked; it is written once it is locked, as it counts from then on."""
    lock = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600), "wb", buffering=0)
    os.fchmod(lock.fileno(), 0o600)
    with suppress(OSError):  # a file system without locks: nobody ever takes this run for dead
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if lock.write(record) < len(record):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return lock


def remove_dead_partials(folder: Path) -> list[str]:
    """Remove what runs that were killed left in ``folder``, and return the names.

    An earlier release that such a run had moved away, where the system cannot exchange two folders in one step, is
    moved back.
    """
    names = os.listdir(folder) if os.access(folder, os.R_OK | os.X_OK) else []
    removed = []
    for found in filter(None, map(_NAME.fullmatch, sorted(names))):
        path = folder / found.group()
        with suppress(OSError):
            opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
            try:
                if _is_ours(opened) and _remove_if_dead(path, path.with_name(found["target"]), opened):
                    removed.append(path.name)
            finally:
                os.close(opened)
    return removed


def _is_ours(opened: int) -> bool:
    """Whether a folder or file belongs to us, and nobody else can have written to it."""
    found = os.fstat(opened)
    return found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def _remove_if_dead(path: Path, target: Path, opened: int) -> bool:
    """Remove the folder of a dead run, else return False; works on the open folder, as its name may lead elsewhere."""
    lock = os.open(_RECORD, os.O_RDWR | _FLAGS, dir_fd=opened)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_ours(lock) or os.read(lock, 4096) != _record(target.name):
            return False
        if _EARLIER in os.listdir(opened) and not os.path.lexists(target):
            os.rename(_EARLIER, target, src_dir_fd=opened)
        _empty(opened)
        path.rmdir()
        return True
    finally:
        os.close(lock)


def _empty(opened: int) -> None:
    """Remove all that is in an open folder, the record last, by which the next run knows it."""
    for name in sorted(os.listdir(opened), key=lambda name: name == _RECORD):
        if stat.S_ISDIR(os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=opened)
        else:
            os.unlink(name, dir_fd=opened)


def _record(name: str) -> bytes:
    """What a run writes down: its machine, as a lock means nothing on another that shares the disk, and its target."""
    return b"cloister\n" + os.fsencode(platform.node()) + b"\n" + os.fsencode(name)
