"""Renames in one step of the system: two places exchanged, or a place taken only if it is free."""

import ctypes
import errno
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

_AS_NAMED, _NO_REPLACE, _EXCHANGE = -100, 1, 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def exchange(one: Path, other: Path) -> bool:
    """Let two places change what stands in them; False where the system cannot, and nothing was done.

    Raises
    ------
    OSError : one of them is missing, or may not be renamed
    """
    return rename_by_system(one, other, _EXCHANGE)


def rename_to_free(source: Path, target: Path) -> None:
    """Rename ``source``, and replace nothing; where the system cannot see to that, as far as one can look before.

    Raises
    ------
    OSError : ``target`` exists, or ``source`` may not be renamed
    """
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
