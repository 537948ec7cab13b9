"""Everything cloister raises on purpose.

The tree::

    CloisterError
    ├── InputError (also a ValueError)   the data or the settings cannot be used        exit 2
    ├── NoSafeRelease                    the request cannot be met with these settings  exit 1
    ├── GuaranteeViolation               a release that was checked does not hold       exit 1
    └── InternalError                    our bug, with where to report it               exit 3

A message says what was asked, what was found and what to do. It names files, records, columns and counts, and never
holds a value of the data: values belong to patients, and messages end up in logs and mails.

A setting in a message is `setting("engine", "memory")`, not an option: each front end words it in its own way, the
command line as ``--engine memory``, a job as ``engine = "memory"``, Python as ``engine="memory"``.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Self

SETTING = re.compile("\x02(\\w+)(?:=([^\x03]*))?\x03")
"""How `setting` marks a name, and a value if there is one, in a text."""

REPORT_TO = "Please report it to the cloister developers with the command (not the data); nothing was released."


class CloisterError(Exception):
    """Base of all errors raised by cloister.

    Attributes
    ----------
    message : what was asked, what was found, what to do; never a value of the data. Settings as in Python
    text : the same before settings are worded, for `word_settings`
    row : number of the record concerned, counted from 1 after the header
    line : line of the text file, counted from 1; differs from ``row`` where quoted values span lines
    columns : those concerned, where there may be several
    """

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 3

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
        columns: Sequence[str] = (),
    ) -> None:
        self.text, self.message = message, word_settings(message, as_keyword)
        super().__init__(self.message)
        self.file = file
        self.row = row
        self.line = line
        self.column = column
        self.columns = tuple(columns)

    def saying(self, message: str) -> Self:
        """Return the same error in other words."""
        place = {"file": self.file, "row": self.row, "line": self.line, "column": self.column}
        return type(self)(message, **place, columns=self.columns)  # type: ignore[arg-type]


class InputError(CloisterError, ValueError):
    """The data or the settings cannot be used as they are."""

    kind = "input"
    exit_code = 2


class TooLittleMemory(InputError):
    """An engine had no memory left; another may have enough."""


class UndecidedColumns(InputError):
    """Columns have no role, so that nothing may be released.

    Attributes
    ----------
    evidence : what was found in each of ``columns``, in words without values; empty where nobody looked
    """

    def __init__(self, message: str, *, evidence: Mapping[str, str], **where: Any) -> None:
        super().__init__(message, **where)
        self.evidence = dict(evidence)

    def saying(self, message: str) -> Self:
        """Return the same error in other words."""
        place = {"file": self.file, "column": self.column, "columns": self.columns}
        return type(self)(message, evidence=self.evidence, **place)


class NoSafeRelease(CloisterError):
    """No release satisfies the rules under these settings."""

    kind = "no-safe-release"
    exit_code = 1


class GuaranteeViolation(CloisterError):
    """A release that was checked does not keep what it promises."""

    kind = "guarantee-violation"
    exit_code = 1


class NotChecked(CloisterError):
    """A release in which no check failed, but something that it promises could not be checked."""

    kind = "not-checked"
    exit_code = 1


class InternalError(CloisterError):
    """A defect of cloister itself; nothing was released."""

    kind = "internal"
    exit_code = 3

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} This is a defect of cloister. {REPORT_TO}")


def setting(name: str, value: str | None = None) -> str:
    """Return a setting, and a value to give it, as it stands in a message until a front end words it.

    ``name``: as jobs and Python call it, such as ``"drop_empty"``
    ``value``: as a user types it; None where only the setting is meant, or a flag is to be switched on
    """
    return f"\x02{name}\x03" if value is None else f"\x02{name}={value}\x03"


def word_settings(text: str, how: Callable[[str, str | None], str]) -> str:
    """Return a text with the settings in it worded by `as_keyword`, `as_option` or `as_key`."""
    return SETTING.sub(lambda found: how(found[1], found[2]), text)


LISTS = frozenset(
    ("accept", "drop", "keep", "missing", "numbers", "sensitive", "undecided")
)  # keywords of Python that take several values


def as_keyword(name: str, value: str | None) -> str:
    """Word a setting as Python has it."""
    if value is not None and name == "weight":
        column, _, weight = value.rpartition("=")
        return f'{name}={{"{column}": {weight}}}'
    if value is not None and name == "hierarchy":
        column, _, file = value.rpartition("=")
        return f'hierarchies={{"{column}": cl.hierarchy_file("{file}")}}'
    if value is not None and name == "where":
        column, _, ends = value.rpartition("=")
        low, _, high = ends.partition("..")
        return f'{{"{column}": ("{low}", "{high}")}}'
    if value is not None and name == "codes":
        return f'{{"codes": ["{value}"]}}'
    if value is not None and name in LISTS:
        return f'{name}=["{value}"]'
    is_number = value is not None and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value)
    return name if value is None else f"{name}={value}" if is_number else f'{name}="{value}"'


def as_key(name: str, value: str | None) -> str:
    """Word a setting as a job has it."""
    if value is not None and name in LISTS:
        return f'{name} = ["{value}"]'
    return name if value is None else f'{name} = "{value}"'


def as_option(name: str, value: str | None) -> str:
    """Word a setting as the command line has it."""
    option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    return option if value is None else f"{option} {shlex.quote(value)}"


MOST_NAMED = 5
"""Names that a sentence lists."""


def name_few(names: Iterable[str], last: str = ", ") -> str:
    """Return names for a sentence: five at most, and how many more there are; ``last``: before the last of a few.

    Examples
    --------
    >>> name_few(["age", "sex", "zip"]), name_few(["age", "sex", "zip"], " and "), name_few(f"g{n}" for n in range(50))
    ('age, sex, zip', 'age, sex and zip', 'g0, g1, g2, g3, g4 and 45 more')
    """
    every = [*names]
    if len(every) > MOST_NAMED:
        return f"{', '.join(every[:MOST_NAMED])} and {len(every) - MOST_NAMED:,} more"
    return last.join(filter(None, [", ".join(every[:-1]), *every[-1:]]))


def did_you_mean(word: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """Return a sentence that names the nearest known word, with a space before it; empty if none is near.

    ``shown``: how that word is written, ``repr`` for names of columns

    Examples
    --------
    >>> did_you_mean("optimum", ["optimal", "flash"])
    ' Did you mean optimal?'
    """
    near = get_close_matches(word, list(known), 1)
    return f" Did you mean {shown(near[0])}?" if near else ""
