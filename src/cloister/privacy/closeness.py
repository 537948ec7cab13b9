"""Rules on the distribution of sensitive values, compared with the input: t-closeness, beta-likeness, delta-disclosure.

For t-closeness, the distance is the earth mover's distance. With Q the shares of the values in a class and
P those in the input, the distance is the least work that turns one into the other, the work of moving a share being the
share times how far apart the two values are, from 0 to 1. The distances below differ only in that ground distance.

For beta-likeness no value becomes much more likely in a class. Missing is no value that anybody gains certainty of, and
there are two readings of the share of the others, neither always the stricter: among all records, as for someone who
does not know whether the patient's value is recorded, and among the records in which it is, as for someone who does.
Both readings must satisfy the rule, each with the share p in the input and the share q in the class computed in the
same way. A class
without any recorded value violates the rules. A value that becomes less likely is no violation.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cloister.errors import InputError

from .rule import (
    ClassRule,
    Counts,
    EquivalenceClasses,
    Figures,
    Histogram,
    Mask,
    Positive,
    SensitiveColumn,
    SensitiveRule,
    Share,
    at_most,
    below,
    class_maxima,
    class_of_cell,
    class_sums,
    most_at_share,
    recorded_counts,
    recorded_whole,
    shares,
    write_number,
)


def equal_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if any two values are 1 apart, shape (n_classes,): the total variation."""
    whole = histogram.whole / histogram.whole.sum()
    gained = shares(histogram) - whole[histogram.value]
    return class_sums(histogram, np.maximum(gained, 0.0))


def ordered_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if values are apart by the values between them, shape (n_classes,).

    The m recorded values are in a row, neighbours 1 / (m - 1) apart. Missing has no place in the row: it is 1 apart
    from every value. With q and p the shares of missing in class and input, the figure is

        abs(q - p) + sum over i of abs(Q1 + ... + Qi - (1 - q) / (1 - p) (P1 + ... + Pi)) / (m - 1)

    which is the distance of Li et al. where nothing is missing, and otherwise the work of one way of moving, so never
    less than the distance.
    """
    counts, whole = recorded_counts(histogram), recorded_whole(histogram)
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
    """Ordered distance between the recorded values of each class and of the input, missing omitted; 0 where none are.

    Between two values of a class its cumulated share is constant while that of the input grows. So the sum of the
    differences follows from where the second passes the first, and from sums of sums.

    ``counts``, ``known``: records of each cell and of each class, missing omitted.
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
class TCloseness(ClassRule):
    """The values of a sensitive column in every class are at most ``t`` from those in the input.

    The distance is the earth mover's. ``equal``: any two values are equally far apart; for names without order.
    ``ordered``: by the number of values between them; for numbers and dates. ``hierarchical``: by their lowest common
    ancestor; for codes. Missing is a value of its own: as far from every other as can be, unless the hierarchy groups
    it.

    *Guarantee*: what someone learns of a patient's value by finding the class, over knowing the input as a whole, is
    bounded by ``t`` as the share of records whose value would have to change, weighted by how far. Not promised: a
    bound for the single value (a rare one may become many times as likely; see beta-likeness). Cost: one pass over the
    cells; ``hierarchical`` sorts them and passes once a level.

    Not monotone: records that repeat one value move the class away. Closed: the distance is convex, so that of a union
    is at most the mean of those of its parts. With ``ordered`` and missing values the distance is bounded from above
    (`ordered_distance`), by a sum of norms, which is convex as well; the paper knows no missing values.

    Source: Li, Li, Venkatasubramanian (2007), "t-Closeness: privacy beyond k-anonymity and l-diversity", section 5.
    """

    t: Share
    column: SensitiveColumn
    distance: str = "equal"
    hierarchy: Any = field(default=None, repr=False, compare=False)
    spec: str | None = field(default=None, kw_only=True)
    # Where the command line found the hierarchy, until it is read; never shown.
    source: str | None = field(default=None, kw_only=True, repr=False, compare=False)

    model = "t-closeness"
    is_closed = True
    usage = "t-closeness:diagnosis=0.2, t-closeness:age=0.2,ordered or t-closeness:diagnosis=0.2,icd9"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.distance, str) or self.distance not in DISTANCES:
            raise InputError(f"The distance of t-closeness must be one of {', '.join(DISTANCES)}.", column=self.column)
        if self.hierarchy is not None:
            object.__setattr__(self, "spec", self.hierarchy.spec)
        if (self.distance == "hierarchical") != isinstance(self.spec, str):
            raise InputError(
                f"t-closeness of column {self.column!r}: the distance hierarchical needs a hierarchy, and the others"
                " take none.",
                column=self.column,
            )

    @property
    def needs(self) -> str:
        """The required structure of values: their order, their groups, or neither."""
        return DISTANCES[self.distance][0]

    def with_hierarchy(self, hierarchy: Any) -> "TCloseness":
        """Return the rule with the hierarchy named by its source."""
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

    def words(self) -> str:
        """Return the rule as on the command line."""
        rest = {"equal": "", "ordered": ",ordered", "hierarchical": f",{self.spec}"}[self.distance]
        return f"{self.model}:{self.column}={write_number(self.t)}{rest}"

    def sentence(self) -> str:
        """Return the rule in words."""
        by = {"equal": "", "ordered": ", values in their order", "hierarchical": f", values grouped by {self.spec}"}
        return (
            f"the values of {self.column!r} in every class are at most {write_number(self.t)} from those of all input"
            f" records (earth mover's distance{by[self.distance]})"
        )


@dataclass(frozen=True)
class _Likeness(SensitiveRule):
    """What both forms share: the gain of a value that they allow is for them to say."""

    beta: Positive
    column: SensitiveColumn

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        known, known_whole = class_sums(histogram, recorded_counts(histogram)), int(recorded_whole(histogram).sum())
        sizes, whole = class_sums(histogram, histogram.records), int(histogram.whole.sum())
        among_all = _excess(histogram, sizes, whole, self._limit)
        among_known = _excess(histogram, known, known_whole, self._limit)
        return at_most(np.maximum(among_all, among_known), 0.0) & (known > 0)

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept, by the share among all that each value may have."""
        histogram = classes.histogram(self)
        share = np.minimum(histogram.whole / max(int(histogram.whole.sum()), 1), 1.0)
        may_have = np.minimum((1 + self._limit(share)) * share, 1.0)
        may_have[histogram.missing : histogram.missing + 1] = 1.0  # nothing is asked of it
        sizes = np.repeat(classes.sizes, np.diff(histogram.start))
        most = most_at_share(sizes - histogram.records, sizes, may_have[histogram.value])
        return np.where(holds, classes.sizes, np.minimum.reduceat(most, histogram.start[:-1]))

    @abstractmethod
    def _limit(self, share: Figures) -> Figures:
        """Maximum relative gain of a value with this share in the input."""


@dataclass(frozen=True)
class BetaLikeness(_Likeness):
    """In every class the share of each sensitive value exceeds that in the input by at most ``beta`` of it.

    For every value, (q - p) / p <= beta.

    *Guarantee*: finding the class of a patient makes no value of the column more than 1 + ``beta`` times as likely as
    it is for anybody in the input; unlike with t-closeness this holds for rare values as for frequent ones. Not
    promised: that a value cannot be excluded; that one with p >= 1 / (1 + beta) is not certain (see the enhanced
    form). Cost: one pass over the cells.

    Not monotone: records that repeat one value raise its share. Closed: the share in a union lies between those in its
    parts.

    Source: Cao, Karras (2012), "Publishing microdata with a robust privacy guarantee", section 3, basic beta-likeness.
    """

    model = "beta-likeness"
    usage = "beta-likeness:diagnosis=1"

    def _limit(self, share: Figures) -> Figures:
        return np.full_like(share, self.beta)

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"in every class each value of {self.column!r} is at most {write_number(1 + self.beta)} times as frequent"
            " as"
            " among all input records"
        )


@dataclass(frozen=True)
class EnhancedBetaLikeness(_Likeness):
    """In every class the share of each sensitive value exceeds that in the input by at most min(beta, -ln p) of it.

    For every value, (q - p) / p <= min(beta, -ln p).

    *Guarantee*: as for basic beta-likeness; besides, no value becomes certain that is not so in the input, since the
    bound p (1 - ln p) is below 1. Not promised: that a value cannot be excluded. Cost: one pass over the cells.

    Not monotone and closed, as the basic form: there is one upper bound for the share of each value.

    Source: Cao, Karras (2012), section 3, enhanced beta-likeness.
    """

    model = "enhanced-beta-likeness"
    usage = "enhanced-beta-likeness:diagnosis=1"
    says = (
        "in every class each value of {column!r} is at most 1 + min({beta}, -ln p) times as frequent as its share p "
        "among all input records"
    )

    def _limit(self, share: Figures) -> Figures:
        return np.minimum(self.beta, -np.log(share))


def _excess(histogram: Histogram, totals: Counts, whole: int, limit: Callable[[Figures], Figures]) -> Figures:
    """Excess of the largest gain of a recorded value over its limit, shape (n_classes,); negative where none is above.

    ``totals``, ``whole``: what shares are of: records of each class, shape (n_classes,), and of the input.
    """
    share = np.minimum(histogram.whole / max(whole, 1), 1.0)  # that of missing is not looked at
    bound = limit(share)[histogram.value]
    found = histogram.records / np.repeat(np.maximum(totals, 1), np.diff(histogram.start))
    gain = found / share[histogram.value] - 1
    return class_maxima(histogram, np.where(histogram.value == histogram.missing, -1.0, gain - bound))


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveRule):
    """In every class the share of each sensitive value differs from that in the input by a factor below e^delta.

    For every value of the input, abs(ln(q / p)) < delta, q its share in the class and p its share in the input. So a
    class that lacks a value of the input violates the rule. Missing is a value of its own.

    *Guarantee*: finding the class of a patient makes no value of the column, missing included, more than e^delta times
    as likely or unlikely; nothing can be excluded. Not promised: that a value frequent in the input is not likely.
    Cost: one pass over the cells; rare values cost dearly, since every class must have them all.

    Not monotone: records that repeat one value raise its share. Closed: the share in a union lies between those in its
    parts.

    Source: Brickell, Shmatikov (2008), "The cost of privacy: destruction of data-mining utility in anonymized data
    publishing", section 3.
    """

    delta: Positive
    column: SensitiveColumn

    model = "delta-disclosure"
    usage = "delta-disclosure:diagnosis=1"
    says = (
        "in every class each value of {column!r} is less than e^{delta} times as frequent or rare as among all input "
        "records"
    )

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        whole = histogram.whole / histogram.whole.sum()
        factors = shares(histogram) / whole[histogram.value]
        is_complete = np.diff(histogram.start) == len(histogram.whole)
        return np.asarray(is_complete & below(class_maxima(histogram, np.abs(np.log(factors))), self.delta))

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept: no more than leave each value its least share."""
        histogram = classes.histogram(self)
        least = np.exp(-self.delta) * histogram.whole / histogram.whole.sum()
        most = np.minimum.reduceat(histogram.records / least[histogram.value], histogram.start[:-1]) * (1 + 1e-9) + 1e-6
        is_complete = np.diff(histogram.start) == len(histogram.whole)
        kept = np.where(is_complete, np.minimum(most, classes.sizes), 0).astype(np.int64)
        return np.where(holds, classes.sizes, kept)
