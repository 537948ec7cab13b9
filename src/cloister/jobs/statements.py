"""The joint guarantee of a job's parts as SQL: ``verify.sql`` in its folder checks it from the released files.

Each part has a script of its own. Values that are written in another way in each part, and labels at other levels, are
compared by `cloister verify` alone (`unlinkable`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cloister.release.head import MANIFEST, QUASI
from cloister.release.manifest import AnyManifest
from cloister.verification.script import Script, names_in_sql

from .unlinkable import k_of

TEMPLATE = "jobs/verify.sql.j2"

FOLDER = "jobs"
"""Where the template is: no released column has a name of its views in SQL."""

MOST_COLUMNS = 8
"""Columns that two parts have in common; all sets of so many are counted at once, and of more none."""


@dataclass(frozen=True)
class ShownPart:
    """The file of a part with one row per patient, by path in the folder of the job.

    ``names``: of all its columns in SQL; ``columns``: the same of those that could lead to another part
    """

    name: str
    file: str
    delimiter: str
    names: Mapping[str, str]
    columns: Mapping[str, str]
    quasi_identifiers: frozenset[str]
    k: int


@dataclass(frozen=True)
class ComparedParts:
    """Two parts, by number, with their shared columns, and the number of rows that each value must match.

    ``linking``: places of those that are not quasi-identifiers of both; k records share each value of all others.
    """

    one: int
    two: int
    names: tuple[str, str]
    both: tuple[str, ...]
    linking: tuple[int, ...]
    k: int


def script_of(parts: Mapping[str, AnyManifest]) -> Script | None:
    """Return the script that checks the parts together; None for a single part."""
    return None if len(parts) < 2 else script_of_shown(list(parts), _list_shown_parts(parts))


def script_of_shown(parts: Sequence[str], shown: Sequence[ShownPart]) -> Script:
    """Return the script for parts with these names, given the files that contain one row per patient."""
    pairs = _list_compared_pairs(shown)
    read = {number for pair in pairs for number in (pair.one, pair.two)}
    facts = {"parts": parts, "shown": shown, "read": read, "pairs": pairs, "most_columns": MOST_COLUMNS}
    return Script(TEMPLATE, facts)


def files_read(parts: Mapping[str, AnyManifest]) -> list[str]:
    """Return the files that the script reads, by their paths in the folder of the job."""
    return [MANIFEST, *(f"{name}/{MANIFEST}" for name in parts), *(one.file for one in _list_shown_parts(parts))]


def _list_shown_parts(parts: Mapping[str, AnyManifest]) -> list[ShownPart]:
    """Return the files of parts with one row per patient in their folder."""
    found = []
    for name, manifest in parts.items():
        rows = None if manifest.is_in_database else manifest.one_row_a_patient()
        if rows is None or not rows[1]:
            continue
        file, roles = rows
        columns = next(spec.columns for spec in manifest.file_specs() if spec.name == file)
        names, quasi = names_in_sql(columns or (), FOLDER), (name for name, role in roles.items() if role == QUASI)
        own = {column: names[column] for column in roles}
        delimiter = manifest.settings.delimiter
        found.append(ShownPart(name, f"{name}/{file}", delimiter, names, own, frozenset(quasi), k_of(manifest)))
    return found


def _list_compared_pairs(shown: Sequence[ShownPart]) -> list[ComparedParts]:
    """Return the pairs of parts with shared columns that could link rows to small groups."""
    found = []
    for (own, one), (other, two) in combinations(enumerate(shown, start=1), 2):
        both = tuple(column for column in one.columns if column in two.columns)
        exempt = one.quasi_identifiers & two.quasi_identifiers
        linking = tuple(place for place, column in enumerate(both, start=1) if column not in exempt)
        if linking:
            found.append(ComparedParts(own, other, (one.name, two.name), both, linking, max(one.k, two.k)))
    return found
