"""Groups of codes and names, and the exclusion list of high-risk patients: the tables of `groups/`.

References
----------
El Emam et al. (2012), "De-identification methods for open health data: the case of the Heritage Health Prize claims
dataset", JMIR 14(1):e33, appendix, sections 2 and 7 to 10. What is ours in the tables is listed in `groups/README.md`.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from cloister.errors import InputError
from cloister.io.csv import load_text

OTHER = "OTHER"
RANGED = ("diagnosis", "procedure")
NAMED = ("place", "specialty")
ANY = "?"


class CodeRange(NamedTuple):
    """All codes whose first characters lie from ``first`` to ``last``, which are equally long; empty: all codes.

    A ``?`` in ``first`` matches any character.
    """

    name: str
    first: str
    last: str

    def holds(self, code: str) -> bool:
        """Return whether a code, upper case and without dot, is in the range."""
        if len(code) < len(self.first):
            return False
        if ANY not in self.first:
            return self.first <= code[: len(self.first)] <= self.last
        fixed = [place for place, character in enumerate(self.first) if character != ANY]
        first, here, last = ([text[place] for place in fixed] for text in (self.first, code, self.last))
        return first <= here <= last

    @property
    def width(self) -> int:
        """The number of code prefixes in the range."""
        digits = [int("".join(filter(str.isdecimal, end)) or 0) for end in (self.first, self.last)]
        return digits[1] - digits[0] + 1


@dataclass(frozen=True, eq=False)
class CodeGroups:
    """Groups of codes by ranges, in order of precedence; with a cache of results by code."""

    ranges: tuple[CodeRange, ...] = field(repr=False)
    known: dict[str, str] = field(default_factory=dict, repr=False)

    def group(self, text: str) -> str:
        """Return the group of a code, `OTHER` if no range contains it.

        Examples
        --------
        >>> [shipped_groups("diagnosis").group(code) for code in ("786.5", "786.2", "291", "E950.1")]
        ['ROAMI', 'RESPR4', 'ODaBNCA', 'MSC2a3']
        """
        code = plain(text)
        if code not in self.known:
            self.known[code] = next((found.name for found in self.ranges if found.holds(code)), OTHER)
        return self.known[code]


@dataclass(frozen=True)
class NameGroups:
    """Groups of names, or of codes with their names; compared without case and punctuation."""

    group_of: Mapping[str, str] = field(repr=False)

    def group(self, text: str) -> str:
        """Return the group of a name or code, `OTHER` if it is unknown."""
        return self.group_of.get(words(text), OTHER)


Groups = CodeGroups | NameGroups


def plain(code: str) -> str:
    """Return a code in upper case, without dot and spaces."""
    return code.strip().upper().replace(".", "")


def words(name: str) -> str:
    """Return a name in lower case with single spaces for all but letters and digits; `7` and `007` become `07`."""
    plain_words = " ".join(re.findall(r"[0-9a-z]+", name.lower()))
    return (plain_words.lstrip("0") or "0").zfill(2) if plain_words.isdigit() else plain_words


def groups_of(role: str, tables: Mapping[str, str] | None = None) -> Groups:
    """Return the groups of ``diagnosis``, ``procedure``, ``place`` or ``specialty``: of the named file, else ours."""
    file = (tables or {}).get(role)
    if file is None:
        return shipped_groups(role)
    return _make_table(role, _read_csv(Path(file), ("group", "first", "last") if role in RANGED else ("group", "name")))


@lru_cache(maxsize=4)
def shipped_groups(role: str) -> Groups:
    """Return our groups of a role, read once."""
    return _make_table(role, list(_read_shipped(f"{role}.csv")))


def _make_table(role: str, rows: Sequence[Mapping[str, str]]) -> Groups:
    if role in RANGED:
        ranges = [CodeRange(row["group"], plain(row["first"]), plain(row["last"] or row["first"])) for row in rows]
        return CodeGroups(tuple(sorted(ranges, key=lambda found: (-len(found.first), found.width))))
    group_of: dict[str, str] = {}
    for row in rows:
        for text in (row.get("code", ""), row["name"]):
            if words(text):
                group_of.setdefault(words(text), row["group"])
    return NameGroups(group_of)


@lru_cache(maxsize=1)
def coarser_groups() -> dict[tuple[str, str], str]:
    """Return the level above each group, by role and group: organ system, surgery or other ..."""
    return {(row["kind"], row["group"]): row["coarser"] for row in _read_shipped("coarser.csv")}


class ExclusionRule(NamedTuple):
    """A rule for high-risk patients: a code of some kind (diagnosis, procedure, place) in a range.

    ``coding`` says of which coding diagnoses must be, `icd9` or `icd10`; None: of any.
    """

    kind: str
    range: CodeRange
    coding: str | None = None


@lru_cache(maxsize=1)
def shipped_exclusions() -> tuple[ExclusionRule, ...]:
    """Return the shipped list."""
    return _exclusions(_read_shipped("exclusions.csv"))


def exclusion_rules() -> tuple[str, ...]:
    """Return the names of the rules of the shipped list."""
    return tuple(dict.fromkeys(rule.range.name for rule in shipped_exclusions()))


def read_exclusions(file: str) -> tuple[ExclusionRule, ...]:
    """Read a list from CSV with the columns rule, kind, first, last (empty for a single code).

    A column ``coding``, if there is one, says of a diagnosis that `icd9` or `icd10` is meant; without, both are.
    """
    path = Path(file)
    rows = _read_csv(path, ("rule", "kind", "first"))
    for number, row in enumerate(rows, start=1):
        first, last = plain(row["first"]), plain(row.get("last") or row["first"])
        known = row["kind"] in ("diagnosis", "procedure", "place") and row.get("coding", "") in ("", "icd9", "icd10")
        if not known or not first or len(first) != len(last):
            raise InputError(
                f"{path.name}: record {number} is no rule. It needs a kind (diagnosis, procedure or place), the "
                "first and last beginnings of codes, equally long, and of a coding, if any, icd9 or icd10.",
                file=path.name,
                row=number,
            )
    return _exclusions(rows)


def _exclusions(rows: Iterable[Mapping[str, str]]) -> tuple[ExclusionRule, ...]:
    found = []
    for row in rows:
        codes = CodeRange(row["rule"], plain(row["first"]), plain(row.get("last") or row["first"]))
        found.append(ExclusionRule(row["kind"], codes, (row["kind"] == "diagnosis" and row.get("coding")) or None))
    return tuple(found)


@lru_cache(maxsize=1)
def place_codes() -> dict[str, str]:
    """Return the code of each place of service by its name, as `words` writes it."""
    return {words(row["name"]): row["code"] for row in _read_shipped("place.csv") if row["code"]}


def _read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    reader = csv.DictReader(load_text(path).data.decode().splitlines(), restval="")
    missing = [column for column in columns if column not in (reader.fieldnames or ())]
    if missing:
        raise InputError(f"{path.name} has no column {missing[0]!r}. It needs {', '.join(columns)}.", file=path.name)
    return [{key: value or "" for key, value in row.items() if isinstance(key, str)} for row in reader]


def _read_shipped(name: str) -> Iterable[dict[str, str]]:
    from importlib.resources import files  # slow to import, and only claims need it

    text = files("cloister.shapes.claims.format").joinpath("groups", name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())
