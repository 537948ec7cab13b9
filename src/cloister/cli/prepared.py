"""Data that were read and settings that were taken, before anything is protected: the same for all shapes."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import Console

from cloister.errors import InternalError
from cloister.hierarchy import Hierarchy
from cloister.release import Attacked, Release
from cloister.results import Manifest
from cloister.settings import RunOptions
from cloister.stopwatch import Stopwatch

Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Original:
    """What a release is made from, as an attack on it must know it.

    Attributes
    ----------
    data : as read
    hierarchies : by column
    privacy : of generalized code sets, the privacy policy
    missing : texts that stand for a missing value
    """

    data: Any = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] | None = field(default=None, repr=False)
    privacy: Any = field(default=None, repr=False)
    missing: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Prepared:
    """What a run of ``protect`` is about to do.

    Attributes
    ----------
    protect : takes the data through the stages; called once
    check : everything else that can be found out without protecting; raises what protecting would raise
    notes : what a user should know of the release, without the stop at the end
    asked : what would be done, in words, by subject; holds no value of the data
    original : what is protected
    recorded : columns that are released as recorded, one row a patient
    """

    protect: Callable[[], Release] = field(repr=False)
    check: Callable[[], object] = field(repr=False)
    notes: Callable[[Release, Manifest], list[str]] = field(repr=False)
    asked: Rows
    original: Original
    recorded: tuple[str, ...] = ()


Options = TypeVar("Options", bound=RunOptions)
Read = TypeVar("Read")


@dataclass(frozen=True)
class Work(Generic[Options, Read]):
    """What is done for a shape.

    Attributes
    ----------
    check : refuses words that no option has
    read : reads the data as the options ask
    prepare : returns what is about to be done; engines stay open until the release was written. Data that were read
        before are given, else None
    summary : prints what was released
    reading : settings by which data are read
    """

    check: Callable[[Options], None]
    read: Callable[[Options], Read]
    prepare: Callable[[Options, Stopwatch, ExitStack, Read | None], Prepared]
    summary: Callable[[Console, Manifest, Path], None]
    reading: tuple[str, ...] = ()


AnyRelease = TypeVar("AnyRelease", bound=Release)


def with_attack(release: AnyRelease, options: RunOptions, original: Original) -> AnyRelease:
    """Return a release that is attacked as it is written, if that was asked for."""
    if not options.attack:
        return release
    from cloister.attacks.simulation import simulate  # loaded only where it is asked for
    from cloister.originals import ReadingWords
    from cloister.verbs.attack import Known, open_folder

    words = ReadingWords(original.missing)
    known = Known(original.hierarchies, release.custody.crosswalk, privacy=original.privacy, words=words)
    seed = options.seed or 0

    def attack(folder: Path, manifest: Manifest) -> Attacked:
        found = simulate(open_folder(folder, manifest, original.data, known, seed), seed=seed)
        if not found.holds:
            raise InternalError(
                f"An attack on what was written found {found.broken} of {found.targets} targets with fewer than "
                f"{found.k} matches."
            )
        return found

    return replace(release, attack=attack)
