"""Columns of a table without a role, and values that are in no hierarchy: the evidence, and the refusal."""

from collections.abc import Callable, Collection
from pathlib import Path

import polars as pl

from cloister.evidence.hierarchies import propose_hierarchy
from cloister.evidence.uniqueness import describe_columns
from cloister.hierarchy import parse_hierarchy
from cloister.io import distinct_values, write_csv
from cloister.io.columns import check_columns, looks_like_value
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.roles import check_named, find_undecided, refuse_undecided


def propose_quasi_identifier(frame: pl.DataFrame, column: str) -> QuasiIdentifier:
    """Make a quasi-identifier of a column, with a hierarchy proposed from its values."""
    return QuasiIdentifier(parse_hierarchy(propose_hierarchy(frame[column])))


def find_evidence(frame: pl.DataFrame, request: TableRequest, others: Collection[str] = ()) -> dict[str, str]:
    """Return the undecided columns with the evidence found in each, in words without values; see `find_undecided`."""
    undecided = find_undecided(frame.columns, request, others)
    return describe_columns(frame, undecided, list(request.quasi_identifiers)) if undecided else {}


def require_decided(frame: pl.DataFrame, request: TableRequest, file: str, others: Collection[str] = ()) -> None:
    """Reject a table with undecided columns, and list the evidence found in each; see `find_undecided`."""
    check_columns([*others], frame.columns, file)
    check_named(frame.columns, request, file)
    evidence = find_evidence(frame, request, others)
    is_named = not any(map(looks_like_value, frame.columns))  # a first line that is a record is not listed
    refuse_undecided([*evidence], frame.columns, request, file, evidence if is_named else {})


def list_unmatched(
    request: TableRequest, columns: Collection[str], values: Callable[[str], pl.Series], path: Path
) -> None:
    """Write the values of the quasi-identifiers that are in no hierarchy to a file, for the custodian only.

    ``values``: from a column to its values, each at least once
    """
    outside = [
        (column, value)
        for column, wanted in request.quasi_identifiers.items()
        if column in columns
        for value in wanted.hierarchy.outside(distinct_values(values(column)))
    ]
    if outside:
        write_csv(pl.DataFrame(outside, schema={"column": pl.String, "value": pl.String}, orient="row"), path)
