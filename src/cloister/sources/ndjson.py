"""Lines of JSON: the resources of the kinds that are asked for, with the line that each stands in."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cloister.errors import InputError
from cloister.io.text import text_of, unpacked

from .files import Files
from .members import Member

LINES = re.compile(r".+\.(?:ndjson|jsonl)(?:\.gz)?", re.IGNORECASE | re.DOTALL)
KIND = re.compile(rb'"resourceType"\s*:\s*"[A-Za-z]+"')
BUNDLE = "Bundle"


@dataclass(frozen=True)
class Resource:
    """A resource as it was written.

    Attributes
    ----------
    content : the object
    file, line : where it stands, lines counted from 1
    """

    content: dict[str, Any] = field(repr=False)
    file: str
    line: int

    def at(self, *path: str | int) -> Any:
        """What stands at a path of keys and places; None where nothing does."""
        return at(self.content, *path)


def at(value: Any, *path: str | int) -> Any:
    """What stands at a path of keys and places in a JSON value; None where nothing does.

    Examples
    --------
    >>> at({"code": {"coding": [{"code": "I10"}]}}, "code", "coding", 0, "code")
    'I10'
    """
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
    return value


def text_at(value: Any, *path: str | int) -> str | None:
    """The text at a path, without spaces around; None where there is none, or something else."""
    found = at(value, *path)
    return (found.strip() or None) if isinstance(found, str) and _is_text(found) else None


def _is_text(found: str) -> bool:
    """Whether this can be written: JSON may name half a character."""
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True


def all_at(value: Any, *path: str | int) -> list[Any]:
    """The list at a path; empty where there is none."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def resources(files: Files, kinds: Collection[str]) -> dict[str, list[Resource]]:
    """The resources of some kinds, in the order of files and lines.

    Raises
    ------
    InputError
        There is no file of such lines, or a line is no JSON object with a resourceType, or a Bundle; with the
        number of the line.
    """
    members = [one for one in files.members if LINES.fullmatch(one.name)]
    if not members and len(files.members) == 1:
        members = list(files.members)
    if not members:
        raise InputError(
            f"{files.name} has no lines of resources. They must be there as .ndjson or .ndjson.gz.", file=files.name
        )
    found: dict[str, list[Resource]] = {kind: [] for kind in kinds}
    for member in members:
        for resource in _in_member(member, kinds):
            found[str(resource.at("resourceType"))].append(resource)
    return found


def _in_member(member: Member, kinds: Collection[str]) -> Iterator[Resource]:
    wrong, bundles = [], []
    named = [f'"{kind}"'.encode() for kind in (*kinds, BUNDLE)]
    content = unpacked(member.load(), member.name)
    lines = text_of(content, re.sub(r"(?i)\.gz$", "", member.name)).data.split(b"\n") if content.strip() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (not any(name in line for name in named) and KIND.search(line)):
            continue  # other resources are not looked into
        found = _object(line)
        if found is None or not isinstance(found.get("resourceType"), str):
            wrong.append(number)
        elif found["resourceType"] == BUNDLE:
            bundles.append(number)
        elif found["resourceType"] in kinds:
            yield Resource(found, member.name, number)
    _refuse(wrong, "no JSON object with a resourceType", "Export the file again, one resource a line", member)
    what = "a Bundle, which is" if len(bundles) == 1 else "Bundles, which are"
    _refuse(bundles, f"{what} not read", "Export Bulk Data, which has one resource a line", member)


def _refuse(lines: Sequence[int], what: str, advice: str, member: Member) -> None:
    if not lines:
        return
    are = "1 line is" if len(lines) == 1 else f"{len(lines)} lines are"
    first = " is the first" if len(lines) > 1 else ""
    raise InputError(
        f"{member.name}: {are} {what} (line {lines[0]}{first}). {advice}.", file=member.name, line=lines[0]
    )


def _object(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None where it is no whole one. What the parser says of it quotes it, and is forgotten."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
