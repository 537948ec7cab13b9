"""Constraints on settings: each checks a value and prints its own sentence.

They mark types, as in ``k: Annotated[int, Interval(int, 2)]``. The command line, jobs, Python, plans and manifests read
the same mark. Pydantic enforces it, and messages print it: ``k must be a whole number from 2``.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from numbers import Real
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    runtime_checkable,
)

from annotated_types import BaseMetadata, Ge, GroupedMetadata, Gt, Le, Lt

from cloister.errors import NamedSetting, WrongValue, did_you_mean, setting

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Kind: TypeAlias = Any
"""What an annotation may state: a type, a union, a list of a type. Python has no type for these."""


@runtime_checkable
class Constraint(Protocol):
    """A mark of a type that limits its values; ``str()`` of it completes "must be"."""

    def accepts(self, value: object) -> bool:
        """Return whether a value is allowed."""


@dataclass(frozen=True)
class Interval(GroupedMetadata):
    """Numbers between two bounds.

    Parameters
    ----------
    kind : int or float
    low, high : the bounds; None for none
    closed : which bounds are allowed themselves: "both", "left", "right" or "neither"
    what : what the number is, as "a share"; by its kind by default

    Examples
    --------
    >>> str(Interval(int, 2)), str(Interval(float, 0, 0.5, closed="right"))
    ('a whole number from 2', 'a number above 0 and at most 0.5')
    >>> Interval(float, 0, 1).accepts(1), Interval(int, 2).accepts(True)
    (True, False)
    """

    kind: type[int] | type[float]
    low: float | None = None
    high: float | None = None
    closed: Literal["both", "left", "right", "neither"] = "both"
    what: str = ""

    def __iter__(self) -> Iterator[BaseMetadata]:
        """Return the bounds as Pydantic knows them."""
        if self.low is not None:
            yield Ge(self.low) if self.has_low else Gt(self.low)
        if self.high is not None:
            yield Le(self.high) if self.has_high else Lt(self.high)

    @property
    def has_low(self) -> bool:
        """Whether the lower bound is allowed."""
        return self.closed in ("both", "left")

    @property
    def has_high(self) -> bool:
        """Whether the upper bound is allowed."""
        return self.closed in ("both", "right")

    def accepts(self, value: object) -> bool:
        """Return whether a value is a number of this kind between the bounds."""
        if isinstance(value, bool) or not isinstance(value, int if self.kind is int else (int, float)):
            return False
        if isinstance(value, float) and not math.isfinite(value):
            return False
        is_above = self.low is None or value > self.low or (self.has_low and value == self.low)
        return is_above and (self.high is None or value < self.high or (self.has_high and value == self.high))

    def __str__(self) -> str:
        what = self.what or ("a whole number" if self.kind is int else "a number")
        low = "" if self.low is None else f" {'from' if self.has_low else 'above'} {self.low:,}"
        if self.high is None:
            return what + low
        if self.has_low and low:
            return f"{what}{low} {'to' if self.has_high else 'to below'} {self.high:,}"
        return f"{what}{low}{' and' if low else ''} {'at most' if self.has_high else 'below'} {self.high:,}"


class OneOf:
    """A choice of words.

    Examples
    --------
    >>> str(OneOf("tree", "paper", "off"))
    'tree, paper or off'
    """

    def __init__(self, *words: str) -> None:
        self.words = words

    def accepts(self, value: object) -> bool:
        """Return whether a value is one of the words."""
        return value in self.words

    def __str__(self) -> str:
        return alternatives([word if word[:1].isalnum() else repr(word) for word in self.words])

    def __get_pydantic_core_schema__(self, _source: Kind, _handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Return what Pydantic checks."""
        from pydantic_core.core_schema import literal_schema

        return literal_schema([*self.words])


@dataclass(frozen=True)
class Described:
    """A value described in words, if its type is not enough: "the name of a column"."""

    text: str

    def accepts(self, _value: object) -> bool:
        """Return True: only its type limits it."""
        return True

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Named(Described):
    """A name: a text that is not empty."""

    def accepts(self, value: object) -> bool:
        """Return whether a value is a text that is not empty."""
        return isinstance(value, str) and value != ""


@dataclass(frozen=True)
class WordsOr(Described):
    """Words, or in Python an object of a class: ``place`` of it is "module:name".

    Examples
    --------
    >>> WordsOr("a date, as 2020-01-31", "datetime:date").accepts(2020)
    False
    """

    place: str

    def accepts(self, value: object) -> bool:
        """Return whether a value is a text, or such an object; its class is loaded for objects alone."""
        if isinstance(value, str | type):
            return isinstance(value, str)
        return type(value).__module__ != "builtins" and isinstance(value, resolve_name(self.place))


HIERARCHY = "cloister.hierarchy:Hierarchy"
UTILITY_POLICY = "cloister.shapes.codes.policy:UtilityPolicy"


@dataclass(frozen=True)
class ForEach:
    """A value for each column, or for each name.

    Examples
    --------
    >>> str(ForEach(Interval(int, 0, what="a level"))), ForEach(Interval(int, 0)).accepts({"age": -1})
    ('a level from 0 for each column', False)
    """

    each: Constraint
    of: str = "column"

    def accepts(self, value: object) -> bool:
        """Return whether a mapping has an allowed value for each."""
        return isinstance(value, Mapping) and all(map(self.each.accepts, value.values()))

    def __str__(self) -> str:
        return f"{self.each} for each {self.of}"


COLUMN = Named("the name of a column")
COLUMNS = Described("a list of columns")
HIERARCHIES = Described("a hierarchy for each column")
FILE = Described("the name of a file")
TEXT = Described("a text")

MADE_OF_OTHERS = {tuple: "a list", Sequence: "a list", Mapping: "a mapping", Callable: "a function"}
BASIC = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "the name of a file"}


def alternatives(words: Sequence[str]) -> str:
    """Join words as a choice: "a, b or c"."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def marks_of(annotation: Kind) -> tuple[object, ...]:
    """Return the marks of a type."""
    return getattr(annotation, "__metadata__", ())


def holds_list(kind: Kind) -> bool:
    """Return whether a type, or a part of a union, is a list of values."""
    return any(get_origin(part) in (tuple, Sequence) for part in (kind, *get_args(kind)))


def check_value(asked: str | NamedSetting, value: object, limit: Constraint) -> None:
    """Refuse a value that a setting does not allow; ``asked``: the setting or its name."""
    if not limit.accepts(value):
        words = limit.words if isinstance(limit, OneOf) and isinstance(value, str) else ()
        found, hint = (repr(value), did_you_mean(str(value), words)) if words else (describe_value(value), "")
        raise WrongValue(setting(asked) if isinstance(asked, str) else asked, str(limit), found, hint)


MOST_SHOWN = 10**15
"""A larger whole number may have thousands of digits."""


def describe_value(value: object) -> str:
    """Describe a number by its value, and anything else only by its type: it might be a value of the data."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value}" if abs(value) <= MOST_SHOWN else "a number of more than 15 digits"
    if isinstance(value, Real | Decimal) and not isinstance(value, bool):
        return f"{value:.15g}"
    return f"the class {value.__name__}" if isinstance(value, type) else f"a value of type {type(value).__name__}"


def constraint_of(annotation: Kind) -> Constraint | None:
    """Return the constraint that marks a type; None if there is none."""
    return next((mark for mark in marks_of(annotation) if isinstance(mark, Constraint)), None)


def describe(annotation: Kind) -> str:
    """Describe the allowed values of a type in words that complete "must be".

    Examples
    --------
    >>> describe(Annotated[int, Interval(int, 2)] | None), describe(Literal["auto", "off"] | int)
    ('a whole number from 2', 'auto, off or a whole number')
    """
    return alternatives(_choices(annotation))


def _choices(annotation: Kind) -> list[str]:
    """Return each of what a value of a type may be."""
    found = constraint_of(annotation)
    if found is not None:
        return [*found.words] if isinstance(found, OneOf) else [str(found)]
    parts: Sequence[Kind] = get_args(annotation)
    origin: object = get_origin(annotation)
    if origin is Annotated:
        return _choices(parts[0])
    if origin in (Union, UnionType):
        return [word for part in parts if part is not NoneType for word in _choices(part)]
    if origin is Literal:
        return [str(part) for part in parts]
    if origin is tuple and is_dataclass(parts[0]):
        return ["sections in double brackets"]
    if origin in MADE_OF_OTHERS:
        return [MADE_OF_OTHERS[origin]]
    return ["a section" if is_dataclass(annotation) else BASIC.get(annotation, "of another type")]
