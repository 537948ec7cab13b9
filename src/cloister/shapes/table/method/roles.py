"""The roles of columns. A column without a role is undecided, and a table with such a column is not released."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from cloister.errors import MOST_NAMED, InputError, Message, UndecidedColumns, did_you_mean, name_few, setting
from cloister.io.columns import check_columns, list_columns
from cloister.shapes.table.format.options import DECISIONS, QUASI_IDENTIFIER

from .data import QuasiIdentifier, Role, TableRequest

UNIQUE_SHARE = 0.05
"""A column kept in bulk must not be unique in more than this share of the records, unless it is accepted."""

UniqueShare = Callable[[str], float]  # share of the records whose value in a column no other record has


def find_undecided(columns: Iterable[str], request: TableRequest, others: Collection[str] = ()) -> list[str]:
    """Return the columns without a role, in their order.

    ``others``: columns that have a role of another kind, such as one of codes
    """
    named: set[str | None] = {*request.quasi_identifiers, *request.drop, *request.sensitive, *request.keep, *others}
    named |= {request.id, request.patient, *(rule.about for rule in request.rules)}
    return [column for column in columns if column not in named]


def decide_columns(
    request: TableRequest,
    columns: Sequence[str],
    file: str,
    propose: Callable[[str], QuasiIdentifier] | None = None,
    others: Collection[str] = (),
) -> TableRequest:
    """Give undecided columns the roles in ``undecided``: one for all of them, or one for a column.

    Parameters
    ----------
    propose : makes a quasi-identifier of a column; None where the values of the columns are not known
    others : see `find_undecided`
    """
    for_all, by_column = _parse_decisions(request.undecided, columns, file)
    decided: dict[str, list[str]] = {word: [] for word in DECISIONS}
    for column in find_undecided(columns, request, others):
        if word := by_column.get(column, for_all):
            decided[word].append(column)
    found = {role: (*getattr(request, role), *decided[role]) for role in ("drop", "sensitive", "keep")}
    if decided[QUASI_IDENTIFIER] and propose is None:
        raise InputError(
            setting("undecided", [QUASI_IDENTIFIER]),
            " chooses hierarchies by the values of the columns, which are known where a table is read into "
            "memory. Name each column with ",
            setting("qi"),
            ", or give ",
            setting("engine", "memory"),
        )
    proposed = {column: propose(column) for column in decided[QUASI_IDENTIFIER]} if propose is not None else {}
    return replace(
        request,
        **found,  # type: ignore[arg-type]
        quasi_identifiers={**request.quasi_identifiers, **proposed},
        kept_by_default=(*request.kept_by_default, *decided["keep"]),
    )


def _parse_decisions(words: Sequence[str], columns: Sequence[str], file: str) -> tuple[str | None, dict[str, str]]:
    """Split the words of ``undecided`` into the one for all columns, the last of several, and those for one each."""
    for_all, by_column = None, {}
    for word in words:
        column, equals, role = word.rpartition("=")
        if role not in DECISIONS:
            raise InputError(
                setting("undecided"),
                f" must be {', '.join(DECISIONS)}, or COLUMN=ROLE, not {role!r}.{did_you_mean(role, DECISIONS)}",
            )
        if equals:
            check_columns([column], columns, file)
            by_column[column] = role
        else:
            for_all = role
    return for_all, by_column


def resolve_roles(
    columns: Sequence[str], request: TableRequest, file: str, unique_share: UniqueShare
) -> dict[str, Role]:
    """Return the role of every column, in the order of the file.

    ``unique_share``: called for columns that are kept because nobody named them

    Raises
    ------
    UndecidedColumns
        A column has no role.
    """
    request = decide_columns(request, columns, file)
    roles = check_named(columns, request, file)
    refuse_undecided([column for column in columns if column not in roles], columns, request, file)
    _check_kept([one for one in request.kept_by_default if one not in request.accept], unique_share, file)
    return {column: roles[column] for column in columns}


def check_named(columns: Sequence[str], request: TableRequest, file: str) -> dict[str, Role]:
    """Return the roles of the columns that have one; reject unknown columns and columns with two roles."""
    by_role = {
        Role.QUASI_IDENTIFIER: request.quasi_identifiers,
        Role.DROPPED: request.drop,
        Role.SENSITIVE: request.sensitive,
        Role.KEPT: request.keep,
        Role.IDENTIFIER: () if request.id is None else (request.id,),
    }
    named = [(column, role) for role, columns_of_role in by_role.items() for column in columns_of_role]
    names = [column for column, _ in named]
    check_columns([*names, *request.accept], columns, file)
    # A column that a rule looks at is sensitive unless someone gave it another role.
    wanted = [rule.about for rule in request.rules if rule is not request.patients and rule.about is not None]
    check_columns(wanted, columns, file)
    for column in wanted:
        if column in names and column not in request.sensitive:
            raise InputError(
                f"A rule looks at the values of column {column!r}, which must be sensitive for that: released as "
                "recorded and no quasi-identifier. Name it with ",
                setting("sensitive"),
                " and nothing else.",
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
    return roles


def accept_columns(columns: Sequence[str]) -> Message:
    """Return the setting that accepts these columns, at most five, with the number of further ones."""
    more = f" and {len(columns) - MOST_NAMED:,} more" if len(columns) > MOST_NAMED else ""
    return Message(setting("accept", [*columns[:MOST_NAMED]]), more)


NO_QUASI_IDENTIFIER = Message(
    "No quasi-identifier was named. Name them with ",
    setting("qi"),
    " or give a folder with ",
    setting("hierarchies"),
    ".",
)


def refuse_undecided(
    undecided: Sequence[str],
    columns: Sequence[str],
    request: TableRequest,
    file: str,
    evidence: Mapping[str, str] | None = None,
) -> None:
    """Reject a table with undecided columns or without a quasi-identifier, and state the options that help.

    ``evidence``: what was found in each undecided column, in words without values
    """
    no_quasi_identifier = "" if request.quasi_identifiers else "No quasi-identifier was named. "
    if not undecided and request.quasi_identifiers:
        return
    if not undecided:
        raise InputError(NO_QUASI_IDENTIFIER)
    n = len(undecided)
    are = f"1 column of {file} is" if n == 1 else f"{n:,} columns of {file} are"
    roles = Message(setting("qi"), ", ", setting("sensitive"), ", ", setting("keep"), " or ", setting("drop"))
    raise UndecidedColumns(
        f"{no_quasi_identifier}{are} undecided, so nothing is released: {list_columns(undecided, columns)}. "
        "Could someone outside know the value of a patient? Give each a role with ",
        roles,
        ", or decide all of them at once: ",
        setting("undecided", ["drop"]),
        f" (or sensitive, keep, {QUASI_IDENTIFIER}).",
        file=file,
        column=undecided[0],
        columns=undecided,
        evidence=evidence or {},
    )


def _check_kept(kept: Sequence[str], unique_share: UniqueShare, file: str) -> None:
    shares = {column: share for column in kept if (share := unique_share(column)) > UNIQUE_SHARE}
    if shares:
        found = name_few(f"{column!r} ({share:.1%})" for column, share in shares.items())
        raise InputError(
            setting("undecided", ["keep"]),
            f" would release columns whose values are unique in more than {UNIQUE_SHARE:.0%} of the records, and "
            f"could identify patients: {found}. Give each another role, or release it all the same with ",
            accept_columns([*shares]),
            ".",
            file=file,
            column=next(iter(shares)),
            columns=[*shares],
        )
