"""Settings of a table request: the kinds that they must be of, and whether they make sense by themselves."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from cloister.errors import InputError, did_you_mean
from cloister.privacy import PrivacyRule
from cloister.search import check_search
from cloister.settings import settings_of
from cloister.utility import AttributeLoss, parse_loss

from .data import Ids, TableRequest
from .options import AVERAGES, METHODS, REST, TableSettings

LEAST_WEIGHT = 1e-6
"""Smaller weights, and larger than its inverse, would drown in rounding."""

MOST_DIGITS = 30
"""Digits, and decimal places, of a share; exact arithmetic with a million of them would not end."""


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def suppression_share(share: float | str | Decimal) -> Decimal:
    """Return a suppression limit as an exact decimal."""
    try:
        exact = Decimal(str(share))
    except ArithmeticError:
        exact = Decimal(-1)
    if exact.is_finite() and not _is_short(exact):
        raise InputError(f"The suppression limit has too many digits. Give at most {MOST_DIGITS}, as in 0.05.")
    if not (exact.is_finite() and 0 <= exact <= 1):
        raise InputError(
            f"The suppression limit is {share}, but it is a share of the records, from 0 to 1 (0.05 is 5 %)."
        )
    return exact


def _is_short(number: Decimal) -> bool:
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and abs(exponent) <= MOST_DIGITS and len(number.as_tuple().digits) <= MOST_DIGITS


def requested(told: Mapping[str, Any]) -> TableRequest:
    """Return the request that settings state by their names; what is no setting of a table is passed over.

    Parameters
    ----------
    told : as Python or a job has them, quasi-identifiers and rules looked up
    """
    given = {one.name: told[one.name] for one in fields(TableRequest) if one.name in told}
    given |= {name: tuple(given[name]) for name in ("rules", "drop", "sensitive", "keep")}
    given |= {
        "suppression": suppression_share(given["suppression"]),
        "loss": parse_loss(given["loss"]),
        "weights": {column: float(weight) for column, weight in (given["weights"] or {}).items()},
        "levels": None if given["levels"] is None else {name: int(level) for name, level in given["levels"].items()},
        "microaggregate": dict(given["microaggregate"] or {}),
        "ids": parse_ids(given["ids"]),
        "threads": available_cores() if given["threads"] is None else int(given["threads"]),
    }
    given |= {name: float(given[name]) for name in ("time_limit", "merge_bound") if given[name] is not None}
    return check_settings(TableRequest(**given))


def check_settings(request: TableRequest) -> TableRequest:
    """Return the request if its settings make sense by themselves; columns are checked against the data later."""
    if not request.rules:
        raise InputError("No privacy rule was given. Give at least k-anonymity, as with -k 5.")
    check_search(request.search_name)
    if request.default_role not in REST:
        raise InputError(
            f"The rest of the columns can be settled by {', '.join(REST)}, not by {request.default_role!r}."
        )
    if request.time_limit is not None and not request.time_limit > 0:
        raise InputError(f"The time limit is {request.time_limit}, but it must be more than 0 seconds.")
    if request.threads < 1:
        raise InputError(f"{request.threads} threads were asked for, but at least 1 is needed.")
    if request.weights and not request.loss.takes_weights:
        raise InputError(f"The loss {request.loss.name} looks at class sizes only: columns cannot be weighted in it.")
    for column, weight in request.weights.items():
        if column not in request.quasi_identifiers:
            raise InputError(f"Column {column!r} has a weight but is no quasi-identifier.", column=column)
        if not LEAST_WEIGHT <= weight <= 1 / LEAST_WEIGHT:
            raise InputError(
                f"The weight of column {column!r} is {weight}, but must be more than 0: from {LEAST_WEIGHT:g} to "
                f"{1 / LEAST_WEIGHT:g}.",
                column=column,
            )
    _check_method(request)
    return request


def _check_method(request: TableRequest) -> None:
    if request.method not in METHODS:
        hint = did_you_mean(request.method, METHODS)
        raise InputError(f"The method {request.method!r} is not known.{hint} Methods: {', '.join(METHODS)}.")
    for column, aggregate in request.microaggregate.items():
        if column not in request.quasi_identifiers:
            raise InputError(f"Column {column!r} was to be averaged but is no quasi-identifier.", column=column)
        if aggregate not in AVERAGES:
            raise InputError(
                f"Column {column!r} was to be replaced by its {aggregate!r}. It can be {' or '.join(AVERAGES)}.",
                column=column,
            )
    request.check_method()
    _check_merging(request)
    if request.levels is not None and not request.has_one_policy:
        raise InputError("Fixed levels are for full-domain generalization: elsewhere levels differ between classes.")
    if not request.has_one_policy and request.loss.ignores_suppression:
        raise InputError(
            f"The loss {request.loss.name} needs one policy for all records: it counts suppressed classes. Take "
            "another loss, or full-domain generalization."
        )
    compared = [rule.model for rule in request.rules if getattr(rule, "needs", None) == "population"]
    if compared and (request.microaggregate or not request.has_one_policy):
        raise InputError(
            f"The rule {compared[0]} compares classes with a population, which needs full-domain generalization and "
            "nothing averaged. Leave out the rule or the method."
        )


def _check_merging(request: TableRequest) -> None:
    if request.merge_bound is None:
        return
    if not 0 <= request.merge_bound <= 1:
        raise InputError(
            f"Classes were to be merged up to a loss of {request.merge_bound}, but a loss is a number from 0 to 1."
        )
    if not isinstance(request.loss, AttributeLoss):
        raise InputError(f"Classes cannot be merged by the loss {request.loss.name}. Take iyengar, arx or precision.")


def parse_ids(text: str) -> Ids:
    """Return what is to become of ids."""
    for choice in Ids:
        if text == choice:
            return choice
    raise InputError(f"Ids can be {', '.join(Ids)}, not {text!r}.")


Kind = Callable[[Any], bool]


def _or_none(kind: Kind) -> Kind:
    return lambda value: value is None or kind(value)


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
    "search": (_or_none(_is_text), "a text"),
    "id": (_or_none(_is_text), "a text, the name of a column"),
    "codes": (_or_none(_is_text), "a text, the name of a column"),
    "m": (_is_whole, "a whole number"),
    "max_cluster_size": (_or_none(_is_whole), "a whole number"),
    "merge_bound": (_or_none(_is_number), "a number from 0 to 1"),
    "id_key": (lambda value: value is None or isinstance(value, bytes), "bytes, at least 32 of them"),
    "time_limit": (_or_none(_is_number), "a number of seconds"),
    "threads": (_or_none(_is_whole), "a whole number"),
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
