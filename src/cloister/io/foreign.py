"""Calls into other people's code, whose error messages quote the data."""

from collections.abc import Callable
from typing import TypeVar

from polars.exceptions import PanicException

from cloister.errors import CloisterError, InputError

Result = TypeVar("Result")


def call_foreign(action: Callable[[], Result], refusal: InputError) -> Result:
    """What ``action`` returns; any exception of its own is replaced by ``refusal``.

    Polars, DuckDB, pandas and the codecs put cell values into their messages. Their exception is forgotten before
    ``refusal`` is raised, so that neither ``__cause__`` nor ``__context__`` carries it.

    Raises
    ------
    InputError : ``refusal``, when ``action`` raised anything but an error of ours, an interruption or a lack of memory
    """
    try:
        return action()
    except (CloisterError, MemoryError):
        raise
    except (Exception, PanicException):  # noqa: S110 (a panic of Polars is no Exception)
        pass
    raise refusal
