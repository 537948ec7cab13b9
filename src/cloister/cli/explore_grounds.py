"""What is explored: data that are read once, and what is about to be done with them under a setting."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from cloister.claims.data import claims_of
from cloister.claims.options import ClaimsOptions
from cloister.claims.plan import plan_of, read_plan
from cloister.cli.claims_job import check_claims_words, prepare_claims
from cloister.cli.declared import record
from cloister.cli.prepared import Prepared
from cloister.cli.works import work_of
from cloister.errors import InputError, did_you_mean
from cloister.io.text import load_text
from cloister.jobs.job import FileSource
from cloister.jobs.job_checks import check_part
from cloister.jobs.sections import OPTIONS, Part, part_of
from cloister.settings import Words, settings_of
from cloister.sources import profiled, read_claim_tables
from cloister.stopwatch import Stopwatch
from cloister.typed_toml import read_toml

SEPARATORS = "=:@"
"""What stands around the name of a file in an option."""

Grid = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Ground:
    """What is explored.

    Attributes
    ----------
    source : name of the data
    asked : options that were given, as JSON has them
    grid : values by key
    prepare : what is about to be done under a setting
    files : all files that are read
    """

    source: str
    asked: Mapping[str, Any]
    grid: Grid
    prepare: Callable[[Mapping[str, Any]], Prepared] = field(repr=False)
    files: tuple[Path, ...]


def ground_of(shape: str, told: Mapping[str, Any], grid: Mapping[str, tuple[str, ...]], out: Path) -> Ground:
    """Read the data, and return what is explored.

    Parameters
    ----------
    told : the options of ``protect`` as typed
    grid : words by key
    """
    if shape == "claims":
        return _claims(told, grid, out)
    options: Any = record(OPTIONS[shape], {**told, "k": told["k"] or 0, "out": out, "quiet": True})
    values = typed_values(shape, grid)
    check_apart(options, values)
    work = work_of(shape)
    read = cache(lambda wanted: work.read(wanted.told))

    def prepared(setting: Mapping[str, Any]) -> Prepared:
        changed = with_setting(options, shape, setting)
        work.check(changed)
        return work.prepare(changed, Stopwatch(), ExitStack(), read(_Reading(changed, work.reading)))

    files = files_named([*_given(told).values(), grid])
    return Ground(options.data.name, _given(told), values, prepared, files)


class _Reading:
    """Options, the same as others if data are read in the same way."""

    def __init__(self, options: Any, names: tuple[str, ...]) -> None:
        self.told = options
        self.key = tuple(str(getattr(options, name)) for name in names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reading) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _claims(told: Mapping[str, Any], grid: Mapping[str, tuple[str, ...]], out: Path) -> Ground:
    options = record(ClaimsOptions, {**told, "out": out, "quiet": True})
    check_claims_words(options)
    read_plan(options.plan)  # so that what is wrong in the file is told of the file
    folder = options.plan.resolve().parent
    content = read_toml(load_text(options.plan).data.decode(), options.plan.name, "cloister init claims")
    values = {key: tuple(_value_in_plan(content, key, text, folder) for text in texts) for key, texts in grid.items()}
    people, events = read_claim_tables(
        options.patients,
        options.claims,
        encoding=options.encoding,
        delimiter=options.delimiter,
        missing=options.missing,
    )

    def prepared(setting: Mapping[str, Any]) -> Prepared:
        changed = content
        for key, value in setting.items():
            changed = _with_key(changed, key.split("."), value)
        return prepare_claims(options, Stopwatch(), None, claims_of(people, events, plan_of(changed, GRID, folder)))

    files = files_named([*_given(told).values(), grid, content], folder)
    return Ground(options.patients.name, _given(told), values, prepared, files)


def _value_in_plan(content: dict[str, Any], key: str, text: str, folder: Path) -> Any:
    problem = InputError(f"{GRID}: {key} has no such value.")
    for value in candidates(text):
        try:
            plan_of(_with_key(content, key.split("."), value), GRID, folder)
        except InputError as error:
            problem = error
        else:
            return value
    raise problem


def _with_key(content: Mapping[str, Any], keys: list[str], value: Any) -> dict[str, Any]:
    if len(keys) == 1:
        return {**content, keys[0]: value}
    inner = content.get(keys[0])
    return {**content, keys[0]: _with_key(inner if isinstance(inner, dict) else {}, keys[1:], value)}


NOT_ASKED = {"threads", "engine", "as_json", "quiet", "verbose"}
"""Options that change nothing of what is found."""


def _given(told: Mapping[str, Any]) -> dict[str, Any]:
    """Options that say something, as JSON has them."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in told.items()
        if name not in NOT_ASKED and value is not None and value is not False
    }


def files_named(values: Any, folder: Path | None = None) -> tuple[Path, ...]:
    """Return the files that options name, in order of their names; of folders the files in them.

    Parameters
    ----------
    folder : that names may be relative to as well
    """
    found = set()
    for text in _texts(values):
        for start, end in combinations([-1, *(i for i, sign in enumerate(text) if sign in SEPARATORS), len(text)], 2):
            word = text[start + 1 : end]
            for path in (Path(word), *([] if folder is None else [folder / word])):
                if word and path.is_file():
                    found.add(path)
        collection = profiled(text)
        if collection is not None:
            found |= {path for path in collection.files() if path.is_file()}
        if Path(text).is_dir():
            found |= {path for path in Path(text).iterdir() if path.is_file()}
    return tuple(sorted(found))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


GRID = "--grid"
NOT_IN_A_GRID = {"shape", "source", "name", "crosswalk", "values_to", "ids"}


def candidates(text: str) -> Iterator[Any]:
    """Return what a word may stand for: a number, true or false, numbers apart by commas, itself, a list of itself."""
    for form in (text, f"[{text}]"):
        try:
            yield json.loads(form)
        except (ValueError, RecursionError):
            continue
    yield text
    yield [text]


def typed_values(shape: str, grid: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the values of each key, as a job would have them."""
    return {key: tuple(_typed(shape, key, text) for text in texts) for key, texts in grid.items()}


def _typed(shape: str, key: str, text: str) -> Any:
    head, column = _split(shape, key)
    problem = InputError(f"{GRID}: {key} has no such value.")
    for value in candidates(text):
        try:
            part = _part(shape, {head: {column: value} if column else value})
        except InputError as error:
            problem = error
            continue
        for sentence in check_part(part, GRID, {"data": FileSource("data")}):
            raise InputError(sentence.replace(f"{GRID}.", f"{GRID}: "))
        return value
    raise problem


def _part(shape: str, told: Mapping[str, Any]) -> Part:
    return part_of(shape, {"shape": shape, "source": "data", **told}, GRID)


def _split(shape: str, key: str) -> tuple[str, str]:
    """The key of the part, and the column where there is a value for each."""
    head, dot, column = key.partition(".")
    of_columns = {one.word: one.by_column for one in settings_of(OPTIONS[shape]) if one.key is not None}
    known = [name for name in of_columns if name not in NOT_IN_A_GRID]
    if head not in known or (column and not of_columns[head]):
        whole = head if head not in known else key
        raise InputError(
            f"{GRID} names the key {whole}, which a {shape} has not.{did_you_mean(head, known)} Keys: "
            f"{', '.join(known)}."
        )
    if of_columns[head] and not column:
        raise InputError(f"{GRID} {head} has a value for each column. Name one, as in {GRID} {head}.age=...")
    if dot and not column:
        raise InputError(f"{GRID} names no column after {head}.")
    return head, column


def check_apart(options: Any, grid: Mapping[str, Any]) -> None:
    """Refuse options that the grid changes as well, and a k that nobody gives."""
    for one in settings_of(type(options)):
        value = getattr(options, one.name)
        if one.word in grid and value and value != one.default:
            raise InputError(f"{one.word} is an option and in the grid as well. Leave one of them out.")
    if "k" not in grid and not options.k:
        raise InputError("k is needed. Give -k, or --grid k=2,5,11.")


def with_setting(options: Any, shape: str, setting: Mapping[str, Any]) -> Any:
    """Return the options with the values of a setting."""
    for key, value in setting.items():
        head, column = _split(shape, key)
        part = _part(shape, {head: {column: value} if column else value})
        for name, told in part.options().items():
            options = replace(options, **{name: _joined(getattr(options, name), told) if column else told})
    return options


def _joined(earlier: Mapping[str, Any] | Words | None, told: Mapping[str, Any]) -> Mapping[str, Any] | Words:
    """Values of columns, some of them in place of earlier ones."""
    if isinstance(earlier, Words):
        return replace(earlier, later={**_without(earlier.later, told), **told})
    return {**_without(earlier or {}, told), **told}


def _without(earlier: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    return {column: value for column, value in earlier.items() if column not in told}
