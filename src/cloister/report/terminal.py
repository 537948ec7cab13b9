"""Output of commands: tables and sentences that templates add by calls, so that no program parses text."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .page import environment


@dataclass(frozen=True)
class TerminalTable:
    """A table; a table without a ``head`` lists facts, one name and value per row."""

    title: str
    head: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)


class TerminalText(list[TerminalTable | str]):
    """Tables and sentences in order. Templates call its methods, which print nothing in the template."""

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
        """Add a row to the last table: its second cell is the template's text before ``endcall``."""
        return self.row(what, caller().strip())

    def sentence(self, caller: Callable[[], str]) -> str:
        """Add a sentence: the template's text before ``endcall``."""
        self.append(caller().strip())
        return ""


def terminal_text(template: str, **content: object) -> TerminalText:
    """Return the terminal output of a template."""
    made = TerminalText()
    calls = {name: getattr(made, name) for name in ("table", "row", "fact", "sentence")}
    environment().get_template(f"{template}.txt").render(content, **calls)
    return made
