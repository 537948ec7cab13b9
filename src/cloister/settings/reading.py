"""Settings for reading a table: encoding, missing values, cleaning, and date formats.

Dates are in words such as ``dd.mm.yyyy`` or as ``strptime`` has them; none is read here. Directives of `strptime` and
of Polars that mean the same are known, no others.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, TypedDict, cast

from cloister.errors import InputError, Message, join_parts, setting
from cloister.settings.constraints import COLUMNS, Described, OneOf
from cloister.settings.declaration import Help, check_settings

ERROR, DROP, KEEP = "error", "drop", "keep"


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
    row_index: str


CLEANING = ("date_format", "decimal", "numbers", "dates", "bad_lines", "duplicates", "row_index")
"""Settings that change what is read of the cells and lines of a file."""


@dataclass(frozen=True, kw_only=True)
class ReadingWords:
    """How a table is read."""

    missing: Annotated[
        Sequence[str],
        Help("Text to read as a missing value, for example ? or NA. Repeatable.", "TEXT"),
        Described("a list of texts"),
    ] = ()
    delimiter: Annotated[
        str | None, Help("Delimiter of the CSV files (default: detected).", "CHAR"), Described("one character")
    ] = None
    encoding: Annotated[
        str | None, Help("Encoding of the CSV files (default: detected).", "NAME"), Described("the name of an encoding")
    ] = None
    date_format: Annotated[
        Sequence[str],
        Help("Format of dates, of all columns or one: dd.mm.yyyy, m/d/yy, %d-%b-%Y. Repeatable.", "[COLUMN=]FORMAT"),
        Described('a list of formats, as "dd.mm.yyyy" or "COLUMN=m/d/yy"'),
    ] = ()
    decimal: Annotated[str, Help("Decimal mark of numbers."), OneOf(".", ",")] = "."
    numbers: Annotated[
        Sequence[str],
        Help(
            "Read numbers, with or without a unit, in this column; treat non-numeric values as "
            "missing and report their number. Repeatable.",
            "COLUMN",
        ),
        COLUMNS,
    ] = ()
    dates: Annotated[
        Sequence[str],
        Help(
            "Treat values that are not dates in this column as missing and report their number. Repeatable.", "COLUMN"
        ),
        COLUMNS,
    ] = ()
    bad_lines: Annotated[
        str,
        Help("How to handle lines with too many or too few cells, or with a quote inside a cell."),
        OneOf("error", "drop"),
    ] = "error"
    duplicates: Annotated[str, Help("How to handle duplicate rows."), OneOf("keep", "drop", "error")] = "keep"
    row_index: Annotated[
        str,
        Help("How to handle a first column without a name that numbers the rows (written by R or pandas)."),
        OneOf("drop", "keep"),
    ] = "drop"

    def __post_init__(self) -> None:
        for name in ("missing", "date_format", "numbers", "dates"):  # one of several may be given alone
            value = getattr(self, name)
            is_alone = isinstance(value, str) and name != "missing"
            object.__setattr__(self, name, (value,) if is_alone else tuple(value))
        check_settings(ReadingWords, vars(self))

    @property
    def non_default(self) -> dict[str, object]:
        """The settings that differ from their defaults."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) not in ((), one.default)}

    @property
    def cleaning(self) -> list[str]:
        """Names of those that change what is read of the cells and lines of a file."""
        return [name for name in CLEANING if name in self.non_default]


KEYS = tuple(HowRead.__annotations__)


def how_read(settings: object) -> HowRead:
    """Return the reading settings as keywords."""
    return cast("HowRead", {name: getattr(settings, name) for name in KEYS})


def reading_of(settings: object) -> ReadingWords:
    """Return the reading settings as a record."""
    return ReadingWords(**how_read(settings))


WORDS = {
    "yyyy": ("%Y", "[0-9]{4}"),
    "yy": ("%y", "[0-9]{2}"),
    "mon": ("%b", "[A-Za-z]{3}"),
    "mm": ("%m", "[0-9]{2}"),
    "m": ("%m", "[0-9]{1,2}"),
    "dd": ("%d", "[0-9]{2}"),
    "d": ("%d", "[0-9]{1,2}"),
}
"""The directive of each word of a date format, and the pattern of its text."""

TIMES = {"hh:mm:ss": "%H:%M:%S", "hh:mm": "%H:%M"}
DIRECTIVES = {
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
    "%m": "[0-9]{1,2}",
    "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]{3,9}",
    "%d": "[0-9]{1,2}",
    **dict.fromkeys(("%H", "%M", "%S"), "[0-9]{1,2}"),
}
_WORD = re.compile("|".join((*TIMES, *WORDS, r"[^a-z%]")))
_DIRECTIVE = re.compile(r"%[A-Za-z]|[^%]")
_DAY = (("%d",), ("%m", "%b", "%B"), ("%Y", "%y"))
"""Of each of these, a date has one."""

TIME_AFTER = r"[ T]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?[AaPp]\.?[Mm]\.?)?"
"""A time of the day that may follow any date; it is omitted."""

UNIT_NUMBER = r"^([$€£¥]?) ?([+-]?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?) ?([A-Za-zµ%°][A-Za-z0-9µ%°/²³^]*|)$"
"""A number with a currency before it or a unit behind it; commas part thousands."""

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?", re.ASCII)

USUAL = (
    "dd.mm.yyyy", "d.m.yyyy", "dd/mm/yyyy", "d/m/yyyy", "mm/dd/yyyy", "m/d/yyyy", "dd-mm-yyyy", "d-m-yyyy",
    "mm-dd-yyyy", "m-d-yyyy", "yyyy/mm/dd", "yyyy/m/d", "yyyy.mm.dd", "yyyymmdd", "d.m.yy", "d/m/yy", "m/d/yy",
    "d-mon-yyyy", "d-mon-yy", "d mon yyyy", "mon d yyyy",
)  # fmt: skip
"""Formats that are proposed, the stricter of two first."""

FEWEST_DIGITS = re.compile(r"(?:[^0-9]*[0-9]){3}")
"""What any date in a usual format has, as in 1-Jan-20: other texts need not be tried in each."""


@dataclass(frozen=True)
class DateFormat:
    """A date format."""

    text: str  # as it was stated
    strptime: str  # the same in directives
    pattern: str  # a regular expression for the whole of such a text

    @property
    def has_time(self) -> bool:
        """Whether a time of day follows, which is dropped."""
        return "%H" in self.strptime

    def fits(self, text: str) -> bool:
        """Whether a text looks like a date in this format, with or without a time, and month and day are possible."""
        if not self.has_time and ":" in text:  # quicker than to look for a time in texts that have none
            text = re.sub(f"{TIME_AFTER}$", "", text)
        if not re.fullmatch(self.pattern, text):
            return False
        try:
            datetime.strptime(text, self.strptime)
        except ValueError:
            return False
        return True


def day_of(text: str) -> date | None:
    """Return the date part of a valid ISO date or time stamp, as written; None for anything else."""
    stamp = text.strip()
    if not ISO_DATE.fullmatch(stamp):
        return None
    try:
        return datetime.fromisoformat(stamp).date()
    except ValueError:
        return None


@lru_cache(64)
def parse_date_format(text: str) -> DateFormat:
    """Parse a date format.

    Examples
    --------
    >>> parse_date_format("d.m.yy").strptime, parse_date_format("%d/%m/%Y").pattern
    ('%d.%m.%y', '[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}')
    """
    marks = (_DIRECTIVE if "%" in text else _WORD).findall(text if "%" in text else text.lower())
    directives, pattern = "", ""
    for mark in marks:
        if mark in TIMES:
            directives += TIMES[mark]
            pattern += "[0-9]{1,2}" + ":[0-9]{2}" * mark.count(":")
        else:
            directive, look = WORDS.get(mark, (mark, DIRECTIVES.get(mark, re.escape(mark))))
            directives, pattern = directives + directive, pattern + look
    used = re.findall("%.", directives)
    once = all(sum(used.count(one) for one in kind) == 1 for kind in _DAY)
    if "".join(marks) != (text if "%" in text else text.lower()) or not once or not set(used) <= {*DIRECTIVES}:
        raise InputError(
            setting("date_format"),
            " needs one day, month and year each, as in dd.mm.yyyy, m/d/yy, yyyymmdd, d-mon-yyyy, dd.mm.yyyy "
            f"hh:mm, or {', '.join(DIRECTIVES)} as in %d.%m.%Y.",
        )
    return DateFormat(text, directives, pattern)


def formats_of(texts: Iterable[str]) -> tuple[list[str], int]:
    """Return the usual date formats that fit most texts, and the number that fit; none if fewer than half fit.

    Examples
    --------
    >>> formats_of(["31.12.2020", "1.2.2021"])
    (['d.m.yyyy'], 2)
    >>> formats_of(["1/2/20", "3/4/21"])
    (['d/m/yy', 'm/d/yy'], 2)
    """
    stated = [text.strip() for text in texts]
    if 2 * sum(FEWEST_DIGITS.match(text) is not None for text in stated) <= len(stated):
        return [], 0
    fitting = {name: sum(map(parse_date_format(name).fits, stated)) for name in USUAL}
    most = max(fitting.values())
    if 2 * most <= len(stated):
        return [], 0
    found = [name for name, n in fitting.items() if n == most]
    covered = {name.replace("dd", "d").replace("mm", "m") for name in found if "dd" in name}
    return [name for name in found if "dd" in name or name not in covered], most


def unit_of(text: str) -> str | None:
    """Return the currency or unit of a number, empty if it only has thousands separators; None for any other text.

    Examples
    --------
    >>> unit_of("165 cm"), unit_of("$1,234.50"), unit_of("1,234"), unit_of("165"), unit_of("A12")
    ('cm', '$', '', None, None)
    """
    found = re.fullmatch(UNIT_NUMBER, text.strip())
    if found is None or not (found[1] or found[3] or "," in found[2]):
        return None
    return found[1] + found[3]


def proposal(texts: Sequence[str], *, of: str = "values") -> str:
    """Return a sentence that suggests the date format that fits most texts; empty if there is none.

    Examples
    --------
    >>> proposal(["31.12.2020"])
    '1 of 1 values is a date as dd.mm.yyyy: date_format=["dd.mm.yyyy"] reads it.'
    """
    found, n = formats_of(texts)
    if not found:
        return ""
    be, it = ("is a date", "it") if n == 1 else ("are dates", "them")
    ways = join_parts(" or ", (setting("date_format", [name]) for name in found))
    return Message(f"{n:,} of {len(texts):,} {of} {be} as {' or '.join(found)}: ", ways, f" reads {it}.")
