"""A TOML file -> frozen records, or an error that says which key may be what. Nothing that the file holds is quoted.

A record is a dataclass; ``allowed`` in the metadata of a field says in words what it may be.
"""

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from cloister.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from pydantic import TypeAdapter
UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
T = TypeVar("T")
Kind: TypeAlias = Any
"""A type as an annotation states it, or what comes of one."""
Content: TypeAlias = Mapping[str, Any]
"""What a section states, by key."""
Default = TypeVar("Default")

SECTION = {"allowed": "a section"}
STRICT: dict[str, Kind] = {"extra": "forbid", "strict": True}
"""How Pydantic takes a section: no key that is not one of its fields, no value of another type."""


def needs(allowed: str) -> Kind:
    """A key that must be there, and for messages what it may be."""
    return dataclasses.field(metadata={"allowed": allowed})


def key(default: Default, allowed: str) -> Default:
    """A key with its default and, for messages, what it may be."""
    made: Default = dataclasses.field(default=default, metadata={"allowed": allowed})
    return made


def read_toml(text: str, name: str, instead: str) -> dict[str, Kind]:
    """Return what a text states."""
    problem = "nests too deep, or has a number of too many digits"
    try:
        content = tomllib.loads(text)
        _as_json(content)
        return content
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line ([0-9]+)", str(error))
        problem = "is not TOML" + (f" at line {found[1]}" if found else "")
    except (ValueError, RecursionError):
        pass
    raise InputError(f"{name} {problem}. Correct it, or write a new one with {instead}.", file=name)


def _as_json(content: Content) -> str:
    return json.dumps(content, default=lambda _: {"date": None})  # dates become what no key takes


@lru_cache(maxsize=16)
def _adapter(kind: Kind) -> "TypeAdapter[Kind]":
    from pydantic import TypeAdapter  # loaded only where settings are read

    return TypeAdapter(kind)


def typed(content: Content, kind: type[T], name: str, inside: Sequence[str] = ()) -> T:
    """Return the record that a section of a TOML file states."""
    from pydantic import ValidationError

    try:
        # as JSON, since in strict mode only that makes tuples of lists
        form: Kind = kind
        made: T = _adapter(form).validate_json(_as_json(content))
        return made
    except ValidationError as error:
        found: Sequence[Content] = error.errors(include_url=False, include_input=False)
    # a key that is misspelt is both unknown and missing: the word that is there tells more
    first = next((problem for problem in found if problem["type"] in UNKNOWN), found[0])
    raise _refusal(first, kind, name, inside)


def _refusal(problem: Content, kind: Kind, name: str, inside: Sequence[str]) -> InputError:
    """Say in our words what is wrong: only the place, the kind and the words that are allowed are taken over."""
    keys = [str(part) for part in problem["loc"]]
    section, known, allowed, by_name = _place(keys, kind)
    path, whole = [*inside, *section], ".".join([*inside, *keys])
    if problem["type"] in UNKNOWN:
        hint = did_you_mean(keys[-1], known)
        return InputError(f"{name} has an unknown key {whole}.{hint} Keys there: {', '.join(known)}.", file=name)
    if problem["type"] in ("missing", "missing_argument"):
        return InputError(f"{name} lacks the key {'.'.join(path)}: {allowed}.", file=name)
    if problem["type"] == "literal_error":
        allowed = f"one of {problem['ctx']['expected']}"
    if by_name:
        path = [*inside, *keys[: len(section) + 1]]
    return InputError(f"{name}: {'.'.join(path)} must be {allowed}.", file=name)


def _place(keys: Sequence[str], kind: Kind) -> tuple[list[str], list[str], str, bool]:
    """Return the keys that lead to a field, the keys known where they end, what it may be, whether names follow it."""
    passed: list[str] = []
    allowed, by_name = "a section", False
    for key in keys:
        if key.isdigit():
            continue
        fields = {field.name: field for field in dataclasses.fields(kind)}
        if key not in fields:
            break
        passed.append(key)
        allowed = str(fields[key].metadata["allowed"])
        by_name = getattr(fields[key].type, "__origin__", None) is Mapping
        inner = _section(fields[key].type)
        if inner is None:
            break
        kind = inner
    return passed, [field.name for field in dataclasses.fields(kind)], allowed, by_name


def _section(annotation: Kind) -> Kind:
    """Return the dataclass that an annotation is, or holds a list of."""
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if dataclasses.is_dataclass(candidate):
            return candidate
    return None
