"""The glossary of the documentation as a page, and its terms as links."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup, escape

FILE = "glossary.md"
ROW = re.compile(r"\| (\*\*([^*]+)\*\*[^|]*) \| ([^|]+) \| ([^|]+) \|")
MARKS = re.compile(r"\*\*|`|\[([^]]*)\]\([^)]*\)")
EVERYDAY = frozenset({"target", "part", "term", "claim", "profile", "engine", "flag", "evidence", "bound", "closed"})
"""Terms that are words of everyday English as well: they are no links."""


@dataclass(frozen=True)
class Term:
    """A term, its meaning, and its source."""

    name: str
    meaning: str
    source: str

    @property
    def anchor(self) -> str:
        """The anchor on the page."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@cache
def sections() -> Mapping[str, list[Term]]:
    """Return the terms by their headings."""
    packaged = files("cloister.web").joinpath(FILE)
    # A checkout has the file only in its documentation; an installed package has it next to this module.
    file = packaged if packaged.is_file() else Path(__file__).parents[3] / "docs" / FILE
    found: dict[str, list[Term]] = {}
    for block in file.read_text(encoding="utf-8").split("\n## ")[1:]:
        terms = [Term(*(MARKS.sub(r"\1", row[place]).strip() for place in (1, 3, 4))) for row in ROW.finditer(block)]
        found |= {block.partition("\n")[0]: terms} if terms else {}
    return found


@cache
def _pattern() -> tuple[re.Pattern[str], Mapping[str, Term]]:
    """What finds terms in a text, and the term of each name."""
    every = (one for terms in sections().values() for one in terms)
    named = ((name, one) for one in every for name in re.split(r", (?![^(]*\))", one.name.lower()))
    by_name = {name: one for name, one in named if name.split()[0] not in EVERYDAY}
    names = "|".join(re.escape(name) for name in sorted(by_name, key=len, reverse=True))
    return re.compile(rf"(?<![\w^-])({names})(?:s|es)?(?![\w^-])", re.IGNORECASE), by_name


def link_terms(text: str) -> Markup:
    """Link the first occurrence of each glossary term in a text."""

    def parts() -> Iterator[Markup]:
        pattern, by_name = _pattern()
        end, seen = 0, set()
        for found in pattern.finditer(text):
            term = by_name[found[1].lower()]
            if term.name not in seen:
                seen.add(term.name)
                place = Markup('<a class="term" target="_blank" href="/glossary#{}">{}</a>')
                yield escape(text[end : found.start()]) + place.format(term.anchor, found[0])
                end = found.end()
        yield escape(text[end:])

    return Markup("").join(parts())
