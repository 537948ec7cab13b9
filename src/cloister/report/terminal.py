"""What commands print: blocks of typed rows. A template fills them by calls, so that nothing reads its text again."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .page import environment


@dataclass(frozen=True)
class Facts:
    """A table of two columns: what, and what was found."""

    title: str
    rows: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Grid:
    """A table with a header."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)


Block = Facts | Grid | str
"""A table, or a sentence."""


class Blocks(list[Block]):
    """Blocks that a template fills; each method is a function of templates, and leaves no text where it is called."""

    def facts(self, title: str) -> str:
        """Begin a table of facts."""
        self.append(Facts(title))
        return ""

    def fact(self, what: str, caller: Callable[[], str]) -> str:
        """Add to the table of facts what a template says between ``call`` and ``endcall``."""
        block = self[-1]
        assert isinstance(block, Facts)
        block.rows.append((what, caller().strip()))
        return ""

    def grid(self, title: str, *head: object) -> str:
        """Begin a table with a header."""
        self.append(Grid(title, tuple(map(str, head))))
        return ""

    def row(self, *cells: object) -> str:
        """Add a row to the table with a header."""
        block = self[-1]
        assert isinstance(block, Grid)
        block.rows.append(tuple(map(str, cells)))
        return ""

    def sentence(self, caller: Callable[[], str]) -> str:
        """Add a sentence."""
        self.append(caller().strip())
        return ""


def blocks_of(template: str, **content: object) -> list[Block]:
    """Return what a template says to the terminal."""
    found = Blocks()
    fills = {"facts": found.facts, "fact": found.fact, "grid": found.grid, "row": found.row, "sentence": found.sentence}
    environment().get_template(f"{template}.txt").render(content, **fills)
    return found
