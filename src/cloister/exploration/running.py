"""Exploration of many settings of one shape: read the data once, then protect, verify and measure each setting."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, is_dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

from cloister.errors import InputError
from cloister.errors import setting as called
from cloister.exploration.figures import Figures, exact_figures_of
from cloister.exploration.results import (
    FOR_THE_CUSTODIAN,
    Exploration,
    Outcome,
    Setting,
    exploration_page,
    in_words,
    open_record,
    outcome_of,
    rule_named,
    summed_up,
)
from cloister.io import sha256, write_private
from cloister.pipeline.output_paths import remove_remains
from cloister.pipeline.protecting import protect
from cloister.release.folder import is_release, release_around
from cloister.settings.declaration import ColumnAssignments, Keywords, settings_of
from cloister.settings.run_options import RunOptions
from cloister.shapes.protocol import SILENCE, ProgressListener, Protection, Run, WithFrontier, shape_of
from cloister.shapes.registry import SHAPES
from cloister.sources import parse_profile
from cloister.version import __version__

from .setting_keys import EXAMPLE, FRONTIER, GRID, settings_in

JSON, PAGE, RELEASES = "exploration.json", "exploration.html", "releases"
SEPARATORS = "=:@"
"""The characters around the name of a file in a setting."""
NOT_ASKED = {"out", "custodian_dir", "threads", "engine", "as_json", "quiet", "verbose"}
"""Settings that change nothing of what is found."""


@dataclass(frozen=True)
class ExploreRequest:
    """The grid and options of an exploration."""

    # values by key, or words for them; or the transformations of a table that no other beats in risk and loss
    grid: Mapping[str, Sequence[object]] | Literal["frontier"]
    out: Path | None = None
    recommend: str = "knee"
    risk_limit: float | None = None
    keep_releases: bool = False


@dataclass(frozen=True)
class ExploredGrid:
    """The exploration, the number of settings already on file, and the content of ``exploration.json``."""

    exploration: Exploration
    earlier: int
    content: Keywords


@dataclass(frozen=True)
class ExplorationData:
    """The explored data, read once for all settings that read them alike."""

    shape: str
    options: RunOptions
    read: dict[tuple[str, ...], object] = field(default_factory=dict, repr=False)

    def prepared(self, setting: Setting) -> Protection:
        """Return the data, with the request that a setting states."""
        shape = shape_of(self.shape)
        options = shape.with_settings(self.options, setting)
        shape.check(options)
        return shape.prepare(options, Run(), self.data(options))

    def data(self, options: RunOptions) -> object:
        """Return the data as these settings read them; each reading happens once."""
        shape = shape_of(self.shape)
        key = tuple(str(getattr(options, name)) for name in shape.reading)
        if key not in self.read:
            self.read[key] = shape.read(options)
        return self.read[key]

    @property
    def source(self) -> str:
        """The name of the data."""
        data = getattr(self.options, "data", None) or getattr(self.options, SHAPES[self.shape].sources[0])
        return str(data.name)


def explore_settings(
    shape: str, options: RunOptions, asked: ExploreRequest, voice: ProgressListener = SILENCE
) -> ExploredGrid:
    """Try every setting that is not on file yet, and summarize all outcomes."""
    rule, work = rule_named(asked.recommend, asked.risk_limit), shape_of(shape)
    if asked.out is not None:
        remove_remains(asked.out, voice)
        if (around := release_around(asked.out)) is not None:
            raise InputError(f"A comparison of settings is confidential, but {around.name} around it is a release.")
        if asked.out.is_dir() and is_release(asked.out):
            raise InputError(f"{asked.out.name} is a release. Take another folder for {called('out')}.")
    grid: dict[str, tuple[object, ...]] = {}
    settings: Sequence[Setting]
    ground = ExplorationData(shape, work.with_settings(options, {}))
    if asked.grid == FRONTIER:
        if not isinstance(work, WithFrontier):
            raise InputError(GRID, f" {FRONTIER} is for tables. Give keys and values, as ", EXAMPLE)
        settings = work.frontier(ground.options, ground.data)
    else:
        wanted = asked.grid or work.usual_grid
        grid = {key: tuple(work.parse_word(options, key, word) for word in words) for key, words in wanted.items()}
        work.check_grid(options, grid)
        settings = settings_in(grid)
    for one in settings:
        with name_setting(one):
            ground.prepared(one)
    with open_record(asked.out, _identity(ground, grid or FRONTIER, asked), settings) as record:
        earlier = len(record.done)
        for number in range(earlier, len(settings)):
            with voice.working(f"setting {number + 1} of {len(settings)}: {in_words(settings[number])}"):
                record.add(_try_setting(ground, settings[number], asked, number))
        exploration = summed_up(record.done, rule, asked.risk_limit)
        content = {
            "for": FOR_THE_CUSTODIAN, "cloister": __version__, "shape": shape, "source": ground.source,
            "risk_limit": asked.risk_limit, **exploration.as_record(),
        }  # fmt: skip
        if asked.out is not None:
            _replace(asked.out / JSON, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
            _replace(asked.out / PAGE, exploration_page(exploration, ground.source))
    return ExploredGrid(exploration, earlier, content)


@contextmanager
def name_setting(setting: Setting) -> Iterator[None]:
    """Add the setting to errors."""
    try:
        yield
    except InputError as error:
        error.place = f"Setting {in_words(setting)}"
        raise


def _try_setting(ground: ExplorationData, setting: Setting, asked: ExploreRequest, number: int) -> Outcome:
    def attempt() -> Figures:
        release = protect(ground.prepared(setting))
        if asked.keep_releases and asked.out is not None:
            (asked.out / RELEASES).mkdir(mode=0o700, exist_ok=True)
            release.write(asked.out / RELEASES / f"{number + 1:03d}", overwrite=True)
        return exact_figures_of(release)

    with name_setting(setting):
        return outcome_of(setting, attempt)


def _identity(ground: ExplorationData, grid: Keywords | str, asked: ExploreRequest) -> Keywords:
    """Return the identity of an exploration, which must match to resume it: the request, and hashes of its files."""
    if asked.out is None:
        return {}
    given, folder = {}, getattr(ground.options, "plan", Path()).resolve().parent
    for one in settings_of(type(ground.options)):
        value = getattr(ground.options, one.name)
        if one.name not in NOT_ASKED and value is not None and (one.default is MISSING or value != one.default):
            given[one.name] = _plain(value)
    requested = {"shape": ground.shape, "options": given, "grid": grid, "keep_releases": asked.keep_releases}
    files = files_named([*given.values(), grid], folder)
    return {"asked": requested, "files": {str(path): f"sha256:{sha256(path)}" for path in files}}


def _plain(value: object) -> object:
    if isinstance(value, ColumnAssignments):
        return [*value.texts, *([_plain(value.later)] if value.later else [])]
    if is_dataclass(value):
        return {name: _plain(part) for name, part in vars(value).items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def files_named(values: object, folder: Path) -> tuple[Path, ...]:
    """Return the files that settings name, sorted; for folders, the files in them."""
    found = set()
    for text in _texts(values):
        for start, end in combinations([-1, *(i for i, sign in enumerate(text) if sign in SEPARATORS), len(text)], 2):
            word = text[start + 1 : end]
            found |= {path for path in (Path(word), folder / word) if word and path.is_file()}
        collection = parse_profile(text)
        if collection is not None:
            found |= {path for path in collection.files() if path.is_file()}
        if Path(text).is_dir():
            found |= {path for path in Path(text).iterdir() if path.is_file()}
    return tuple(sorted(found))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically."""
    aside = path.with_name(f".{path.name}.new")
    aside.unlink(missing_ok=True)
    write_private(aside, text.encode())
    os.replace(aside, path)
