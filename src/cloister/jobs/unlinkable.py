"""Check whether rows of two parts can be joined by their released values.

Ids are numbered in the order of the values that each part releases, so neither the ids nor the order of rows reveal
anything about another part. But two parts may have columns with the same name: someone who uses these to look for a row
of one part in the other must find no row, or at least k.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import polars as pl

from cloister.errors import name_few
from cloister.hierarchy.bound import ROOT
from cloister.io import as_text
from cloister.release.folder import read_data
from cloister.release.head import QUASI
from cloister.release.manifest import AnyManifest, rules_of

FULL_DOMAIN = "full-domain"

MOST_SETS = 4_096
"""Sets of columns that are compared, each with one count of the rows; twelve columns have so many."""

TOO_MANY = f"they agree on more than {MOST_SETS:,} sets of columns, too many to compare"


@dataclass(frozen=True)
class RowLookup:
    """The functions that compare two tables with the same columns; protection and verification have one pair each."""

    # tables with numbers in place of values, in each reading by which other rows agree
    respell: Callable[[pl.DataFrame, pl.DataFrame], Iterator[tuple[pl.DataFrame, pl.DataFrame]]]
    # why rows of two tables lead to each other by values of the same columns
    linkage_failure: Callable[[pl.DataFrame, pl.DataFrame, int, frozenset[str]], str | None]


WHOLE_HISTORIES = (
    "each releases all codes of a patient together, which fit the other's row of the same patient and few others"
)
"""For claims and generalized codes. Chunks, and trajectories that k patients share, always fit at least k patients."""


@dataclass(frozen=True)
class ReleasedPart:
    """The released columns of a part that has one row per patient."""

    frame: pl.DataFrame = field(repr=False)
    k: int  # patients that share what is known of one
    # those of the columns that are quasi-identifiers, of which k records share each combination
    generalized: frozenset[str] = frozenset()
    is_overlapping: bool = False  # whether one label of a column may hold another


def joinable(folder: Path, manifests: Mapping[str, AnyManifest], lookup: RowLookup) -> list[str]:
    """Return which parts can be joined, in sentences; empty if no row of one matches fewer than k rows of another.

    ``lookup``: how values of shared columns are compared
    """
    inside = {name: manifest for name, manifest in manifests.items() if manifest.is_in_database}
    shown = {name: shown_of(folder / name, one) for name, one in manifests.items() if name not in inside}
    there = [(name, one) for name, one in shown.items() if one is not None]
    # each row, or each patient, is released with all own codes, so that hardly two are alike
    whole = [name for name, manifest in manifests.items() if manifest.is_whole]
    histories = [f"rows of {' and '.join(whole)} can be joined: {WHOLE_HISTORIES}"] if len(whole) > 1 else []
    return (
        histories
        + _unseen(inside, manifests)
        + [
            f"rows of {own} and {other} can be joined by what both release: {why}"
            for (own, one), (other, two) in combinations(there, 2)
            for why in _why(one, two, lookup)
        ]
    )


def _unseen(inside: Mapping[str, AnyManifest], manifests: Mapping[str, AnyManifest]) -> list[str]:
    """Return the parts in a database that share a column other than ids with another part, in sentences."""
    released = {
        part: [name for name, role in one.roles().items() if role != "identifier"] for part, one in manifests.items()
    }
    return [
        f"{own} and {other} both release {name_few(both)}, and whether that joins their rows cannot be seen, as those "
        f"of {own} are in a database"
        for own in inside
        for other in manifests
        if other != own
        and (other not in inside or own < other)
        and (both := [column for column in released[own] if column in released[other]])
    ]


def _why(one: ReleasedPart, two: ReleasedPart, lookup: RowLookup) -> list[str]:
    """Return why rows of two parts can be joined, in words; empty if they cannot.

    An adversary may read two different spellings as one value, or one spelling as two values. Rows must not lead to few
    rows in any reading.
    """
    columns = [column for column in one.frame.columns if column in two.frame.columns]
    meeting = set[str]()
    for own, other in lookup.respell(one.frame.select(columns), two.frame.select(columns)):
        found = lookup.linkage_failure(own, other, max(one.k, two.k), one.generalized & two.generalized)
        if found is not None:
            return [found]
        meeting |= {name for name in columns if not {*own[name].unique()}.isdisjoint(other[name].unique())}
    return _explain_narrowing(one, two, columns, meeting)


def _explain_narrowing(one: ReleasedPart, two: ReleasedPart, columns: Sequence[str], meeting: set[str]) -> list[str]:
    """Return why labels at different levels in each part narrow classes down, in words; empty if they do not.

    Each class of both parts has at least k records, whatever labels they share. But if one part releases a shared
    column as recorded, it distinguishes the rows of a class. Labels that overlap without being equal then fit only some
    rows of a class. The columns in ``meeting`` have values in common, however they are spelled.
    """
    generalized = one.generalized | two.generalized
    # columns by which rows can be compared
    comparable = {
        column
        for column in columns
        if (
            not any(set(part.frame[column].unique()) <= {ROOT, None} for part in (one, two))
            if column in generalized
            else column in meeting
        )
    }
    as_recorded = [
        [column for column in columns if column in comparable and column not in part.generalized] for part in (one, two)
    ]
    unlike = [column for column in columns if column in generalized and not have_like_labels(one, two, column)]
    if not (unlike and any(as_recorded)):
        return []
    recorded = dict.fromkeys(as_recorded[0] + as_recorded[1])
    return [f"{name_few(recorded)}, with {name_few(unlike)} at other levels in each, which narrows them down further"]


def have_like_labels(one: ReleasedPart, two: ReleasedPart, column: str) -> bool:
    """Return whether a column's labels in two parts are nested sets of disjoint labels, or one part suppresses it."""
    if any(set(part.frame[column].unique()) <= {ROOT, None} for part in (one, two)):
        return True
    if one.is_overlapping or two.is_overlapping:
        return False
    labels = [set(part.frame[column].unique()) for part in (one, two)]
    return labels[0] <= labels[1] or labels[1] <= labels[0]


def shown_of(folder: Path, manifest: AnyManifest) -> ReleasedPart | None:
    """Return the released columns of a part; None without rows per patient, or without columns other than an id.

    For the attributes of trajectories, return only the columns that are released as recorded; for generalized code sets
    the terms of a record; for disassociated ones nothing, because their records belong to no patient.
    """
    found = manifest.one_row_a_patient()
    if found is None or not found[1]:
        return None
    file, roles = found
    frame = read_data(folder / file, manifest.settings.delimiter).select(list(roles))
    texts = pl.DataFrame([as_text(column) for column in frame])
    suppressed = pl.all_horizontal(pl.all().eq_missing(pl.lit(ROOT)))
    generalized = frozenset(column for column, role in roles.items() if role == QUASI)
    return ReleasedPart(texts.filter(~suppressed), k_of(manifest), generalized, manifest.method != FULL_DOMAIN)


def k_of(manifest: AnyManifest) -> int:
    """Return the smallest number of patients who share the known values of a patient."""
    return max([2, *(int(rule["k"]) for rule in rules_of(manifest) if "k" in rule)])
