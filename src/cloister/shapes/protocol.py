"""What a shape does when it is run: one protocol, over which protecting, jobs, exploring and attacks are written once.

A shape declares its settings and how it reads, checks and protects; `cloister.shapes.registry` says which shapes there
are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from cloister.hierarchy import Hierarchy
from cloister.jobs.job import Job, Part
from cloister.jobs.linked_columns import RecordedValues
from cloister.kernels.compiling import compile_kernels, must_compile
from cloister.release.manifest import AnyManifest
from cloister.release.release import Release
from cloister.results import Stopwatch
from cloister.settings.declaration import Keywords
from cloister.settings.run_options import RunOptions

from .registry import SHAPES, load

if TYPE_CHECKING:  # anyone who only verifies or attacks loads no search
    from cloister.search.problem import Report

Rows = list[tuple[str, str]]
Options = TypeVar("Options", bound=RunOptions)
Read = TypeVar("Read")


class ProgressListener(Protocol):
    """How a run tells someone who waits for it what it does; a front end has one."""

    def note(self, text: str, *, always: bool = False) -> None:
        """Say something that is not the result; ``always`` where even a quiet run says it."""

    @contextmanager
    def working(self, _what: str) -> Iterator[Callable[[str], None]]:
        """Say what takes its time, while it does; yield what says how far it is."""
        yield lambda _how_far: None

    @contextmanager
    def searching(self) -> Iterator["Report | None"]:
        """Yield what a search reports to; None where nobody would see it."""
        yield None


class NullListener(ProgressListener):
    """Says nothing."""

    def note(self, text: str, *, always: bool = False) -> None:
        """Say nothing."""


SILENCE: ProgressListener = NullListener()


@dataclass(frozen=True)
class Run:
    """What a run has beside its settings."""

    watch: Stopwatch = field(default_factory=Stopwatch)
    voice: ProgressListener = SILENCE
    # engines that count tables where they are, kept open until everything was written
    engines: ExitStack = field(default_factory=ExitStack, repr=False)

    def compiling(self, method: str, what: str = "the method") -> None:
        """Compile the kernels of a method or search, where they are not, and say so."""
        if must_compile(method):
            self.voice.note(f"Compiling {what} for this machine, once.")
            with self.watch.stage("start"), self.voice.working("compiling") as say:
                compile_kernels(method, lambda done, left: say(f"compiling: {done:.0%}, {left:.0f} s left"))


@dataclass(frozen=True)
class Original:
    """What a release is made from, as an attack on it must know it."""

    data: object = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] | None = field(default=None, repr=False)
    privacy: object = field(default=None, repr=False)  # of generalized code sets, the privacy policy
    missing: tuple[str, ...] = field(default=(), repr=False)


class Prepared(ABC):
    """Data that were read and settings that were looked up: what a run is about to do."""

    run: Run
    original: Original
    recorded: tuple[str, ...] = ()  # columns that are released as recorded, one row a patient
    how_read: Sequence[str] = ()  # what was changed and omitted while the data were read, for the custodian

    @abstractmethod
    def protect(self) -> Release:
        """Take the data through the stages; called once."""

    @abstractmethod
    def check(self) -> object:
        """Raise what protecting would raise, as far as that can be found out without."""

    @abstractmethod
    def notes(self, release: Release, manifest: AnyManifest) -> list[str]:
        """Return what a user should know of the release, without the stop at the end."""

    def recorded_values(self) -> RecordedValues | None:
        """Return what is released as recorded of each patient; None where there is no such, or it is elsewhere."""
        return None

    @abstractmethod
    def request_in_words(self) -> Rows:
        """Return what would be done, by subject; no value of the data."""


class Shape(Protocol[Options, Read]):
    """A shape of data as it is read, checked and protected."""

    reading: tuple[str, ...]  # settings by which data are read, beside their place
    usual_grid: Mapping[str, Sequence[str]]  # values by key that are compared where no grid is given

    def check(self, options: Options) -> None:
        """Refuse settings that there are not, or that do not fit each other, before anything is read."""

    def read(self, options: Options) -> Read:
        """Read the data as the settings ask."""

    def prepare(self, options: Options, run: Run, read: Read | None = None) -> Prepared:
        """Return what is about to be done with the data that were read before, else those that the settings name."""

    def of_part(self, keywords: Keywords, part: Part, job: Job, path: Path) -> Options:
        """Return the settings of a part: those of all parts, its own, and what its sources say."""

    def parse_word(self, options: Options, key: str, word: object) -> object:
        """Return the value that a word of a grid stands for under a key."""

    def with_settings(self, options: Options, setting: Keywords) -> Options:
        """Return the settings with the values of a grid in their place."""

    def check_grid(self, options: Options, grid: Keywords) -> None:
        """Refuse settings that the grid changes as well."""


@runtime_checkable
class WithFrontier(Protocol[Options]):
    """A shape whose settings can be compared without a release; others need not say that they have none."""

    def frontier(self, options: Options, read: Callable[[Options], object]) -> list[dict[str, object]]:
        """Return the settings that no other beats in risk and loss."""


AnyShape: TypeAlias = Shape[Any, Any]


def shape_of(name: str) -> AnyShape:
    """Return what reads and protects a shape."""
    shape: AnyShape = load(SHAPES[name].work)()
    return shape
