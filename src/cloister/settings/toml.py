"""Parse TOML into frozen records, or raise an error with the key and its allowed values. Errors never quote the file.

A record is a dataclass. The types of its fields, and the constraints that mark them, say what each key may be.
"""

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args, get_origin

from cloister.errors import InputError, NamedSetting, WrongValue, did_you_mean, setting
from cloister.settings.constraints import constraint_of, describe, marks_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter
NOT_A_NAME = "[key]"
"""How Pydantic marks an error of a name itself."""

UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
T = TypeVar("T")
Kind: TypeAlias = Any
"""A type as an annotation states it, or what comes of one."""
Content: TypeAlias = Mapping[str, Any]
"""What a section states, by key."""

STRICT: dict[str, Kind] = {"extra": "forbid", "strict": True}
"""How Pydantic takes a section: no key that is not one of its fields, no value of another type."""


def read_toml(text: str, name: str, instead: str) -> dict[str, Kind]:
    """Parse a TOML text."""
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


def toml_text(text: str) -> str:
    r"""Quote a text as in TOML, with escapes for quotes, backslashes and control characters.

    Examples
    --------
    >>> print(toml_text('a "b"\n'))
    "a \"b\"\n"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _as_json(content: Content) -> str:
    return json.dumps(content, default=lambda _: {"date": None})  # dates become what no key takes


@lru_cache(maxsize=16)
def _adapter(kind: Kind) -> "TypeAdapter[Kind]":
    from pydantic import TypeAdapter  # loaded only where settings are read

    return TypeAdapter(kind)


def parse_section(content: Content, kind: type[T], name: str | NamedSetting, inside: Sequence[str] = ()) -> T:
    """Parse a section of a TOML file into a record.

    ``name``: of the file, or the setting that states it; ``inside``: see `key_inside`
    """
    from pydantic import ValidationError

    try:
        # as JSON, since in strict mode only that makes tuples of lists
        form: Kind = kind
        made: T = _adapter(form).validate_json(_as_json(content))
        return made
    except ValidationError as error:
        found: Sequence[Content] = error.errors(include_url=False, include_input=False)
    # a misspelt key is both unknown and missing: report the unknown word, which is more helpful
    first = next((problem for problem in found if problem["type"] in UNKNOWN), found[0])
    raise _refusal(first, kind, name, inside)


def _refusal(problem: Content, kind: Kind, name: str | NamedSetting, inside: Sequence[str]) -> InputError:
    """Describe the problem in our words: use only its location, its kind and the allowed words."""
    keys = [str(part) for part in problem["loc"]]
    section, known, allowed, by_name = _place(keys, kind)
    file = name if isinstance(name, str) else None
    if problem["type"] in UNKNOWN:
        rest = f".{did_you_mean(keys[-1], known)} Keys there: {', '.join(known)}."
        return InputError(name, " has an unknown key ", key_inside(inside, *keys), rest, file=file)
    if problem["type"] in ("missing", "missing_argument"):
        return InputError(name, " lacks the key ", key_inside(inside, *section), f": {allowed}.", file=file)
    before = keys[: keys.index(section[-1])] if section else []
    number = next((f" (section {int(key) + 1})" for key in before if key.isdigit()), "")
    key = key_inside(inside, *(keys[: len(section) + 1] if by_name else section))
    return WrongValue(key, allowed, which=number, file=file, place=name)


def key_inside(inside: Sequence[str], *keys: str) -> NamedSetting:
    """Return the name of a key in messages: ``inside`` is its section in the file and the keys that lead to it."""
    return setting(".".join([*inside[1:], *keys]), section="".join(inside[:1]))


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
        allowed, by_name = _describe_key(fields[key].type, keys)
        inner = _section(fields[key].type)
        if inner is None:
            break
        kind = inner
    return passed, [field.name for field in dataclasses.fields(kind)], allowed, by_name


def _describe_key(annotation: Kind, keys: Sequence[str]) -> tuple[str, bool]:
    """Return what a key may be, and whether the error is at one of the names that it has values for.

    A choice for each name is described, rather than all names together.
    """
    bare: Kind = getattr(annotation, "__origin__", annotation) if marks_of(annotation) else annotation
    kind: object = get_origin(bare)
    is_at_name = kind is Mapping and NOT_A_NAME not in keys
    each: Kind = get_args(bare)[1] if is_at_name else str
    of_each: object = get_origin(each)
    is_choice = of_each is Literal or constraint_of(each) is not None
    return describe(each if is_choice else annotation), is_at_name


def _section(annotation: Kind) -> Kind:
    """Return the dataclass that an annotation is, or holds a list of."""
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if dataclasses.is_dataclass(candidate):
            return candidate
    return None
