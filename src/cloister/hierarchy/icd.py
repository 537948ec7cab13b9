"""ICD-9-CM and ICD-10-CM: their sections and chapters as ranges of categories, and the hierarchies made of them."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from cloister.hierarchy.bound import BoundHierarchy, make_ladder, require_cover, texts_in_order

SPELLINGS = {
    "icd9": re.compile(r"([0-9]{3}|V[0-9]{2}|E[0-9]{3})\.?([0-9]{0,2})"),
    "icd10": re.compile(r"([A-Z][0-9A-Z]{2})\.?([0-9A-Z]{0,4})"),
}
"""How a code is written: its category, a dot that may be left out, the rest."""


class CodePath(NamedTuple):
    """The names of one code from fine to coarse, the code as recorded and the root left out."""

    four_digits: str
    category: str
    section: str
    chapter: str


class Range(NamedTuple):
    """Categories from ``first`` to ``last``, compared as text, under one title."""

    first: str
    last: str
    title: str

    @property
    def label(self) -> str:
        """The range and its title: `001-009 Intestinal infectious diseases`."""
        span = self.first if self.first == self.last else f"{self.first}-{self.last}"
        return f"{span} {self.title}"


@dataclass(frozen=True)
class Classification:
    """The tables of one classification."""

    spelling: re.Pattern[str]
    sections: Mapping[str, str]
    chapters: Mapping[str, str]
    codes: Mapping[str, int]

    @property
    def n_codes(self) -> int:
        """Codes of the whole classification."""
        return sum(self.codes[category] for category in self.chapters)

    def path(self, text: str) -> CodePath | None:
        """Return the names of a code, with or without dot, in either case; None if its category is not known."""
        match = self.spelling.fullmatch(text.strip().upper())
        if match is None or match.group(1) not in self.chapters:
            return None
        category, rest = match.groups()
        four_digits = f"{category}.{rest[0]}" if rest else category
        return CodePath(four_digits, category, self.sections[category], self.chapters[category])

    def codes_under(self, four_digits: str) -> int:
        """Return the codes that a 4-digit label covers; a category recorded alone covers itself."""
        return self.codes.get(four_digits.replace(".", ""), 1) if "." in four_digits else 1

    def codes_by(self, labels: Mapping[str, str]) -> Counter[str]:
        """Return the codes under each section or chapter."""
        totals: Counter[str] = Counter()
        for category, label in labels.items():
            totals[label] += self.codes[category]
        return totals


@lru_cache(maxsize=2)
def load_classification(kind: str) -> Classification:
    """Return the tables of `icd9` or `icd10`, read once."""
    spelling = SPELLINGS[kind]
    codes = {row["prefix"]: int(row["codes"]) for row in _read(f"{kind}_counts.csv")}
    categories = [prefix for prefix in codes if (match := spelling.fullmatch(prefix)) and not match.group(2)]
    ranges = list(_read(f"{kind}_ranges.csv"))
    by_level = {
        level: [Range(row["first"], row["last"], row["title"]) for row in ranges if row["level"] == level]
        for level in ("section", "chapter")
    }
    return Classification(
        spelling,
        {category: _range_of(category, by_level["section"]).label for category in categories},
        {category: _range_of(category, by_level["chapter"]).label for category in categories},
        codes,
    )


def _range_of(category: str, ranges: list[Range]) -> Range:
    """Return the range that holds the category and starts last: the innermost where they overlap."""
    return max(found for found in ranges if found.first <= category <= found.last)


def _read(name: str) -> Iterable[dict[str, str]]:
    from importlib.resources import files  # slow to import, and only these two builders need it

    text = files("cloister.hierarchy").joinpath("data", name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())


@dataclass(frozen=True)
class IcdHierarchy:
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

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that do not belong to a category of the classification."""
        tables = load_classification(self.kind)
        return [value for value in values if value is not None and tables.path(value) is None]

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the ladder of these distinct values."""
        tables = load_classification(self.kind)
        texts, missing = texts_in_order(values)
        paths = [path for text in texts if (path := tables.path(text)) is not None]
        require_cover(
            column,
            len(texts) - len(paths),
            len(texts),
            f"are not codes of a category of {self.name}",
            f"Write them as in {self.example} (leading zeros kept), or use prefix or a hierarchy file.",
        )
        labels = list(zip(*paths, strict=True)) or [()] * len(CodePath._fields)
        covered, surplus = _covered(tables, paths)
        leaves = [
            np.fromiter((counts[label] for label in level), dtype=np.int64, count=len(level))
            for level, counts in zip(labels, covered, strict=True)
        ]
        return make_ladder(column, texts, missing, labels, leaves, tables.n_codes + sum(surplus.values()))


def _covered(tables: Classification, paths: Sequence[CodePath]) -> tuple[list[dict[str, int]], dict[str, int]]:
    """Return the leaves of each label present, level by level, and how many each category has beyond the tables."""
    present = Counter(path.four_digits for path in paths)
    four_digits = {label: max(tables.codes_under(label), found) for label, found in present.items()}
    parents = {path.four_digits: path.category for path in paths}
    below = _sums(four_digits, parents)
    category = {label: max(tables.codes[label], found) for label, found in below.items()}
    surplus = {label: found - tables.codes[label] for label, found in category.items()}
    higher = [_with_surplus(tables, surplus, labels) for labels in (tables.sections, tables.chapters)]
    return [four_digits, category, *higher], surplus


def _with_surplus(tables: Classification, surplus: Mapping[str, int], labels: Mapping[str, str]) -> dict[str, int]:
    """Return the codes of the sections or chapters present, with what their categories have beyond the tables."""
    codes = tables.codes_by(labels)
    return {label: codes[label] + extra for label, extra in _sums(surplus, labels).items()}


def _sums(counts: Mapping[str, int], parents: Mapping[str, str]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for label, count in counts.items():
        sums[parents[label]] = sums.get(parents[label], 0) + count
    return sums


def icd9() -> IcdHierarchy:
    """Return the hierarchy of ICD-9-CM: code as recorded, 4 digits, 3-digit category, section, chapter, `*`.

    Numeric categories have three digits (`250`), V codes a letter and two (`V58`), E codes a letter and three (`E936`);
    "4 digits" is the category and one digit more (`250.0`, `V58.6`, `E936.1`). Titles are those of the final edition
    (2015). Leading zeros belong to a code: `8` is outside, `008` is a category.

    Examples
    --------
    >>> ladder = icd9().bind("code", ["250.01"])
    >>> [level[0] for level in ladder.labels][1:4]
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
    >>> ladder = icd10().bind("code", ["E1165"])
    >>> [level[0] for level in ladder.labels][1:4]
    ['E11.6', 'E11', 'E08-E13 Diabetes mellitus']
    """
    return IcdHierarchy("icd10", "ICD-10-CM", "E11.65, I10, S72.001A")
