"""The words for hierarchies on the command line and in job files: a builder with its arguments, or a file."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cloister.errors import InputError, did_you_mean
from cloister.hierarchy.date import DateHierarchy
from cloister.hierarchy.file_hierarchy import read_hierarchy_file
from cloister.hierarchy.icd import icd9, icd10
from cloister.hierarchy.interval import IntervalHierarchy
from cloister.hierarchy.ladder import Hierarchy
from cloister.hierarchy.prefix import PrefixHierarchy, SuppressHierarchy

LONGEST_SHOWN = 100
"""A longer text is a mistake that need not be repeated in a message."""

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,15}")


@dataclass(frozen=True)
class Builder:
    """One word that makes hierarchies."""

    usage: str
    meaning: str
    make: Callable[[list[str], Mapping[str, str]], Hierarchy]
    options: tuple[str, ...] = ()
    takes_arguments: bool = False


def _interval(arguments: list[str], options: Mapping[str, str]) -> Hierarchy:
    bounds = {name: _number(text, "interval") for name, text in options.items()}
    return IntervalHierarchy(tuple(_number(width, "interval") for width in arguments), **bounds)


def _prefix(arguments: list[str], _: Mapping[str, str]) -> Hierarchy:
    if len(arguments) != 1:
        raise _misused("prefix")
    return PrefixHierarchy(_number(arguments[0], "prefix"))


BUILDERS: dict[str, Builder] = {
    "interval": Builder(
        "interval:5,10,20/top=90/bottom=0",
        "intervals of these widths; optional bounds",
        _interval,
        options=("top", "bottom"),
        takes_arguments=True,
    ),
    "prefix": Builder("prefix:5", "codes of up to 5 characters, cut one a level", _prefix, takes_arguments=True),
    "date": Builder(
        "date:month,quarter,year",
        "ISO dates; units among day, month, quarter, year, decade, or day, week",
        lambda arguments, _: DateHierarchy(tuple(arguments)),
        takes_arguments=True,
    ),
    "icd9": Builder("icd9", "ICD-9-CM: code, 4 digits, category, section, chapter", lambda _, __: icd9()),
    "icd10": Builder("icd10", "ICD-10-CM: code, 4 digits, category, section, chapter", lambda _, __: icd10()),
    "suppress": Builder("suppress", "the value or nothing", lambda _, __: SuppressHierarchy()),
}


def describe_builders() -> tuple[tuple[str, str], ...]:
    """Return usage and meaning of every builder, for help texts."""
    return tuple((builder.usage, builder.meaning) for builder in BUILDERS.values())


def parse_hierarchy(text: str, *, missing_as: str | None = None) -> Hierarchy:
    """Return the hierarchy that a builder's words or a file's path name; a builder wins over a file of the same name.

    Parameters
    ----------
    missing_as : text under which a file lists missing values; builders need none

    Examples
    --------
    >>> parse_hierarchy("interval:5,10/top=90").spec
    'interval:5,10/top=90'
    """
    head, *options = text.strip().split("/")
    name, colon, arguments = head.partition(":")
    if name in BUILDERS and (colon or all("=" in option for option in options)):
        return _build(name, arguments, options)
    if os.path.isfile(text):
        return read_hierarchy_file(text, missing_as=missing_as)
    raise _unknown(name, text)


def names_hierarchy(spec: str, kind: str) -> bool:
    """Whether these are the words for a hierarchy of this kind, as its builder writes them, or the name of a file.

    Opens no file, whatever the words are.
    """
    if kind not in BUILDERS:
        return kind == "file" and "/" not in spec
    head, *options = spec.split("/")
    name, _, arguments = head.partition(":")
    try:
        return name == kind and _build(name, arguments, options).spec == spec
    except InputError:
        return False


def _build(name: str, arguments: str, options: list[str]) -> Hierarchy:
    builder = BUILDERS[name]
    named = {name: value for name, _, value in (option.partition("=") for option in options)}
    if (
        bool(arguments) != builder.takes_arguments
        or len(named) < len(options)
        or not named.keys() <= {*builder.options}
    ):
        raise _misused(name)
    return builder.make([part.strip() for part in arguments.split(",")], named)


def _number(text: str, name: str) -> int:
    if not WHOLE_NUMBER.fullmatch(text.strip()):
        raise _misused(name)
    return int(text)


def _misused(name: str) -> InputError:
    builder = BUILDERS[name]
    shape = "takes no arguments" if not builder.takes_arguments else f"is written like {builder.usage}"
    return InputError(f"The hierarchy builder {name} {shape} ({builder.meaning}). Correct its arguments.")


def _unknown(name: str, text: str) -> InputError:
    hint = did_you_mean(name, BUILDERS)
    usages = ", ".join(builder.usage for builder in BUILDERS.values())
    asked = f"'{Path(text).name}'" if len(text) < LONGEST_SHOWN else "What was asked for"
    return InputError(f"{asked} is neither a hierarchy file that exists nor a builder.{hint} Builders: {usages}.")
