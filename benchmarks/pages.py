"""Pages of results: the words of a page with the tables of what was measured."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write(path: Path, words: str, parts: Mapping[str, object]) -> None:
    """Write a page; each part stands where its name does, as ``<!-- times -->``."""
    for name, text in parts.items():
        words = words.replace(f"<!-- {name} -->", str(text))
    path.write_text(words, encoding="utf-8")


def measured_on(found: Mapping[str, Any]) -> dict[str, str]:
    """The parts of a page that say when, where and for how long was measured."""
    host = found["machine"]
    return {
        "day": host["day"],
        "machine": f"{host['processor']}, {host['cores']} cores, load {host['load']} when it began",
        "seconds": f"{found['seconds']:.0f}",
    }


def table(heads: Iterable[str], rows: Iterable[Iterable[object]], side: str = "---:") -> str:
    """A table in Markdown; the first column to the left, the others to a side: numbers to the right."""
    names = list(heads)
    head, *body = ["| " + " | ".join(map(str, line)) + " |" for line in [names, *rows]]
    return "\n".join([head, "|---" + f"|{side}" * (len(names) - 1) + "|", *body])


def share(number: float | None, digits: int = 1) -> str:
    """A share in percent; nothing where there is none."""
    return "" if number is None or number != number else f"{100 * number:.{digits}f}%"
