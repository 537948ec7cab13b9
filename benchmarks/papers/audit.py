"""What the papers contain and what cloister has of it, as a page of the documentation.

    python -m benchmarks.papers.audit

writes ``docs/papers.md`` from ``audit.toml``: a row for each definition, algorithm, example, figure and table.
"""

import itertools
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from benchmarks import pages

STATES = ("full", "partial", "differs", "missing")
ROWS = Path(__file__).with_name("audit.toml")
PAGE = Path(__file__).parents[2] / "docs" / "papers.md"

WORDS = """# The papers, item by item

cloister implements five papers. This page lists their definitions, theorems, algorithms, worked examples, measures,
figures and tables, and states for each what cloister has of it: first what does not hold, is missing, differs or is
partial, then by paper what is full. `benchmarks/papers/audit.toml` names the tests of each item; a test checks that
they exist. `python -m benchmarks.papers.audit` writes this page from that file.

* **full**: built as described and tested, or measured with the paper's conclusion. A worked example needs a test of its
  numbers.
* **partial**: a part is built, tested or measured.
* **differs**: built with a deviation, or measured with another conclusion.
* **missing**: not built, or the data are not available.

Linked pages have the figures of the paper and ours.

<!-- counts -->

## Findings that do not hold here

Measured, mostly on other data than those of the paper; the pages have all figures.

<!-- findings -->

## Missing

<!-- missing -->

## Deviations

<!-- deviations -->

## Partial

<!-- partial -->
"""


@dataclass(frozen=True)
class Row:
    """An item of a paper: where it is, what it says, its state here, the evidence, and why it is not complete."""

    place: str
    says: str
    state: str
    evidence: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether the state rests on measurements alone."""
        return bool(self.evidence) and all(one.startswith("docs/benchmarks/") for one in self.evidence)


@dataclass(frozen=True)
class Paper:
    """A paper with its items."""

    title: str
    citation: str
    rows: tuple[Row, ...]

    def with_state(self, state: str) -> list[Row]:
        """Return the items in a state."""
        return [row for row in self.rows if row.state == state]


def read(path: Path = ROWS) -> list[Paper]:
    """Read the papers and their items."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Paper(
            paper["title"],
            paper["citation"],
            tuple(Row(**(row | {"evidence": tuple(row["evidence"])})) for row in paper["rows"]),
        )
        for paper in found.values()
    ]


def counts_table(papers: Sequence[Paper]) -> str:
    """Return the number of items by paper and state."""
    every = Paper("**all**", "", tuple(row for paper in papers for row in paper.rows))
    rows = [
        [paper.title, *(len(paper.with_state(state)) for state in STATES), len(paper.rows)]
        for paper in (*papers, every)
    ]
    return pages.table(["paper", *STATES, "items"], rows)


def reasons_table(papers: Sequence[Paper], is_told: Callable[[Row], bool]) -> str:
    """Return some of the items that are not complete, with their reasons and the pages with evidence."""
    rows = [
        [f"{paper.title}, {row.place}", row.says, " ".join([row.reason, *links(row)])]
        for paper in papers
        for row in paper.rows
        if is_told(row)
    ]
    return pages.table(["item", "the paper", "here"], rows, "---")


def full_items(paper: Paper) -> str:
    """Return the items of a paper that are full; reasons_table has the others."""
    by_place = itertools.groupby(paper.with_state("full"), key=lambda row: row.place)
    items = [
        f"* *{place}*: " + ". ".join(" ".join([row.says, *links(row)]) for row in rows) for place, rows in by_place
    ]
    return "\n".join([f"## {paper.title}\n", f"{paper.citation}.\n", "In full:\n", *map(wrapped, items)])


def wrapped(item: str) -> str:
    """Return an item of a list in lines of the width of our documents."""
    return fill(item, 119, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def links(row: Row) -> list[str]:
    """Return links to the pages among the evidence of an item."""
    targets = [one.removeprefix("docs/") for one in row.evidence if one.startswith("docs/")]
    return [f"([{Path(target).stem}]({target}))" for target in targets]


def page(papers: Sequence[Paper]) -> str:
    """Return the text of the page."""
    parts = {
        "counts": counts_table(papers),
        "findings": reasons_table(papers, lambda row: row.state == "differs" and row.is_finding),
        "missing": reasons_table(papers, lambda row: row.state == "missing"),
        "deviations": reasons_table(papers, lambda row: row.state == "differs" and not row.is_finding),
        "partial": reasons_table(papers, lambda row: row.state == "partial"),
    }
    words = WORDS
    for name, text in parts.items():
        words = words.replace(f"<!-- {name} -->", text)
    return "\n".join([words, "\n\n".join(map(full_items, papers)), ""])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
