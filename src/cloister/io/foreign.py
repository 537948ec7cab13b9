"""Call other libraries: replace their error messages, which quote the data, and keep calls interruptible."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

from polars.exceptions import PanicException

from cloister.errors import CloisterError, InputError

T = TypeVar("T")

LOOK_S = 0.2  # Seconds between two looks whether someone interrupted
LEAVE_S = 2.0  # Seconds that are given to a statement to end, once it was asked to


def translate_errors(action: Callable[[], T], refusal: InputError) -> T:
    """Return the result of ``action``; any exception of its own is replaced by ``refusal``.

    Polars, DuckDB, pandas and the codecs put cell values into their messages. Their exception is forgotten before
    ``refusal`` is raised, so that neither ``__cause__`` nor ``__context__`` carries it.
    """
    try:
        return action()
    except (CloisterError, MemoryError):
        raise
    except (Exception, PanicException):  # noqa: S110 (a panic of Polars is no Exception)
        pass
    raise refusal


def interruptible(work: Callable[[], T], cancel: Callable[[], None] | None = None) -> T:
    """Run a long call so that the user can interrupt it before it ends.

    Neither compiled loops nor drivers ask for signals. They run in a thread of their own, which is asked to end where
    there is a way to ``cancel``, and is left alone else: what it works on is in memory only.
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
        if cancel is not None:
            Thread(target=_quietly, args=(cancel,), daemon=True).start()  # a driver may wait for an answer here as well
            wait([found], timeout=LEAVE_S)
        raise
    return found.result()


def _quietly(cancel: Callable[[], None]) -> None:
    try:
        cancel()
    except Exception:
        return
