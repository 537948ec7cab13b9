"""ICD-9-CM and ICD-10-CM: their sections and chapters as ranges of categories, and their hierarchies."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from cloister.hierarchy.bound import BuiltHierarchy, Levels

SPELLINGS = {
    "icd9": re.compile(r"([0-9]{3}|V[0-9]{2}|E[0-9]{3})\.?([0-9]{0,2})"),
    "icd10": re.compile(r"([A-Z][0-9A-Z]{2})\.?([0-9A-Z]{0,4})"),
}
"""How a code is written: its category, a dot that may be omitted, the rest."""


class CodePath(NamedTuple):
    """The labels of one code from fine to coarse, between the recorded code and the root."""

    four_digits: str
    category: str
    section: str
    chapter: str


@dataclass(frozen=True)
class Classification:
    """The tables of a classification."""

    spelling: re.Pattern[str]
    sections: Mapping[str, str]
    chapters: Mapping[str, str]
    codes: Mapping[str, int]

    def path(self, text: str) -> CodePath | None:
        """Return the labels of a code, with or without dot, in either case; None if its category is unknown."""
        match = self.spelling.fullmatch(text.strip().upper())
        if match is None or match.group(1) not in self.chapters:
            return None
        category, rest = match.groups()
        four_digits = f"{category}.{rest[0]}" if rest else category
        return CodePath(four_digits, category, self.sections[category], self.chapters[category])


@lru_cache(maxsize=2)
def load_classification(kind: str) -> Classification:
    """Return the tables of `icd9` or `icd10`; they are read once."""
    spelling = SPELLINGS[kind]
    codes = {row["prefix"]: int(row["codes"]) for row in _read(f"{kind}_counts.csv")}
    categories = [prefix for prefix in codes if (match := spelling.fullmatch(prefix)) and not match.group(2)]
    ranges = list(_read(f"{kind}_ranges.csv"))
    by_level: dict[str, dict[str, str]] = {}
    for level in ("section", "chapter"):
        found = [(row["first"], row["last"], row["title"]) for row in ranges if row["level"] == level]
        by_level[level] = {}
        for category in categories:
            # The range that starts last holds a category: the innermost where they overlap.
            first, last, title = max(one for one in found if one[0] <= category <= one[1])
            by_level[level][category] = f"{first if first == last else f'{first}-{last}'} {title}"
    return Classification(spelling, by_level["section"], by_level["chapter"], codes)


def _read(name: str) -> Iterable[dict[str, str]]:
    from importlib.resources import files  # slow to import, and only these two builders need it

    text = files("cloister.hierarchy").joinpath("data", name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())


@dataclass(frozen=True)
class IcdHierarchy(BuiltHierarchy[CodePath]):
    """Six levels of diagnosis codes: as recorded, 4 digits, category, section, chapter, `*`.

    Codes are read with or without dot, in either case, with spaces around; level 0 keeps what was recorded, the other
    levels are written one way. A code recorded as a bare category is its own label at the 4-digit level, apart from the
    codes under it. Digits after the category are not checked against the list of codes: editions differ, and only
    ranges and counts are kept (see ``data/README.md``). A category that no edition has is outside.

    The domain is the codes of the classification, headings included, because data record headings too. Where more
    distinct values than codes fall under one label (several spellings of a code, codes of another edition), each value
    beyond counts as one more leaf, there and in all labels above: leaves always add up.
    """

    kind: str
    name: str
    example: str

    @property
    def spec(self) -> str:
        """As on the command line: `icd9` or `icd10`."""
        return self.kind

    @property
    def categories(self) -> tuple[str, ...]:
        """Return every category of the classification."""
        return tuple(load_classification(self.kind).chapters)

    def _read(self, text: str) -> CodePath | None:
        return load_classification(self.kind).path(text)

    def _refusal(self, _: Sequence[str]) -> tuple[str, str]:
        advice = f"Write them as in {self.example} (leading zeros kept), or use prefix or a hierarchy file."
        return f"are not codes of a category of {self.name}", advice

    def _levels(self, texts: Sequence[str], read: Sequence[CodePath]) -> Levels:  # noqa: ARG002 - of the base class
        # A label covers at least the values that are present.
        tables = load_classification(self.kind)
        labels: Sequence[Sequence[str]] = list(zip(*read, strict=True)) or [()] * len(CodePath._fields)
        # A category recorded alone covers itself at the level of 4 digits.
        present = Counter(path.four_digits for path in read)
        four_digits = {
            label: max(tables.codes.get(label.replace(".", ""), 1) if "." in label else 1, found)
            for label, found in present.items()
        }
        below = _sums(four_digits, {path.four_digits: path.category for path in read})
        category = {label: max(tables.codes[label], found) for label, found in below.items()}
        surplus = {label: found - tables.codes[label] for label, found in category.items()}
        covered = [four_digits, category]
        codes = {label: tables.codes[label] for label in tables.chapters}
        for parents in (tables.sections, tables.chapters):
            whole = _sums(codes, parents)
            covered.append({label: whole[label] + extra for label, extra in _sums(surplus, parents).items()})
        leaves = [
            np.fromiter((counts[label] for label in level), dtype=np.int64, count=len(level))
            for level, counts in zip(labels, covered, strict=True)
        ]
        return labels, leaves, sum(codes.values()) + sum(surplus.values())


def _sums(counts: Mapping[str, int], parents: Mapping[str, str]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for label, count in counts.items():
        sums[parents[label]] += count
    return sums


def icd9() -> IcdHierarchy:
    """Return the hierarchy of ICD-9-CM: code as recorded, 4 digits, 3-digit category, section, chapter, `*`.

    Numeric categories have three digits (`250`), V codes a letter and two (`V58`), E codes a letter and three (`E936`);
    "4 digits" is the category and one digit more (`250.0`, `V58.6`, `E936.1`). Titles are those of the final edition
    (2015). Leading zeros belong to a code: `8` is outside, `008` is a category.

    Examples
    --------
    >>> bound = icd9().bind("code", ["250.01"])
    >>> [level[0] for level in bound.labels][1:4]
    ['250.0', '250', '249-259 Diseases of other endocrine glands']
    """
    return IcdHierarchy("icd9", "ICD-9-CM", "250.01, V58.66, E936.1")


def icd10() -> IcdHierarchy:
    """Return the hierarchy of ICD-10-CM: code as recorded, 4 characters, 3-character category, section, chapter, `*`.

    "4 digits" is the category and one character more (`E11.6` for `E11.65`). Titles are those of the April 2026 list;
    the categories those of 2019 and of 2026. A section is the innermost block of the tabular list. National editions
    other than ICD-10-CM have categories that are outside.

    Examples
    --------
    >>> bound = icd10().bind("code", ["E1165"])
    >>> [level[0] for level in bound.labels][1:4]
    ['E11.6', 'E11', 'E08-E13 Diabetes mellitus']
    """
    return IcdHierarchy("icd10", "ICD-10-CM", "E11.65, I10, S72.001A")
