"""The protocol of a shape: protection, jobs, exploration and attacks are written once, for every shape.

A shape declares its settings and how it reads, checks and protects; `cloister.shapes.registry` says which shapes there
are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from cloister.hierarchy import Hierarchy
from cloister.io import Query
from cloister.jobs.job import Job, Part
from cloister.jobs.linked_columns import RecordedValues
from cloister.kernels.compiling import compile_kernels, must_compile
from cloister.release.manifest import AnyManifest
from cloister.release.release import Release
from cloister.results import Promise, Stopwatch
from cloister.settings.declaration import Keywords
from cloister.settings.run_options import RunOptions

from .registry import SHAPES, load

if TYPE_CHECKING:  # anyone who only verifies or attacks loads no search
    from cloister.search.problem import Report

Rows = Sequence[tuple[str, str]]
Options = TypeVar("Options", bound=RunOptions)
Read = TypeVar("Read")


class ProgressListener(Protocol):
    """The progress messages of a run; every front end has a listener."""

    def note(self, text: str, *, always: bool = False) -> None:
        """Report a note that is not the result; if ``always``, quiet runs report it too."""

    @contextmanager
    def working(self, _what: str) -> Iterator[Callable[[str], None]]:
        """Report a long operation while it runs; yield the function that reports its progress."""
        yield lambda _how_far: None

    @contextmanager
    def searching(self) -> Iterator["Report | None"]:
        """Yield the function to which a search reports progress; None if nobody would see it."""
        yield None


class NullListener(ProgressListener):
    """A listener that prints nothing."""

    def note(self, text: str, *, always: bool = False) -> None:
        """Print nothing."""


SILENCE: ProgressListener = NullListener()


@dataclass(frozen=True)
class Run:
    """The environment of a run, apart from its settings."""

    watch: Stopwatch = field(default_factory=Stopwatch)
    voice: ProgressListener = SILENCE
    # engines that count tables where they are, kept open until everything was written
    engines: ExitStack = field(default_factory=ExitStack, repr=False)

    def compiling(self, method: str, what: str = "the method") -> None:
        """Compile the kernels of a method or search if they are not compiled yet, and report this."""
        if must_compile(method):
            self.voice.note(f"Compiling {what} for this machine, once.")
            with self.watch.stage("start"), self.voice.working("compiling") as say:
                compile_kernels(method, lambda done: say(f"compiling: {done:.0%}"))


@dataclass(frozen=True)
class Original:
    """The original data of a release, with the knowledge that an attack on the release needs."""

    data: object = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] | None = field(default=None, repr=False)
    privacy: object = field(default=None, repr=False)  # of generalized code sets, the privacy policy
    missing: tuple[str, ...] = field(default=(), repr=False)


class Protection(ABC):
    """Data with a request, ready for protection by a method; `cloister.pipeline.protecting.protect` runs it."""

    kernels: str  # the compiled loops that the method needs, by their name in `cloister.kernels.compiling`
    kernels_in_words = "the method"
    original: Original
    recorded: tuple[str, ...] = ()  # columns that are released as recorded, one row a patient
    how_read: Sequence[str] = ()  # what was changed and omitted while the data were read, for the custodian
    assumptions: Sequence[str] = ()  # notes for the user that need no release, without full stops
    # where the data come from, by the name of the file, and the folder in which only the custodian reads it
    origin: Mapping[str, Path | Query] = MappingProxyType({})
    custodian_dir: Path | None = None
    summary: Rows = ()  # the request, by subject, without values of the data
    promise = Promise()  # what the release will guarantee, and its limits

    def check_roles(self) -> None:  # noqa: B027  (most shapes have no roles)
        """Reject columns without a role, which takes no work; other shapes have none."""

    @abstractmethod
    def check(self) -> None:
        """Raise every error that can be found without protecting the data."""

    @abstractmethod
    def take_steps(self, run: Run) -> Release:
        """Protect the data, and return the verified release; called once."""

    @property
    def may_be_in_memory(self) -> bool:
        """Whether an engine protects the data that nobody named: memory takes over if it has too little."""
        return False

    def read_into_memory(self, _run: Run) -> "Protection":
        """Return the same protection in memory."""
        return self

    def notes(self, _release: Release, _manifest: AnyManifest) -> Sequence[str]:
        """Return notes on the release for the user, without full stops."""
        return self.assumptions

    def recorded_values(self) -> RecordedValues | None:
        """Return the values that are released as recorded, by patient; None without any, or if not in memory."""
        return None


class Shape(Protocol[Options, Read]):
    """A shape of data, with its reading, checks and protection."""

    reading: tuple[str, ...]  # settings that control how data are read, other than the path
    usual_grid: Mapping[str, Sequence[str]]  # values by key that are compared where no grid is given

    def check(self, options: Options) -> None:
        """Reject unknown settings and inconsistent combinations, before reading anything."""

    def read(self, options: Options) -> Read:
        """Read the data as the settings state."""

    def prepare(self, options: Options, run: Run, read: Read | None = None) -> Protection:
        """Return data with the request; data in memory replace those that the settings name."""

    def of_part(self, keywords: Keywords, part: Part, job: Job, path: Path) -> Options:
        """Return the settings of a part: those of the job, its own, and those of its sources."""

    def parse_word(self, options: Options, key: str, word: object) -> object:
        """Parse the value of a key in a grid."""

    def with_settings(self, options: Options, setting: Keywords) -> Options:
        """Return the settings with the values of a grid."""

    def check_grid(self, options: Options, grid: Keywords) -> None:
        """Reject settings that are also in the grid."""


@runtime_checkable
class WithFrontier(Protocol[Options]):
    """A shape with settings that can be compared without a release; other shapes lack this method."""

    def frontier(self, options: Options, read: Callable[[Options], object]) -> list[dict[str, object]]:
        """Return the Pareto-optimal settings by risk and loss."""


AnyShape: TypeAlias = Shape[Any, Any]


def shape_of(name: str) -> AnyShape:
    """Return the implementation of a shape."""
    shape: AnyShape = load(SHAPES[name].work)()
    return shape
