"""Whether the roles, hierarchies and derived columns of a plan fit together."""

from collections.abc import Iterator

from cloister.errors import InputError, did_you_mean

from .ladders import hierarchy_named, split_bounds
from .plan import NEVER_RELEASED, PSEUDONYMS, SEVERAL, ClaimsPlan, ClaimsTablePlan, PatientsPlan

Section = PatientsPlan | ClaimsTablePlan
FREE = frozenset({*NEVER_RELEASED, *PSEUDONYMS, "id", "keep", "drop"})
"""Roles of columns that need no hierarchy."""

CODES = {"diagnosis": "diagnosis", "procedure": "procedure"}
GROUPS = {"diagnosis-group": "diagnosis", "procedure-group": "procedure", "place": "place", "specialty": "specialty"}
"""Hierarchies that begin at codes, and that begin at groups, with the role whose columns they are for."""

CODED = frozenset({"diagnosis", "diagnoses", "procedure", "procedures", "place", "specialty", "sex", *PSEUDONYMS})
"""Roles whose values are codes, names or ids, whatever they look like."""

UNJOINED = (
    "ids.patients cannot be drop: the id is all that says whose claims are whose, and without it the files fall apart. "
    "Take number, which says nothing of a patient, or hmac:KEYFILE."
)


def misfits(plan: ClaimsPlan) -> Iterator[str]:
    """Sentences about what does not fit, none if all does; keys and names of columns only."""
    for table, section in (("patients", plan.patients), ("claims", plan.claims)):
        yield from _roles(table, section)
        yield from _quasi_identifiers(table, section)
    if not plan.claims.qi:
        yield "claims.qi needs at least one quasi-identifier."
    yield from _grouping(plan)
    yield from _hierarchies(plan)
    yield from _top_coding(plan)
    yield from _weights(plan)
    if plan.ids.patients == "drop":
        yield UNJOINED


def _roles(table: str, section: Section) -> Iterator[str]:
    given = [str(role) for role in section.roles.values()]
    for role in sorted({role for role in given if role not in SEVERAL and given.count(role) > 1}):
        yield f"only one column of {table} can have the role {role}."
    if "id" not in given:
        yield f"a column of {table} needs the role id, to join the two files."
    read = {column for column, role in section.roles.items() if role != "drop"}
    for column in sorted(read.intersection(section.derived)):
        yield f"{table} has a column {column} already. Take it out of {table}.derived, or drop it."


def _quasi_identifiers(table: str, section: Section) -> Iterator[str]:
    """Every column that is released and neither an id nor kept has a hierarchy, and no other has one."""
    needed = {column for column, role in section.roles.items() if role not in FREE}
    needed |= {*section.derived}
    for column in section.qi:
        if column not in needed:
            hint = did_you_mean(column, needed)
            yield f"{table}.qi.{column} is no quasi-identifier by its role and no derived column.{hint}"
    for column in sorted(needed - section.qi.keys()):
        yield (
            f"column {column!r} of {table} is a quasi-identifier, but {table}.qi names no hierarchy for it. Name one, "
            'as "suppress", or give it the role keep or drop (what is derived: take it out of derived).'
        )


def _grouping(plan: ClaimsPlan) -> Iterator[str]:
    """Hierarchies that begin at groups are for columns that were grouped, those that begin at codes for others."""
    for column, hierarchy in plan.claims.qi.items():
        word, _ = split_bounds(hierarchy)
        role = plan.claims.roles.get(column)
        grouped = role in plan.grouping.columns
        if word in CODES and (grouped or role != CODES[word]):
            yield (
                f"claims.qi.{column}: the hierarchy {word} begins at codes of a column with the role {CODES[word]}. "
                f'Take the role out of grouping.columns, or name "{word}-group".'
            )
        if word in GROUPS and (not grouped or role != GROUPS[word]):
            yield (
                f"claims.qi.{column}: the hierarchy {word} begins at groups. Put the role {GROUPS[word]} into "
                "grouping.columns, or name another hierarchy."
            )


def _hierarchies(plan: ClaimsPlan) -> Iterator[str]:
    for table, qi in (("patients", plan.patients.qi), ("claims", plan.claims.qi)):
        for column, words in qi.items():
            try:
                hierarchy_named(words, plan.grouping.tables)
            except InputError as error:
                yield f"{table}.qi.{column}: {error.message}"


def _top_coding(plan: ClaimsPlan) -> Iterator[str]:
    """Large numbers get one label; codes are no numbers, though many look like one."""
    for coding in plan.top_coding:
        for section in (plan.claims, plan.patients):
            role = section.roles.get(coding.column)
            if role in CODED:
                yield f"top_coding: column {coding.column!r} has the role {role}, and codes are not numbers to be cut."


def _weights(plan: ClaimsPlan) -> Iterator[str]:
    known = [*plan.patients.qi, *plan.claims.qi]
    for column in plan.weights:
        if column not in known:
            hint = did_you_mean(column, known)
            yield f"weights.{column} is no quasi-identifier, and only what they lose is weighed.{hint}"
