"""Check that Python keywords have the types and values declared by a record of settings or a signature."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Literal, TypeVar, Union, cast, get_args, get_origin

import numpy as np

from cloister.errors import InputError, WrongValue, did_you_mean, setting

from .constraints import (
    ForEach,
    Interval,
    Kind,
    OneOf,
    WordsOr,
    check_value,
    constraint_of,
    describe_value,
    holds_list,
    marks_of,
)
from .declaration import Setting, settings_of
from .reading import KEYS, ReadingWords

Verb = TypeVar("Verb", bound=Callable[..., object])


def check_arguments(verb: Verb) -> Verb:
    """Make a function refuse arguments that violate the types or constraints of its signature.

    A function with ``**how`` takes the settings of reading. An unknown keyword is refused with the nearest one.
    """
    signature = inspect.signature(verb)
    known = {}
    for name, one in signature.parameters.items():
        kind: Kind = getattr(one.annotation, "__origin__", None) if marks_of(one.annotation) else one.annotation
        if one.kind is not one.VAR_KEYWORD:
            known[name] = Setting(name, kind, one.default, None, None, constraint_of(one.annotation))
    if "how" in signature.parameters:
        known |= {one.name: one for one in settings_of(ReadingWords) if one.name in KEYS}
    is_open = len(known) < len(signature.parameters) and "how" not in signature.parameters

    @wraps(verb)
    def check_first(*given: object, **keywords: object) -> object:
        strange = [name for name in keywords if name not in known]
        if strange and not is_open:
            raise InputError(f"{verb.__name__} has no setting {strange[0]}.{did_you_mean(strange[0], known)}")
        for name, value in signature.bind_partial(*given).arguments.items():
            for each in value if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL else [value]:
                check_kind(known[name], each)
        for name, value in keywords.items():
            if name in known:
                check_kind(known[name], value)
        return verb(*given, **keywords)

    return cast("Verb", check_first)


def check_kind(one: Setting, value: object) -> None:
    """Refuse a value with a type other than the setting's; the message names the given type, never the value."""
    kinds = _parts(one.kind)
    if value is None and (NoneType in kinds or one.by_column):
        return
    if one.by_column:
        _check_mapping(one, value)
        return
    may_be = one.constraint.accepts if isinstance(one.constraint, WordsOr) else lambda _value: False
    if not any(_fits(kind, value) for kind in kinds) and (holds_list(one.kind) or not may_be(value)):
        raise _wrong_kind(one, value)
    if holds_list(one.kind) and isinstance(value, Collection) and not isinstance(value, str | Mapping):
        each = next(get_args(kind)[0] for kind in kinds if holds_list(kind))
        for part in value:
            if not any(_fits(kind, part) for kind in _parts(each)) and not may_be(part):
                raise _wrong_kind(one, part, " in it")
    is_number = isinstance(value, Real | Decimal) and isinstance(one.constraint, Interval)
    if one.constraint is not None and (is_number or (isinstance(value, str) and isinstance(one.constraint, OneOf))):
        check_value(one.word, plain(value), one.constraint)


def _check_mapping(one: Setting, value: object) -> None:
    if not isinstance(value, Mapping):
        raise _wrong_kind(one, value)
    for column, part in value.items():
        if not isinstance(column, str):
            raise _wrong_kind(one, column, " as the name of a column")
        if isinstance(one.constraint, ForEach) and not one.constraint.each.accepts(plain(part)):
            raise _wrong_kind(one, part, f" for column {column!r}", column)


def _parts(kind: Kind) -> tuple[Kind, ...]:
    """Return the types of a union, or the type alone."""
    origin: object = get_origin(kind)
    return get_args(kind) if origin in (Union, UnionType) else (kind,)


def _fits(kind: Kind, value: object) -> bool:
    """Whether a value is of a type; numbers of NumPy count as those of Python."""
    origin: object = get_origin(kind)
    if isinstance(value, bool | np.bool_):
        return kind in (bool, object)
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else (Real, Decimal))
    if origin in (tuple, Sequence):
        return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    if origin is Mapping:
        given = value if isinstance(value, Mapping) else {None: None}
        kinds = _parts(get_args(kind)[1])
        return all(isinstance(key, str) and any(_fits(one, part) for one in kinds) for key, part in given.items())
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if origin is not None:
        return callable(value)
    if isinstance(value, str):
        return kind in (str, object) or not isinstance(kind, type)
    return isinstance(kind, type) and isinstance(value, kind)


def plain(value: object, one: Setting | None = None) -> object:
    """Convert a value from NumPy types: numbers to Python numbers, decimals where allowed, lists to tuples."""
    if isinstance(value, np.bool_):
        return bool(value)
    if one is not None and holds_list(one.kind) and isinstance(value, Collection) and not isinstance(value, str):
        return tuple(map(plain, value))
    is_exact = isinstance(value, Decimal) and one is not None and Decimal in get_args(one.kind)
    if is_exact or isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _wrong_kind(one: Setting, value: object, where: str = "", column: str | None = None) -> WrongValue:
    return WrongValue(setting(one.word), one.allowed, f"{describe_value(value)}{where}", column=column)
