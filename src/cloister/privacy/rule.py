"""What a privacy rule is, what it may look at, and how it compares what it computes with a threshold.

It sees class sizes, histograms of sensitive values, and population counts.

Figures are quotients, sums and logarithms of counts in floating point, thresholds are decimals. What differs by no more
than ``TOLERANCE`` counts as equal, so that a class of one in ten has a share of 0.1: equal passes where the definition
includes it and fails where it does not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Histogram:
    """How the values of one sensitive column are spread over equivalence classes.

    Attributes
    ----------
    start : (n_classes + 1,) int64, where the cells of each class begin in ``value`` and ``records``
    value : (n_cells,) int64, number of a value in [0, n_values); each at most once in a class, ascending.
        Values are numbered in their natural order: numbers and dates by size, else text by UTF-8 bytes; missing last.
    records : (n_cells,) int64, records of the class that have this value, at least 1
    whole : (n_values,) int64, records of each value in the whole input
    missing : number of the value that stands for missing; -1 if nothing is missing
    groups : (n_levels, n_values) int64, group of each value at each level of the hierarchy that a rule brought
        along, level 0 the values themselves, the last level one group; None if no rule needs one
    """

    start: NDArray[np.int64]
    value: NDArray[np.int64]
    records: NDArray[np.int64]
    whole: NDArray[np.int64]
    missing: int
    groups: NDArray[np.int64] | None = None


class EquivalenceClasses(Protocol):
    """The equivalence classes of a table at one transformation, as far as rules may see them."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class, shape (n_classes,), at least 1."""

    def histogram(self, rule: "ClassRule") -> Histogram:
        """Return the values of the column of a rule in each class."""

    def population(self, rule: "ClassRule") -> NDArray[np.int64]:
        """Return the records of the rule's population table in each class, shape (n_classes,), from 0 on."""

    def is_covering(self, rule: "ClassRule") -> bool:
        """Return whether every record of the rule's population table falls into one of the classes."""


@runtime_checkable
class PrivacyRule(Protocol):
    """What all rules say of themselves.

    ``is_monotone``: a class that satisfies the rule still does after any records are added to it, so a coarser
    transformation never suppresses more. ``is_closed``: two classes that satisfy it do so together; then a coarser
    transformation never violates it where a finer one satisfies it *without suppression*. The search prunes by nothing
    else.
    """

    model: ClassVar[str]
    counts: ClassVar[str]
    is_monotone: ClassVar[bool]
    is_closed: ClassVar[bool]

    @property
    def class_size(self) -> int:
        """Records that a class needs at least if it is to satisfy the rule, whatever they are; 1 if that is unknown."""

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it: ``model``, ``column`` if there is one, and its numbers."""

    def words(self) -> str:
        """Return the rule as on the command line."""

    def sentence(self) -> str:
        """Return the rule in words."""


@runtime_checkable
class ClassRule(PrivacyRule, Protocol):
    """A rule about each class by itself: a class that violates it is suppressed.

    ``column`` is the sensitive column it looks at, or None; ``needs`` is what the tabular room must prepare:
    ``"sizes"``, ``"histogram"``, ``"ordered histogram"``, ``"grouped histogram"`` or ``"population"``.
    """

    @property
    def needs(self) -> str:
        """What the tabular room must prepare; for some rules this depends on their settings."""

    @property
    def column(self) -> str | None:
        """The sensitive column that the rule looks at."""

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept if it is split in any way, shape (n_classes,).

        An upper bound: the parts that satisfy the rule do so together where it is closed, so they hold no more than
        the largest part of the class that satisfies it.

        Parameters
        ----------
        holds : (n_classes,) what `holds` returned
        """


@runtime_checkable
class TableRule(PrivacyRule, Protocol):
    """A rule about the table as a whole: the smallest classes are suppressed until it holds."""

    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed, from 0 to all of them.

        Parameters
        ----------
        sizes : (n_classes,) int64, ascending
        """


class BasicRule:
    """What a class may keep if nothing but monotony is known of a rule."""

    is_monotone: ClassVar[bool]

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept: of one that violates a monotone rule, none."""
        return np.where(holds | (not self.is_monotone), classes.sizes, 0)


@dataclass(frozen=True)
class NumberedRule(BasicRule):
    """A rule that is told by its fields: the sensitive column, if it has one, and numbers."""

    model: ClassVar[str]

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        described = {field.name: getattr(self, field.name) for field in fields(self)}
        column = {"column": described.pop("column")} if "column" in described else {}
        return {"model": self.model, **column, **described}

    def words(self) -> str:
        """Return the rule as on the command line."""
        described = self.describe()
        numbers = [written(number) for number in described.values() if isinstance(number, int | float)]
        return f"{self.model}{':' if 'column' in described else ''}{described.get('column', '')}={','.join(numbers)}"


@dataclass(frozen=True)
class SensitiveRule(NumberedRule):
    """A rule about how often each value of a sensitive column occurs in a class; closed, and not monotone."""

    counts: ClassVar[str] = "records of each sensitive value"
    needs: ClassVar[str] = "histogram"
    is_monotone: ClassVar[bool] = False
    is_closed: ClassVar[bool] = True


TOLERANCE = 1e-12
"""Far above the error of a sum of shares, far below the difference that one record makes."""

Figures = NDArray[np.float64]


def at_most(figures: Figures, limit: float | Figures) -> Mask:
    """Return where figures are at most a limit, equality included."""
    return np.asarray(figures <= limit + TOLERANCE)


def at_least(figures: Figures, limit: float | Figures) -> Mask:
    """Return where figures are at least a limit, equality included."""
    return np.asarray(figures >= limit - TOLERANCE)


def below(figures: Figures, limit: float | Figures) -> Mask:
    """Return where figures are below a limit, equality excluded."""
    return np.asarray(figures < limit - TOLERANCE)


Number = TypeVar("Number", np.int64, np.float64)


def recorded(histogram: Histogram) -> Counts:
    """Return the records of each cell, 0 where the value is missing; shape (n_cells,)."""
    return np.where(histogram.value == histogram.missing, 0, histogram.records)


def recorded_whole(histogram: Histogram) -> Counts:
    """Return the records of each value in the whole input, 0 for missing; shape (n_values,)."""
    return np.where(np.arange(len(histogram.whole)) == histogram.missing, 0, histogram.whole)


def class_sums(histogram: Histogram, cells: NDArray[Number]) -> NDArray[Number]:
    """Return the sum over the cells of each class, shape (n_classes,)."""
    return np.add.reduceat(cells, histogram.start[:-1])


def class_maxima(histogram: Histogram, cells: NDArray[Number]) -> NDArray[Number]:
    """Return the largest of the cells of each class, shape (n_classes,)."""
    return np.maximum.reduceat(cells, histogram.start[:-1])


def class_of_cell(histogram: Histogram) -> Counts:
    """Return the number of the class that each cell belongs to, shape (n_cells,)."""
    return np.repeat(np.arange(len(histogram.start) - 1), np.diff(histogram.start))


def shares(histogram: Histogram) -> Figures:
    """Return each cell's share of the records of its class, missing ones included; shape (n_cells,)."""
    sizes = class_sums(histogram, histogram.records)
    return np.asarray(histogram.records / np.repeat(sizes, np.diff(histogram.start)), dtype=np.float64)


def most_at_share(others: Counts, total: Counts, share: float | Figures) -> Counts:
    """Return how many records of classes may be kept if some of them may make up no more than a share of what is.

    Parameters
    ----------
    others, total : (n_classes,) all other records, and all
    share : of the former, from 0 to 1
    """
    # Rounded up by far more than floating point may be off, so that it stays an upper bound.
    most: Figures = others / np.maximum(1 - np.asarray(share), 1e-15) * (1 + 1e-9) + 1e-6
    return np.minimum(most, total).astype(np.int64)


def most_by_share(classes: EquivalenceClasses, rule: ClassRule, holds: Mask, share: float) -> Counts:
    """Return how many records of each class may be kept, shape (n_classes,), where shares are of the recorded values.

    Parameters
    ----------
    share : that any value may have
    """
    histogram = classes.histogram(rule)
    counts = recorded(histogram)
    total = class_sums(histogram, counts)
    kept = np.where(holds, total, most_at_share(total - class_maxima(histogram, counts), total, share))
    # What is missing counts for no share, but stands in no class without a recorded value.
    return np.where(kept > 0, kept + classes.sizes - total, 0)


MOST_RECORDS = 2**62
"""No table has more, and counts stay exact."""


def whole_number(name: str, value: object, least: int) -> int:
    """Return ``value`` if it is a whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} is {_shown(value)}, but it must be a whole number from {least} on.")
    if value > MOST_RECORDS:
        raise InputError(f"{name} is more than {MOST_RECORDS}, but no table has as many records. Give a smaller one.")
    return value


def real_number(name: str, value: object, wanted: str, is_fit: Callable[[float], bool]) -> float:
    """Return ``value`` as a float if it is a finite number of the range that ``wanted`` puts into words."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or abs(value) > MOST_RECORDS
        or not math.isfinite(value)
        or not is_fit(float(value))
    ):
        raise InputError(f"{name} is {_shown(value)}, but it must be a number {wanted}.")
    return float(value)


def keep_real(rule: object, name: str, wanted: str, is_fit: Callable[[float], bool]) -> None:
    """Check a field of a frozen rule as `real_number` does, and keep it as a float."""
    object.__setattr__(rule, name, real_number(name, getattr(rule, name), wanted, is_fit))


def name_of(what: str, value: object) -> str:
    """Return ``value`` if it is a text that can name something."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{what} must be named by a text that is not empty.")
    return value


def written(number: float) -> str:
    """Return a number as on the command line, in as few digits as give it back exactly.

    Examples
    --------
    >>> written(2.0), written(0.05)
    ('2', '0.05')
    """
    return str(int(number)) if number == int(number) else repr(number)


def _shown(value: object) -> str:
    """A number as it is; anything else might hold data and is told by its type."""
    if isinstance(value, int | float) and abs(value) <= MOST_RECORDS:
        return repr(value)
    return "not finite or too large" if isinstance(value, int | float) else f"of the type {type(value).__name__}"


def checked_name(population: Any, name: str | None, model: str) -> str:
    """Return the name under which a population table is shown; one that is given without a name is ``population``."""
    if population is None and name is None:
        raise InputError(f"{model} needs a population: a table of all people that the patients may be among.")
    return name_of("The population", "population" if name is None else name)
