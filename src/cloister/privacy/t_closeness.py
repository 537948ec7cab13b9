"""t-closeness: the sensitive values of a class are spread nearly as in the whole input.

How far they are from it is the earth mover's distance. With Q the shares of the values in a class and P those in the
input, the distance is the least work that turns one into the other, the work of moving a share being the share times
how far apart the two values are, from 0 to 1. The distances below differ only in that ground distance.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from cloister.errors import InputError

from .rule import (
    Counts,
    EquivalenceClasses,
    Figures,
    Histogram,
    Mask,
    at_most,
    class_of_cell,
    class_sums,
    keep_real,
    most_at_share,
    name_of,
    recorded,
    recorded_whole,
    shares,
    written,
)


def equal_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if any two values are 1 apart, shape (n_classes,): the total variation."""
    whole = histogram.whole / histogram.whole.sum()
    gained = shares(histogram) - whole[histogram.value]
    return class_sums(histogram, np.maximum(gained, 0.0))


def ordered_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if values are apart by the values between them, shape (n_classes,).

    The m recorded values stand in a row, neighbours 1 / (m - 1) apart. Missing has no place in the row: it is 1 apart
    from every value. With q and p the shares of missing in class and input, the figure is

        abs(q - p) + sum over i of abs(Q1 + ... + Qi - (1 - q) / (1 - p) (P1 + ... + Pi)) / (m - 1)

    which is the distance of Li et al. where nothing is missing, and otherwise the work of one way of moving, so never
    less than the distance.
    """
    counts, whole = recorded(histogram), recorded_whole(histogram)
    known = class_sums(histogram, counts)
    share, share_of_whole = known / class_sums(histogram, histogram.records), whole.sum() / histogram.whole.sum()
    return np.asarray(np.abs(share - share_of_whole) + share * _row_distance(histogram, counts, known))


def hierarchical_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if values are apart by their lowest common ancestor, shape (n_classes,).

    Two values are (level of the ancestor) / (highest level) apart. The sum of Li et al. over the nodes of the
    hierarchy equals the mean, over all levels below the root, of the total variation between the groups of the level:
    the work done at a node is half of what its children are off, less half of what it is off itself.
    """
    groups = histogram.groups
    if groups is None or len(groups) < 2:
        return np.zeros(len(histogram.start) - 1)
    # This order of cells keeps classes and, at every level, the groups inside a class together.
    rank = np.empty(len(histogram.whole), dtype=np.int64)
    rank[np.lexsort(groups)] = np.arange(len(rank))
    owner = class_of_cell(histogram)
    order = np.argsort(owner * len(rank) + rank[histogram.value], kind="stable")
    value, records = histogram.value[order], histogram.records[order]
    sizes = class_sums(histogram, histogram.records)
    work = np.zeros(len(sizes))
    for names in groups[:-1]:
        whole = np.bincount(names, histogram.whole) / histogram.whole.sum()
        # A run is the cells of one class and group, which the order keeps together.
        group = names[value]
        begins = (np.diff(owner, prepend=-1) != 0) | (np.diff(group, prepend=-1) != 0)
        run = np.flatnonzero(begins)
        share = np.add.reduceat(records, run) / sizes[owner[run]]
        gained = np.maximum(share - whole[group[run]], 0.0)
        work += np.bincount(owner[run], gained, minlength=len(sizes))
    return np.asarray(work / (len(groups) - 1))


def _row_distance(histogram: Histogram, counts: Counts, known: Counts) -> Figures:
    """Ordered distance between the recorded values of each class and of the input, missing left out; 0 where none are.

    Between two values of a class its cumulated share stands still while that of the input climbs, so the sum of the
    differences follows from where the second passes the first, and from sums of sums.

    Parameters
    ----------
    counts, known : records of each cell and of each class, missing left out
    """
    n_values = len(histogram.whole) - (histogram.missing >= 0)
    if n_values < 2:
        return np.zeros(len(known))
    climbed = np.cumsum(histogram.whole[:n_values])
    below = np.concatenate(([0], np.cumsum(climbed)))
    total = climbed[-1]
    # From each cell's value to that of the next cell of its class; the last reaches to the end, missing is empty.
    begin, end = histogram.value, np.append(histogram.value[1:], n_values)
    end[histogram.start[1:] - 1] = n_values
    # Records of the class up to and with each cell, as a share of those of the class.
    first, n_cells, risen = histogram.start[:-1], np.diff(histogram.start), np.cumsum(counts)
    level = (risen - np.repeat(risen[first] - counts[first], n_cells)) / np.repeat(np.maximum(known, 1), n_cells)
    passing = np.clip(np.searchsorted(climbed / total, level), begin, end)
    off = level * (2 * passing - begin - end) + (below[begin] + below[end] - 2 * below[passing]) / total
    before = below[begin[first]] / total
    return np.where(known > 0, (before + class_sums(histogram, off)) / (n_values - 1), 0.0)


def _steps(rule: "TCloseness", histogram: Histogram) -> float:
    """How many times the distance the total variation may be: 1 over how near two values can be."""
    if rule.distance == "hierarchical":
        return max(len(histogram.groups) - 1, 1) if histogram.groups is not None else 1.0
    n_values = len(histogram.whole) - (histogram.missing >= 0)
    return max(n_values - 1, 1) if rule.distance == "ordered" else 1.0


DISTANCES: dict[str, tuple[str, Callable[[Histogram], Figures]]] = {
    "equal": ("histogram", equal_distance),
    "ordered": ("ordered histogram", ordered_distance),
    "hierarchical": ("grouped histogram", hierarchical_distance),
}
"""What each distance needs, and what computes it."""


@dataclass(frozen=True)
class TCloseness:
    """The values of a sensitive column in every class are at most ``t`` from those in the input.

    The distance is the earth mover's. ``equal``: any two values are equally far apart; for names without order.
    ``ordered``: by the number of values between them; for numbers and dates. ``hierarchical``: by their lowest common
    ancestor; for codes. Missing is a value of its own: as far from every other as can be, unless the hierarchy groups
    it.

    *Guarantee*: what somebody learns of a patient's value by finding the class, over knowing the input as a whole, is
    bounded by ``t`` as the share of records whose value would have to change, weighted by how far. Not promised: a
    bound for the single value (a rare one may become many times as likely; see beta-likeness). Cost: one pass over the
    cells; ``hierarchical`` sorts them and passes once a level.

    Not monotone: records that repeat one value move the class away. Closed: the distance is convex, so that of a union
    is at most the mean of those of its parts. With ``ordered`` and missing values the distance is bounded from above
    (`earth_mover.ordered_distance`), by a sum of norms, which is convex as well; the paper knows no missing values.

    Parameters
    ----------
    t : from 0 to below 1
    distance : ``equal``, ``ordered`` or ``hierarchical``
    hierarchy : of the column, for ``hierarchical``
    source : where the command line found the hierarchy, until it is read; never shown

    References
    ----------
    Li, Li, Venkatasubramanian (2007), "t-Closeness: privacy beyond k-anonymity and l-diversity", section 5.
    """

    t: float
    column: str
    distance: str = "equal"
    hierarchy: Any = field(default=None, repr=False, compare=False)
    spec: str | None = field(default=None, kw_only=True)
    source: str | None = field(default=None, kw_only=True, repr=False, compare=False)

    model: ClassVar[str] = "t-closeness"
    counts: ClassVar[str] = "records of each sensitive value"
    is_monotone: ClassVar[bool] = False
    is_closed: ClassVar[bool] = True
    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        keep_real(self, "t", "from 0 to below 1", lambda number: 0 <= number < 1)
        name_of("The sensitive column", self.column)
        if not isinstance(self.distance, str) or self.distance not in DISTANCES:
            raise InputError(f"The distance of t-closeness must be one of {', '.join(DISTANCES)}.", column=self.column)
        if self.hierarchy is not None:
            object.__setattr__(self, "spec", self.hierarchy.spec)
        if (self.distance == "hierarchical") != (self.spec is not None):
            raise InputError(
                f"t-closeness of column {self.column!r}: the distance hierarchical needs a hierarchy, and the others"
                " take none.",
                column=self.column,
            )

    @property
    def needs(self) -> str:
        """What must be prepared: values in their order, or in their groups, or neither."""
        return DISTANCES[self.distance][0]

    def with_hierarchy(self, hierarchy: Any) -> "TCloseness":
        """Return the rule with the hierarchy that its source named."""
        return replace(self, hierarchy=hierarchy, source=None)

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        return at_most(DISTANCES[self.distance][1](classes.histogram(self)), self.t)

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept.

        The total variation is at most ``t`` (equal distance), or the levels (hierarchical) or places (ordered) times
        that; no set of values has a share that exceeds that in the input by more. Asked of those now too frequent.
        """
        histogram = classes.histogram(self)
        whole = histogram.whole / histogram.whole.sum()
        is_many = shares(histogram) > whole[histogram.value]
        allowed = class_sums(histogram, np.where(is_many, whole[histogram.value], 0.0)) + self.t * _steps(
            self, histogram
        )
        others = classes.sizes - class_sums(histogram, np.where(is_many, histogram.records, 0))
        return np.where(holds, classes.sizes, most_at_share(others, classes.sizes, np.minimum(allowed, 1.0)))

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        described = {"model": self.model, "column": self.column, "t": self.t, "distance": self.distance}
        return described | ({"hierarchy": self.spec} if self.distance == "hierarchical" else {})

    def words(self) -> str:
        """Return the rule as on the command line."""
        rest = {"equal": "", "ordered": ",ordered", "hierarchical": f",{self.spec}"}[self.distance]
        return f"{self.model}:{self.column}={written(self.t)}{rest}"

    def sentence(self) -> str:
        """Return the rule in words."""
        by = {"equal": "", "ordered": ", values in their order", "hierarchical": f", values grouped by {self.spec}"}
        return (
            f"the values of {self.column!r} in every class are at most {written(self.t)} from those of all input"
            f" records (earth mover's distance{by[self.distance]})"
        )
