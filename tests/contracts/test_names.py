"""Names that users type are changed on purpose: commands, options, keys of jobs and plans, functions of Python."""

import inspect
import os
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

import cloister as cl
from cloister.cli.commands import COMMANDS, load
from cloister.settings.declaration import Setting, settings_of
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.registry import SHAPES

FOLDER = Path(__file__).parent / "snapshots"


def described(one: Setting, name: str) -> str:
    """A setting on a line: its name, what it may be, and its default."""
    default = "required" if one.default is MISSING else f"default {one.default!r}"
    return f"  {name}: {one.allowed}; {default}"


def commands() -> Iterator[str]:
    """Every command with its options."""
    for command in COMMANDS:
        yield f"cloister {command.words}"
        if command.options:
            yield from (described(one, one.option) for one in settings_of(load(command.options)))


def keys_of_jobs() -> Iterator[str]:
    """The keys of a part of each shape, and of a plan of claims."""
    for shape, entry in SHAPES.items():
        yield f"[[protect]] shape = {shape!r}"
        yield from (described(one, one.word) for one in settings_of(entry.options) if one.key is not None)
    yield "plan of claims"
    yield from sorted(keys_of_plan(ClaimsPlan))


def keys_of_plan(section: type, inside: str = "  ") -> Iterator[str]:
    """The keys of a section of a plan, with their defaults."""
    kinds = get_type_hints(section)
    for one in fields(section):
        if is_dataclass(kinds[one.name]):
            yield from keys_of_plan(kinds[one.name], f"{inside}{one.name}.")
        elif one.default_factory is not MISSING:
            yield f"{inside}{one.name}: default {one.default_factory()!r}"
        else:
            yield f"{inside}{one.name}: {'required' if one.default is MISSING else f'default {one.default!r}'}"


def functions() -> Iterator[str]:
    """The public functions of Python with their parameters."""
    for name in sorted(cl.__all__):
        if inspect.isfunction(found := getattr(cl, name)):
            yield name
            for one in inspect.signature(found).parameters.values():
                default = "" if one.default is one.empty else f" = {one.default!r}"
                yield f"  {one.name}{default}"


@pytest.mark.parametrize(
    ("file", "lines"), [("commands.txt", commands), ("keys_of_jobs.txt", keys_of_jobs), ("functions.txt", functions)]
)
def test_names_change_on_purpose(file, lines):
    """A changed name, limit or default shows in the diff of a snapshot; CLOISTER_RENEW=1 writes it anew."""
    text = "\n".join(lines()) + "\n"
    if os.environ.get("CLOISTER_RENEW"):
        (FOLDER / file).write_text(text)

    assert text == (FOLDER / file).read_text()
