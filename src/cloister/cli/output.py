"""Output of commands: summaries, JSON, errors, and the progress of a search. Never a value of the data."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from cloister.cli.wording import in_options
from cloister.errors import CloisterError, InputError, InternalError, NotChecked, UndecidedColumns

if TYPE_CHECKING:  # what a help page needs loads no search
    from cloister.search.problem import Progress, Report


class Terminated(BaseException):
    """The process was asked to end by a signal; raised so that partial folders are removed on the way out."""

    def __init__(self, number: int) -> None:
        self.number = number


WRITTEN: list[str] = []
"""The release that this command wrote; reported even if the command is stopped afterwards."""


class StoppedLate(BaseException):
    """The command was interrupted or asked to end after the release ``name`` was in its place, or ``what`` was done."""

    def __init__(self, name: str, stop: KeyboardInterrupt | Terminated, what: str | None = None) -> None:
        self.stop = stop
        self.what = f"the release {name} was written before" if what is None else what


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, separators of lines, and marks that turn the direction of letters."""


def printable(line: str) -> str:
    """Return a line that is safe to print on a terminal, whatever names of columns and files are in it.

    Characters that would move the cursor, begin a line, hide or turn letters are shown as JSON writes them.
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


class _Screen(Console):
    """Text goes to the terminal through `printable`."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output or error, without markup: column names are plain data."""
    return _Screen(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=False)


def say(line: str) -> None:
    """Print one line of the result."""
    sys.stdout.write(f"{printable(line)}\n")


def print_json(content: Mapping[str, object]) -> None:
    """Print one JSON object on standard output."""
    for line in json.dumps(content, ensure_ascii=False, indent=1).split("\n"):
        say(line)


@contextmanager
def after_writing(name: str) -> Iterator[None]:
    """Print the result after the release ``name`` was written; if printing fails, the release still exists."""
    refused = False
    try:
        yield
        sys.stdout.flush()
    except OSError:
        refused = True
    except (KeyboardInterrupt, Terminated) as stop:
        raise StoppedLate(name, stop) from None
    if refused:
        raise InputError(f"The release {name} was written, but standard output did not take what there was to say.")


def note(text: str, *, quiet: bool) -> None:
    """Print a note on standard error."""
    if not quiet:
        sys.stderr.write(f"{printable(in_options(text))}\n")


def complain(
    error: CloisterError, *, as_json: bool, verbose: bool, quiet: bool = False, traceback: TracebackType | None = None
) -> int:
    """Print an error as a sentence, or as a JSON object; return its exit code.

    ``quiet``: print the sentence alone, without the evidence that belongs to it
    """
    is_printed, message = False, in_options(error.message)
    if as_json:
        fields = {"file": error.file, "row": error.row, "line": error.line, "column": error.column}
        with suppress(OSError):  # standard output may be full or closed
            evidence: dict[str, object] = {"columns": [*error.columns]} if error.columns else {}
            evidence |= {"undecided": error.evidence} if isinstance(error, UndecidedColumns) else {}
            named = {"code": error.code, "settings": [*error.settings]}
            verdict = error.verdict if isinstance(error, NotChecked) else {}
            print_json({**verdict, "error": {"kind": error.kind, "message": message, **fields, **named, **evidence}})
            is_printed = True
    if not is_printed:
        sys.stderr.write(f"cloister: {printable(message)}\n")
        if isinstance(error, UndecidedColumns) and error.evidence and not quiet:
            rows = [[columns, found] for columns, found in alike(error.evidence)]
            console(stderr=True).print(grid("Undecided", ["column", "what was found"], rows, is_prose=True))
    if verbose:
        for place in _frames(traceback or error.__traceback__):
            sys.stderr.write(f"  at {place}\n")
    return error.exit_code


def refused_by_system(error: OSError) -> InputError | InternalError:
    """Wrap a refusal of the operating system; only its kind is named, as paths and values may be in its message."""
    if error.errno is None:
        return wrap_unexpected(error)
    return InputError(
        f"The system refused to read or write ({os.strerror(error.errno)}). Check paths, disk and rights."
    )


def wrap_unexpected(error: BaseException) -> InternalError:
    """Wrap an exception nobody expected; only its type and place are named, as its message may quote values."""
    frames = _frames(error.__traceback__)
    return InternalError(f"An unexpected {type(error).__name__} occurred at {frames[-1] if frames else 'start'}.")


def _frames(traceback: TracebackType | None) -> list[str]:
    """Places in the code, without messages or local variables."""
    places = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{traceback.tb_lineno} in {code.co_name}")
        traceback = traceback.tb_next
    return places


def facts(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of two columns."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column("what", no_wrap=True)
    table.add_column("found", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def show(template: str, **content: object) -> None:
    """Print a rendered template."""
    from cloister.report import terminal_text  # loads templates, which a help page needs not

    shown = console()
    for part in terminal_text(template, **content):
        if isinstance(part, str):
            shown.print(part, soft_wrap=True)
        else:
            shown.print(grid(part.title, part.head, part.rows) if part.head else facts(part.title, part.rows))


LEAST_ALIKE = 5


def alike(found: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return columns with their findings; consecutive columns with the same finding share one row.

    Only the text before the first semicolon is compared: the rest are counts.

    Examples
    --------
    >>> alike({f"g{n}": f"measurements; {n} values" for n in range(120)})
    [('g0 to g119 (120 columns)', 'measurements')]
    """
    rows: list[tuple[str, str]] = []
    for kind, run in groupby(found.items(), key=lambda one: one[1].partition(";")[0]):
        columns = [*run]
        if len(columns) < LEAST_ALIKE:
            rows += columns
        else:
            rows.append((f"{columns[0][0]} to {columns[-1][0]} ({len(columns):,} columns)", kind))
    return rows


SHORT_WORD, WIDE = 12, 8
"""Words of so many letters are not broken; tables of more columns have less space between them."""


def grid(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, is_prose: bool = False) -> Table:
    """Return a table with a header; all columns but the first are aligned right, unless they are prose."""
    is_wide = len(head) > WIDE
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=is_wide)
    for index, name in enumerate(head):
        longest = max(len(word) for text in (name, *(row[index] for row in rows)) for word in [*text.split(), ""])
        width = min(longest, SHORT_WORD)
        table.add_column(name, justify="left" if index == 0 or is_prose else "right", overflow="fold", min_width=width)
    for row in rows:
        table.add_row(*row)
    return table


SHOWN_S = 0.5
"""Stages that took less are not listed while others run."""

PROGRESS = "CLOISTER_PROGRESS"
"""With ``json`` in it, a front end that started this process reads on standard error what is done, an object a line."""


PHASES = {
    "start": "starting",
    "read": "reading",
    "encode": "encoding",
    "search": "searching",
    "protect": "protecting",
    "verify": "verifying",
    "measure": "measuring",
    "write": "writing",
    "attack": "attacking",
}
"""What a run does in each of its stages, in words."""


class Screen:
    """Reports progress on standard error, if it is a terminal or a front end reads it.

    As a context, it takes the line away at the end that says what is done.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.is_read = os.environ.get(PROGRESS) == "json"
        self._doing = ""
        self._line: Status | None = None

    def __enter__(self) -> "Screen":
        return self

    def __exit__(self, *_: object) -> None:
        self._do("")

    def _write_progress(self, **progress: object) -> None:
        sys.stderr.write(f"{json.dumps(progress)}\n")

    def _do(self, what: str, **figures: float) -> None:
        """Say what is done now; nothing where that is empty."""
        self._doing = what
        if self.is_read:
            if what:
                self._write_progress(doing=what, **figures)
        elif not self.is_seen:
            return
        elif not what:
            if self._line is not None:
                self._line.stop()
            self._line = None
        elif self._line is None:
            self._line = console(stderr=True).status(Text(printable(what)))
            self._line.start()
        else:
            self._line.update(Text(printable(what)))

    @property
    def is_seen(self) -> bool:
        """Whether a terminal can show changing progress."""
        return not self.quiet and sys.stderr.isatty()

    def note(self, text: str, *, always: bool = False) -> None:
        """Print a line."""
        if self.is_read:
            self._write_progress(note=in_options(text))
        else:
            note(text, quiet=self.quiet and not always)

    def phase(self, stage: str, seconds: Mapping[str, float]) -> None:
        """Report the stage that begins, and the times of earlier stages."""
        so_far = ", ".join(f"{PHASES[one]} {spent:.0f} s" for one, spent in seconds.items() if spent >= SHOWN_S)
        self._do(f"{PHASES[stage]} (so far: {so_far})" if so_far else PHASES[stage])

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show a long task while it runs; yield the function that reports its progress."""
        before = self._doing
        self._do(what)
        try:
            yield self._do
        finally:
            self._do(before)

    @contextmanager
    def searching(self) -> Iterator["Report | None"]:
        """Yield the function that shows the progress of a search."""
        before = self._doing
        try:
            is_shown = self.is_read or self.is_seen
            yield (lambda found: self._do(_words(found), loss=found.loss, bound=found.bound)) if is_shown else None
        finally:
            self._do(before)


def _words(progress: "Progress") -> str:
    if not progress.remaining:
        return f"protecting: the search found its levels in {progress.seconds:.0f} s"
    return (
        f"searching {progress.seconds:.0f} s: loss {progress.loss:.4f}, proven to be at least {progress.bound:.4f}, "
        f"{progress.checked:,} checks, {progress.remaining} parts left"
    )
