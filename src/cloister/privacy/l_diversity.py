"""l-diversity: the sensitive values of a class are many (distinct), spread (entropy) or not too uneven (recursive).

In all three a missing value is no value: it is not one of the l, and shares are those among the records of the class in
which the value is recorded. That is the strict reading: counting missing records in the total would make each recorded
value look rarer than it is to someone who knows that the patient has one. A class without any recorded value violates
each of the rules.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cloister.settings.constraints import Interval

from .rule import (
    TOLERANCE,
    AtLeast2,
    ClassRule,
    Counts,
    EquivalenceClasses,
    Figures,
    Mask,
    Part,
    Positive,
    SensitiveColumn,
    SensitiveRule,
    at_least,
    at_most,
    below,
    class_maxima,
    class_of_cell,
    class_sums,
    most_by_share,
    recorded_counts,
    recorded_whole,
    write_number,
)


@dataclass(frozen=True)
class LDiversity(ClassRule):
    """Every class has at least ``l`` distinct values of a sensitive column.

    *Guarantee*: someone who finds the class of a patient is left with at least ``l`` possible values of the column.
    Not promised: that they are equally likely (one value may be in nearly all records of the class) or differ in
    meaning (two names of one disease are two values). Missing is not one of the ``l``. Cost: one pass over the cells.

    Monotone and closed: no value leaves a class when records are added.

    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007), "l-Diversity: privacy beyond k-anonymity",
    section 4.
    """

    l: AtLeast2  # noqa: E741 - the literature's name
    column: SensitiveColumn

    model = "l-diversity"
    usage = "l-diversity:diagnosis=2"
    says = "every class has at least {l} different values of {column!r}"
    needs = "histogram"
    is_monotone = is_closed = True

    @property
    def class_size(self) -> int:
        """Minimum records of a class: one for each value."""
        return self.l

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        distinct = class_sums(histogram, (recorded_counts(histogram) > 0).astype(np.int64))
        return distinct >= self.l


@dataclass(frozen=True)
class EntropyLDiversity(SensitiveRule):
    """The entropy of a sensitive column in every class is at least the logarithm of ``l``.

    *Guarantee*: the values of a class are at least as uncertain as ``l`` equally frequent ones, on average over the
    values. Not promised: a bound for the single value (the most frequent may have more than 1 / ``l``); different
    meanings. Missing values are omitted. Cost: one pass over the cells.

    Not monotone: records that repeat one value lower the entropy. Closed: entropy is concave, so that of a union is at
    least the mean of those of its parts.

    Source: Machanavajjhala et al. (2007), section 4, entropy l-diversity.
    """

    # need not be whole
    l: Annotated[float, Interval(float, 1, closed="neither")]  # noqa: E741 - the literature's name
    column: SensitiveColumn

    model = "entropy-l-diversity"
    usage = "entropy-l-diversity:diagnosis=2.5"
    says = "the values of {column!r} in every class are as uncertain as at least {l} equally frequent ones (entropy)"

    @property
    def class_size(self) -> int:
        """Minimum records of a class: fewer than ``l`` values cannot have the entropy of ``l``."""
        return math.ceil(self.l * (1 - 2 * TOLERANCE))

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        counts = recorded_counts(histogram)
        total = class_sums(histogram, counts)
        logarithms: Figures = np.log(np.maximum(counts, 1))
        weighted = class_sums(histogram, counts * logarithms)
        entropy = np.log(np.maximum(total, 1)) - weighted / np.maximum(total, 1)
        return at_least(entropy, math.log(self.l)) & (total > 0)

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept: a value is no more frequent than even others let."""
        others = max(int((recorded_whole(classes.histogram(self)) > 0).sum()) - 1, 1)
        least, most = 1 / (others + 1), 1.0
        while most - least > TOLERANCE:
            share = (least + most) / 2
            entropy = -share * math.log(share) - (1 - share) * math.log((1 - share) / others)
            least, most = (share, most) if entropy >= math.log(self.l) else (least, share)
        return most_by_share(classes, self, holds, most)


@dataclass(frozen=True)
class RecursiveLDiversity(SensitiveRule):
    """In every class the most frequent sensitive value is rarer than ``c`` times all but the ``l`` - 1 most frequent.

    With the counts of the values in descending order, r1 < c (rl + ... + rm).

    *Guarantee*: an adversary who can exclude up to ``l`` - 2 values for a patient still does not see one value with a
    probability of c / (1 + c) or more. Not promised: anything against who excludes more; different meanings. Missing
    values are omitted. Cost: one sort of the cells.

    Not monotone: records that repeat the most frequent value break it. Closed: over a union, r1 is at most the sum of
    those of the parts, and the tail at least the sum of theirs.

    Source: Machanavajjhala et al. (2007), section 4, recursive (c, l)-diversity.
    """

    c: Positive  # the smaller, the stricter
    l: AtLeast2  # noqa: E741 - the literature's name
    column: SensitiveColumn

    model = "recursive-l-diversity"
    usage = "recursive-l-diversity:diagnosis=3,2 (c, l)"

    @property
    def class_size(self) -> int:
        """Minimum records of a class: with counts of one, a tail of more than 1 / c after l - 1 values."""
        return self.l + (math.floor(1 / self.c) if self.c > TOLERANCE else 0)

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        counts = recorded_counts(histogram)
        largest = counts.max(initial=0)
        keys = class_of_cell(histogram) * (largest + 1) + (largest - counts)
        counts = largest - np.sort(keys) % (largest + 1)  # descending within each class
        place = np.arange(len(counts)) - np.repeat(histogram.start[:-1], np.diff(histogram.start))
        total = np.maximum(class_sums(histogram, counts), 1)
        tail = class_sums(histogram, np.where(place >= self.l - 1, counts, 0))
        most = class_maxima(histogram, counts)
        return below(most / total, self.c * (tail / total)) & (tail > 0)

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept: the tail is at most all values but the most frequent."""
        return most_by_share(classes, self, holds, self.c / (1 + self.c))

    def sentence(self) -> str:
        """Return the rule in words."""
        others = "the most frequent" if self.l == 2 else f"the {self.l - 1} most frequent"
        return (
            f"in every class the most frequent value of {self.column!r} is rarer than {write_number(self.c)} times all"
            f" values but {others}"
        )


@dataclass(frozen=True)
class AlphaKAnonymity(SensitiveRule):
    """Every class has at least ``k`` records, and no sensitive value a share of more than ``alpha`` in any class.

    Shares are those among the records in which the value is recorded: with missing ones in the total, each value would
    look rarer than it is to someone who knows that the patient has one. They do count for ``k``. A class without any
    recorded value violates the rule. All values are protected alike (the general form of the paper).

    *Guarantee*: someone who finds the class of a patient concludes no value of the column with a probability above
    ``alpha``. Not promised: anything against someone who can exclude values; different meanings. Cost: one pass over
    the cells.

    Not monotone: records that repeat one value raise its share. Closed: the share in a union lies between those in its
    parts.

    Source: Wong, Li, Fu, Wang (2006), "(alpha, k)-anonymity: an enhanced k-anonymity model", sections 2 and 5.
    """

    alpha: Part
    k: AtLeast2
    column: SensitiveColumn

    model = "alpha-k-anonymity"
    usage = "alpha-k-anonymity:diagnosis=0.5,5 (alpha, k)"
    says = "every class has at least {k} records, and no value of {column!r} a share of more than {alpha} in any class"

    @property
    def class_size(self) -> int:
        """Minimum records of a class: ``k``, and as many values as have shares of ``alpha`` or less."""
        return max(self.k, math.ceil(1 / (self.alpha + 2 * TOLERANCE)))

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        counts = recorded_counts(histogram)
        total = class_sums(histogram, counts)
        share = class_maxima(histogram, counts) / np.maximum(total, 1)
        return (classes.sizes >= self.k) & (total > 0) & at_most(share, self.alpha)

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept, by the share of a value."""
        return most_by_share(classes, self, holds, self.alpha)
