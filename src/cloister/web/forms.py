"""Forms generated from the declarations of settings, sources and plans: every declared option has a field."""

import inspect
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from starlette.datastructures import FormData

from cloister.errors import CloisterError, Message, word_settings
from cloister.jobs.wording import as_key
from cloister.settings.constraints import Kind, OneOf, constraint_of, describe
from cloister.settings.declaration import Given, Keywords, Setting, settings_of
from cloister.shapes.registry import SHAPES

NUMBER = re.compile(r"[+-]?[0-9]{1,15}")
DECIMAL = re.compile(r"[+-]?([0-9]{1,15}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
BREAK = re.compile(r"[\r\n]")
PREFIX = "f:"
LISTING = "unmatched_values"
OPTION = re.compile(r"(?<![\w-])--?([a-z][a-z-]*)")
LABELS = {"qi": "quasi-identifiers", "time_limit_s": "time_limit"}
TITLES = {"k": "Minimum number of matching records (k)", "m": "Number of codes an attacker knows (m)"}
"""Of settings that help texts name by their letter."""


@dataclass(frozen=True)
class Spec:
    """A field of a form without a value."""

    path: tuple[str, ...]  # of the key inside its section, as ``("plan", "risk", "threshold")``
    kind: Kind  # type in TOML; decides how it is asked and read
    help: str
    hint: str = ""
    group: str = ""  # group, about: the heading above the field, and the subject of all fields below it
    about: str = ""
    columns: tuple[str, ...] = ()
    title: str = ""  # what it is called for the user; else by its key
    offers: tuple[str, ...] = ()  # words that are proposed, where others are allowed as well

    @property
    def key(self) -> str:
        """The key as messages name it."""
        return ".".join(self.path)

    @property
    def name(self) -> str:
        """The name in the form."""
        return PREFIX + self.key

    @property
    def label(self) -> str:
        """The label for the user."""
        if self.title:
            return self.title
        return label_of(self.path[-1])

    @property
    def how(self) -> str:
        """The kind of field: a choice, a tick or several, a number for each column, lines, pairs, or a line of text.

        ``drop``: a tick that is usually set, and without which something is kept
        """
        kind: Kind = self.kind
        origin: object = get_origin(kind)
        if kind is bool:
            return "tick"
        if origin is Literal:
            return "drop" if get_args(kind) == ("drop", "keep") else "choice"
        if origin is Mapping or origin is dict:
            return "columns" if self.columns else "pairs"
        if origin is tuple and get_origin(get_args(kind)[0]) is Literal:
            return "ticks"
        if origin is tuple:
            return "numbers" if get_args(kind)[0] in (float, int) else "lines"
        return "number" if kind in (int, float) else "text"

    @property
    def choices(self) -> tuple[str, ...]:
        """The words of a choice, of several ticks, or of a choice for each column."""
        kind = get_args(self.kind)[self.how == "columns"] if self.how in ("columns", "ticks") else self.kind
        return get_args(kind) if get_origin(kind) is Literal else ()


@dataclass(frozen=True)
class BoundField:
    """A field with its value and its error."""

    spec: Spec
    text: str = ""
    by_column: tuple[tuple[str, str], ...] = ()
    error: str = ""

    @property
    def selection(self) -> list[str]:
        """The selected words, of several."""
        return self.text.split("\n")

    @property
    def is_ticked(self) -> bool:
        """Whether the field is ticked."""
        return self.text == "true"


def label_of(key: str) -> str:
    """Return the label of a key."""
    words = LABELS.get(key, key).replace("_", " ").replace("-", " ")
    return words if len(words) == 1 else words[0].upper() + words[1:]


def specs_of_shape(shape: str, of_columns: Sequence[str] = ()) -> list[Spec]:
    """Return a field for every setting of a shape that is allowed in a job.

    ``of_columns``: for which a setting by column is asked
    """
    found = [_of_setting(one, of_columns) for one in settings_of(SHAPES[shape].options) if one.key is not None]
    if shape == "claims":
        from cloister.shapes.claims.format.plan import ClaimsPlan

        found = [*specs_of_record(ClaimsPlan, ("plan",)), *found]
    return found


def _of_setting(one: Setting, of_columns: Sequence[str]) -> Spec:
    assert one.key is not None
    text = "" if one.help is None else one.help.text.replace(" Repeatable.", "")
    text = OPTION.sub(lambda found: label_of(found[1]), text)  # the help of the command line names options
    default = one.help.shown if one.help is not None and one.help.shown else one.default
    hint = f"{default:g}" if isinstance(default, float) else str(default) if isinstance(default, str | int) else ""
    hint = "" if default is MISSING or default is False else hint
    columns = tuple(of_columns) if one.by_column else ()
    title = TITLES.get(one.word, "")
    offers = one.help.offers if one.help is not None else ()
    return Spec(
        (one.word,), _plain(one.in_toml), text or one.allowed, hint, columns=columns, title=title, offers=offers
    )


def specs_of_record(
    record: type, path: tuple[str, ...] = (), helps: Mapping[str, str] | None = None, group: str = ""
) -> list[Spec]:
    """Return a field for each field of a record that TOML is read into, those of records inside it under headings."""
    found = []
    about = " ".join((inspect.getdoc(record) or "").split()).replace("`", "") if group else ""
    for one in fields(record):
        kind: Kind
        inside, kind = (*path, one.name), _plain(one.type)
        if isinstance(kind, type) and is_dataclass(kind):
            found += specs_of_record(kind, inside, helps, one.name.replace("_", " "))
        else:
            allowed = describe(one.type)
            usual = isinstance(one.default, str | int | float) and one.default is not False
            default = str(one.default) if usual else ""
            if isinstance(one.default, tuple) and all(isinstance(word, str) for word in one.default):
                default = "\n".join(one.default)
            found.append(Spec(inside, kind, (helps or {}).get(one.name, allowed), default, group, about))
    return found


def _plain(kind: Kind) -> Kind:
    """A type without None and without what limits its values; a choice of words as their type."""
    origin: object = get_origin(kind)
    if origin is Annotated:
        choice = constraint_of(kind)
        return Literal[choice.words] if isinstance(choice, OneOf) else _plain(get_args(kind)[0])
    if origin is Mapping:
        return Mapping[str, _plain(get_args(kind)[1])]  # type: ignore[misc]
    if origin is tuple and get_args(kind)[1:] == (...,):
        each: Kind = _plain(get_args(kind)[0])
        return tuple[each, ...]
    if origin in (Union, UnionType):
        parts = [_plain(part) for part in get_args(kind) if part is not NoneType]
        return parts[0] if len(parts) == 1 else Union[tuple(parts)]  # noqa: UP007
    return kind


def bind_fields(specs: Iterable[Spec], section: Keywords, errors: Mapping[str, str] | None = None) -> list[BoundField]:
    """Return the fields with the values of a section, and the errors of some."""
    found = []
    for spec in specs:
        value: object = section
        for key in spec.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        error = next((text for key, text in (errors or {}).items() if f"{key}.".startswith(f"{spec.key}.")), "")
        each = tuple(
            (column, _text(value.get(column) if isinstance(value, Mapping) else None)) for column in spec.columns
        )
        if value is None and spec.how == "ticks":
            value = spec.hint
        text = _text(value)  # numbers are in one line: a browser would join those of several
        found.append(BoundField(spec, text.replace("\n", ", ") if spec.how == "numbers" else text, each, error))
    return found


def _text(value: object) -> str:
    """A value of TOML as it is in a field."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "\n".join(f"{_in_one_line(key)} = {_text(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        parts = [", ".join(f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {_text(v)}" for k, v in one.items())
                 if isinstance(one, Mapping) else _text(one) for one in value]  # fmt: skip
        return "\n".join(parts)
    return f"{value:g}" if isinstance(value, float) else _in_one_line(str(value))


def _in_one_line(text: str) -> str:
    """Write a text with line breaks in one line, between quotes and with escapes; any other text stays as it is."""
    return json.dumps(text, ensure_ascii=False) if BREAK.search(text) else text


def _with_breaks(line: str) -> str:
    """Read what ``_in_one_line`` wrote."""
    try:
        text: object = json.loads(line) if line.startswith('"') else line
    except ValueError:
        return line
    return text if isinstance(text, str) and BREAK.search(text) else line


def fill_section(specs: Iterable[Spec], section: Keywords, form: FormData) -> Given:
    """Return a section with the values of these fields replaced by those of a form."""
    made = dict(section)
    for spec in specs:
        value = _read_field(spec, form)
        where = made
        for key in spec.path[:-1]:
            inner = where.get(key)
            where[key] = dict(inner) if isinstance(inner, Mapping) else {}
            where = where[key]
        if value is None:
            where.pop(spec.path[-1], None)
        else:
            where[spec.path[-1]] = value
    return made


def _read_field(spec: Spec, form: FormData) -> object:
    """The value that a form gives a field; None where it says nothing."""
    text = str(form.get(spec.name, "")).replace("\r\n", "\n")
    if spec.how == "ticks":
        words = [str(word) for word in form.getlist(spec.name)]
        return None if words == spec.hint.split() else words
    if spec.how == "tick":
        usual = spec.hint == "True"
        return None if bool(text) == usual else bool(text)
    if spec.how == "columns":
        kind = get_args(spec.kind)[1]
        given = {column: str(form.get(f"{spec.name}:{place}", "")).strip() for place, column in enumerate(spec.columns)}
        return {column: _number(word, kind) for column, word in given.items() if word} or None
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if spec.how == "pairs":
        kind, pairs = get_args(spec.kind)[1], [line.rpartition("=") for line in lines]
        return {_with_breaks(key.strip()): _number(word.strip(), kind) for key, _, word in pairs} or None
    if spec.how == "lines":
        kind = get_args(spec.kind)[0]
        return [_table(line) if is_dataclass(kind) else _number(line, kind) for line in lines] or None
    if spec.how == "numbers":
        return [_number(word.strip(), float) for word in re.split(r"[,\n]", text) if word.strip()] or None
    return _number(text.strip(), spec.kind) if text.strip() else None


def _table(line: str) -> object:
    """A line of keys and values, as TOML has it between braces; else itself, to be refused."""
    try:
        return tomllib.loads(f"one = {{{line}}}")["one"]
    except tomllib.TOMLDecodeError:
        return line


def _number(word: str, kind: Kind) -> object:
    """A word as a number where its type may be one and it looks like one; else itself, to be refused if it is wrong."""
    kinds, word = (kind, *get_args(kind)), _with_breaks(word)
    if int in kinds and NUMBER.fullmatch(word):
        return int(word)
    return float(word) if float in kinds and DECIMAL.fullmatch(word) else word


def errors_of(error: CloisterError) -> dict[str, str]:
    """Return the errors by their key; the key is empty if an error names no field."""
    return {error.settings[0] if error.settings else "": in_words(error)}


def in_words(error: CloisterError) -> str:
    """Return an error message for a page: settings appear as keys, without the file and the section on the page.

    It ends before a file that lists values: pages show these themselves.
    """
    text = error.sentence if error.place == error.file else error.message
    names = [getattr(part, "name", "") for part in text.parts]
    end = names.index(LISTING) if LISTING in names else len(names)
    return word_settings(Message(*text.parts[:end]), lambda one: as_key(replace(one, section=None))).rstrip()


def group_fields(found: Sequence[BoundField]) -> dict[str, list[BoundField]]:
    """Group fields by their headings, in order."""
    groups: dict[str, list[BoundField]] = {}
    for one in found:
        groups.setdefault(one.spec.group, []).append(one)
    return groups


def only(specs: Iterable[Spec], keys: Iterable[str]) -> list[Spec]:
    """Return the fields with these keys, in the order of the keys."""
    by_key = {spec.path[0]: spec for spec in specs}
    return [by_key[key] for key in keys if key in by_key]
