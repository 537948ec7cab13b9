"""A line on the terminal that says how far a search has come, or what takes its time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.text import Text

from cloister.cli.output import console, printable
from cloister.search.problem import Progress, Report


@contextmanager
def watched(*, quiet: bool) -> Iterator[Report | None]:
    """Return a function that shows progress on standard error, or None where nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with console(stderr=True).status(Text("searching")) as status:
        yield lambda progress: status.update(Text(_words(progress)))


@contextmanager
def working(what: str, *, quiet: bool) -> Iterator[None]:
    """Say on standard error what takes its time, where somebody would see it."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(Text(printable(what))):
        yield


def _words(progress: Progress) -> str:
    return (
        f"searching {progress.seconds:.0f} s: loss {progress.loss:.4f}, proven to be at least {progress.bound:.4f}, "
        f"{progress.checked:,} checks, {progress.remaining} parts left"
    )
