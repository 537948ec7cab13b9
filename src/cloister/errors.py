"""The errors that cloister raises on purpose, and their messages.

The tree::

    CloisterError
    ├── InputError (also a ValueError)   the data or the settings cannot be used        exit 2
    │   ├── WrongValue                   a setting has a value that is not allowed
    │   ├── UndecidedColumns             columns have no role
    │   └── TooLittleMemory              an engine had no memory left
    ├── NoSafeRelease                    the request cannot be met with these settings  exit 1
    ├── GuaranteeViolation               a checked release breaks its guarantee         exit 1
    ├── NotChecked                       something promised could not be checked        exit 1
    └── InternalError                    our bug, with where to report it               exit 3

A message states the request, the finding and the remedy. It names files, records, columns and counts, and never
holds a value of the data: values belong to patients, and messages end up in logs and mails.

A `Message` is made of parts: text, and settings with a value to give them. Each front end words the settings in its own
way: the command line as ``--engine memory``, a job as ``engine = "memory"``, Python as ``engine="memory"``.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, ClassVar

REPORT_TO = "Please report it to the cloister developers with the command (not the data); nothing was released."


@dataclass(frozen=True)
class NamedSetting:
    """A setting named in a message; ``str()`` returns its Python keyword.

    Attributes
    ----------
    name : as jobs and Python call it, such as ``"drop_empty"``; of a setting inside another, ``"risk.threshold"``
    value : a value to give it: a word or number, a list, a mapping, a pair for a range; None where only the setting is
        meant, or a flag is to be switched on
    section : of what every front end calls by its name: the section of a file that it is in, such as ``"protect[1]"``,
        or empty, as at the top of a file or for the parameter of a rule
    """

    name: str
    value: object = None
    section: str | None = None

    @property
    def key(self) -> str:
        """The key and its section."""
        return f"{self.section}.{self.name}" if self.section else self.name

    def __str__(self) -> str:
        return self.key if self.value is None else f"{self.key}={_python(self.value)}"


setting = NamedSetting
"""What a message calls a setting by: ``setting("engine", "memory")``."""


def _python(value: object) -> str:
    """Return a value as Python has it, texts in double quotes."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_python(key)}: {_python(one)}' for key, one in value.items())}}}"
    if isinstance(value, tuple | list):
        inside = ", ".join(map(_python, value))
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if isinstance(value, float) else str(value)


class Message(str):
    """A sentence of text and named settings; ``str()`` writes the settings as Python keywords.

    Examples
    --------
    >>> message = Message("Give ", setting("k", 5), ".")
    >>> str(message), message.word(lambda one: f"-{one.name} {one.value}")
    ('Give k=5.', 'Give -k 5.')
    """

    __slots__ = ("parts",)
    parts: tuple[str | NamedSetting, ...]

    def __new__(cls, *parts: str | NamedSetting) -> "Message":
        """Put parts together, those of messages among them."""
        made = super().__new__(cls, "".join(map(str, parts)))
        every = (one for part in parts for one in (part.parts if isinstance(part, Message) else (part,)))
        made.parts = tuple(one for one in every if one != "")
        return made

    def __getnewargs__(self) -> tuple[str | NamedSetting, ...]:  # type: ignore[override]  # those of `__new__`
        return self.parts

    @property
    def settings(self) -> tuple[NamedSetting, ...]:
        """The settings named in the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, NamedSetting))

    def word(self, how: Callable[[NamedSetting], str]) -> str:
        """Return the text, with settings written as a front end names them."""
        return "".join(how(part) if isinstance(part, NamedSetting) else part for part in self.parts)

    def without_stop(self) -> "Message":
        """Return the message without its final full stop."""
        *before, last = self.parts or ("",)
        return Message(*before, last.rstrip(".") if isinstance(last, str) else last)


def join_parts(separator: str, parts: Iterable[str | NamedSetting]) -> Message:
    """Join parts with a separator into one message."""
    every = [part for one in parts for part in (separator, one)]
    return Message(*every[1:])


def word_settings(text: str, how: Callable[[NamedSetting], str]) -> str:
    """Return a text; in a message, write the settings as a front end names them."""
    return text.word(how) if isinstance(text, Message) else text


class CloisterError(Exception):
    """Base of all errors raised by cloister.

    Parameters
    ----------
    parts : text and settings of the sentence, see `Message`; one that ends with a setting gets its stop

    Attributes
    ----------
    kind, code : which error it is, for programs: the branch of the tree, and the leaf
    sentence : what was asked, what was found, what to do; never a value of the data
    place : what the sentence is about: a file, a part of a job, a setting; empty if the sentence says so itself
    settings : names of the settings that the sentence names
    row : number of the record concerned, counted from 1 after the header
    line : line of the text file, counted from 1; differs from ``row`` where quoted values span lines
    columns : those concerned, where there may be several
    """

    kind: ClassVar[str] = "error"
    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 3

    def __init__(
        self,
        *parts: str | NamedSetting,
        file: str | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
        columns: Sequence[str] = (),
        place: str | NamedSetting = "",
    ) -> None:
        self.sentence = Message(*parts, "." if parts and isinstance(parts[-1], NamedSetting) else "")
        self.settings = tuple(dict.fromkeys(one.name for one in self.sentence.settings))
        self.place = place
        self.file = file
        self.row = row
        self.line = line
        self.column = column
        self.columns = tuple(columns)
        super().__init__(*parts)

    @property
    def message(self) -> Message:
        """The place and the sentence, as one text."""
        return Message(self.place, ": ", self.sentence) if self.place else self.sentence

    def __str__(self) -> str:
        return str(self.message)


class InputError(CloisterError, ValueError):
    """The data or the settings cannot be used as they are."""

    kind = code = "input"
    exit_code = 2


class WrongValue(InputError):
    """A setting has a value that is not allowed.

    Parameters
    ----------
    hint, which : text for the end of the message, and for after the setting, such as its section

    Attributes
    ----------
    allowed : what it may be, in words
    found : what it was, in words: a number, a word of a choice, or a type; empty where it is not to be shown
    """

    code = "wrong-value"

    def __init__(
        self, asked: NamedSetting, allowed: str, found: str = "", hint: str = "", *, which: str = "", **where: Any
    ) -> None:
        is_not = f", not {found}" if found else ""
        super().__init__(asked, f"{which} must be {allowed}{is_not}.{hint}", **where)
        self.allowed, self.found = allowed, found


class TooLittleMemory(InputError):
    """An engine ran out of memory; another engine may have enough."""

    code = "too-little-memory"


class UndecidedColumns(InputError):
    """Columns have no role, so that nothing may be released.

    Attributes
    ----------
    evidence : what was found in each of ``columns``, in words without values; empty where nobody looked
    """

    code = "undecided-columns"

    def __init__(self, *parts: str | NamedSetting, evidence: Mapping[str, str], **where: Any) -> None:
        super().__init__(*parts, **where)
        self.evidence = dict(evidence)


class NoSafeRelease(CloisterError):
    """No release satisfies the rules under these settings."""

    kind = code = "no-safe-release"
    exit_code = 1


class GuaranteeViolation(CloisterError):
    """A release was checked and breaks its guarantee."""

    kind = code = "guarantee-violation"
    exit_code = 1


class NotChecked(CloisterError):
    """No check of a release failed, but part of its guarantee could not be checked."""

    kind = code = "not-checked"
    exit_code = 1

    def __init__(self, *parts: str | NamedSetting, verdict: Mapping[str, object] = MappingProxyType({})) -> None:
        """Set ``verdict``: what was checked, for a front end that prints one object."""
        super().__init__(*parts)
        self.verdict = verdict


class InternalError(CloisterError):
    """A defect of cloister itself; nothing was released."""

    kind = code = "internal"
    exit_code = 3

    def __init__(self, *parts: str | NamedSetting) -> None:
        super().__init__(*parts, f" This is a defect of cloister. {REPORT_TO}")


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
