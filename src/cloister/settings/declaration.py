"""A setting is a field of a frozen record: ``name: Annotated[type, Help(...), Key(...)] = default``.

From `Help` comes its option on the command line, from `Key` its key in a job. Loads nothing, so that help is quick.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeAlias, TypeVar, get_args

from .constraints import (
    Constraint,
    Described,
    ForEach,
    Interval,
    Kind,
    OneOf,
    check_value,
    constraint_of,
    describe,
    holds_list,
    marks_of,
)

Value = TypeVar("Value")
Keywords: TypeAlias = Mapping[str, Any]
"""Values by name or by key, as a job or Python states them."""

Given: TypeAlias = dict[str, Any]
"""The same while they are put together."""


@dataclass(frozen=True)
class ColumnAssignments:
    """``COLUMN=VALUE`` as typed; the columns of the data are needed to parse it."""

    texts: tuple[str, ...]
    later: Keywords = field(default_factory=dict)  # by column, what takes the place of what was typed

    def __bool__(self) -> bool:
        return bool(self.texts or self.later)


ByColumn = Mapping[str, Value] | ColumnAssignments
"""A value for each column, or the words that say so."""


@dataclass(frozen=True)
class Help:
    """The help text of a setting on the command line."""

    text: str
    metavar: str | None = None  # the placeholder of its value; the type if None
    option: str = ""
    typed: Kind = None  # what a word is read as, if not as the type of the field
    shown: str | None = None  # the default in words, where the field says None
    offers: tuple[str, ...] = ()  # words that a shell completes, where others are allowed as well


@dataclass(frozen=True)
class Key:
    """The key of a setting in a job."""

    name: str = ""
    kind: Kind = None  # type in TOML, if not that of the field
    read: Callable[[Any], Any] | None = None  # from TOML to the value of the field


@dataclass(frozen=True)
class Setting:
    """A declared field; ``default`` is MISSING if there is none."""

    name: str
    kind: Kind
    default: object
    help: Help | None
    key: Key | None
    constraint: Constraint | None

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        return str(self.constraint) if self.constraint else describe(self.kind)

    @property
    def option(self) -> str:
        """The option on the command line."""
        return (self.help and self.help.option) or f"--{self.name.replace('_', '-')}"

    @property
    def word(self) -> str:
        """The key in a job, or the name of the field."""
        return (self.key and self.key.name) or self.name

    @property
    def by_column(self) -> bool:
        """Whether the setting has a value for each column."""
        return ColumnAssignments in get_args(self.kind)

    @property
    def typed(self) -> Kind:
        """The type of words on the command line."""
        return (self.help and self.help.typed) or self.kind

    @property
    def is_list(self) -> bool:
        """Whether the option may be repeated for several values."""
        return holds_list(self.typed)

    @property
    def in_toml(self) -> Kind:
        """The type in a job with its constraints; None if the key may be omitted."""
        assert self.key is not None
        parts = [part for part in get_args(self.kind) if part not in (NoneType, ColumnAssignments)]
        kind = self.key.kind or (parts[0] if self.by_column or NoneType in get_args(self.kind) else self.kind)
        kind = str if kind is Path else kind
        limit = self.constraint
        if isinstance(limit, ForEach):
            kind = Mapping[str, Annotated[get_args(kind)[1], limit.each]]  # type: ignore[misc]
        elif isinstance(limit, OneOf | Interval):
            kind = Annotated[kind, limit]
        kind = kind if self.by_column else kind | None
        return kind if limit is None else Annotated[kind, Described(str(limit))]

    def from_toml(self, value: Value) -> Path | Value:
        """Convert a value in a job to the value of the field."""
        assert self.key is not None
        if Path in (self.kind, *get_args(self.kind)):
            return Path(str(value))
        return value if self.key.read is None else self.key.read(value)


OF_MANY = (
    "missing", "delimiter", "encoding", "date_format", "decimal", "numbers", "dates", "bad_lines", "duplicates",
    "row_index", "missing_as", "as_json", "quiet", "verbose",
)  # fmt: skip
"""Settings that many commands have; these are listed last."""


_READ: dict[type, tuple[Setting, ...]] = {}
"""By record: every command asks for the same few, many times."""


def settings_of(record: type) -> tuple[Setting, ...]:
    """Return the settings declared by a record, in the order of help and pages.

    ``placed`` of the record names settings that come right before another one. All other settings keep the order of
    their declaration, inherited ones first. Settings of many commands come last.
    """
    if record in _READ:
        return _READ[record]
    found = {one.name: _setting(one) for one in fields(record)}
    placed: Mapping[str, str] = getattr(record, "placed", {})
    order = [name for name in found if name not in placed]
    order.sort(key=lambda name: OF_MANY.index(name) if name in OF_MANY else -1)
    for name, before in placed.items():
        order.insert(order.index(before), name)
    _READ[record] = tuple(found[name] for name in order)
    return _READ[record]


def build_request(request: type[Value], keywords: Keywords, **looked_up: object) -> Value:
    """Return a request made of settings by their names, words in place of which it has a choice becoming that."""
    given = {}
    for one in fields(request):  # type: ignore[arg-type]
        if one.name in keywords and one.name not in looked_up:
            is_choice = isinstance(one.type, type) and issubclass(one.type, StrEnum)
            given[one.name] = one.type(keywords[one.name]) if is_choice else keywords[one.name]  # type: ignore[operator]
    return request(**given, **looked_up)


def settings_given(options: object) -> Given:
    """Return the settings whose value is not None, by name."""
    return {name: value for name, value in vars(options).items() if value is not None}


def command_words(record: type, given: Keywords, skipped: Iterable[str] = ()) -> list[str]:
    """Return the command-line words for values by their keys in a job; a record declares the settings.

    ``skipped``: names of fields that are omitted
    """
    words: list[str] = []
    for one in settings_of(record):
        value = given.get(one.word)
        if one.name in skipped or value is None or value is False or value in ([], ()) or value == one.default:
            continue
        option = one.option.split()[:1] if one.option.startswith("-") else []
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [*option, *([] if each is True else [str(each)])]
    return words


def check_settings(record: type, given: Keywords) -> None:
    """Refuse numbers and words that a setting does not have, anyone who gave them; ``given`` by names of fields."""
    for one in settings_of(record):
        value, limit = given.get(one.name), one.constraint
        is_checked = isinstance(value, int | float) if isinstance(limit, Interval) else isinstance(limit, OneOf)
        if value is not None and limit is not None and is_checked:
            check_value(one.word, value, limit)


def _setting(one: "Field[object]") -> Setting:
    marks = marks_of(one.type)
    default = one.default if one.default_factory is MISSING else one.default_factory()
    return Setting(
        one.name,
        getattr(one.type, "__origin__", one.type) if marks else one.type,
        default,
        next((mark for mark in marks if isinstance(mark, Help)), None),
        next((mark for mark in marks if isinstance(mark, Key)), None),
        constraint_of(one.type),
    )
