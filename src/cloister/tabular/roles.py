"""Which column is what. No column is released unless somebody said so."""

from collections.abc import Callable, Sequence

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import listed, nearest_column

from .data import Role, TableRequest

UNIQUE_SHARE = 0.05
"""A column taken along by ``default_role="keep"`` must not be unique in more than this share of the records."""


UniqueShare = Callable[[str], float]
"""Share of the records whose value in a column no other record has."""


def resolve_roles(
    columns: Sequence[str], request: TableRequest, file: str, unique_share: UniqueShare
) -> dict[str, Role]:
    """Role of every column, in the order of the file.

    Parameters
    ----------
    columns : of the table
    unique_share : asked of columns that are kept because nobody said otherwise
    """
    if not request.quasi_identifiers:
        raise InputError("No quasi-identifier was named. Name them with --qi or give a folder with --hierarchies.")
    named = _named(request)
    check_columns([column for column, _ in named], columns, file)
    named += [(column, Role.SENSITIVE) for column in _of_rules(request, [column for column, _ in named], file, columns)]
    roles: dict[str, Role] = {}
    for column, role in named:
        if column in roles:
            raise InputError(
                f"Column {column!r} is asked to be both {roles[column]} and {role}. Give it one role.", column=column
            )
        roles[column] = role
    rest = [column for column in columns if column not in roles]
    roles |= dict.fromkeys(rest, _role_of_rest(unique_share, rest, columns, request.default_role, file))
    return {column: roles[column] for column in columns}


def _named(request: TableRequest) -> list[tuple[str, Role]]:
    named = [(column, Role.QUASI_IDENTIFIER) for column in request.quasi_identifiers]
    named += [(column, Role.DROPPED) for column in request.drop]
    named += [(column, Role.SENSITIVE) for column in request.sensitive]
    named += [(column, Role.KEPT) for column in request.keep]
    if request.id is not None:
        named.append((request.id, Role.IDENTIFIER))
    return named


def _of_rules(request: TableRequest, named: Sequence[str], file: str, columns: Sequence[str]) -> list[str]:
    """Columns that a rule makes sensitive, because it looks at them and nobody said otherwise."""
    wanted = [column for rule in request.rules if (column := getattr(rule, "column", None)) is not None]
    check_columns(wanted, columns, file)
    for column in wanted:
        if column in named and column not in request.sensitive:
            raise InputError(
                f"A rule looks at the values of column {column!r}, which must be sensitive for that: released as "
                "recorded and no quasi-identifier. Name it with --sensitive and nothing else.",
                column=column,
            )
    return [column for column in dict.fromkeys(wanted) if column not in named]


def check_columns(wanted: Sequence[str], present: Sequence[str], file: str) -> None:
    """Refuse a column that is not there, naming the nearest that is."""
    for column in wanted:
        if column not in present:
            raise InputError(
                f"Column {column!r} was asked for, but {file} has no such column."
                f"{nearest_column(column, present)} Its columns: {listed(present)}.",
                file=file,
                column=column,
            )


def _role_of_rest(
    unique_share: UniqueShare, rest: Sequence[str], columns: Sequence[str], settled: str, file: str
) -> Role:
    if not rest or settled == "drop":
        return Role.DROPPED
    if settled != "keep":
        raise InputError(
            f"Every column needs a role, but {file} has {len(rest)} without one: {listed(rest, columns)}. "
            "Name each with --qi, --sensitive, --keep or --drop, or settle them all with --default-role drop.",
            file=file,
            column=rest[0],
        )
    for column in rest:
        share = unique_share(column)
        if share > UNIQUE_SHARE:
            raise InputError(
                f"--default-role keep would release column {column!r}, whose values are unique in {share:.1%} of the "
                "records "
                f"(more than {UNIQUE_SHARE:.0%}): it could identify patients. Give it a role of its own.",
                file=file,
                column=column,
            )
    return Role.KEPT


def unique_share_in(frame: pl.DataFrame) -> UniqueShare:
    """Return what tells the share of unique values of a column of a frame."""
    return lambda column: float(frame[column].is_unique().sum()) / max(1, frame.height)
