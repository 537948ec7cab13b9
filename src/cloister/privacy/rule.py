"""Privacy rules: their interface, their inputs, and the comparison of figures with thresholds.

A rule sees class sizes, histograms of sensitive values, and population counts.

Figures are quotients, sums and logarithms of counts in floating point, thresholds are decimals. What differs by no more
than ``TOLERANCE`` counts as equal, so that a class of one in ten has a share of 0.1: equal passes where the definition
includes it and fails where it does not.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Annotated, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.settings.constraints import Constraint, Interval, Named, check_value, constraint_of

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Histogram:
    """The distribution of the values of one sensitive column over equivalence classes."""

    start: NDArray[np.int64]  # (n_classes + 1,) int64, where the cells of each class begin in ``value`` and ``records``
    # (n_cells,) int64, number of a value in [0, n_values); each at most once in a class, ascending. Values are
    # numbered in their natural order: numbers and dates by size, else text by UTF-8 bytes; missing last.
    value: NDArray[np.int64]
    records: NDArray[np.int64]  # (n_cells,) int64, records of the class that have this value, at least 1
    whole: NDArray[np.int64]  # (n_values,) int64, records of each value in the whole input
    missing: int  # number of the missing value; -1 if nothing is missing
    # (n_levels, n_values) int64, group of each value at each level of the hierarchy that a rule brought along, level
    # 0 the values themselves, the last level one group; None if no rule needs one
    groups: NDArray[np.int64] | None = None


class EquivalenceClasses(Protocol):
    """The view that rules have of the equivalence classes of a table at one transformation."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The records of each class, shape (n_classes,), at least 1."""

    @property
    def level_loss(self) -> Fraction:
        """The mean over the quasi-identifiers of level / highest level; defined if all records have the same levels."""

    def histogram(self, rule: "ClassRule") -> Histogram:
        """Return the histogram of a rule's column in each class."""

    def population(self, rule: "ClassRule") -> NDArray[np.int64]:
        """Return the records of the rule's population table in each class, shape (n_classes,), from 0 on."""

    def is_covering(self, rule: "ClassRule") -> bool:
        """Return whether every record of the rule's population table falls into one of the classes."""


@dataclass(frozen=True)
class PrivacyRule(ABC):
    """The base of all rules. Fields declare a rule, and constraints mark the fields, as in `AtLeast2`.

    ``is_monotone``: a class that satisfies the rule still does after any records are added to it, so a coarser
    transformation never suppresses more. ``is_closed``: two classes that satisfy it do so together; then a coarser
    transformation never violates it where a finer one satisfies it *without suppression*. The search prunes by nothing
    else. ``usage`` is how it is written, ``says`` the rule in words, with the names of its fields in braces.
    """

    model: ClassVar[str]
    usage: ClassVar[str]
    says: ClassVar[str]
    is_monotone: ClassVar[bool] = False
    is_closed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for one in fields(self):
            limit = constraint_of(one.type)
            if limit is not None:
                object.__setattr__(self, one.name, check_field(one.name, getattr(self, one.name), limit))

    @property
    def class_size(self) -> int:
        """Minimum records of a class that can satisfy the rule, whatever its values; 1 if unknown."""
        return 1

    @property
    def about(self) -> str | None:
        """The column that the rule examines, if any."""
        column: str | None = getattr(self, "column", None)
        return column

    @property
    def full_domain_because(self) -> str | None:
        """Why all records must have the same levels, as the predicate of a sentence; None if they need not."""
        return None

    @property
    def forbids_suppression(self) -> bool:
        """Whether suppressing any class breaks the rule."""
        return False

    def in_sample(self, n_records: int) -> Self:  # noqa: ARG002  (most rules need not know)
        """Return the rule for an input of this many records."""
        return self

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it: ``model``, ``column`` if there is one, and its numbers."""
        kept = [one.name for one in fields(self) if one.compare and getattr(self, one.name) is not None]
        found = {PUBLISHED.get(name, name): getattr(self, name) for name in kept}
        column = {"column": found.pop("column")} if "column" in found else {}
        return {"model": self.model, **column, **found}

    def words(self) -> str:
        """Return the rule as on the command line."""
        described = self.describe()
        name = described.get("column", described.get("population"))
        numbers = [write_number(number) for number in described.values() if isinstance(number, int | float)]
        return f"{self.model}{'' if name is None else f':{name}'}={','.join(numbers)}"

    def sentence(self) -> str:
        """Return the rule in words."""
        shown = {name: write_number(x) if isinstance(x, int | float) else x for name, x in vars(self).items()}
        return self.says.format(**shown)


class ClassRule(PrivacyRule):
    """A rule about each class separately: a class that violates it is suppressed.

    ``needs`` is what the tabular room must prepare: ``"sizes"``, ``"histogram"``, ``"ordered histogram"``,
    ``"grouped histogram"``, ``"population"`` or ``"levels"``.
    """

    @property
    @abstractmethod
    def needs(self) -> str:
        """The data that the tabular method must prepare; for some rules this depends on their settings."""

    @property
    def full_domain_because(self) -> str | None:
        """Why all records must have the same levels; None if they need not."""
        return FULL_DOMAIN_NEEDS.get(self.needs)

    @abstractmethod
    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return an upper bound on the records kept of each class if it is split in any way, shape (n_classes,).

        An upper bound: the parts that satisfy the rule do so together where it is closed, so they hold no more than
        the largest part of the class that satisfies it. Of a class that violates a monotone rule, none may be kept.

        ``holds``: (n_classes,) what `holds` returned.
        """
        return np.where(holds | (not self.is_monotone), classes.sizes, 0)


class TableRule(PrivacyRule):
    """A rule about the complete table: the smallest classes are suppressed until the table satisfies it."""

    @abstractmethod
    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed, from 0 to all of them.

        ``sizes``: (n_classes,) int64, ascending.
        """


class SensitiveRule(ClassRule):
    """A rule about how often each value of a sensitive column occurs in a class; closed, and not monotone."""

    needs = "histogram"
    is_closed = True


FULL_DOMAIN_NEEDS = {
    "population": "compares classes with a population",
    "levels": "measures the loss of records by their levels",
}
"""Why rules need full-domain generalization, by what they need."""

PUBLISHED = {"name": "population", "size": "population_size", "least": "class_size", "spec": "hierarchy"}
"""Fields that a manifest calls otherwise."""


def least_group(rules: Iterable[PrivacyRule]) -> int:
    """Return the number below which counts are masked: the least group that any rule asks for, at least 2."""
    return max(2, *(max(rule.class_size, getattr(rule, "k", 2)) for rule in rules))


TOLERANCE = 1e-12
"""Far above the error of a sum of shares, far below the difference that one record makes."""

Figures = NDArray[np.float64]


def at_most(figures: Figures, limit: float | Figures) -> Mask:
    """Whether figures are at most a limit, including equality."""
    return np.asarray(figures <= limit + TOLERANCE)


def at_least(figures: Figures, limit: float | Figures) -> Mask:
    """Whether figures are at least a limit, including equality."""
    return np.asarray(figures >= limit - TOLERANCE)


def below(figures: Figures, limit: float | Figures) -> Mask:
    """Whether figures are below a limit, excluding equality."""
    return np.asarray(figures < limit - TOLERANCE)


Number = TypeVar("Number", np.int64, np.float64)


def recorded_counts(histogram: Histogram) -> Counts:
    """Return the records of each cell, 0 where the value is missing; shape (n_cells,)."""
    return np.where(histogram.value == histogram.missing, 0, histogram.records)


def recorded_whole(histogram: Histogram) -> Counts:
    """Return the records of each value in the complete input, 0 for missing; shape (n_values,)."""
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

    ``share``: that any value may have.
    """
    histogram = classes.histogram(rule)
    counts = recorded_counts(histogram)
    total = class_sums(histogram, counts)
    kept = np.where(holds, total, most_at_share(total - class_maxima(histogram, counts), total, share))
    # What is missing counts for no share, but is in no class without a recorded value.
    return np.where(kept > 0, kept + classes.sizes - total, 0)


MOST_RECORDS = 2**62
"""No table has more, and counts stay exact."""


def check_field(name: str, value: object, limit: Constraint) -> object:
    """Return the checked value of a rule's field, with numbers other than counts as floats; raises `InputError`."""
    check_value(setting(name, section=""), value, limit)  # no option is called so
    if isinstance(value, int | float) and value > MOST_RECORDS:
        raise InputError(f"{name} is more than {MOST_RECORDS}, but no table has as many records. Give a smaller one.")
    return float(value) if isinstance(limit, Interval) and limit.kind is float else value  # type: ignore[arg-type]


AtLeast2 = Annotated[int, Interval(int, 2)]
Share = Annotated[float, Interval(float, 0, 1, closed="left")]
Part = Annotated[float, Interval(float, 0, 1, closed="neither")]
Positive = Annotated[float, Interval(float, 0, closed="neither")]
Probability = Annotated[float, Interval(float, 0, 1)]
SensitiveColumn = Annotated[str, Named("the name of a sensitive column")]
"""Fields of rules."""


def write_number(number: float) -> str:
    """Return a number as on the command line, in the fewest digits that represent it exactly.

    Examples
    --------
    >>> written(2.0), written(0.05)
    ('2', '0.05')
    """
    return str(int(number)) if number == int(number) else repr(number)
