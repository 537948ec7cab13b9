"""Hierarchy builders and their words on the command line and in job files; or a hierarchy file.

Dates are generalized to longer periods; codes lose characters from the right, one per level, or all at once.
"""

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import ClassVar, NamedTuple

from cloister.errors import InputError, did_you_mean
from cloister.hierarchy.bound import BuiltHierarchy, Hierarchy, Levels, NamedValues, of_values_present
from cloister.hierarchy.categories import GroupsHierarchy, KeepHierarchy, RareHierarchy, SimilarHierarchy
from cloister.hierarchy.file_hierarchy import hierarchy_file
from cloister.hierarchy.icd import icd9, icd10
from cloister.hierarchy.installed import list_installed, load_installed
from cloister.hierarchy.interval import CutHierarchy, IntervalHierarchy, Number, QuantileHierarchy
from cloister.settings.reading import day_of, proposal

UNITS: dict[str, tuple[int, Callable[[date], str]]] = {
    "day": (3, date.isoformat),
    "week": (3, lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()[:2])),
    "month": (2, lambda day: f"{day.year:04d}-{day.month:02d}"),
    "quarter": (2, lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}"),
    "year": (1, lambda day: f"{day.year:04d}"),
    "decade": (1, lambda day: f"{day.year // 10 * 10:04d}s"),
}
"""How many parts of a date each unit needs (year; and month; and day), and how it names a day."""

CUT_SHORT = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2]))?")
"""A date of which the day, or the day and the month, is not known, as FHIR writes it."""

CHAINS = (("day", "month", "quarter", "year", "decade"), ("day", "week"))
"""Units that nest, from fine to coarse. Weeks straddle months and years, so only the root is above them."""


@dataclass(frozen=True)
class PartialDate:
    """A date with the number of its known parts: year; year and month; or all three. Unknown parts are 1."""

    day: date
    n_parts: int

    @classmethod
    def parse(cls, text: str) -> "PartialDate | None":
        """Parse `2024-05-17` (a time may follow), `2024-05` or `2024`; return None for anything else."""
        if (day := day_of(text)) is not None:
            return cls(day, 3)
        match = CUT_SHORT.fullmatch(text.strip())
        if match is None or not int(match[1]):
            return None
        return cls(date(int(match[1]), int(match[2] or 1), 1), 2 if match[2] else 1)

    def name(self, unit: str) -> str:
        """Return the label of the date in a unit, or of its known parts if the unit needs more."""
        n_needed, name = UNITS[unit]
        return name(self.day) if self.n_parts >= n_needed else self.day.isoformat()[: 4 if self.n_parts == 1 else 7]


@dataclass(frozen=True)
class DateHierarchy(BuiltHierarchy[PartialDate]):
    """Levels of dates: as recorded, one per unit (`2024-05`, `2024-Q2`, `2024`, `2020s`, `2024-W07`), then `*`.

    Values are ISO dates, `YYYY-MM-DD`, with or without a time after `T` or a space; the time and its zone are dropped
    from the first level on, and the date is used as written. A date may be cut short, `YYYY-MM` or `YYYY`: it keeps
    its label until a unit that it knows, and joins the others there. Weeks are ISO weeks. At every level, dates of
    years before ``bottom`` are `<1937`. The domain is the distinct values present.

    Parameters
    ----------
    units : a chain from fine to coarse out of day, month, quarter, year, decade; or out of day, week
    bottom : a year, or None for no bound
    """

    units: tuple[str, ...]
    bottom: int | None = None
    kind: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        if not self.units or not all(unit in UNITS for unit in self.units):
            raise InputError(
                f"date takes units among {', '.join(UNITS)}, from fine to coarse, such as date:month,quarter,year."
            )
        if not any(self.units == tuple(unit for unit in chain if unit in self.units) for chain in CHAINS):
            raise InputError(
                "date needs units that nest, each once, from fine to coarse: out of day, month, quarter, year, decade; "
                "or out of day, week (a week straddles months and years, so nothing but * is above it)."
            )

    @property
    def spec(self) -> str:
        """As on the command line: `date:month,quarter,year`, `date:year/bottom=1937`."""
        return f"date:{','.join(self.units)}{'' if self.bottom is None else f'/bottom={self.bottom}'}"

    def _read(self, text: str) -> PartialDate | None:
        return PartialDate.parse(text)

    def _beyond(self, read: Sequence[PartialDate]) -> Sequence[bool] | None:
        return [self.bottom is not None and one.day.year < self.bottom for one in read]

    def _refusal(self, texts: Sequence[str]) -> tuple[str, str]:
        advice = proposal(texts) or "Write them so, or use suppress or a hierarchy file."
        return "are not dates as YYYY-MM-DD (a time may follow), YYYY-MM or YYYY", advice

    def _levels(self, texts: Sequence[str], read: Sequence[PartialDate]) -> Levels:
        def label(one: PartialDate, unit: str) -> str:
            return f"<{self.bottom}" if self.bottom is not None and one.day.year < self.bottom else one.name(unit)

        return of_values_present([[label(one, unit) for one in read] for unit in self.units], len(texts))


LONGEST = 64  # longest code that a prefix hierarchy takes, in characters
NO_PAD = "none"
LEFT, RIGHT = "left", "right"


def lost_zeros(texts: Sequence[str]) -> bool:
    """Whether codes may have lost leading zeros: all digits, some one shorter than the longest, none begins with 0."""
    if not texts or not all(map(str.isdecimal, texts)):
        return False
    lengths = {*map(len, texts)}
    return max(lengths) - 1 in lengths and not any(text.startswith("0") for text in texts)


@dataclass(frozen=True)
class PrefixHierarchy(NamedValues):
    """Levels that keep fewer and fewer of the first characters: `81367`, `8136*`, `813**`, `81***`, `8****`, `*`.

    Level i keeps the first ``length - i`` characters and writes `*` for each position dropped; the last level is the
    root. With ``keep``, the levels keep these numbers of characters. A shorter code counts as padded on the
    right: at the level where its length is reached it joins the longer codes that begin with it (with ``length`` 5,
    `813` is `813*`, then `813**` together with `81367`). So levels nest for codes of mixed lengths. With ``side``
    `right` levels keep the last characters, and left and right change places (`*1367`). The domain is the distinct
    values present.

    Programs that read codes as numbers lose their leading zeros: 2138 is then 02138 in Boston, not a place near
    21380. With ``pad`` `0` such codes are filled up on the left. Without it, codes of digits alone are refused where
    their lengths differ and none begins with 0; `none` states that they are complete.

    Parameters
    ----------
    length : characters of the longest code
    pad : ``"0"``, ``"none"``, or None to refuse codes that seem to have lost zeros
    keep : the numbers of characters that levels keep, from many to few; None for all
    side : the side of the characters that are kept, ``"left"`` or ``"right"``
    """

    length: int
    pad: str | None = None
    keep: tuple[int, ...] | None = None
    side: str = LEFT
    kind: ClassVar[str] = "prefix"

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= LONGEST:
            raise InputError(
                f"prefix needs the number of characters of the longest code, 1 to {LONGEST}, such as prefix:5."
            )
        if self.pad not in (None, "0", NO_PAD):
            raise InputError(f"prefix pads codes with 0 or not at all: prefix:5/pad=0 or prefix:5/pad={NO_PAD}.")
        if self.side not in (LEFT, RIGHT):
            raise InputError("prefix keeps characters of the left, or of the right: prefix:5/side=right.")
        if self.keep is not None and (
            not self.keep or [*self.keep] != sorted({*self.keep} & {*range(1, self.length)}, reverse=True)
        ):
            raise InputError(
                f"prefix:{self.length} keeps {self.length - 1} to 1 characters, from many to few: prefix:5/keep=3,1."
            )

    @property
    def spec(self) -> str:
        """As on the command line: `prefix:5`, `prefix:5/keep=3,1`, `prefix:5/pad=0`."""
        keep = "" if self.keep is None else f"/keep={','.join(map(str, self.keep))}"
        side = "" if self.side == LEFT else f"/side={self.side}"
        return f"prefix:{self.length}{keep}{side}{'' if self.pad is None else f'/pad={self.pad}'}"

    def _refuse(self, column: str, texts: Sequence[str]) -> None:
        if self.pad is None and lost_zeros(texts):
            raise InputError(
                f"Column '{column}' has codes of {min(map(len, texts))} to {max(map(len, texts))} digits, and none "
                f"begins with 0: leading zeros seem to be lost, and {self.spec} would put codes of different places "
                f"together. Write {self.spec}/pad=0 to put the zeros back, or {self.spec}/pad={NO_PAD} if the codes "
                "are complete.",
                column=column,
            )

    def _read(self, text: str) -> str | None:
        return text if len(text) <= self.length else None

    def _refusal(self, texts: Sequence[str]) -> tuple[str, str]:
        longest = max(map(len, texts))
        fits = f"Use prefix:{longest}, or correct the values."
        advice = fits if longest <= LONGEST else "Use suppress or a hierarchy file."
        return f"are longer than the {self.length} characters of {self.spec}; the longest has {longest}", advice

    def _names(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        if self.pad == "0":
            texts = [text.rjust(self.length, "0") if text.isdecimal() else text for text in texts]
        kept = range(self.length - 1, 0, -1) if self.keep is None else self.keep
        if self.side == RIGHT:
            return [["*" * (self.length - n) + text[-n:] for text in texts] for n in kept]
        return [[text[:n] + "*" * (self.length - n) for text in texts] for n in kept]


@dataclass(frozen=True)
class SuppressHierarchy(NamedValues):
    """Two levels: the original value and `*`; every value is covered."""

    kind: ClassVar[str] = "suppress"
    spec: ClassVar[str] = "suppress"

    def _names(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:  # noqa: ARG002 - of the base class
        return ()


LONGEST_SHOWN = 100  # a longer text is a mistake that need not be repeated in a message
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,15}")
DECIMAL_NUMBER = re.compile(r"[+-]?[0-9]{1,15}\.[0-9]{1,9}")
CUTS = "cuts="


class Builder(NamedTuple):
    """A keyword that creates hierarchies from the words after its colon, if it accepts any."""

    usage: str
    meaning: str
    make: Callable[[str], Hierarchy]
    has_parts: bool = False  # whether its words have parts, apart by /


BUILDERS: dict[str, Builder] = {
    "interval": Builder(
        "interval:5,10,20/top=90/bottom=0",
        "intervals of these widths; optional bounds; interval:cuts=0,18,65 between cut points; decimal if 0.5 or 5.0",
        lambda words: _interval(words),
        has_parts=True,
    ),
    "quantile": Builder(
        "quantile:10,5",
        "intervals between round numbers near the quantiles of the records",
        lambda words: QuantileHierarchy(tuple(_number(part, "quantile") for part in _list_words(words))),
    ),
    "keep": Builder(
        "keep:White,Hispanic", "these categories, all others together", lambda words: KeepHierarchy(_list_words(words))
    ),
    "rare": Builder(
        "rare:20", "categories of fewer records together", lambda words: RareHierarchy(_number(words, "rare"))
    ),
    "groups": Builder(
        "groups:White+Asian,Black+Other",
        "these groups of categories; coarser levels after /",
        lambda words: GroupsHierarchy(
            tuple(tuple(tuple(group.split("+")) for group in level.split(",")) for level in words.split("/"))
        ),
        has_parts=True,
    ),
    "similar": Builder(
        "similar:diagnosis",
        "categories together that are most alike in another column",
        lambda words: SimilarHierarchy(",".join(_list_words(words))),
    ),
    "prefix": Builder(
        "prefix:5",
        "codes of up to 5 characters, cut one a level; /keep=3,1 keeps so many, /side=right the last ones; /pad=0 puts "
        "lost leading zeros back",
        lambda words: _prefix(words),
        has_parts=True,
    ),
    "date": Builder(
        "date:month,quarter,year",
        "ISO dates; units among day, month, quarter, year, decade, or day, week; /bottom=1937 joins earlier years",
        lambda words: _dates(words),
        has_parts=True,
    ),
    "icd9": Builder("icd9", "ICD-9-CM: code, 4 digits, category, section, chapter", lambda _: icd9()),
    "icd10": Builder("icd10", "ICD-10-CM: code, 4 digits, category, section, chapter", lambda _: icd10()),
    "suppress": Builder("suppress", "the value or nothing", lambda _: SuppressHierarchy()),
}


def describe_builders() -> tuple[tuple[str, str], ...]:
    """Return the usage and meaning of every builder for help texts."""
    return tuple((builder.usage, builder.meaning) for builder in BUILDERS.values())


def parse_hierarchy(text: str, *, missing_as: str | None = None) -> Hierarchy:
    """Return the hierarchy that a builder's words or a file's path name; a builder wins over a file of the same name.

    A builder of another package is loaded only if neither is there.

    Examples
    --------
    >>> parse_hierarchy("interval:5,10/top=90").spec
    'interval:5,10/top=90'
    """
    spec = text.strip()
    head, *options = spec.split("/")
    name, colon, _ = head.partition(":")
    if name in BUILDERS and (colon or all("=" in option for option in options)):
        return _build(name, spec)
    if os.path.isfile(text):
        return hierarchy_file(text, missing_as=missing_as)
    if (installed := load_installed(spec)) is not None:
        return installed
    if name == "omop":
        raise InputError(
            "A hierarchy of an OMOP vocabulary is first built as a file: "
            "cloister hierarchy build omop:FOLDER DATA --column COLUMN --out FILE. Give that file here."
        )
    hint = did_you_mean(name, [*BUILDERS, *list_installed()])
    usages = ", ".join([*(builder.usage for builder in BUILDERS.values()), *list_installed()])
    named = f"'{Path(text).name}'" if len(text) < LONGEST_SHOWN else "What was asked for"
    raise InputError(f"{named} is neither a hierarchy file that exists nor a builder.{hint} Builders: {usages}.")


def names_hierarchy(spec: str, kind: str) -> bool:
    """Whether a text names a hierarchy of this kind: the words of its builder, or the name of a file.

    Opens no file, whatever the words are.
    """
    if kind not in BUILDERS:
        return kind == "file" and "/" not in spec
    try:
        return re.split("[:/]", spec)[0] == kind and _build(kind, spec).spec == spec
    except InputError:
        return False


def _build(name: str, spec: str) -> Hierarchy:
    builder, words = BUILDERS[name], spec.removeprefix(name).removeprefix(":")
    if not builder.has_parts and (bool(words) != (":" in builder.usage) or "/" in words):
        raise _misuse_error(name)
    return builder.make(words)


def _list_words(words: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in words.split(","))


def _interval(words: str) -> IntervalHierarchy | CutHierarchy:
    if words.startswith(CUTS):
        levels = words.removeprefix(CUTS).split("/")
        return CutHierarchy(tuple(tuple(map(_decimal, level.split(","))) for level in levels))
    widths, bounds = words.split("/")[0], _options(words, "interval", ("top", "bottom"))
    return IntervalHierarchy(tuple(map(_decimal, widths.split(","))), **{one: _decimal(bounds[one]) for one in bounds})


def _prefix(words: str) -> PrefixHierarchy:
    options = _options(words, "prefix", ("keep", "side", "pad"))
    keep = tuple(_number(one, "prefix") for one in options["keep"].split(",")) if "keep" in options else None
    length = _number(words.split("/")[0], "prefix")
    return PrefixHierarchy(length, options.get("pad"), keep, options.get("side", LEFT))


def _dates(words: str) -> DateHierarchy:
    if not words:
        raise _misuse_error("date")
    bounds = {name: _number(year, "date") for name, year in _options(words, "date", ("bottom",)).items()}
    return DateHierarchy(_list_words(words.split("/")[0]), **bounds)


def _options(words: str, name: str, known: Collection[str]) -> dict[str, str]:
    """Return the options of a builder, after the first /, by name."""
    options = words.split("/")[1:]
    found = {option: value for option, _, value in (one.partition("=") for one in options)}
    if len(found) < len(options) or not found.keys() <= {*known}:
        raise _misuse_error(name)
    return found


def _number(text: str, name: str) -> int:
    if not WHOLE_NUMBER.fullmatch(text.strip()):
        raise _misuse_error(name)
    return int(text)


def _decimal(text: str) -> Number:
    """Parse a number as written: with a decimal point it is not a whole number, whatever its value."""
    return Decimal(text.strip()) if DECIMAL_NUMBER.fullmatch(text.strip()) else _number(text, "interval")


def _misuse_error(name: str) -> InputError:
    builder = BUILDERS[name]
    shape = f"is written like {builder.usage}" if ":" in builder.usage else "takes no arguments"
    return InputError(f"The hierarchy builder {name} {shape} ({builder.meaning}). Correct its arguments.")
