"""How a table is read: its encoding, what stands for a missing value, and what is put in order while it is read."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypedDict, cast

from cloister.errors import InputError, setting

DECIMALS = (".", ",")
ERROR, DROP, KEEP = "error", "drop", "keep"
BAD_LINES = (ERROR, DROP)
DUPLICATES = (KEEP, DROP, ERROR)


class HowRead(TypedDict, total=False):
    """The keywords of whatever reads a table; those of `ReadingWords`."""

    missing: Sequence[str]
    encoding: str | None
    delimiter: str | None
    date_format: Sequence[str]
    decimal: str
    numbers: Sequence[str]
    dates: Sequence[str]
    bad_lines: str
    duplicates: str


@dataclass(frozen=True)
class ReadingWords:
    """How a table is read."""

    missing: Sequence[str] = ()  # texts that stand for a missing value, besides the empty one
    # encoding, delimiter: of text files; None where they are detected
    encoding: str | None = None
    delimiter: str | None = None
    # ``FORMAT`` or ``COLUMN=FORMAT``, how dates are written that are read as YYYY-MM-DD
    date_format: Sequence[str] = ()
    decimal: str = "."  # what stands before the decimals of numbers
    # numbers, dates: columns in which whatever is no number, or no date, is read as missing, and counted
    numbers: Sequence[str] = ()
    dates: Sequence[str] = ()
    bad_lines: str = ERROR  # ``error`` or ``drop``, for lines of a text file that have too many or too few cells
    duplicates: str = KEEP  # ``keep``, ``drop`` or ``error``, for rows that repeat another one

    def __post_init__(self) -> None:
        for name in ("date_format", "numbers", "dates"):  # one of several may be given alone
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))
        for name, words in (("decimal", DECIMALS), ("bad_lines", BAD_LINES), ("duplicates", DUPLICATES)):
            if (word := getattr(self, name)) not in words:
                raise InputError(f"{setting(name)} can be {' or '.join(words)}, not {word!r}.")

    @property
    def said(self) -> dict[str, object]:
        """The settings that say something."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) not in ((), one.default)}

    @property
    def cleaning(self) -> list[str]:
        """Names of those that change what is read of the cells and lines of a file."""
        return [name for name in self.said if name not in ("missing", "encoding", "delimiter")]


KEYS = tuple(HowRead.__annotations__)


def how_read(settings: object) -> HowRead:
    """Return what settings say of how a table is read, as keywords."""
    return cast("HowRead", {name: getattr(settings, name) for name in KEYS})


def reading_of(settings: object) -> ReadingWords:
    """Return the same as a record."""
    return ReadingWords(**how_read(settings))
