"""Undecided columns of a table in memory: what was found in each, and a release is refused while there are any."""

from collections.abc import Collection

import polars as pl

from cloister.evidence.hierarchies import propose_hierarchy
from cloister.evidence.uniqueness import describe_columns
from cloister.hierarchy import parse_hierarchy
from cloister.io.columns import check_columns, looks_like_value
from cloister.tabular.data import QuasiIdentifier, TableRequest
from cloister.tabular.roles import check_named, find_undecided, refuse_undecided


def propose_quasi_identifier(frame: pl.DataFrame, column: str) -> QuasiIdentifier:
    """Make a quasi-identifier of a column, with a hierarchy by its values."""
    return QuasiIdentifier(parse_hierarchy(propose_hierarchy(frame[column])))


def require_decided(frame: pl.DataFrame, request: TableRequest, file: str, others: Collection[str] = ()) -> None:
    """Refuse a table with undecided columns, and list what was found in each; see `find_undecided`."""
    check_columns([*others], frame.columns, file)
    columns = [column for column in frame.columns if column not in others]
    check_named(frame.columns, request, file)
    if undecided := find_undecided(columns, request):
        # a first line that is a record names nobody
        is_named = not any(map(looks_like_value, frame.columns))
        evidence = describe_columns(frame, undecided, list(request.quasi_identifiers)) if is_named else {}
        refuse_undecided(undecided, frame.columns, request, file, evidence)
