"""Settings as keywords of Python: what a shape declares, under the names that jobs and the command line use."""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING
from decimal import Decimal
from logging import getLogger
from numbers import Integral, Real
from pathlib import Path
from textwrap import fill
from types import NoneType, UnionType
from typing import TypeVar, Union, get_args, get_origin

import numpy as np

from cloister.errors import InputError, WrongValue, did_you_mean, joined, setting
from cloister.search import Report
from cloister.settings.constraints import Constraint, ForEach, Interval, Kind, WordsOr, describe_value, holds_list
from cloister.settings.declaration import ColumnAssignments, Keywords, Setting, settings_of
from cloister.settings.reading import KEYS
from cloister.shapes.protocol import ProgressListener, Run

Options = TypeVar("Options")
Verb = TypeVar("Verb", bound=Callable[..., object])

OF_FILES = frozenset(
    (
        *KEYS, "data", "out", "query", "crosswalk", "overwrite", "custodian_dir", "attack", "unmatched_values",
        "hierarchies", "levels_from", "table", "missing_as", "as_json", "quiet", "verbose", "visit",
    )
)  # fmt: skip
"""Settings of commands that Python has no use for: where files are, how they are read, what is printed."""

NOWHERE = Path("a dataframe")
"""In place of the files that options of a command name."""


class LoggedRun(ProgressListener):
    """Writes what a run says to the log of cloister, which Python shows by default."""

    def __init__(self, progress: Report | None = None) -> None:
        self.progress = progress

    def note(self, text: str, *, always: bool = False) -> None:  # noqa: ARG002  (of the protocol)
        """Log a note."""
        getLogger("cloister").warning(text)

    @contextmanager
    def searching(self) -> Iterator[Report | None]:
        """Yield what a search reports to."""
        yield self.progress


def run_of(progress: Report | None = None) -> Run:
    """Return the run of a function of Python."""
    return Run(voice=LoggedRun(progress))


def keywords_of(record: type, without: Collection[str] = ()) -> dict[str, Setting]:
    """Return the settings of a record that Python takes, by name; ``without``: names of others that it does not."""
    return {one.word: one for one in settings_of(record) if one.word not in OF_FILES and one.word not in without}


def options_of(
    verb: str, record: type[Options], given: Keywords, without: Collection[str] = (), **fixed: object
) -> Options:
    """Return the options that keywords state.

    Parameters
    ----------
    verb : name of the function, for messages
    without : see `keywords_of`
    fixed : values of other fields

    Raises
    ------
    InputError
        A keyword is unknown, or its value is not of the right kind.
    """
    known = keywords_of(record, without)
    for name, value in given.items():
        if name not in known:
            hint = did_you_mean(name, known) or f" It has {', '.join(known)}."
            raise InputError(f"{verb} has no setting {name}.{hint}")
        check_kind(known[name], value)
    needed = [name for name, one in known.items() if one.default is MISSING and name not in given]
    if needed:
        raise InputError(f"{verb} needs ", joined(" and ", (setting(name) for name in needed)), ".")
    return record(**fixed, **{known[name].name: _plain(value, known[name]) for name, value in given.items()})


def check_kind(one: Setting, value: object) -> None:
    """Refuse a value of another type than the setting has; names the type that was given, and no value."""
    parts = get_args(one.kind) or (one.kind,)
    if value is None and (NoneType in parts or one.by_column):
        return
    if one.by_column:
        _check_mapping(one, value)
        return
    origin: object = get_origin(one.kind)
    kinds = parts if origin in (Union, UnionType) else (one.kind,)
    may_be = one.constraint.accepts if isinstance(one.constraint, WordsOr) else lambda _value: False
    if not any(_fits(kind, value) for kind in kinds) and (holds_list(one.kind) or not may_be(value)):
        raise _wrong_value(one.word, one.allowed, value)
    if holds_list(one.kind) and isinstance(value, Collection) and not isinstance(value, str):
        each = float if str in kinds else str  # weights may be a text, or numbers
        for part in value:
            if not _fits(each, part) and not may_be(part):
                raise _wrong_value(one.word, one.allowed, part, " in it")
    if (
        isinstance(one.constraint, Interval)
        and isinstance(value, Real | Decimal)
        and not _is_within(one.constraint, value)
    ):
        raise _wrong_value(one.word, one.allowed, value)


def _check_mapping(one: Setting, value: object) -> None:
    if not isinstance(value, Mapping):
        raise _wrong_value(one.word, one.allowed, value)
    for column, part in value.items():
        if not isinstance(column, str):
            raise _wrong_value(one.word, one.allowed, column, " as the name of a column")
        if isinstance(one.constraint, ForEach) and not _is_within(one.constraint.each, part):
            raise _wrong_value(one.word, one.allowed, part, f" for column {column!r}", column)


def _fits(kind: Kind, value: object) -> bool:
    """Whether a value is of a type; numbers of NumPy count as those of Python."""
    if isinstance(value, bool | np.bool_):
        return kind is bool
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else (Real, Decimal))
    origin: object = get_origin(kind)
    if origin in (tuple, Sequence):
        return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    if isinstance(value, str):
        return kind is str or not isinstance(kind, type)
    return kind is Decimal and isinstance(value, Decimal)


def _is_within(limit: Constraint, value: object) -> bool:
    return limit.accepts(_plain(value))


def _plain(value: object, one: Setting | None = None) -> object:
    """Return a value without types of NumPy: numbers as of Python, decimals where they may be, lists as tuples."""
    if isinstance(value, np.bool_):
        return bool(value)
    if one is not None and holds_list(one.kind) and isinstance(value, Collection) and not isinstance(value, str):
        return tuple(map(_plain, value))
    is_exact = isinstance(value, Decimal) and one is not None and Decimal in get_args(one.kind)
    if is_exact or isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _wrong_value(name: str, allowed: str, value: object, where: str = "", column: str | None = None) -> WrongValue:
    return WrongValue(setting(name), allowed, f"{describe_value(value)}{where}", column=column)


def takes_settings(
    record: type, without: Collection[str] = (), more: Mapping[str, object] | None = None
) -> Callable[[Verb], Verb]:
    """Give a function the signature of the settings that it takes, and their meanings in its docstring.

    ``more``: keywords that are no settings, and their defaults
    """

    def document(verb: Verb) -> Verb:
        known = keywords_of(record, without)
        own = [one for one in inspect.signature(verb).parameters.values() if one.kind is not one.VAR_KEYWORD]
        keywords = [_parameter(name, one) for name, one in known.items()]
        extra = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in (more or {}).items()
        ]
        signature = inspect.signature(verb).replace(parameters=[*own, *keywords, *extra])
        vars(verb)["__signature__"] = signature
        lines = "\n".join(
            fill(f"{name} : {_meaning(one)}", 112, initial_indent=" " * 4, subsequent_indent=" " * 8)
            for name, one in known.items()
        )
        verb.__doc__ = re.sub(
            r"    \*\*keywords(?: : (?=\w))?", lambda _: lines + "\n    ", verb.__doc__ or "", count=1
        )
        return verb

    return document


def _parameter(name: str, one: Setting) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    if isinstance(default, ColumnAssignments) or (one.by_column and not default):
        default = None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def _meaning(one: Setting) -> str:
    """The help of a setting for readers of Python: no word about typing it, options as keywords."""
    text = (one.help.text if one.help else one.allowed).replace(" Repeatable.", "")
    return re.sub(r"--([a-z][a-z-]*)", lambda found: f"``{found[1].replace('-', '_')}``", text)
