"""Frozen records passed between stages, verdicts, and running times. Imports no other module of cloister."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Levels = Mapping[str, int]
"""Level of each quasi-identifier, by column name."""


@dataclass(frozen=True)
class RiskStep:
    """The risk of a guess among the records that match what is known, in the original and in the release."""

    known: str  # in words
    before: float
    after: float
    is_covered: bool  # whether the guarantee is about this knowledge


@dataclass(frozen=True)
class RiskChange:
    """The risk of a guess among the matching records, in the original and in the release, and both in a sentence."""

    before: float
    after: float
    sentence: str
    steps: tuple[RiskStep, ...] = ()  # the same for all that may be known


@dataclass(frozen=True)
class Promise:
    """What a release guarantees, and against whom it does not protect, in sentences without full stops."""

    guarantee: Sequence[str] = ()
    limits: Sequence[str] = ()


@dataclass(frozen=True)
class PropertyStatistics:
    """Statistics on one inherited property of transformations in a search."""

    inserts: int
    queries: int
    hits: int
    largest: int


@dataclass(frozen=True)
class SearchStatistics:
    """Statistics on how a search pruned the lattice."""

    insufficient_quality: PropertyStatistics | None = None
    insufficient_protection: PropertyStatistics | None = None
    store_seconds: float = 0.0
    store_bytes: int = 0
    seconds_to_best: float = 0.0


@dataclass(frozen=True)
class SearchResult:
    """The transformation found by a search, and its proof."""

    levels: Levels  # level of each quasi-identifier, by column name
    loss: float  # loss of that transformation after suppression, in [0, 1]
    suppressed: int  # records that it suppresses
    bound: float  # proven lower bound on the loss of any safe transformation, in [0, 1]
    optimal: bool  # whether the transformation is proven to be the best
    lattice: int  # number of transformations in the lattice, all levels of all hierarchies
    checked: int  # transformations or sets of transformations that were decided by counting records
    seconds: float  # time from the first bound to the proof, or to the time limit
    statistics: SearchStatistics | None = None  # what the search did, where it says so
    # the safe transformations below which nothing is safe, where the search finds them all
    minimal: tuple[Levels, ...] = ()

    @property
    def gap(self) -> float:
        """How much lower, relative to the loss found, the best loss could still be; 0 where optimality is proven."""
        return 0.0 if self.optimal or self.loss <= 0.0 else max(0.0, (self.loss - self.bound) / self.loss)


Why = Literal["several records of a patient", "free text", "says a quasi-identifier"]


@dataclass(frozen=True)
class DisclosiveColumn:
    """A column that undoes the protection of others, and why; ``about``: the quasi-identifier that it reveals."""

    column: str
    why: Why
    about: str | None = None


class Caveat(str):
    """One of the checks of a verdict that states what was not checked, and need not be."""

    __slots__ = ()


@dataclass(frozen=True, repr=False)
class Verdict:
    """The outcome of an independent check of a release: it holds, it fails, or it was not checked in full.

    Attributes
    ----------
    checks, failures : what was found to be so, and what was not, in sentences; each `Caveat` is no check that passed
    unchecked : name of what is promised and could not be checked, and why, in pairs; a name may occur again
    """

    how: str
    checks: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no check failed and every promise was checked."""
        return not self.failures and not self.unchecked

    @property
    def outcome(self) -> str:
        """The outcome in words."""
        return "Holds" if self.holds else "Does not hold" if self.failures else "Was not checked in full"

    def __repr__(self) -> str:
        """Return the outcome, the number of checks, and what failed."""
        why = f"{len(self.checks)} checks passed" if self.holds else self.problem()
        return f"verdict    {self.outcome}: {why}\nhow        {self.how}"

    def _repr_html_(self) -> str:
        """Return the outcome first, then each check, for a notebook."""
        why = "" if self.holds else f": {escape(self.problem())}"
        checks = "".join(f"<li>{escape(one)}</li>" for one in self.checks)
        details = f"<details><summary>{escape(self.how)}</summary><ul>{checks}</ul></details>"
        return f"<p><strong>{self.outcome}</strong>{why}</p>{details}"

    def problem(self) -> str:
        """Return what failed, or what was not checked, in sentences without the last stop."""
        return "; ".join(self.failures or [why for _, why in self.unchecked])

    def accepting(self, names: Collection[str]) -> "Verdict":
        """Return the verdict of someone who does not ask for some things that were not checked."""
        accepted = tuple(Caveat(f"accepted unchecked: {why}") for name, why in self.unchecked if name in names)
        left = tuple(pair for pair in self.unchecked if pair[0] not in names)
        return replace(self, checks=(*self.checks, *accepted), unchecked=left)


@dataclass(frozen=True)
class Risk:
    """Re-identification risk of the released records by class size (prosecutor model)."""

    highest: float
    average: float
    share_above_threshold: float  # share of records whose risk is above ``threshold``
    threshold: float
    classes: int
    smallest: int
    largest: int
    histogram: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ColumnLoss:
    """Information loss of one quasi-identifier."""

    column: str  # its name
    levels: tuple[int, ...]  # levels that occur, ascending; one, unless they differ between classes
    top: int  # highest level of its hierarchy
    loss: float  # in [0, 1], suppressed records counted as lost
    by_level: float  # mean of level / top over the released records, in [0, 1]
    labels: int  # distinct labels released
    # share of the variance that averages lost within the released records; None without a mean or median
    variance_lost: float | None = None
    values_changed: float | None = None  # share of released records whose value is not the mode; None without a mode


@dataclass(frozen=True)
class Utility:
    """Information lost, in [0, 1]: the loss optimized, other losses for comparison, and each column's share.

    ``exact`` is False where the figures are those that the released records alone tell.
    """

    loss: float
    losses: Mapping[str, float] = field(default_factory=dict)
    columns: tuple[ColumnLoss, ...] = ()
    exact: bool = True

    @property
    def mean_loss(self) -> float:
        """The unweighted mean of the losses of the columns."""
        return sum(one.loss for one in self.columns) / max(1, len(self.columns))


Manifest = dict[str, Any]
"""The contents of ``release.json``."""

Figures = dict[str, Any]
"""Figures that a report shows in addition to the manifest, or that only the custodian may see; as in JSON."""


class Checks:
    """Collects the checks passed and failed."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failures: list[str] = []
        self.unchecked: list[tuple[str, str]] = []

    def leave(self, name: str, why: str) -> None:
        """Note a promise that cannot be checked; the verdict on such a release does not hold."""
        self.unchecked.append((name, why))

    def require(self, holds: "bool | np.bool_", promise: str, failure: str = "") -> bool:
        """Note a promise as kept, or its failure."""
        if holds:
            self.done.append(promise)
        else:
            self.failures.append(failure or f"not so: {promise}")
        return bool(holds)

    def verdict(self, how: str) -> Verdict:
        """Return the verdict."""
        return Verdict(how, tuple(self.done), tuple(self.failures), tuple(self.unchecked))


STARTED = time.perf_counter()
"""When this process began to load cloister, or soon after."""

DIGITS = 2
"""Seconds are published in hundredths: finer times are a side channel."""

STAGES = ("start", "read", "encode", "search", "protect", "verify", "measure", "write")


@dataclass
class Stopwatch:
    """Adds up time by stage; accepts time already spent.

    ``hears``: called at the beginning of each stage, with the time that the earlier ones took
    """

    seconds: dict[str, float] = field(default_factory=dict)
    hears: Callable[[str, Mapping[str, float]], None] | None = field(default=None, repr=False, compare=False)
    _around: str | None = field(default=None, repr=False, compare=False)  # the stage that runs, in which others may

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        started, around = time.perf_counter(), self._around
        self._begin(name)
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
            self._begin(around)

    def _begin(self, name: str | None) -> None:
        """Go on with a stage, and say so."""
        self._around = name
        if self.hears is not None and name is not None:
            self.hears(name, self.seconds)

    def move(self, source: str, target: str, seconds: float) -> None:
        """Move part of the time of one stage to another."""
        self.seconds[source] = self.seconds.get(source, 0.0) - seconds  # of a stage that runs, before its end
        self.seconds[target] = self.seconds.get(target, 0.0) + seconds

    def table(self) -> dict[str, float]:
        """Seconds of every stage, and their sum as ``total``."""
        spent = {name: round(self.seconds.get(name, 0.0), DIGITS) for name in STAGES}
        return spent | {"total": round(sum(spent.values()), DIGITS)}


@dataclass(frozen=True)
class CountBounds:
    """Bounds on a number of original records, and an estimate between them."""

    lower: int
    expected: float
    upper: int

    def __post_init__(self) -> None:
        # The last digits of a sum differ between processors, and mean nothing in an estimate.
        object.__setattr__(self, "expected", round(self.expected, 9))

    @property
    def is_exact(self) -> bool:
        """Whether the release gives the exact number."""
        return self.lower == self.upper
