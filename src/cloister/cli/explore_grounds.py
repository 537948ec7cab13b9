"""What is explored: data that are read once, and what is about to be done with them under a setting."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from cloister.claims.data import claims_of
from cloister.claims.plan import plan_of, read_plan
from cloister.cli.claims_job import check_claims_words, prepare_claims
from cloister.cli.claims_options import ClaimsOptions
from cloister.cli.codes_job import check_codes_words, prepare_codes, read_codes
from cloister.cli.codes_options import CodesOptions
from cloister.cli.explore_settings import GRID, candidates, check_apart, typed_values, with_setting
from cloister.cli.prepared import Prepared
from cloister.cli.table_job import check_table_words, prepare_table, read_table_source
from cloister.cli.table_options import TableOptions
from cloister.cli.trajectories_job import check_trajectories_words, prepare_trajectories, read_trajectories
from cloister.cli.trajectories_options import TrajectoriesOptions
from cloister.errors import InputError
from cloister.io.text import load_text
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

    Raises
    ------
    InputError
        The data, the options or the grid cannot be used.
    """
    if shape == "claims":
        return _claims(told, grid, out)
    kind = {"table": TableOptions, "codes": CodesOptions, "trajectories": TrajectoriesOptions}[shape]
    options: Any = kind(**{**told, "k": told["k"] or 0, "out": out, "quiet": True})
    values = typed_values(shape, grid)
    check_apart(options, values)
    makers: dict[str, Callable[[], Callable[[Any], Prepared]]]
    makers = {"table": _table, "codes": _codes, "trajectories": _trajectories}
    prepare = makers[shape]()

    def prepared(setting: Mapping[str, Any]) -> Prepared:
        return prepare(with_setting(options, shape, setting))

    files = files_named([*_given(told).values(), grid])
    return Ground(options.data.name, _given(told), values, prepared, files)


def _table() -> Callable[[TableOptions], Prepared]:
    read = cache(lambda options: read_table_source(options.told))

    def prepare(options: TableOptions) -> Prepared:
        check_table_words(options)
        return prepare_table(options, read(_Reading(options, ())), Stopwatch())

    return prepare


def _codes() -> Callable[[CodesOptions], Prepared]:
    read = cache(lambda options: read_codes(options.told))
    names = ("codes", "code", "repeats", "drop_empty")

    def prepare(options: CodesOptions) -> Prepared:
        check_codes_words(options)
        return prepare_codes(options, Stopwatch(), read(_Reading(options, names)))

    return prepare


def _trajectories() -> Callable[[TrajectoriesOptions], Prepared]:
    read = cache(lambda options: read_trajectories(options.told))
    names = ("code", "age", "date", "anchor", "age_unit", "side")

    def prepare(options: TrajectoriesOptions) -> Prepared:
        check_trajectories_words(options)
        return prepare_trajectories(options, Stopwatch(), read(_Reading(options, names)))

    return prepare


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
    options = ClaimsOptions(**{**told, "out": out, "quiet": True})
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
        missing=options.missing or (),
    )

    def prepared(setting: Mapping[str, Any]) -> Prepared:
        changed = content
        for key, value in setting.items():
            changed = _with_key(changed, key.split("."), value)
        return prepare_claims(options, Stopwatch(), claims_of(people, events, plan_of(changed, GRID, folder)))

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
