"""Files for their owner alone, whole or not there: writing, renaming in one system call, delaying requests to stop."""

import ctypes
import errno
import hashlib
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from cloister.errors import InputError

_SENTENCES = {
    errno.ENOSPC: "the disk is full. Free space or choose another folder",
    errno.EDQUOT: "the disk quota is used up. Free space or choose another folder",
    errno.EROFS: "the file system is read-only. Choose another folder",
    errno.EACCES: "there is no permission to write. Choose another folder or ask its owner for permission",
    errno.EPERM: "there is no permission to write. Choose another folder or ask its owner for permission",
    errno.EEXIST: "it exists already. Choose another name or remove it",
    errno.ENOTEMPTY: "it exists already. Choose another name or remove it",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one",
    errno.ENOENT: "its folder does not exist. Make it first",
    errno.ENOTDIR: "its folder is not a folder. Choose another one",
    errno.ELOOP: "symbolic links lead in a circle. Choose another place",
}

_AS_NAMED, _NO_REPLACE, _EXCHANGE = -100, 1, 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
"""Words of renameat2, and what it answers where the system or the file system cannot do it."""

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def is_about(error: OSError, folder: Path) -> bool:
    """Whether ``error`` comes from writing to ``folder``: the disk is full or locked, or a path in it is named."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return True
    return isinstance(error.filename, str) and Path(error.filename).is_relative_to(folder)


def cannot_write(name: str, error: OSError) -> InputError:
    """The refusal that says why ``name`` cannot be written and what to do."""
    sentence = _SENTENCES.get(error.errno or 0) or f"the system refuses ({os.strerror(error.errno or errno.EIO)})"
    return InputError(f"{name} cannot be written: {sentence}.", file=name)


def is_taken(path: Path) -> bool:
    """Whether something stands at ``path``, be it a link to nothing."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise cannot_write(path.name, error) from None
    return True


def display_name(path: Path) -> str:
    """The name of a file as text, without its folder; bytes of it that are not UTF-8 are replaced."""
    return os.fsencode(path.name).decode("utf-8", "replace")


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """A new file open for writing, readable by its owner alone whatever the umask; on disk at the end."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise cannot_write(path.name, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot_write(path.name, error) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_private(path: Path, data: bytes) -> None:
    """Write ``data`` to a new file that its owner alone may read."""
    with private_file(path) as file:
        file.write(data)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_private(folder: Path) -> None:
    """Let the owner alone read ``folder`` and all in it, and see that all of it is on disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        files = [path for name in names if not (path := Path(parent, name)).is_symlink()]
        for path, mode in [*((file, 0o600) for file in files), (Path(parent), 0o700)]:
            path.chmod(mode)
            sync(path)


def sync(path: Path) -> None:
    """See that a file, or the names in a folder, are on disk, where the file system can tell."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def remove_folder(folder: Path) -> None:
    """Remove ``folder`` and all in it, as far as that goes."""
    shutil.rmtree(folder, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; False, with nothing done, where the system cannot."""
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
    """Delay interruptions and requests to end that come during the block until it is left.

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
