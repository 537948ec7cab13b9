"""What the verifier is told inside the flow: the promise, the original and the populations, as the request has them."""

from collections.abc import Mapping
from dataclasses import replace

from cloister.errors import InputError
from cloister.hierarchy import Ladder
from cloister.io import n_records, table_columns
from cloister.privacy import TCloseness

from ..data import EncodedTable, Ids, ProtectedTable, TableRequest, is_withheld
from ..encode import suppression_limit
from ..judging.population import has_population, in_sample, population_frame
from .promise import Original, Population, Promise, bound_ladders


def as_stated(request: TableRequest, suppressed: int, n_records: int) -> TableRequest:
    """Return the request with rules as the manifest states them: where the number of records is told, made for it."""
    if is_withheld(suppressed, request.k):
        return request
    return replace(request, rules=tuple(in_sample(rule, n_records) for rule in request.rules))


def promise_for(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Promise:
    """Return what a protected table promises."""
    has_id = request.id is not None and request.ids is not Ids.DROP
    return Promise(
        columns=tuple(table_columns(protected.frame)),
        levels={column: max(protected.levels[column]) for column in table.ladders},
        k=request.k,
        released=n_records(table.frame) - protected.suppressed,
        suppressed=protected.suppressed,
        rules=tuple(rule.describe() for rule in request.rules),
        id=request.id if has_id else None,
        numbered=has_id and request.ids is Ids.NUMBER,
        stars=request.keep_suppressed,
        limit=suppression_limit(request.suppression, n_records(table.frame)),
        recoded={} if request.has_one_policy else dict(protected.levels),
        averaged=dict(request.microaggregate),
    )


def original_of(table: EncodedTable, request: TableRequest) -> Original:
    """Return the table as read, and the ladders that it and the values that rules group are generalized by."""
    groups: dict[tuple[str, str], Ladder] = {}
    for rule in request.rules:
        if isinstance(rule, TCloseness) and rule.spec is not None:
            ladder = bound_ladders(table.frame, {rule.column: rule.hierarchy})[rule.column]
            if groups.setdefault((rule.column, rule.spec), ladder).labels != ladder.labels:
                raise InputError(
                    f"Two rules group the values of column {rule.column!r} by different hierarchies, both called "
                    f"{rule.spec}. Name them apart, or keep one.",
                    column=rule.column,
                )
    return Original(table.frame, table.ladders, groups)


def populations_of(table: EncodedTable, request: TableRequest) -> Mapping[str, Population]:
    """Return the population tables that rules compare with, by the name that the rules call them."""
    hierarchies = {column: request.quasi_identifiers[column].hierarchy for column in table.ladders}
    found: dict[str, Population] = {}
    for rule in request.rules:
        if has_population(rule):
            frame, name = population_frame(rule), str(rule.describe()["population"])
            if name not in found:
                found[name] = Population(frame, bound_ladders(frame, hierarchies))
            elif not found[name].frame.equals(frame):
                raise InputError(f"Two rules compare with different populations, both called {name}. Name them apart.")
    return found
