"""A line on the terminal that says how far a search has come, or what takes its time."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.text import Text

from cloister.cli.output import console, note, printable
from cloister.search.problem import Progress, Report


class Screen:
    """Says on standard error what is done, where somebody would see it."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    @property
    def is_seen(self) -> bool:
        """Whether there is a terminal for what changes while it is shown."""
        return not self.quiet and sys.stderr.isatty()

    def note(self, text: str, *, always: bool = False) -> None:
        """Say a line."""
        note(text, quiet=self.quiet and not always)

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Say what takes its time, while it does; yield what says how far it is."""
        if not self.is_seen:
            yield lambda _how_far: None
            return
        with console(stderr=True).status(Text(printable(what))) as status:
            yield lambda how_far: status.update(Text(printable(how_far)))

    @contextmanager
    def searching(self) -> Iterator[Report | None]:
        """Yield what shows how far a search has come."""
        if not self.is_seen:
            yield None
            return
        with console(stderr=True).status(Text("searching")) as status:
            yield lambda progress: status.update(Text(_words(progress)))


def _words(progress: Progress) -> str:
    return (
        f"searching {progress.seconds:.0f} s: loss {progress.loss:.4f}, proven to be at least {progress.bound:.4f}, "
        f"{progress.checked:,} checks, {progress.remaining} parts left"
    )
