"""What kinds of values the settings of a table request can have, for those that no command line has read."""

from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from typing import Any

from cloister.errors import InputError
from cloister.privacy import PrivacyRule
from cloister.settings.declared import settings_of

from .options import TableSettings

Kind = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_rule(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, PrivacyRule) and not isinstance(value, type))


def _is_hierarchy(value: Any) -> bool:
    return _is_text(value) or (hasattr(value, "bind") and hasattr(value, "spec") and not isinstance(value, type))


def _is_range(value: Any) -> bool:
    """Whether these are the lowest and the highest level, None for the top."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    lowest, highest = value
    return _is_whole(lowest) and (highest is None or _is_whole(highest))


PLAIN: dict[Any, tuple[Kind, str]] = {bool: (_is_switch, "True or False"), str: (_is_text, "a text")}
SINGLE: dict[str, tuple[Kind, str]] = {
    **{one.name: PLAIN[one.kind] for one in settings_of(TableSettings) if one.kind in PLAIN},
    "loss": (_is_text, "a text"),
    "search": (lambda value: value is None or _is_text(value), "a text"),
    "id": (lambda value: value is None or _is_text(value), "a text, the name of a column"),
    "codes": (lambda value: value is None or _is_text(value), "a text, the name of a column"),
    "m": (_is_whole, "a whole number"),
    "max_cluster_size": (lambda value: value is None or _is_whole(value), "a whole number"),
    "merge_bound": (lambda value: value is None or _is_number(value), "a number from 0 to 1"),
    "id_key": (lambda value: value is None or isinstance(value, bytes), "bytes, at least 32 of them"),
    "time_limit": (lambda value: value is None or _is_number(value), "a number of seconds"),
    "threads": (lambda value: value is None or _is_whole(value), "a whole number"),
    "seed": (_is_whole, "a whole number"),
}
"""Settings of one value."""

LISTS: dict[str, tuple[Kind, str]] = {
    "rules": (_is_rule, 'a list of rules, as objects or as texts: ["k-anonymity=5"]'),
    "sensitive": (_is_text, 'a list of the names of columns: ["diagnosis"]'),
    "drop": (_is_text, 'a list of the names of columns: ["ward"]'),
    "keep": (_is_text, 'a list of the names of columns: ["ward"]'),
}
"""Settings of several values."""

BY_COLUMN: dict[str, tuple[Kind, str]] = {
    "quasi_identifiers": (_is_hierarchy, 'a hierarchy for each column, as an object or a text: {"sex": "suppress"}'),
    "weights": (_is_number, 'a number for each column: {"age": 2}'),
    "levels": (_is_whole, 'a whole number for each column: {"age": 1}'),
    "microaggregate": (_is_text, 'mean or median for each column: {"age": "mean"}'),
    "level_bounds": (_is_range, 'the lowest and the highest level of each column: {"age": (0, 2)}'),
}
"""Settings of one value a column."""


def check_kinds(settings: Mapping[str, Any]) -> None:
    """Refuse settings of a kind that they cannot have; what they say is not judged here."""
    for name, value in settings.items():
        if name in SINGLE and not SINGLE[name][0](value):
            raise _refused(name, SINGLE[name][1], value)
        if name in LISTS:
            _check_list(name, value)
        if name in BY_COLUMN:
            _check_by_column(name, value)


def _check_list(name: str, given: Any) -> None:
    is_kind, words = LISTS[name]
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Collection):
        raise _refused(name, words, given)
    for value in given:
        if not is_kind(value):
            raise _refused(name, words, value, " in it")


def _check_by_column(name: str, given: Any) -> None:
    is_kind, words = BY_COLUMN[name]
    if given is None and name != "quasi_identifiers":
        return
    if not isinstance(given, Mapping):
        raise _refused(name, words, given)
    for column, value in given.items():
        if not _is_text(column):
            raise _refused(name, words, column, " as the name of a column")
        if not is_kind(value):
            raise _refused(name, words, value, f" for column {column!r}", column)


def _refused(name: str, words: str, given: Any, where: str = "", column: str | None = None) -> InputError:
    """The error, which names the kind of what was given and not the value."""
    kind = f"the class {given.__name__}" if isinstance(given, type) else f"a value of type {type(given).__name__}"
    return InputError(f"The setting {name} takes {words}, but {kind} was given{where}.", column=column)
