"""Settings of a table request: their types, and checks that need no data."""

import os
import re
from collections.abc import Callable
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Unpack

from cloister.errors import InputError, NamedSetting, WrongValue, setting
from cloister.hierarchy import MadeOfRecords, parse_hierarchy
from cloister.io import read_table
from cloister.privacy import (
    DeltaPresence,
    KAnonymity,
    KMap,
    KPatients,
    NoAttack,
    PopulationRule,
    PositivePayout,
    PrivacyRule,
    TableRule,
    TCloseness,
    parse_rule,
)
from cloister.search import check_search
from cloister.settings.constraints import OneOf, check_value
from cloister.settings.declaration import Keywords, check_settings
from cloister.settings.reading import HowRead
from cloister.shapes.table.format.options import (
    ANALYSIS,
    AVERAGES,
    CLUSTER,
    COUNTS,
    FULL_DOMAIN,
    JOINED,
    JOINING,
    LOCAL_RECODING,
    MDAV,
    METHODS,
    MONDRIAN,
    NESTED,
    PURPOSES,
    TableOptions,
    TableSettings,
)
from cloister.utility import IYENGAR, AttributeLoss, parse_loss

from .data import Ids, TableRequest

PEOPLE = re.compile(
    r"(?:^|[^A-Za-z])(?i:i?(?:age|sex|gender)|ridageyr|riagendr|alter|geschlecht|birth(?:date|year)?|dob|yob)"
    r"(?![a-z])|[a-z](?:Age|Sex|Gender|Birth)(?![a-z])"
)
"""Names of columns of age and sex: a word of theirs is one of these; with an i before it where it was imputed."""

LEAST_WEIGHT = 1e-6  # smaller weights, and larger than its inverse, would drown in rounding
WEIGHT_OF_PEOPLE = 6.0  # keeps 98 % of the rates by age and sex at k = 11, 1 keeps 81 % (`benchmarks/usefulness`)
Kind = Callable[[object], bool]
MOST_DIGITS = 30  # digits, and decimal places, of a share; exact arithmetic with a million of them would not end


def read_rule(text: str, *, missing_as: str | None = None, **how: Unpack[HowRead]) -> PrivacyRule:
    """Parse a rule, and read the table or hierarchy that it names.

    ``how``: how population tables are read, as the table itself.
    """
    rule = parse_rule(text)
    if isinstance(rule, PopulationRule) and rule.source is not None:
        return rule.with_population(read_table(Path(rule.source), **how).frame)
    if isinstance(rule, TCloseness) and rule.source is not None:
        return rule.with_hierarchy(parse_hierarchy(rule.source, missing_as=missing_as))
    return rule


def available_cores() -> int:
    """Return the number of cores that this process may use."""
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
        raise WrongValue(setting("suppression"), "a share of the records from 0 to 1, as 0.05", str(share))
    return exact


def build_table_request(keywords: Keywords, *, is_counted: bool = False) -> TableRequest:
    """Return the request that named settings state; other names are ignored.

    ``is_counted``: whether an engine counts the records, which only full-domain generalization can do with.
    """
    given = {one.name: keywords[one.name] for one in fields(TableRequest) if one.name in keywords}
    given |= {name: tuple(given[name]) for name in ("rules", "drop", "sensitive", "keep", "undecided", "accept")}
    given |= {
        "suppression": suppression_share(given["suppression"]),
        "loss": parse_loss(given["loss"], given["rules"]),
        "weights": {column: float(weight) for column, weight in (given["weights"] or {}).items()},
        "levels": None if given["levels"] is None else {name: int(level) for name, level in given["levels"].items()},
        "microaggregate": dict(given["microaggregate"] or {}),
        "ids": parse_ids(given["ids"]),
        "threads": available_cores() if given["threads"] is None else int(given["threads"]),
    }
    given |= {name: float(given[name]) for name in ("time_limit", "merge_bound") if given[name] is not None}
    target = given.get("target")
    if target is not None and target not in (*given["sensitive"], *given["keep"]):
        given["sensitive"] = (*given["sensitive"], target)
    if given["method"] == MDAV and keywords.get("codes") is not None:
        raise InputError(
            f"The method {MDAV} replaces values by averages, and codes have none. Take another method, or leave out ",
            setting("codes"),
        )
    if keywords.get("codes") is not None and given.get("labels") is None:
        given["labels"] = NESTED  # codes are counted inside classes: labels that differ would make these smaller
    # Codes are counted inside classes, of which those of one level for each column are the largest.
    is_bound = is_counted or keywords.get("codes") is not None
    return check_request(_of_patients(_for_purpose(TableRequest(**given), is_bound)))


def _for_purpose(request: TableRequest, is_bound: bool) -> TableRequest:
    """The request with the method for its purpose, if none was asked for, and what else was asked for allows it.

    Nearly every table and model is made by age and sex: they are the strata of an analysis, and else weigh more.
    """
    if request.method is not None:
        return request
    method, weights = FULL_DOMAIN if is_bound else method_in_memory(request, request), request.weights
    people = [column for column in request.quasi_identifiers if PEOPLE.search(column)]
    if request.purpose == COUNTS and not weights and request.loss.takes_weights:
        weights = dict.fromkeys(people, WEIGHT_OF_PEOPLE) if len(people) < len(request.quasi_identifiers) else {}
    strata = request.strata or tuple(people) if method == CLUSTER else request.strata
    return replace(request, method=method, weights=weights, strata=strata)


def method_in_memory(settings: TableSettings, request: TableRequest) -> str:
    """Return the method that the settings choose for rows in memory; ``request``: the resulting request."""
    is_bound = request.loss.ignores_suppression or any(rule.full_domain_because for rule in request.rules)
    return FULL_DOMAIN if is_bound and settings.method is None else settings.chosen_method


def _of_patients(request: TableRequest) -> TableRequest:
    """The request with a rule about the patients of a class, where a patient may have several records."""
    column = request.patient if request.patients is None else request.patients.column
    if column is None:
        return request
    if request.id not in (None, column) or request.patient not in (None, column):
        raise InputError(
            "Two columns identify patients. Name one: as ",
            setting("id"),
            " if it must not repeat, as ",
            setting("patient"),
            " if a patient may have several records.",
        )
    if request.ids is Ids.HMAC:
        raise InputError(
            "Keyed ids would join the records of a patient across classes, where fewer patients have them all. "
            "Release numbers instead, which begin anew in each class, or no ids: ",
            setting("ids", "number"),
            " or ",
            setting("ids", "drop"),
        )
    people = KMap | DeltaPresence | NoAttack | PositivePayout | TableRule
    counting = [rule.model for rule in request.rules if isinstance(rule, people)]
    if counting:
        raise InputError(
            f"The rule {counting[0]} counts records as people, but ",
            setting("patient"),
            " means that a patient may have several. Leave out one of the two, or reduce the table to one record "
            "a patient.",
        )
    k = next((rule.k for rule in request.rules if isinstance(rule, KAnonymity)), request.k)
    rules = request.rules if request.patients else (*request.rules, KPatients(k, column))
    return replace(request, id=column, rules=rules)


def check_request(request: TableRequest) -> TableRequest:
    """Return the request after checks that need no data; columns are checked against the data later."""
    if not request.rules:
        raise InputError("No privacy rule was given. Give at least k-anonymity, as with ", setting("k", 5))
    if request.ids is Ids.HMAC and request.id is None:
        raise InputError(setting("ids", "hmac"), " replaces the ids of a column. Name the column with ", setting("id"))
    check_search(request.search_name, request.store)
    given = {"time_limit": request.time_limit, "merge_bound": request.merge_bound, "threads": request.threads}
    check_settings(TableOptions, given)
    if request.weights and not request.loss.takes_weights:
        raise InputError(f"The loss {request.loss.name} is not a mean of columns: they cannot be weighted in it.")
    for column, weight in request.weights.items():
        if column not in request.quasi_identifiers:
            raise InputError(f"Column {column!r} has a weight but is no quasi-identifier.", column=column)
        if not LEAST_WEIGHT <= weight <= 1 / LEAST_WEIGHT:
            raise InputError(
                f"The weight of column {column!r} is {weight}, but must be more than 0: from {LEAST_WEIGHT:g} to "
                f"{1 / LEAST_WEIGHT:g}.",
                column=column,
            )
    for column in request.strata:
        if column not in request.quasi_identifiers:
            raise InputError(f"Column {column!r} is to be a stratum but is no quasi-identifier.", column=column)
    _check_method(request)
    if request.merge_bound is not None and not isinstance(request.loss, AttributeLoss):
        raise InputError(f"Classes cannot be merged by the loss {request.loss.name}. Take iyengar, arx or precision.")
    return request


def _check_method(request: TableRequest) -> None:
    check_value("purpose", request.purpose, OneOf(*PURPOSES))
    check_value("method", request.method, OneOf(*METHODS))
    for column, aggregate in request.microaggregate.items():
        if column not in request.quasi_identifiers:
            raise InputError(f"Column {column!r} was to be averaged but is no quasi-identifier.", column=column)
        if aggregate not in AVERAGES:
            raise InputError(
                f"Column {column!r} was to be replaced by its {aggregate!r}. It can be {', '.join(AVERAGES)}.",
                column=column,
            )
    if request.resist_downcoding:
        _check_open_labels(request)
    _check_search(request)
    if request.method == MDAV and request.loss.name != IYENGAR.name:
        raise InputError(f"The method {MDAV} minimizes distances, not the loss {request.loss.name}. Leave it out.")
    bounded = [name for name, one in request.quasi_identifiers.items() if (one.lowest, one.highest) != (0, None)]
    if request.method == MDAV and bounded:
        raise InputError(
            f"The levels of column {bounded[0]!r} are bounded, but the method {MDAV} releases averages, not levels. "
            "Leave out the bounds, or take another method.",
            column=bounded[0],
        )
    if request.levels is not None and not request.has_one_transformation:
        raise InputError("Fixed levels are for full-domain generalization: elsewhere levels differ between classes.")
    if not request.has_one_transformation and request.loss.ignores_suppression:
        raise InputError(
            f"The loss {request.loss.name} needs one transformation for all records: it counts suppressed classes. "
            "Take another loss, or full-domain generalization."
        )
    bound = [rule for rule in request.rules if rule.full_domain_because]
    if bound and (request.microaggregate or not request.has_one_transformation):
        raise InputError(
            f"The rule {bound[0].model} {bound[0].full_domain_because}, which needs full-domain generalization and "
            "nothing averaged. Leave out the rule or the method."
        )


LEAST_RESISTING = 3  # records of a class whose labels resist downcoding


def _check_open_labels(request: TableRequest) -> None:
    """Refuse what would reveal more than the answers to questions about class sizes, together with labels that resist.

    Weights by a target and averages depend on values that labels leave open; joined intervals are as short as their
    records allow; hierarchies made of the records say where these are. Of two different records it always follows what
    a label hides: one of either. Rules about sensitive columns decide whether the classes are released, never on them.
    """
    made = [name for name, one in request.quasi_identifiers.items() if isinstance(one.hierarchy, MadeOfRecords)]
    others = [rule.model for rule in request.rules if not isinstance(rule, KAnonymity) and rule.about is None]
    wrong: dict[tuple[str | NamedSetting, ...], bool] = {
        ("k is ", str(request.class_size), ". Ask for 3 or more"): request.class_size < LEAST_RESISTING,
        (f"the method is {request.method}. Take ", setting("method", MONDRIAN)): request.method != MONDRIAN,
        (f"the purpose is {request.purpose}. Leave it out",): request.purpose != ANALYSIS,
        ("rows are counted by patients. Reduce the table to one row a patient",): request.patients is not None,
        (f"there is a rule {others[0] if others else ''}. Leave it out",): bool(others) and request.patients is None,
        ("classes depend on ", setting("target"), ". Leave it out"): request.target is not None,
        ("classes are merged. Leave out ", setting("merge_classes")): request.merge_bound is not None,
        (f"the loss is {request.loss.name}. Take iyengar, arx or precision",): not isinstance(
            request.loss, AttributeLoss
        ),
        ("labels are joined. Leave out ", setting("labels", JOINED)): request.labels == JOINED,
        ("columns are averaged. Leave out ", setting("microaggregate")): bool(request.microaggregate),
        (f"the hierarchy of column {made[0] if made else ''!r} is made of the records. Give a fixed one",): bool(made),
    }
    for why, is_asked in wrong.items():
        if is_asked:
            raise InputError(
                setting("resist_downcoding"), f" is for the method {MONDRIAN} with k-anonymity, but ", *why, "."
            )


def _check_search(request: TableRequest) -> None:
    """Refuse settings that the method does not look at."""
    method, search = request.method, request.search
    searches = method == FULL_DOMAIN
    wrong = {
        f"Local recoding follows full-domain generalization, but the method is {method}.": not searches
        and request.published_method == LOCAL_RECODING,
        f"The search {search} was asked for, but the method {method} makes none. Leave it out.": not searches
        and search is not None,
        f"The search {search} was asked for, but the levels are fixed. Leave out one of the two.": search is not None
        and request.levels is not None,
        f"A time limit ends a search, but the method {method} makes none. Leave it out.": not searches
        and request.time_limit is not None,
        f"Strata are kept by the method {CLUSTER}, but the method is {method}. Leave out one of the two.": method
        != CLUSTER
        and bool(request.strata),
        **_reasons_not_to_join(request),
    }
    for sentence, is_wrong in wrong.items():
        if is_wrong:
            raise InputError(sentence)


def _reasons_not_to_join(request: TableRequest) -> dict[str, bool]:
    """Return by sentence why labels cannot be joined as asked for, and whether it is so; the first one is given."""
    wanted, by = request.labels == JOINED and not request.columns_to_join, request.published_method
    return {
        f"Labels are joined by the methods {', '.join(JOINING)}, but the method is {by}. Leave out the choice of "
        "labels, or take another method.": wanted and by not in JOINING,
        f"Labels are joined for a loss that is a mean of columns, but the loss is {request.loss.name}. Leave out the "
        "choice of labels, or take another loss.": wanted and not isinstance(request.loss, AttributeLoss),
        f"No label can be joined at k = {request.k}: that needs numbers in intervals or, from k = 4 on and for one "
        "record per patient, categories of few values, and no averages. Leave out the choice of labels.": wanted,
    }


def parse_ids(text: str) -> Ids:
    """Parse the treatment of ids."""
    check_value("ids", text, OneOf(*Ids))
    return Ids(text)
