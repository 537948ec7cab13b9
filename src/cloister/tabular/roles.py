"""Which column is what. No column is released unless somebody said so."""

from collections.abc import Callable, Sequence

from cloister.errors import InputError, setting
from cloister.io.columns import check_columns, listed

from .data import Role, TableRequest

UNIQUE_SHARE = 0.05
"""A column taken along by ``default_role="keep"`` must not be unique in more than this share of the records."""


UniqueShare = Callable[[str], float]  # share of the records whose value in a column no other record has


def resolve_roles(
    columns: Sequence[str], request: TableRequest, file: str, unique_share: UniqueShare
) -> dict[str, Role]:
    """Role of every column, in the order of the file.

    Parameters
    ----------
    unique_share : called for columns that are kept because nobody said otherwise
    """
    if not request.quasi_identifiers:
        raise InputError(
            f"No quasi-identifier was named. Name them with {setting('quasi_identifiers')} or give a folder with "
            f"{setting('hierarchies')}."
        )
    named = [(column, Role.QUASI_IDENTIFIER) for column in request.quasi_identifiers]
    named += [(column, Role.DROPPED) for column in request.drop]
    named += [(column, Role.SENSITIVE) for column in request.sensitive]
    named += [(column, Role.KEPT) for column in request.keep]
    named += [] if request.id is None else [(request.id, Role.IDENTIFIER)]
    names = [column for column, _ in named]
    check_columns(names, columns, file)
    # a column that a rule looks at is sensitive unless somebody said otherwise.
    wanted = [rule.about for rule in request.rules if rule is not request.patients and rule.about is not None]
    check_columns(wanted, columns, file)
    for column in wanted:
        if column in names and column not in request.sensitive:
            raise InputError(
                f"A rule looks at the values of column {column!r}, which must be sensitive for that: released as "
                f"recorded and no quasi-identifier. Name it with {setting('sensitive')} and nothing else.",
                column=column,
            )
    named += [(column, Role.SENSITIVE) for column in dict.fromkeys(wanted) if column not in names]
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


def _role_of_rest(
    unique_share: UniqueShare, rest: Sequence[str], columns: Sequence[str], default_role: str, file: str
) -> Role:
    if not rest or default_role == "drop":
        return Role.DROPPED
    if default_role != "keep":
        raise InputError(
            f"Every column needs a role, but {file} has {len(rest)} without one: {listed(rest, columns)}. "
            f"Name each with {setting('quasi_identifiers')}, {setting('sensitive')}, {setting('keep')} or "
            f"{setting('drop')}, or settle them all with {setting('default_role', 'drop')}.",
            file=file,
            column=rest[0],
        )
    shares = {column: share for column in rest if (share := unique_share(column)) > UNIQUE_SHARE}
    if shares:
        found = ", ".join(f"{column!r} ({share:.1%})" for column, share in shares.items())
        raise InputError(
            f"{setting('default_role', 'keep')} would release columns whose values are unique in more than "
            f"{UNIQUE_SHARE:.0%} of the records, and could identify patients: {found}. Give each a role of its own.",
            file=file,
            column=next(iter(shares)),
        )
    return Role.KEPT
