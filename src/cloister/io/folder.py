"""A folder that appears whole or not at all.

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
from contextlib import contextmanager
from pathlib import Path

from cloister.errors import InputError
from cloister.io.disk import cannot_write, is_about, make_private, remove_folder, sha256, sync, write_private

__all__ = ["release_folder", "repair", "sha256", "write_private"]

_RUN = secrets.token_hex(4)


@contextmanager
def release_folder(
    target: Path, *, overwrite: bool = False, is_earlier_release: Callable[[Path], bool] = lambda _: False
) -> Iterator[Path]:
    """An empty folder (0700) to write to, which becomes ``target`` if the block ends without an exception.

    What was written is made readable by its owner alone, whatever the umask. On any exception, an interruption
    included, the folder is removed and ``target`` is as it was.

    Parameters
    ----------
    target : must not exist, or be an earlier release and ``overwrite`` given; never a symbolic link
    overwrite : whether an earlier release may be replaced; it stays in its place until the new one is whole
    is_earlier_release : whether a folder is a release, called only with ``overwrite``

    Raises
    ------
    InputError : ``target`` is there, its folder is not, or the disk does not take it
    """
    target = Path(os.path.abspath(target))
    try:
        _check_place(target)
        repair(target)
        _check_free(target, overwrite, is_earlier_release)
        partial = _beside(target, "partial")
        partial.mkdir(mode=0o700)
    except OSError as error:
        raise cannot_write(target.name, error) from None
    try:
        partial.chmod(0o700)
        yield partial
        _finish(partial, target, overwrite)
    except BaseException as error:
        remove_folder(partial)
        if isinstance(error, OSError) and is_about(error, partial):
            raise cannot_write(target.name, error) from None
        raise


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


def _finish(partial: Path, target: Path, overwrite: bool) -> None:
    try:
        make_private(partial)
        _put(partial, target, overwrite)
        sync(target.parent)
    except OSError as error:
        raise cannot_write(target.name, error) from None


def _put(partial: Path, target: Path, overwrite: bool) -> None:
    """Rename ``partial`` to ``target``; an earlier release is removed last, or back in its place if that fails."""
    replaced = None
    if overwrite and os.path.lexists(target):
        replaced = _beside(target, "replaced")
        target.rename(replaced)
    try:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "appeared meanwhile", str(target))
        partial.rename(target)
    except BaseException:
        if replaced is not None and not os.path.lexists(target):
            replaced.rename(target)
        raise
    if replaced is not None:
        remove_folder(replaced)


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
