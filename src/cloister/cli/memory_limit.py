"""Where the shell limits memory (``ulimit -v``), the command runs in a child that this process watches.

Libraries end their process at once where memory cannot be had: nothing inside it could say so, or clean up.
"""

import os
import resource
import signal
from pathlib import Path
from types import FrameType

from cloister.cli.output import complain
from cloister.errors import InputError

LEAST = 2 * 2**30
"""Bytes of address space that the libraries need; with less they fail in any way, also by blaming the data."""
TOO_LITTLE = "Memory is limited to less than 2 GiB (ulimit -v), which is not enough for any data; nothing was done."
TOO_LARGE = "There is not enough memory for these data. Use a larger machine or fewer columns; nothing was written."
SHORTAGES = ("can't start new thread", "Cannot allocate memory", "failed to map segment")
"""How Python and the system's loader say that there is no memory, for the stack of a thread or a library."""


def is_shortage(error: BaseException) -> bool:
    """Whether an error is one of memory."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in SHORTAGES)


def watched_child() -> int | None:
    """Return the exit code of the child that did the work; None where there is no limit, and in the child itself."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    if limit < LEAST:
        return complain(InputError(TOO_LITTLE), as_json=False, verbose=False)
    from cloister.io import folder, remove_dead_partials  # the help page needs none of it

    begun, watcher = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(begun)
        folder.watcher = watcher
        return None
    os.close(watcher)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN if os.isatty(0) else pass_on)  # a terminal tells the child, too
    with os.fdopen(begun, "rb") as pipe:
        folders = pipe.read().split(b"\0")[:-1]  # until the child ends
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        return code
    for place in set(folders):
        remove_dead_partials(Path(os.fsdecode(place)))
    return complain(InputError(TOO_LARGE), as_json=False, verbose=False) if code != -signal.SIGKILL else 128 - code
