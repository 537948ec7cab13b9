"""What commands print: tables of rows, and sentences. A template makes them by calls; nothing reads its text again."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .page import environment


@dataclass(frozen=True)
class TerminalTable:
    """A table; one without a ``head`` is of facts: what, and what was found."""

    title: str
    head: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)


class TerminalText(list[TerminalTable | str]):
    """Tables and sentences in order. Templates call its methods, which leave no text where they are called."""

    def table(self, title: str, *head: object) -> str:
        """Begin a table."""
        self.append(TerminalTable(title, tuple(map(str, head))))
        return ""

    def row(self, *cells: object) -> str:
        """Add a row to the last table."""
        last = self[-1]
        assert isinstance(last, TerminalTable)
        last.rows.append(tuple(map(str, cells)))
        return ""

    def fact(self, what: str, caller: Callable[[], str]) -> str:
        """Add a row to the last table: its second cell is what the template says before ``endcall``."""
        return self.row(what, caller().strip())

    def sentence(self, caller: Callable[[], str]) -> str:
        """Add a sentence: what the template says before ``endcall``."""
        self.append(caller().strip())
        return ""


def terminal_text(template: str, **content: object) -> TerminalText:
    """Return what a template says to the terminal."""
    made = TerminalText()
    calls = {name: getattr(made, name) for name in ("table", "row", "fact", "sentence")}
    environment().get_template(f"{template}.txt").render(content, **calls)
    return made
