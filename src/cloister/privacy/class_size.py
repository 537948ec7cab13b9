"""Rules on class sizes: k-anonymity, the game of no-attack and positive-payout, average risk, k-map, delta-presence."""

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.settings.constraints import Interval, Named

from .rule import (
    MOST_RECORDS,
    AtLeast2,
    ClassRule,
    EquivalenceClasses,
    Mask,
    Part,
    Positive,
    Probability,
    TableRule,
    at_least,
    at_most,
    check_field,
    class_sums,
    recorded_counts,
    write_number,
)


@dataclass(frozen=True)
class KAnonymity(ClassRule):
    """Every equivalence class of the release has at least ``k`` records.

    *Guarantee*: someone who knows all quasi-identifiers of a patient, and that the patient is in the data, cannot
    narrow the patient's record down to fewer than ``k``. Not promised: that the records of a class differ in
    anything else, so a diagnosis they share is disclosed; anything about columns that are not quasi-identifiers.
    Cost: one comparison a class.

    Monotone and closed: a class only grows when records are added.

    Source: Sweeney (2002), "k-anonymity: a model for protecting privacy".
    """

    k: AtLeast2

    model = "k-anonymity"
    usage = "k-anonymity=5"
    says = "every combination of quasi-identifiers that occurs is shared by at least {k} records"
    needs = "sizes"
    is_monotone = is_closed = True

    @property
    def class_size(self) -> int:
        """Minimum records of a class."""
        return self.k

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        return classes.sizes >= self.k


@dataclass(frozen=True)
class KPatients(ClassRule):
    """Every equivalence class of a release with several records a patient has at least ``k`` patients.

    *Guarantee*: someone who knows all quasi-identifiers of one record of a patient, and that it is in the data, cannot
    narrow the patient down to fewer than ``k``. Not promised: anything against someone who knows several records of
    the patient, which may leave fewer in common; k-anonymity's other limits. Cost: one pass over the cells.

    Monotone and closed: no patient leaves a class when records are added.

    Source: Wang, Fung (2006), "Anonymizing sequential releases", (X, Y)-anonymity with Y the patients.
    """

    k: AtLeast2
    column: Annotated[str, Named("the name of the column of patients")]  # missing nowhere

    model = "k-patients"
    usage = "k-patients:patient_id=5"
    says = "every class holds records of at least {k} patients, distinguished by {column!r}"
    needs = "histogram"
    is_monotone = is_closed = True

    @property
    def class_size(self) -> int:
        """Minimum records of a class: one per patient."""
        return self.k

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        return class_sums(histogram, (recorded_counts(histogram) > 0).astype(np.int64)) >= self.k


@dataclass(frozen=True)
class NoAttack(ClassRule):
    """No attack on a record pays: what it gains, by the chance of success, is less than what it costs.

    Someone who re-identifies a record gains ``gain``, in whatever money, tries a record at a cost of ``cost``, and
    is right with a chance of 1 / (records of the class). So a class needs more than gain / cost records.

    *Guarantee*: someone who knows all quasi-identifiers of a patient, and that the patient is in the data, expects to
    lose by an attack on any record, if these are the gain and the cost. Not promised: anything against someone who
    gains more, pays less or does not count; k-anonymity's other limits. Cost: one comparison a class.

    Monotone and closed: a class only grows when records are added.

    The publisher earns the benefit of a record times (1 - loss), and pays nothing, as nobody attacks: so the
    transformation of least loss is the publisher's best among those at which nobody attacks (`search.optimal`).

    Deviations: the paper chooses for each record by itself, and counts the people of a population. An attack that
    neither gains nor loses is made here. `PositivePayout` is the variant in which the publisher accepts attacks.

    Source: Wan et al. (2015), "A game theoretic framework for analyzing re-identification risk", PLoS ONE 10(3):
    e0120592, the variant without attacks; as a bound for the size of classes in ARX (Prasser, Kohlmayer 2015).
    """

    gain: Positive
    cost: Positive

    model = "no-attack"
    usage = "no-attack=300,4 (gain of a re-identification, cost of an attempt)"
    says = "an attack that gains {gain} if it succeeds and costs {cost} pays on no record"
    needs = "sizes"
    is_monotone = is_closed = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field("gain / cost", self.class_size, Interval(int, 1))

    @property
    def class_size(self) -> int:
        """Minimum records of a class; computed from the decimals as written, so that 0.3 / 0.1 is 3."""
        return math.floor(_quotient(self.gain, self.cost)) + 1

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        return classes.sizes >= self.class_size


@dataclass(frozen=True)
class PositivePayout(ClassRule):
    """The publisher expects to gain by every released record, although attacks are accepted.

    An attack on a record succeeds with probability p = 1 / (records of its class). The adversary attacks if ``gain`` *
    p is at least ``cost``, as in `NoAttack`. The record pays the publisher ``publisher_benefit`` * (1 - L), less
    ``publisher_loss`` * p if it is attacked. A class is released if this payout is above 0.

    L is the loss of the record: the mean over the quasi-identifiers of level / highest level, each with equal weight.
    It follows from the manifest, so that recipients can verify the rule. Where each level of a hierarchy merges equally
    many groups, level / highest level is log(values covered) / log(values of the domain), the paper's entropy of a
    column. The number of values that a label covers is not published, as it counts suppressed ones too.

    *Guarantee*: at these prices, each released record is worth more to the publisher than attacks on it cost, against
    an adversary who knows all quasi-identifiers of a patient, and that the patient is in the data. Not promised:
    protection of the patient, as an attack that costs the publisher less than the benefit is accepted: add k-anonymity
    for that. Cost: one comparison a class, and full-domain generalization.

    Neither monotone nor closed: classes grow at coarser levels, but the loss of their records grows too.

    Deviations: the paper chooses for each record by itself, and counts the people of a population. An attack that
    neither gains nor loses is made here. L weighs columns equally, not by the logarithm of their domains.

    Source: Wan et al. (2015), "A game theoretic framework for analyzing re-identification risk", PLoS ONE 10(3):
    e0120592; as a rule on classes in ARX (`ProfitabilityProsecutor`).
    """

    gain: Positive
    cost: Positive
    publisher_benefit: Positive
    publisher_loss: Positive

    model = "positive-payout"
    usage = (
        "positive-payout=300,4,1200,300 (gain and cost of the adversary, benefit and loss of the publisher, per record)"
    )
    says = (
        "every record is worth more to the publisher ({publisher_benefit}, less its loss of detail) than attacks on it "
        "cost ({publisher_loss} by the probability of success, where an attack that gains {gain} and costs {cost} pays)"
    )
    needs = "levels"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field("gain / cost and publisher_loss / publisher_benefit", self.class_size, Interval(int, 1))

    @property
    def class_size(self) -> int:
        """Minimum records of a class if nothing is generalized; more are needed at coarser levels."""
        return self._least(Fraction(0))

    def _least(self, level_loss: Fraction) -> int:
        """Minimum records of a class whose records lose this share, below 1, of their benefit."""
        outweighed = _quotient(self.publisher_loss, self.publisher_benefit) / (1 - level_loss)
        return math.floor(min(_quotient(self.gain, self.cost), outweighed)) + 1

    def is_attacked(self, sizes: NDArray[np.int64]) -> Mask:
        """Return whether an attack on a record pays, for classes of these sizes."""
        return np.asarray(sizes <= min(math.floor(_quotient(self.gain, self.cost)), MOST_RECORDS))

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        if classes.level_loss == 1:
            return np.zeros(len(classes.sizes), dtype=np.bool_)
        return np.asarray(classes.sizes >= min(self._least(classes.level_loss), MOST_RECORDS))


def _quotient(dividend: float, divisor: float) -> Fraction:
    """Return the exact quotient of two decimals as written."""
    return Fraction(repr(dividend)) / Fraction(repr(divisor))


@dataclass(frozen=True)
class AverageRisk(TableRule):
    """The mean over released records of 1 / (records of the class) is at most ``risk``.

    That mean is the number of classes over the number of records. The smallest classes are suppressed until it holds.

    *Guarantee*: someone who knows all quasi-identifiers and links a record of the release at random to its class, then
    guesses within it, is right in at most ``risk`` of the cases on average. Not promised: a bound for the single
    record; some classes may have one record only, so combine the rule with k-anonymity. Cost: one pass over the class
    sizes.

    Monotone: classes joined are fewer and hold the same records, so what a coarser transformation keeps is at least as
    much. Closed: without suppression the number of classes falls and that of records stays.

    Source: El Emam (2013), "Guide to the de-identification of personal health information", average risk of journalist
    and prosecutor attacks.
    """

    risk: Part

    model = "average-risk"
    usage = "average-risk=0.1"
    says = "the mean over released records of 1 / (records of the class) is at most {risk}"
    is_monotone = is_closed = True

    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed; all if no smaller number satisfies the rule."""
        if not len(sizes):
            return 0
        kept = np.arange(len(sizes), 0, -1)
        records = np.cumsum(sizes[::-1])[::-1]
        safe = at_most(kept / records, self.risk)
        return int(np.argmax(safe)) if safe.any() else len(sizes)


SIGNIFICANCE = 0.01
LEAST_ESTIMATED = 2
"""Records per class below which an estimate never goes."""


class PopulationRule(ClassRule):
    """A rule that compares with a table of people: ``name`` is what the manifest calls it, never a path; ``source``
    where the command line found it, until it is read, and never shown.
    """

    population: object
    name: str | None
    source: str | None

    def with_population(self, population: object) -> Self:
        """Return the rule with the table named by its source."""
        given: dict[str, object] = {"population": population, "source": None}
        return replace(self, **given)

    def _keep_name(self) -> None:
        """Name a table without a name ``population``."""
        if self.population is None and self.name is None:
            raise InputError(f"{self.model} needs a population: a table of all people that the patients may be among.")
        name = "population" if self.name is None else self.name
        check_field("The population", name, Named("a text that is not empty"))
        object.__setattr__(self, "name", name)


@dataclass(frozen=True)
class KMap(PopulationRule):
    """Every class of the release matches at least ``k`` people of the population.

    The people are counted in a population table that has the quasi-identifiers, or estimated from the number of
    people: then every class needs as many records as a population class of ``k`` people or fewer yields with a
    probability of at most ``significance``. That count is the least c for which a Poisson variable of mean k n / N is
    c or more with that probability (n records of the input, N people), at least 2 and at most k.

    *Guarantee*: with a table, someone who knows all quasi-identifiers of a person, but not who is in the data, is left
    with at least ``k`` people for any record. With a size the same, up to an error of ``significance`` for each small
    class of the population, if the input is a random sample of it. Not promised: anything against someone who knows
    that the patient is in the data; k-anonymity is for that. Nor that the error is so small among the classes that were
    sampled: the test does not take account of a class being seen at all. Cost: one comparison a class.

    Monotone and closed: the people of a class, as its records, only become more when it grows.

    Deviations: El Emam and Dankar truncate the distribution at zero as an alternative, which asks for larger classes;
    it is not used. A single record is never enough here: where few people are sampled, the test alone would let every
    class pass. k records are always enough, since they are k people.

    Parameters
    ----------
    significance : for ``size``: how probable it may be that a class too small passes, above 0 and at most 0.5
    least : for ``size``: records per class; known once the number of records is (`in_sample`)

    Source: Sweeney (2001), "Computational disclosure control", k-map; El Emam, Dankar (2008), "Protecting privacy using
    k-anonymity", the hypothesis test by the Poisson distribution.
    """

    k: AtLeast2
    population: object = field(default=None, kw_only=True, repr=False, compare=False)
    name: str | None = field(default=None, kw_only=True)
    size: int | None = field(default=None, kw_only=True)
    significance: Annotated[float, Interval(float, 0, 0.5, closed="right")] = field(default=SIGNIFICANCE, kw_only=True)
    least: int | None = field(default=None, kw_only=True)
    source: str | None = field(default=None, kw_only=True, repr=False, compare=False)

    model = "k-map"
    usage = "k-map:census.csv=5 or, for a population of a million, k-map:1000000=5"
    is_monotone = is_closed = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is None:
            self._keep_name()
            return
        if self.population is not None or self.name is not None:
            raise InputError("k-map takes either a population table or the number of people, not both.")
        check_field("The population of k-map", self.size, Interval(int, self.k))
        if self.least is not None:
            check_field("class_size", self.least, Interval(int, LEAST_ESTIMATED))
        if self.least is not None and self.least > self.k:
            raise InputError(f"k-map with k = {self.k} never asks for more than {self.k} records per class.")

    @property
    def needs(self) -> str:
        """The required counts: of the population table, or class sizes only."""
        return "population" if self.size is None else "sizes"

    @property
    def class_size(self) -> int:
        """Minimum records of a class; 1 with a population table, or while the number of records is unknown."""
        return self.least or 1

    def in_sample(self, n_records: int) -> Self:
        """Return the rule with the class size for an input of this many records; unchanged with a population table."""
        if self.size is None:
            return self
        if n_records > self.size:
            raise InputError(
                f"k-map was given a population of {self.size}, but the input has {n_records} records. Give the number"
                " of all people that the patients may be among."
            )
        return replace(self, least=_least_class(self.k, self.k * (n_records / self.size), self.significance))

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,); all classes together are the sample."""
        if self.size is None:
            return classes.population(self) >= self.k
        rule = self if self.least is not None else self.in_sample(int(classes.sizes.sum()))
        return classes.sizes >= rule.class_size

    def describe(self) -> dict[str, object]:
        """Return the rule in the form of the manifest."""
        described = super().describe()
        if self.size is None:
            del described["significance"]
        return described

    def words(self) -> str:
        """Return the rule as on the command line."""
        rest = "" if self.size is None or self.significance == SIGNIFICANCE else f",{write_number(self.significance)}"
        return f"{self.model}:{self.name if self.size is None else self.size}={self.k}{rest}"

    def sentence(self) -> str:
        """Return the rule in words."""
        if self.size is None:
            return f"every class matches at least {self.k} people of the population {self.name!r}"
        asked = "" if self.least is None else f": at least {self.least} records"
        return (
            f"every class is large enough{asked}, for an estimated {self.k} people or more among {self.size} (Poisson"
            f" test, significance {write_number(self.significance)})"
        )


def _least_class(k: int, mean: float, significance: float) -> int:
    """Least count from 2 to k that a Poisson variable reaches with at most this probability; k if none does."""
    from scipy.special import gammainc  # 0.1 s to import

    sizes = range(LEAST_ESTIMATED, k)
    return LEAST_ESTIMATED + bisect_left(sizes, True, key=lambda size: bool(gammainc(size, mean) <= significance))


@dataclass(frozen=True)
class DeltaPresence(PopulationRule):
    """For every person of the population, the probability of being in the release is from ``lower`` to ``upper``.

    It is the number of released records of the person's class over the number of people of that class.

    *Guarantee*: someone who knows all quasi-identifiers of a person, and the population table, concludes that the
    person is in the release with a probability of at most ``upper``, and of at least ``lower``. Not promised: anything
    about a person outside the population table; anything once presence is known otherwise. Cost: one comparison a
    class.

    With ``lower`` above 0 nobody may be absent for certain: then either all classes are safe or none is, since
    suppressing one class, or leaving people of the population without any record, breaks the promise for those people
    (`forbids_suppression`). Where other rules suppress a class, this one no longer holds.

    Not monotone: records added to a class raise its share. Closed: the share of a union lies between those of its
    parts, and what covers the population still does when classes are joined.

    Source: Nergiz, Atzori, Clifton (2007), "Hiding the presence of individuals from shared databases", section 3.
    """

    lower: Probability
    upper: Probability
    population: object = field(default=None, kw_only=True, repr=False, compare=False)
    name: str | None = field(default=None, kw_only=True)
    source: str | None = field(default=None, kw_only=True, repr=False, compare=False)

    model = "delta-presence"
    usage = "delta-presence:census.csv=0,0.5 (lower, upper)"
    says = (
        "whoever is in the population {name!r} is in the release with a probability from {lower} to {upper}, judged by"
        " quasi-identifiers"
    )
    needs = "population"
    is_closed = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower > self.upper or self.upper == 0 or (self.lower, self.upper) == (0, 1):
            raise InputError(
                f"delta-presence from {write_number(self.lower)} to {write_number(self.upper)} cannot be met or "
                "promises nothing: the lower bound must not be above the upper one, the upper one above 0, and not "
                "both 0 and 1."
            )
        self._keep_name()

    @property
    def forbids_suppression(self) -> bool:
        """Whether suppressing any class breaks the rule: its people would certainly be absent."""
        return self.lower > 0

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,); one without people does not."""
        people = classes.population(self)
        share = classes.sizes / np.maximum(people, 1)
        safe = (people > 0) & at_least(share, self.lower) & at_most(share, self.upper)
        if self.forbids_suppression and not (safe.all() and classes.is_covering(self)):
            return np.zeros(len(safe), dtype=np.bool_)
        return np.asarray(safe)
