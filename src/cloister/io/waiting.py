"""Waiting for somebody else's machine, in a way that can be interrupted."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

LOOK_S = 0.2
"""Seconds between two looks whether somebody interrupted."""
LEAVE_S = 2.0
"""Seconds that are given to a statement to end, once it was asked to."""


def waited_for(work: Callable[[], T], cancel: Callable[[], None]) -> T:
    """Return what ``work`` returns, done in a thread of its own; whoever interrupts need not wait until it ends.

    Parameters
    ----------
    cancel : asks the work to end; called once if this was interrupted, what it raises is of no interest
    """
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # raised again where the result is waited for
            found.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        while not found.done():
            wait([found], timeout=LOOK_S)
    except BaseException:
        Thread(target=_quietly, args=(cancel,), daemon=True).start()  # a driver may wait for an answer here as well
        wait([found], timeout=LEAVE_S)
        raise
    return found.result()


def _quietly(cancel: Callable[[], None]) -> None:
    try:
        cancel()
    except Exception:
        return
