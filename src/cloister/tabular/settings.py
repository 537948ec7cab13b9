"""Settings of a table request: the kinds that they must be of, and whether they make sense by themselves."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType
from typing import Any

from cloister.errors import InputError, did_you_mean, setting
from cloister.privacy import DeltaPresence, KAnonymity, KMap, KPatients, PrivacyRule, TableRule
from cloister.search import check_search
from cloister.settings import check_threads, settings_of
from cloister.utility import AttributeLoss, parse_loss

from .data import Ids, TableRequest
from .options import AVERAGES, COUNTS, FULL_DOMAIN, LOCAL_RECODING, METHODS, MONDRIAN, PURPOSES, REST, TableSettings
from .usefulness import PEOPLE

LEAST_WEIGHT = 1e-6  # smaller weights, and larger than its inverse, would drown in rounding
WEIGHT_OF_PEOPLE = 6.0  # keeps 98 % of the rates by age and sex at k = 11, 1 keeps 81 % (`benchmarks/usefulness.py`)
MOST_DIGITS = 30  # digits, and decimal places, of a share; exact arithmetic with a million of them would not end


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def suppression_share(share: float | str | Decimal) -> Decimal:
    """Return a suppression limit as an exact decimal."""
    try:
        exact = Decimal(str(share))
    except ArithmeticError:
        exact = Decimal(-1)
    exponent, digits = exact.as_tuple().exponent, exact.as_tuple().digits
    if isinstance(exponent, int) and (abs(exponent) > MOST_DIGITS or len(digits) > MOST_DIGITS):
        raise InputError(f"The suppression limit has too many digits. Give at most {MOST_DIGITS}, as in 0.05.")
    if not (exact.is_finite() and 0 <= exact <= 1):
        raise InputError(
            f"The suppression limit is {share}, but it is a share of the records, from 0 to 1 (0.05 is 5 %)."
        )
    return exact


def requested(keywords: Mapping[str, Any], *, is_counted: bool = False) -> TableRequest:
    """Return the request that settings state by their names; what is no setting of a table is passed over.

    Parameters
    ----------
    is_counted : whether an engine counts the records, which only full-domain generalization can do with
    """
    given = {one.name: keywords[one.name] for one in fields(TableRequest) if one.name in keywords}
    given |= {name: tuple(given[name]) for name in ("rules", "drop", "sensitive", "keep", "accept")}
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
    if (target := keywords.get("target")) is not None and target not in (*given["sensitive"], *given["keep"]):
        given["sensitive"] = (*given["sensitive"], target)
    # Codes are counted inside classes, of which those of one level for each column are the largest.
    is_bound = is_counted or keywords.get("codes") is not None
    return check_settings(_of_patients(_for_purpose(TableRequest(**given), is_bound)))


def _for_purpose(request: TableRequest, is_bound: bool) -> TableRequest:
    """The request with the method for its purpose, if none was asked for, and what else was asked for allows it.

    Age and sex, which nearly every table and model is made by, then weigh more than other columns.
    """
    if request.method is not None:
        return request
    is_bound = is_bound or request.loss.ignores_suppression or bool(_compared(request))
    method, weights = FULL_DOMAIN if is_bound else request.chosen_method, request.weights
    is_for_people = request.purpose == COUNTS or (method == MONDRIAN and request.target is None)
    if is_for_people and not weights and request.loss.takes_weights:
        people = [column for column in request.quasi_identifiers if PEOPLE.search(column)]
        weights = dict.fromkeys(people, WEIGHT_OF_PEOPLE) if len(people) < len(request.quasi_identifiers) else {}
    return replace(request, method=method, weights=weights)


def _compared(request: TableRequest) -> list[str]:
    """Rules that compare classes with a population: they need full-domain generalization."""
    return [rule.model for rule in request.rules if getattr(rule, "needs", None) == "population"]


def _of_patients(request: TableRequest) -> TableRequest:
    """The request with a rule about the patients of a class, where a patient may have several records."""
    column = request.patient if request.patients is None else request.patients.column
    if column is None:
        return request
    if request.id not in (None, column) or request.patient not in (None, column):
        raise InputError(
            f"Two columns were named that tell patients apart. Name one: as {setting('id')} if it must not repeat, as "
            f"{setting('patient')} if a patient may have several records."
        )
    if request.ids is Ids.HMAC:
        raise InputError(
            "Keyed ids would join the records of a patient across classes, where fewer patients have them all. Release "
            f"numbers instead, which begin anew in each class, or no ids: {setting('ids', 'number')} or "
            f"{setting('ids', 'drop')}."
        )
    counting = [rule.model for rule in request.rules if isinstance(rule, KMap | DeltaPresence | TableRule)]
    if counting:
        raise InputError(
            f"The rule {counting[0]} counts records as people, but {setting('patient')} says that a patient may have "
            "several. Leave out one of the two, or reduce the table to one record a patient."
        )
    k = next((rule.k for rule in request.rules if isinstance(rule, KAnonymity)), request.k)
    rules = request.rules if request.patients else (*request.rules, KPatients(k, column))
    return replace(request, id=column, rules=rules)


def check_settings(request: TableRequest) -> TableRequest:
    """Return the request if its settings make sense by themselves; columns are checked against the data later."""
    if not request.rules:
        raise InputError(f"No privacy rule was given. Give at least k-anonymity, as with {setting('k', '5')}.")
    check_search(request.search_name)
    if request.default_role not in REST:
        raise InputError(
            f"The rest of the columns can be settled by {', '.join(REST)}, not by {request.default_role!r}."
        )
    if request.time_limit is not None and not request.time_limit > 0:
        raise InputError(f"The time limit is {request.time_limit}, but it must be more than 0 seconds.")
    check_threads(request.threads)
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
    bound = request.merge_bound
    if bound is not None and not 0 <= bound <= 1:
        raise InputError(f"Classes were to be merged up to a loss of {bound}, but a loss is a number from 0 to 1.")
    if bound is not None and not isinstance(request.loss, AttributeLoss):
        raise InputError(f"Classes cannot be merged by the loss {request.loss.name}. Take iyengar, arx or precision.")
    return request


def _check_method(request: TableRequest) -> None:
    if request.purpose not in PURPOSES:
        hint = did_you_mean(request.purpose, PURPOSES)
        raise InputError(f"The purpose {request.purpose!r} is not known.{hint} Purposes: {', '.join(PURPOSES)}.")
    if request.method not in METHODS:
        hint = did_you_mean(request.method or "", METHODS)
        raise InputError(f"The method {request.method!r} is not known.{hint} Methods: {', '.join(METHODS)}.")
    for column, aggregate in request.microaggregate.items():
        if column not in request.quasi_identifiers:
            raise InputError(f"Column {column!r} was to be averaged but is no quasi-identifier.", column=column)
        if aggregate not in AVERAGES:
            raise InputError(
                f"Column {column!r} was to be replaced by its {aggregate!r}. It can be {' or '.join(AVERAGES)}.",
                column=column,
            )
    _check_search(request)
    if request.levels is not None and not request.has_one_transformation:
        raise InputError("Fixed levels are for full-domain generalization: elsewhere levels differ between classes.")
    if not request.has_one_transformation and request.loss.ignores_suppression:
        raise InputError(
            f"The loss {request.loss.name} needs one transformation for all records: it counts suppressed classes. "
            "Take another loss, or full-domain generalization."
        )
    compared = _compared(request)
    if compared and (request.microaggregate or not request.has_one_transformation):
        raise InputError(
            f"The rule {compared[0]} compares classes with a population, which needs full-domain generalization and "
            "nothing averaged. Leave out the rule or the method."
        )


def _check_search(request: TableRequest) -> None:
    """Refuse settings that the method does not look at."""
    if request.published_method == LOCAL_RECODING and request.method != FULL_DOMAIN:
        raise InputError(f"Local recoding follows full-domain generalization, but the method is {request.method}.")
    if request.search is not None and request.method != FULL_DOMAIN:
        raise InputError(
            f"The search {request.search} was asked for, but the method {request.method} makes none. Leave it out."
        )
    if request.search is not None and request.levels is not None:
        raise InputError(
            f"The search {request.search} was asked for, but the levels are fixed. Leave out one of the two."
        )
    if request.time_limit is not None and request.method != FULL_DOMAIN:
        raise InputError(f"A time limit ends a search, but the method {request.method} makes none. Leave it out.")


def parse_ids(text: str) -> Ids:
    """Return what is to become of ids."""
    if text not in list(Ids):
        raise InputError(f"Ids can be {', '.join(Ids)}, not {text!r}.")
    return Ids(text)


Kind = Callable[[Any], bool]


def _is(*types: type) -> Kind:
    """Whether a value is of one of these types; True and False are no numbers."""
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _is_range(value: Any) -> bool:
    """Whether these are the lowest and the highest level, None for the top."""
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    return is_pair and _is(Integral)(value[0]) and _is(Integral, NoneType)(value[1])


ANYTHING: tuple[Kind, str] = (lambda _: True, "anything")
TEXT, SWITCH = (_is(str), "a text"), (_is(bool), "True or False")

SINGLE: dict[str, tuple[Kind, str]] = {
    **{one.name: SWITCH for one in settings_of(TableSettings) if one.kind is bool},
    **dict.fromkeys(("loss", "purpose", "default_role", "ids"), TEXT),
    **dict.fromkeys(("method", "search"), (_is(str, NoneType), "a text")),
    **dict.fromkeys(("id", "patient", "target", "codes"), (_is(str, NoneType), "a text, the name of a column")),
    **dict.fromkeys(("m", "seed"), (_is(Integral), "a whole number")),
    **dict.fromkeys(("max_cluster_size", "threads"), (_is(Integral, NoneType), "a whole number")),
    "merge_bound": (_is(Real, NoneType), "a number from 0 to 1"),
    "id_key": (_is(bytes, NoneType), "bytes, at least 32 of them"),
    "time_limit": (_is(Real, NoneType), "a number of seconds"),
}
"""Settings of one value."""

LISTS: dict[str, tuple[Kind, str]] = {
    "rules": (
        lambda one: isinstance(one, str | PrivacyRule) and not isinstance(one, type),
        'a list of rules, as objects or as texts: ["k-anonymity=5"]',
    ),
    **dict.fromkeys(("sensitive", "drop", "keep", "accept"), (_is(str), 'a list of the names of columns: ["ward"]')),
}

BY_COLUMN: dict[str, tuple[Kind, str]] = {
    "quasi_identifiers": (
        lambda one: isinstance(one, str) or (hasattr(one, "bind") and not isinstance(one, type)),
        'a hierarchy for each column, as an object or a text: {"sex": "suppress"}',
    ),
    "weights": (_is(Real), 'a number for each column: {"age": 2}'),
    "levels": (_is(Integral), 'a whole number for each column: {"age": 1}'),
    "microaggregate": (_is(str), 'mean or median for each column: {"age": "mean"}'),
    "level_bounds": (_is_range, 'the lowest and the highest level of each column: {"age": (0, 2)}'),
}


def check_kinds(settings: Mapping[str, Any]) -> None:
    """Refuse settings of a kind that they cannot have; what they say is not checked here."""
    for name, value in settings.items():
        is_kind, words = (SINGLE | LISTS | BY_COLUMN).get(name, ANYTHING)
        parts: list[tuple[Any, str, str | None]] = [(value, "", None)]
        if name in LISTS:
            if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
                raise _refused(name, words, value)
            parts = [(one, " in it", None) for one in value]
        elif name in BY_COLUMN:
            if value is None and name != "quasi_identifiers":
                continue
            if not isinstance(value, Mapping):
                raise _refused(name, words, value)
            parts = [(one, f" for column {column!r}", column) for column, one in value.items()]
        for part, where, column in parts:
            if column is not None and not isinstance(column, str):
                raise _refused(name, words, column, " as the name of a column")
            if not is_kind(part):
                raise _refused(name, words, part, where, column)


def _refused(name: str, words: str, given: Any, where: str = "", column: str | None = None) -> InputError:
    """The error, which names the kind of what was given and not the value."""
    kind = f"the class {given.__name__}" if isinstance(given, type) else f"a value of type {type(given).__name__}"
    return InputError(f"The setting {name} takes {words}, but {kind} was given{where}.", column=column)
