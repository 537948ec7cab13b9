"""Settings of a shape by their keys in a job: settings of parts and grids, and parsing of their values."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Final, Generic, Literal, TypeVar, cast

from cloister.errors import InputError, did_you_mean, setting
from cloister.jobs.job import FileSource, Job, Part, part_of
from cloister.jobs.job_file import check_part
from cloister.settings.declaration import ColumnAssignments, Given, Keywords, settings_of
from cloister.settings.reading import KEYS
from cloister.settings.run_options import ReleaseOptions
from cloister.shapes.registry import SHAPES

T = TypeVar("T")
Options = TypeVar("Options", bound=ReleaseOptions)
GRID = setting("grid")
EXAMPLE = setting("grid", "k=2,5,11")
FRONTIER: Final = "frontier"
"""In place of a grid: the transformations that no other beats in risk and loss."""
MOST_SETTINGS = 10_000
NOT_IN_A_GRID = {"shape", "source", "name", "crosswalk", "unmatched_values", "ids"}
OF_READING = ("id", *KEYS)
"""What a source says of how it is read, as settings have it."""


class KeyedShape(Generic[Options]):
    """A shape with one source, and with settings that have keys in a job."""

    name: str
    # values by key that are compared where no grid is given
    usual_grid: Mapping[str, Sequence[str]] = MappingProxyType({})

    def of_part(self, keywords: Keywords, part: Part, job: Job, _path: Path) -> Options:
        """Return the settings of a part of a job."""
        called = part.sources["source"]
        source = job.sources[called]
        of_source = {"data": source.data(called), **{key: getattr(source, key) for key in OF_READING}}
        return cast("Options", SHAPES[self.name].options(**of_source, **keywords))

    def check_grid(self, options: Options, grid: Keywords) -> None:
        """Reject settings that are also in the grid, and a missing k."""
        for one in settings_of(SHAPES[self.name].options):
            value = getattr(options, one.name)
            if one.word in grid and value and value != one.default:
                raise InputError(f"{one.word} is an option and in the grid as well. Leave one of them out.")
        if "k" not in grid and not options.k:
            raise InputError("k is needed. Give ", setting("k"), ", or ", EXAMPLE)

    def parse_word(self, _options: Options, key: str, word: object) -> object:
        """Parse the value of a key in a grid; values that are not text stay unchanged."""
        head, column = self._split(key)
        problem = InputError(f"{key} has no such value.", place=GRID)
        for value in candidates(word):
            try:
                part = self._part({head: {column: value} if column else value})
            except InputError as error:
                problem = error
                continue
            for sentence in check_part(part, "", {"data": FileSource(file="data")}):
                raise InputError(sentence, place=GRID)
            return value
        raise problem

    def with_settings(self, options: Options, setting: Keywords) -> Options:
        """Return the settings with the values of a grid."""
        for key, value in setting.items():
            head, column = (key, "") if isinstance(value, Mapping) else self._split(key)
            part = self._part({head: {column: value} if column else value})
            changes = part.options()
            if column:
                changes = {name: _merge_columns(getattr(options, name), values) for name, values in changes.items()}
            options = replace(options, **changes)
        return options

    def _part(self, keywords: Keywords) -> Part:
        return part_of(self.name, {"shape": self.name, "source": "data", **keywords}, GRID)

    def _split(self, key: str) -> tuple[str, str]:
        """Split a key into the key of the part, and the column for settings by column."""
        head, dot, column = key.partition(".")
        of_columns = {one.word: one.by_column for one in settings_of(SHAPES[self.name].options) if one.key is not None}
        known = [name for name in of_columns if name not in NOT_IN_A_GRID]
        if head not in known or (column and not of_columns[head]):
            whole = head if head not in known else key
            raise InputError(
                GRID,
                f" names the key {whole}, which a {self.name} has not.{did_you_mean(head, known)} Keys: "
                f"{', '.join(known)}.",
            )
        if of_columns[head] and not column:
            raise InputError(GRID, f" {head} has a value for each column. Name one, as in ", GRID, f" {head}.age=...")
        if dot and not column:
            raise InputError(GRID, f" names no column after {head}.")
        return head, column


def candidates(word: object) -> Iterator[object]:
    """Yield the possible values of a word: a number, true or false, a list of numbers, the word, a list of the word."""
    if not isinstance(word, str):
        yield list(word) if isinstance(word, tuple) else word
        return
    for form in (word, f"[{word}]"):
        try:
            yield json.loads(form)
        except (ValueError, RecursionError):
            continue
    yield word
    yield [word]


def _merge_columns(earlier: Keywords | ColumnAssignments | None, keywords: Keywords) -> Keywords | ColumnAssignments:
    """Return values by column, with earlier values replaced by new ones."""
    if isinstance(earlier, ColumnAssignments):
        return replace(earlier, later={**_without(earlier.later, keywords), **keywords})
    return {**_without(earlier or {}, keywords), **keywords}


def _without(earlier: Keywords, keywords: Keywords) -> Given:
    return {column: value for column, value in earlier.items() if column not in keywords}


def parse_grid(texts: Sequence[str]) -> dict[str, tuple[str, ...]] | Literal["frontier"]:
    """Return the values of each key as words; they are separated by commas, or by ``;`` if values contain commas.

    The word ``frontier`` alone is returned as it is.

    Examples
    --------
    >>> parse_grid(["k=2,5", "qi.age=interval:5,10;interval:10"])
    {'k': ('2', '5'), 'qi.age': ('interval:5,10', 'interval:10')}
    """
    if list(texts) == [FRONTIER]:
        return FRONTIER
    grid: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, equals, rest = text.partition("=")
        key = key.strip()
        if not (key and equals):
            raise InputError(GRID, " takes KEY=VALUE,VALUE, as in ", EXAMPLE)
        if key in grid:
            raise InputError(GRID, f" names {key} twice. Give all of its values at once.")
        values = [word.strip() for word in rest.split(";" if ";" in rest else ",")]
        values = values[:-1] if ";" in rest and not values[-1] else values
        if not all(values) or not values:
            raise InputError(GRID, f" {key} has an empty value. Give values apart by commas, as in ", EXAMPLE)
        if len(set(values)) < len(values):
            raise InputError(GRID, f" {key} has a value twice. Give each once.")
        grid[key] = tuple(values)
    return grid


def settings_in(grid: Mapping[str, Sequence[T]]) -> list[dict[str, T]]:
    """Return every combination of the values; the last key changes fastest."""
    count = 1
    for values in grid.values():
        count *= len(values)
    if not grid or not count:
        raise InputError("A grid of settings is needed, as ", EXAMPLE)
    if count > MOST_SETTINGS:
        raise InputError(f"The grid has {count:,} settings, more than {MOST_SETTINGS:,}. Give fewer values.")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
