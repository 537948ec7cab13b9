"""The request for a table with codes: its k, the presence of codes as a quasi-identifier, the column of codes."""

from dataclasses import replace

import polars as pl

from cloister.errors import InputError, setting
from cloister.hierarchy import suppress
from cloister.io import without_formulas
from cloister.io.columns import check_columns
from cloister.privacy import KAnonymity
from cloister.settings.run_options import DISASSOCIATION
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.roles import NO_QUASI_IDENTIFIER
from cloister.shapes.table_with_codes.format.data import CodesRequested


def k_of(request: TableRequest) -> int:
    """Return the k of a request for a table with codes."""
    found = [rule.k for rule in request.rules if isinstance(rule, KAnonymity)]
    if not found:
        raise InputError("A table with codes needs k-anonymity as well, as with ", setting("k", 5))
    return max(found)


def asking_presence(request: TableRequest, column: str) -> TableRequest:
    """Return the request with the presence of codes as a quasi-identifier with weight 0 that is never generalized."""
    weights = dict(request.weights) | ({column: 0.0} if request.loss.takes_weights else {})
    return replace(
        request,
        quasi_identifiers={**request.quasi_identifiers, column: QuasiIdentifier(suppress(), 0, 0)},
        weights=weights,
        levels=None if request.levels is None else {**request.levels, column: 0},
    )


def check_column(frame: pl.DataFrame, request: TableRequest, asked: CodesRequested, file: str) -> None:
    """Reject a column of codes that does not exist, or that has another role."""
    column = asked.column
    if not request.quasi_identifiers:
        raise InputError(NO_QUASI_IDENTIFIER)
    if frame.height == 0:
        raise InputError(f"{file} has no records.", file=file)
    check_columns([column], frame.columns, file)
    others = [*request.quasi_identifiers, *request.sensitive, *request.keep, *request.drop]
    others += [*request.microaggregate, *([request.id] if request.id is not None else [])]
    if column in others:
        raise InputError(f"Column {column!r} has the codes and another role. Give it one role.", column=column)
    if request.levels is not None and request.levels.get(column, 0) != 0:
        raise InputError(
            f"Column {column!r} has the codes, which have no levels. Leave it out of the levels.", column=column
        )
    if request.patients is not None:
        raise InputError(
            "With ",
            setting("patient", request.patients.column),
            " a patient may have several records, but sets of codes are counted in records: one patient could be all k "
            f"of them. Give one row for each patient, with all of its codes, or leave out {column!r}.",
            column=column,
        )
    diverse = [] if asked.method == DISASSOCIATION else [rule for rule in request.rules if rule.about is not None]
    if diverse:
        raise InputError(
            f"The rule {diverse[0].words()} is about all records of a class, but with ",
            setting("codes_method", asked.method),
            " whoever knows codes of a patient has fewer candidates, who may share a value. Leave it out, or use ",
            setting("codes_method", DISASSOCIATION),
        )
    bound = [rule for rule in request.rules if rule.full_domain_because]
    if bound:
        raise InputError(
            f"The rule {bound[0].model} {bound[0].full_domain_because}, which says nothing of who has codes. "
            "Leave out the rule, or protect the table without its codes."
        )


def check_formulas(codes: CodeSets, request: TableRequest, asked: CodesRequested, file: str) -> None:
    """Reject codes that a spreadsheet would run if cells shall be escaped: codes are released as they are."""
    names = pl.DataFrame({asked.column: codes.vocabulary})
    if request.escape_formulas and not without_formulas(names).equals(names):
        raise InputError(
            f"A spreadsheet would run codes of column {asked.column!r} of {file} as formulas, and ",
            setting("escape_formulas"),
            " escapes other cells only. Rename the codes that begin with =, +, - or @.",
            file=file,
            column=asked.column,
        )
