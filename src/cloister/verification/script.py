"""Verification of a release by SQL: the script ``verify.sql``, rendered from the manifest and run by DuckDB.

A recipient without cloister runs the script, and so does `cloister verify`. Each shape has it as a template in its
``verify`` folder: first views, each with a comment that says what its rows are, then one row for each promise.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl

from cloister.errors import InputError, TooLittleMemory
from cloister.io.columns import as_held
from cloister.io.databases import connect_in_memory
from cloister.io.foreign import interruptible
from cloister.release.head import MANIFEST
from cloister.results import Checks

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from jinja2 import Environment

OUT_OF_MEMORY = "OutOfMemoryException"
PACKAGE = Path(__file__).parents[1]
NO_SQL = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|--[^\n]*|'[^'\n]*'", re.DOTALL)
"""Placeholders of templates, comments and texts: everything that is no SQL."""


DESCRIPTORS = "/proc/self/fd"
"""Where Linux has the open folders of a process."""


COLUMNS = "columns of the table"
"""By this name a script finds the columns that a table has, where that is not in the folder nor in memory."""

MOST_SETS = 20_000_000
"""So many sets of codes and their records are continued, which takes up to a gigabyte; more are refused."""

TOO_MANY_SETS = (
    "The records have too many sets of codes to count all of the size asked for. Ask for sets of fewer codes."
)


READABLE = "verify.sql can be run on the files, as on those of such a release"
"""What is broken where DuckDB cannot read them."""


@dataclass(frozen=True)
class Finding:
    """A promise, and the number of its violations; None if the released files are insufficient for the check."""

    promise: str
    violations: int | None


@dataclass(frozen=True)
class Script:
    """The script that checks one release: a template, by its path in the package, and facts of the manifest.

    Filters of templates: ``text`` writes a text of SQL, ``file`` the name of a released file, ``comment`` a line of a
    comment, ``listed`` a list in lines; ``each`` fills a pattern with every name.
    """

    template: str
    facts: Mapping[str, object]

    def text(self, folder: str = "", frames: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the script.

        ``folder``: what comes before the names of files, for whoever is not in their folder; ``frames``: the tables in
        memory that take the place of files. Without release.json, counts are not compared with what it states.
        """
        where = {"folder": folder, "frames": frames, "is_stated": not frames or MANIFEST in frames}
        where["is_ordered"] = COLUMNS not in frames  # the rows of a table in a database have no order
        return _environment().get_template(self.template).render({**self.facts, **where}).strip() + "\n"

    def run(self, folder: Path, names: Iterable[str]) -> tuple[Finding, ...]:
        """Run the script on the named files of a folder, and return its findings.

        Files that DuckDB cannot read as those of such a release are a broken promise; no value is quoted.

        Raises
        ------
        InputError
            There is too little memory, or there are too many sets of codes.
        """
        with _prefix(folder) as before:
            return read_findings(_rows(self.text(before), [before + name for name in names], {}))

    def run_on(self, frames: Mapping[str, pl.DataFrame | str]) -> tuple[Finding, ...]:
        """Run the script on dataframes, or on the text of JSON files, by file name, and return its findings.

        Raises
        ------
        InputError
            There is too little memory, or there are too many sets of codes.
        """
        return read_findings(self.rows_on(frames))

    def rows_on(self, frames: Mapping[str, pl.DataFrame | str]) -> list[tuple[object, ...]] | None:
        """Return the result rows of `run_on`; None if DuckDB cannot read the dataframes."""
        tables = {name: f"frame_{place}" for place, name in enumerate(frames, start=1)}
        held = {
            tables[name]: pl.DataFrame({"content": [one]}) if isinstance(one, str) else _as_text(one)
            for name, one in frames.items()
        }
        return _rows(self.text(frames=tables), [], held)


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return all columns as text; a name with a NUL, which ends names in Arrow, is replaced."""
    names = [f"\N{REPLACEMENT CHARACTER}{place}" if "\0" in name else name for place, name in enumerate(frame.columns)]
    return pl.DataFrame([as_held(column).alias(name) for column, name in zip(frame, names, strict=True)])


class _Held:
    """A dataframe that DuckDB can read repeatedly, without PyArrow."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


def _rows(text: str, reads: Sequence[str], frames: Mapping[str, pl.DataFrame]) -> list[tuple[object, ...]] | None:
    """Run a script on files and dataframes, and return its rows; None if it fails."""

    def run(connection: "DuckDBPyConnection") -> list[tuple[object, ...]]:
        for name, frame in frames.items():
            connection.register(name, _Held(frame))
        return connection.execute(text).fetchall()

    refusal: InputError | None = None
    try:
        with _connection(reads) as connection:
            rows: list[tuple[object, ...]] = interruptible(lambda: run(connection), connection.interrupt)
            return rows
    except Exception as error:  # its message may quote values
        if type(error).__name__ == OUT_OF_MEMORY:
            refusal = TooLittleMemory("The release cannot be checked by SQL: there is not enough memory.")
        elif TOO_MANY_SETS in str(error):
            refusal = InputError(TOO_MANY_SETS)
    if refusal is not None:
        raise refusal
    return None


class _Database:
    """A database in memory, with a private folder for what does not fit."""

    def __init__(self, reads: Sequence[str]) -> None:
        self.aside = tempfile.TemporaryDirectory(prefix="cloister-verify-")
        self.connection = connect_in_memory(self.aside.name, reads=reads)

    def close(self) -> None:
        """Forget everything."""
        self.connection.close()
        self.aside.cleanup()


_KEPT: dict[int, _Database] = {}
"""By process, the database of scripts on dataframes: to make one takes longer than most scripts. Scripts make temporary
views and tables alone, which only the connection sees that made them."""


@contextmanager
def _connection(reads: Sequence[str]) -> Iterator["DuckDBPyConnection"]:
    """Yield a connection for one script; a database that reads files, or in which a script failed, serves no other."""
    database = _KEPT.pop(os.getpid(), None) if not reads else None
    database = database or _Database(reads)
    done = False
    try:
        with database.connection.cursor() as connection:
            connection.execute("SET TimeZone = 'UTC'").fetchall()
            yield connection
        done = not reads and os.getpid() not in _KEPT
    finally:
        if done:
            _KEPT[os.getpid()] = database
        else:
            database.close()


def close_database() -> None:
    """Forget the database that is kept for the next script."""
    if (kept := _KEPT.pop(os.getpid(), None)) is not None:
        kept.close()


def read_findings(rows: Sequence[tuple[object, ...]] | None) -> tuple[Finding, ...]:
    """Return the result rows of a script as findings; None, for a failed script, becomes a violation."""
    if rows is None:
        return (Finding(READABLE, 1),)
    return tuple(Finding(str(promise), None if n is None else int(str(n))) for promise, n in rows)


def note(checks: Checks, findings: Iterable[Finding]) -> bool:
    """Add the findings to the checks, and return whether no promise is broken.

    A promise without a number is for anyone who has what the files lack: the original, a policy or a population.
    """
    for one in findings:
        if one.violations is not None:
            times = "1 violation" if one.violations == 1 else f"{one.violations:,} violations"
            checks.require(one.violations == 0, one.promise, f"not so: {one.promise} ({times})")
    return not checks.failures


@contextmanager
def _prefix(folder: Path) -> Iterator[str]:
    """Yield the path prefix by which DuckDB finds files of a folder, even if its name is a pattern or is not text."""
    if not os.path.isdir(DESCRIPTORS):
        yield re.sub(r"[*?\[]", r"[\g<0>]", f"{folder.absolute()}/")
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield f"{DESCRIPTORS}/{descriptor}/"
    finally:
        os.close(descriptor)


@cache
def _environment() -> "Environment":
    from jinja2 import (  # only releases and their check need it
        Environment,
        FileSystemLoader,
        StrictUndefined,
        pass_context,
    )

    environment = Environment(
        loader=FileSystemLoader(PACKAGE),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (SQL is no HTML; names and texts are written by filters)
    )
    environment.globals |= {"most_sets": MOST_SETS, "too_many_sets": TOO_MANY_SETS}
    environment.filters |= {
        "text": literal,
        "file": pass_context(lambda context, name: literal(context["folder"] + name)),
        "comment": in_one_line,
        "listed": in_lines,
        "each": lambda names, pattern: [pattern.format(name) for name in names],
        "types": lambda names: [f"{name}: 'VARCHAR'" for name in names],
    }
    return environment


def literal(text: str) -> str:
    """Return a text as an SQL literal in one line; unprintable characters are written by their numbers."""
    parts = [
        " || ".join(f"chr({ord(mark)})" for mark in part) if odd else "'" + part.replace("'", "''") + "'"
        for odd, group in groupby(text, key=_is_unprintable)
        if (part := "".join(group))
    ]
    return f"({' || '.join(parts)})" if len(parts) > 1 else (parts or ["''"])[0]


def _is_unprintable(mark: str) -> bool:
    return not mark.isprintable()


def identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def in_one_line(text: str) -> str:
    """Return a text as one line of printable characters, for a comment."""
    return "".join(" " if _is_unprintable(mark) else mark for mark in text)


def names_in_sql(columns: Iterable[str], *folders: str, ours: Iterable[str] = ()) -> dict[str, str]:
    """Return an SQL name for each column: its own name where possible.

    Names of SQL are not empty, have no marks that end a line, and differ in more than capitals, also from ``ours`` and
    from all words of the templates in these folders of the package.
    """
    used = {*ours}.union(*map(_words_of_templates, folders))
    found = {}
    for place, column in enumerate(columns, start=1):
        base = in_one_line(column).strip() or f"column {place}"
        name, number = base, 2
        while name.casefold() in used:
            name, number = f"{base} {number}", number + 1
        used.add(name.casefold())
        found[column] = identifier(name)
    return found


@cache
def _words_of_templates(folder: str) -> frozenset[str]:
    templates = [path.read_text(encoding="utf-8") for path in (PACKAGE / folder).glob("*.sql.j2")]
    return frozenset(re.findall(r"[a-z_][a-z0-9_]*", NO_SQL.sub(" ", "\n".join(templates))))


def in_lines(parts: Iterable[str], between: str = ", ", indent: int = 7) -> str:
    """Return the parts of a list, as many on each line as fit."""
    rows, line = [], ""
    words = [*parts]
    for place, part in enumerate(words):
        word = part + (between if place + 1 < len(words) else "")
        if line and len(line) + len(word) > _WIDTH:
            rows.append(line.rstrip())
            line = ""
        line += word
    return ("\n" + " " * indent).join([*rows, line])


_WIDTH = 100
