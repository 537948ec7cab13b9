"""Information loss measures by name: means of attribute losses, and measures on class sizes or on each record.

The loss of a value is (leaves it covers - 1) / (leaves of its domain - 1): 0 as recorded, 1 when suppressed. The loss
of an attribute is the mean over all records of the input.

References
----------
Iyengar (2002), "Transforming data to satisfy privacy constraints"; Sweeney (2002), "Achieving k-anonymity privacy
protection using generalization and suppression" (precision there is 1 - loss); Prasser, Kohlmayer, Kuhn (2016), BMC
Medical Informatics and Decision Making 16:49, section "Quality models" (quality there is 1 - loss).
Bayardo, Agrawal (2005), "Data privacy through optimal k-anonymization" (discernibility); El Emam et al. (2009), "A
globally optimal k-anonymity method for the de-identification of health data" (the monotone variant); LeFevre, DeWitt,
Ramakrishnan (2006), "Mondrian multidimensional k-anonymity" (average class size; there divided by k).
Goldberger, Tassa (2010), "Efficient anonymizations with enhanced utility" (ambiguity); Gionis, Tassa (2009),
"k-anonymization with minimal loss of information" (non-uniform entropy). Machanavajjhala, Kifer, Gehrke,
Venkitasubramaniam (2007), "l-Diversity: privacy beyond k-anonymity", ACM TKDD 1(1) (Kullback-Leibler divergence).
Wan et al. (2015), "A game theoretic framework for analyzing re-identification risk", PLoS ONE 10(3): e0120592 (payout).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.privacy import PositivePayout, PrivacyRule
from cloister.settings.constraints import OneOf, check_value

Numbers = NDArray[np.int64]
Logarithms = NDArray[np.float64]

LEAST_INFORMATION = 1e-12
"""Information a record that is no more than rounding: the column has one value."""

LEAST_DIVERGENCE = 0.01
"""Divergence in nats of records spread nearly evenly over their domain; shares of smaller ones are rounding errors."""


class LossAndBound(NamedTuple):
    """Loss of a release, and its loss without suppression: at most as high, and never lower at coarser levels."""

    loss: float
    bound: float

    def within_bounds(self) -> "LossAndBound":
        """Correct rounding errors: return both in [0, 1], the bound at most the loss."""
        loss = min(max(self.loss, 0.0), 1.0)
        return LossAndBound(loss, min(max(self.bound, 0.0), loss))


@dataclass(frozen=True)
class Generalized:
    """The classes and distinct rows of a table at one transformation.

    Attributes
    ----------
    sizes : (n_classes,) int64, records of each class
    is_kept : (n_classes,) whether each class is released; the others are suppressed
    records : (n_rows,) int64, records of each distinct row
    is_kept_row : (n_rows,) whether the class of each row is released
    domains : (n_attributes,) int64, leaves of the whole domain
    weights : (n_attributes,) float64, positive
    level_loss : mean over the attributes of level / highest level, of the highest level in use
    log_leaves : returns (n_attributes, n_rows) float64, logarithm of the leaves of the domain that each label covers
    log_label_records : returns the same of the records of the input that share the label at this transformation
    log_value_records : returns the same of the records of the input that share the value as recorded
    log_class_records : returns (n_rows,) float64, logarithm of the records in the class of each row, suppressed or not
    sum_of_row_records : returns the sum over records of the logarithm of the records that share all values as recorded
    sum_of_leaves : returns the sum over records and attributes of ``log_leaves``

    The last six are computed only for losses that look at them.
    """

    sizes: Numbers
    is_kept: NDArray[np.bool_]
    records: Numbers
    is_kept_row: NDArray[np.bool_]
    domains: Numbers
    weights: NDArray[np.float64]
    level_loss: Fraction
    log_leaves: Callable[[], Logarithms] = field(repr=False)
    log_label_records: Callable[[], Logarithms] = field(repr=False)
    log_value_records: Callable[[], Logarithms] = field(repr=False)
    log_class_records: Callable[[], Logarithms] = field(repr=False)
    sum_of_row_records: Callable[[], float] = field(repr=False)
    sum_of_leaves: Callable[[], float] = field(repr=False)

    @property
    def n_records(self) -> int:
        """The number of records in the table."""
        return int(self.records.sum())


@dataclass(frozen=True)
class AttributeLoss:
    """A mean of attribute losses.

    Attributes
    ----------
    geometric : the geometric mean of (1 + loss), minus 1; else the arithmetic mean

    Notes
    -----
    Generalization alone loses no more than generalization with suppression, and never less at a coarser
    transformation: that lower bound is monotone. The full loss is not, because generalizing can save records from
    suppression.
    """

    name: str
    geometric: bool
    meaning: str
    by_level: bool = False

    ignores_suppression: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = True
    looks_within_classes: ClassVar[bool] = False

    def aggregate(self, losses: Sequence[float], weights: Sequence[float]) -> float:
        """Return the weighted mean, in [0, 1]; the order of the attributes does not matter.

        Parameters
        ----------
        losses : loss of each attribute, in [0, 1]
        """
        whole = math.fsum(weights)
        if self.geometric:
            return math.expm1(math.fsum(w * math.log1p(x) for w, x in zip(weights, losses, strict=True)) / whole)
        return math.fsum(w * x for w, x in zip(weights, losses, strict=True)) / whole


IYENGAR = AttributeLoss("iyengar", False, "mean over the quasi-identifiers of their loss")
ARX = AttributeLoss("arx", True, "geometric mean of (1 + loss) over the quasi-identifiers, minus 1")
PRECISION = AttributeLoss(
    "precision", False, "mean over the quasi-identifiers of level / highest level, 1 where suppressed", by_level=True
)


@dataclass(frozen=True)
class TableLoss:
    """A loss that is measured on the complete table, in [0, 1].

    With nothing suppressed it is no higher, and never falls when classes are merged: that lower bound is monotone.
    """

    name: str
    meaning: str
    # returns the loss of a release, and the loss if nothing were suppressed
    measure: Callable[[Generalized], LossAndBound]
    ignores_suppression: bool = False
    takes_weights: bool = True
    # whether it depends on how the recorded values of a class are spread, which no release shows
    looks_within_classes: bool = False


def _of_sizes(
    name: str, meaning: str, formula: Callable[[Numbers, Numbers, int], float], *, ignores_suppression: bool = False
) -> TableLoss:
    """A loss of the sizes of the classes kept, of those suppressed, and the records: 1 where all are in one class."""

    def measure(table: Generalized) -> LossAndBound:
        sizes, is_kept, n = table.sizes, table.is_kept, table.n_records
        return LossAndBound(formula(sizes[is_kept], sizes[~is_kept], n), formula(sizes, sizes[:0], n))

    return TableLoss(name, meaning, measure, ignores_suppression, takes_weights=False)


def _squares(sizes: Numbers) -> int:
    # Whole numbers of Python: the square of 2**32 records does not fit into 64 bits.
    values, counts = np.unique(sizes, return_counts=True)
    return sum(size * size * count for size, count in zip(values.tolist(), counts.tolist(), strict=True))


def discernibility(kept: Numbers, gone: Numbers, n_records: int) -> float:
    """Return the loss for the sizes of kept classes, the sizes of suppressed classes, and the number of records."""
    return (_squares(kept) + int(gone.sum()) * n_records) / n_records**2


def average_class_size(kept: Numbers, gone: Numbers, _: int) -> float:
    """Return the average class size loss of the kept and suppressed class sizes and the number of records."""
    return 1 / (kept.size + (gone.size > 0))


def _ambiguity(table: Generalized) -> LossAndBound:
    """Ambiguity: the number of combinations of recorded values that a released record covers, on a logarithmic scale.

    The mean over records of the product of the leaves that their labels cover (of the whole domains where suppressed);
    its logarithm as a share of the logarithm of all combinations. A weight is an exponent, scaled to 1 on average.
    """
    exponents = table.weights * (table.weights.size / table.weights.sum())
    most = float(exponents @ np.log(table.domains))
    n, suppressed = table.n_records, ~table.is_kept_row
    if most == 0.0:
        # Domains of one leaf: nothing can become ambiguous, but records can be lost.
        return LossAndBound(float(table.records[suppressed].sum()) / n, 0.0)
    # Shares of all combinations, so that nothing overflows.
    shares = np.exp(exponents @ table.log_leaves() - most)
    bound = float(table.records @ shares) / n
    lost = float(table.records[suppressed] @ (1.0 - shares[suppressed])) / n
    both = LossAndBound(1.0 + float(np.log(bound + lost)) / most, 1.0 + float(np.log(bound)) / most)
    return both.within_bounds()


def _entropy(table: Generalized) -> LossAndBound:
    """How much information about the recorded values the labels lost, the distribution of the input known.

    For each attribute the sum over records of log(records with the label / records with the value), of log(all
    records / records with the value) where suppressed, as a share of the latter over all records; then the weighted
    mean over the attributes.
    """
    n, suppressed = table.n_records, ~table.is_kept_row
    labels, values = table.log_label_records(), table.log_value_records()
    whole = np.log(n) * n - values @ table.records
    lost = (labels - values) @ table.records
    more = (np.log(n) - labels[:, suppressed]) @ table.records[suppressed]
    # A column of one value has no information to lose; its records can be lost all the same.
    share = float(table.records[suppressed].sum()) / n
    losses = np.divide(lost + more, whole, out=np.full(whole.size, share), where=whole > LEAST_INFORMATION * n)
    bounds = np.divide(lost, whole, out=np.zeros(whole.size), where=whole > LEAST_INFORMATION * n)
    weights = table.weights / table.weights.sum()
    return LossAndBound(float(losses @ weights), float(bounds @ weights)).within_bounds()


def _kl_divergence(table: Generalized) -> LossAndBound:
    """How far the records as released, spread evenly over what their labels cover, are from those recorded.

    The Kullback-Leibler divergence of the two distributions of records, suppressed ones being a class that covers the
    domain; as a share of that of a release in one class, and 1 where it is more.
    """
    # Sums over records, in parts that most transformations share. Each is rounded once: the order of the rows decides
    # no tie.
    n, domain = table.n_records, float(np.log(table.domains).sum())
    n_suppressed, recorded = int(table.sizes[~table.is_kept].sum()), table.sum_of_row_records()
    most = recorded + n * (domain - math.log(n))
    if most < LEAST_DIVERGENCE * n:
        # Spread evenly already: nothing can become more even, but records can be lost.
        return LossAndBound(n_suppressed / n, 0.0)
    sizes, times = np.unique(table.sizes, return_counts=True)
    lost = recorded + table.sum_of_leaves() - math.fsum((times * sizes * np.log(sizes)).tolist())
    more = 0.0
    if n_suppressed:
        suppressed = ~table.is_kept_row
        spread = table.log_leaves()[:, suppressed].sum(axis=0) - table.log_class_records()[suppressed]
        more = n_suppressed * (domain - math.log(n_suppressed))
        more -= math.fsum((table.records[suppressed] * spread).tolist())
    return LossAndBound((lost + more) / most, lost / most).within_bounds()


DISCERNIBILITY = _of_sizes(
    "discernibility",
    "sum over records of the size of their class (all records where suppressed), as a share of the records squared",
    discernibility,
)
DM_STAR = _of_sizes(
    "dm_star",
    "sum over records of the size of their class, suppressed or not, as a share of the records squared",
    lambda kept, gone, n_records: (_squares(kept) + _squares(gone)) / n_records**2,
    ignores_suppression=True,
)
AVERAGE_CLASS_SIZE = _of_sizes(
    "average_class_size",
    "average class size as a share of the records, suppressed records counted as one class",
    average_class_size,
)
AMBIGUITY = TableLoss(
    "ambiguity",
    "logarithm of the mean number of combinations of recorded values that a record may stand for, as a share of that "
    "of all combinations",
    _ambiguity,
)
ENTROPY = TableLoss(
    "entropy",
    "mean over the quasi-identifiers of the information about the recorded value that a label lost, as a share of all "
    "there was",
    _entropy,
    looks_within_classes=True,
)
KL_DIVERGENCE = TableLoss(
    "kl_divergence",
    "divergence (Kullback, Leibler) of the records as released, spread evenly over what their labels cover, from those "
    "recorded, as a share of that of one class",
    _kl_divergence,
    takes_weights=False,
    looks_within_classes=True,
)

Loss = AttributeLoss | TableLoss


def level_loss(levels: Sequence[int], highest: Sequence[int]) -> Fraction:
    """Return the mean over the attributes of level / highest level; an attribute without other levels loses nothing."""
    return sum((Fraction(at, max(1, top)) for at, top in zip(levels, highest, strict=True)), Fraction(0)) / len(levels)


MEAN_LOSSES = {loss.name: loss for loss in (IYENGAR, ARX, PRECISION)}
"""Losses that are a mean of attribute losses."""

TABLE_LOSSES: dict[str, TableLoss] = {
    loss.name: loss for loss in (DISCERNIBILITY, DM_STAR, AVERAGE_CLASS_SIZE, AMBIGUITY, ENTROPY, KL_DIVERGENCE)
}

LOSSES: dict[str, Loss] = {**MEAN_LOSSES, **TABLE_LOSSES}
"""Losses that need no prices."""

PAYOUT = "payout"


def payout_lost(game: PositivePayout, kept: Numbers, n_records: int, level_loss: float) -> float:
    """Return the share of the benefit of all records that the publisher loses by generalization, attacks, suppression.

    A class of n records that is attacked costs n times ``publisher_loss`` / n.

    Parameters
    ----------
    kept : (n_classes,) records of each released class
    n_records : of the input
    level_loss : of each released record
    """
    attacks = int(game.is_attacked(kept).sum()) * game.publisher_loss / game.publisher_benefit
    return 1 - (int(kept.sum()) * (1 - level_loss) - attacks) / n_records


def payout(game: PositivePayout) -> TableLoss:
    """Return the loss whose minimum is the greatest sum of the publisher's payouts in the game of a rule."""

    def measure(table: Generalized) -> LossAndBound:
        lost, kept = float(table.level_loss), table.sizes[table.is_kept]
        return LossAndBound(payout_lost(game, kept, table.n_records, lost), lost).within_bounds()

    meaning = "benefit lost by generalization, suppression and attacks, as a share of the benefit of all records"
    return TableLoss(PAYOUT, meaning, measure, takes_weights=False)


def parse_loss(name: str, rules: Iterable[PrivacyRule] = ()) -> Loss:
    """Return the loss of this name; the payout has the prices of the rule positive-payout."""
    check_value("loss", name, OneOf(*LOSSES, PAYOUT))
    if name != PAYOUT:
        return LOSSES[name]
    game = find_game(name, rules)
    if game is None:
        raise InputError(
            "The loss payout needs the prices of one rule positive-payout, and none or several were given. Give ",
            setting("rule", ["positive-payout=GAIN,COST,BENEFIT,LOSS"]),
            ".",
        )
    return payout(game)


def find_game(name: str, rules: Iterable[PrivacyRule]) -> PositivePayout | None:
    """Return the rule whose payout is maximized: the only one of its kind; None for another loss, or without it."""
    games = [rule for rule in rules if isinstance(rule, PositivePayout)]
    return games[0] if name == PAYOUT and len(games) == 1 else None
