"""Writes a page for each command, and their index, from what ``--help`` shows: part of ``make docs``."""

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cloister.cli.commands import GROUPS
from cloister.cli.help_groups import GroupedCommand
from cloister.cli.main import command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.core import TyperGroup

WIDTH = 88
EXPLAINED = {
    "protect table": ("rules", "hierarchies", "losses", "methods", "release-folder"),
    "protect codes": ("code-sets", "generalization", "release-folder"),
    "protect trajectories": ("trajectories", "release-folder"),
    "protect claims": ("claims", "how-to/millions-of-patients", "release-folder"),
    "assess": ("assess",),
    "attack": ("attack",),
    "explore": ("explore",),
    "compare": ("explore",),
    "export": ("files",),
    "verify": ("how-to/check-a-release", "how-to/check-without-cloister"),
    "query": ("for-recipients",),
    "impute": ("for-recipients",),
    "replicate": ("how-to/replicate-analyses",),
    "run": ("jobs",),
    "ui": ("application",),
    "init": ("tutorial", "jobs"),
    "init claims": ("claims",),
    "hierarchy": ("hierarchies", "how-to/add-a-hierarchy"),
    "demo": ("tutorial",),
}
"""By the words of a command, or the first of them, the pages that explain it."""


def commands() -> "Iterator[tuple[str, GroupedCommand]]":
    """Yield the words and the command of each, in the order of ``cloister --help``."""
    for name, found in cast("TyperGroup", command()).commands.items():
        if name in GROUPS:
            for below, one in cast("TyperGroup", found).commands.items():
                yield f"{name} {below}", cast("GroupedCommand", one)
        else:
            yield name, cast("GroupedCommand", found)


def file_name(words: str) -> str:
    """Return the name of the page of a command."""
    return words.replace(" ", "-")


def as_markdown(text: str) -> str:
    """Return help as Markdown: options as code, and no character that Markdown reads."""
    quoted = re.sub(r"([\\`*_<>\[\]$])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![\w`-])(--?[a-z][a-z-]*)", r"`\1`", quoted)


def broken(line: str) -> str:
    """Return a command on lines that are not too wide, broken before options."""
    first, *rest = re.split(r"\s+(?=--?[a-z])", line)
    lines = [first]
    for part in rest:
        if len(lines[-1]) + len(part) + 3 > WIDTH:
            lines[-1] += " \\"
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines)


def entry(option: str, text: str) -> str:
    """Return an option as an entry of a definition list, with its default last."""
    match = re.fullmatch(r"(.*?)\s*\[(required|default: .*)\]", text, re.DOTALL)
    body, note = (match[1], match[2]) if match else (text, "")
    if note == "required":
        note = " *Required.*"
    elif note:
        default = note.removeprefix("default: ")
        is_described = default.startswith("(")
        note = f" Default: {default.strip('()') if is_described else f'`{default}`'}."
    return f"`{option}`\n: {as_markdown(body)}{note}\n"


def page_of(words: str, one: GroupedCommand) -> str:
    """Return the page of a command."""
    context = one.context_class(one, info_name=f"cloister {words}")
    paragraphs = [as_markdown(part) for part in (one.help or "").split("\n\n")]
    usage = " ".join(["cloister", words, *one.collect_usage_pieces(context)])
    parts = [f"# cloister {words}", *paragraphs, f"```text\n{usage}\n```"]
    if one.epilog:
        parts.append(
            f"Example:\n\n```console\n{broken('$ ' + one.epilog.removeprefix('Example: '))}\n```"
        )
    if pages := EXPLAINED.get(words) or EXPLAINED.get(words.split()[0], ()):
        parts.append(
            "Explained in: " + ", ".join(f"{{doc}}`/{page}`" for page in pages) + "."
        )
    for title, rows in one.sections(context).items():
        parts.append("\n".join([f"## {title}\n", *(entry(*row) for row in rows)]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def index_of(found: dict[str, GroupedCommand]) -> str:
    """Return the page that lists all commands: those of one word, then each verb with its commands."""
    parts = [
        "# Command line",
        "`cloister COMMAND --help` prints these pages. `cloister --version` shows the version, and"
        " `cloister --install-completion` completes words in your shell. Errors have"
        " [exit codes](../exit-codes.md); `--json` prints one JSON object.",
    ]
    titles = {"": "Releases, jobs and the application"} | {
        verb: text for verb, (text, _) in GROUPS.items()
    }
    for verb, title in titles.items():
        rows = [f"## {title.rstrip('.')}\n", "| command | what it does |", "|---|---|"]
        for words, one in found.items():
            if (words.split()[0] if " " in words else "") == verb:
                first = as_markdown((one.help or "").split("\n\n")[0]).replace(
                    "|", r"\|"
                )
                rows.append(f"| [`{words}`]({file_name(words)}.md) | {first} |")
        parts.append("\n".join(rows))
    listed = "\n".join(f"{words} <{file_name(words)}>" for words in found)
    parts.append(f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{listed}\n```")
    return "\n\n".join(parts) + "\n"


def write_pages(folder: Path) -> None:
    """Write all pages into a folder, and remove those of an earlier version."""
    found = dict(commands())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "index.md").write_text(index_of(found), encoding="utf-8")
    for words, one in found.items():
        (folder / f"{file_name(words)}.md").write_text(
            page_of(words, one), encoding="utf-8"
        )


if __name__ == "__main__":
    write_pages(
        Path(sys.argv[1])
        if sys.argv[1:]
        else Path(__file__).parent / "reference" / "commands"
    )
