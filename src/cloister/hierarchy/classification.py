"""A disease classification as ranges: which section and chapter a category belongs to, and how many codes it holds."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

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
    """The tables of one classification.

    Attributes
    ----------
    spelling : how a code is written
    sections, chapters : label by category, for every category there is
    codes : number of codes, headings included, by category and by 4-digit prefix without dot; a prefix that is not
        listed stands for one code
    """

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
