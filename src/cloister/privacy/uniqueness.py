"""Uniqueness: few released records are alone in their class, or alone in the population."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError

from .population_estimates import ESTIMATORS, MOST_PEOPLE, Sample, estimated_share
from .rule import TOLERANCE, NumberedRule, at_most, keep_real, whole_number, written


@dataclass(frozen=True)
class SampleUniqueness(NumberedRule):
    """At most a ``share`` of the released records are alone in their class.

    Records alone in their class are suppressed until that is so.

    *Guarantee*: somebody who knows all quasi-identifiers and who is in the data singles out at most this share of the
    released records. Not promised: anything about classes of two or three; combine the rule with others. Cost: one pass
    over the classes of one record.

    Monotone and closed: a record alone at a coarser transformation is alone at a finer one.

    Parameters
    ----------
    share : from 0 to below 1

    References
    ----------
    Skinner, Elliot (2002), "A measure of disclosure risk for microdata": sample uniques.
    """

    share: float

    model: ClassVar[str] = "sample-uniqueness"
    counts: ClassVar[str] = "classes of one record"
    is_monotone: ClassVar[bool] = True
    is_closed: ClassVar[bool] = True
    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        keep_real(self, "share", "from 0 to below 1", lambda number: 0 <= number < 1)

    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed; all uniques if no other number will do."""
        return _excess_uniques(sizes, self.share)

    def sentence(self) -> str:
        """Return the rule in words."""
        return f"at most a share of {written(self.share)} of the released records are alone in their class"


@dataclass(frozen=True)
class PopulationUniqueness:
    """An estimated ``share`` of the released records, at most, belong to people who are unique in the population.

    A person is unique in the population if nobody else in it has the same quasi-identifiers, as released. The release
    is taken for a random sample. Estimated is the expected number of uniques in the population over ``size``, which is
    their expected share of the sample; the estimate is cut to the share of sample uniques, since who is unique in the
    population is so in the sample. Without sample uniques it is 0.

    Estimators: ``zayatz``, ``pitman``, ``snb`` (slide negative binomial), or ``dankar``, the rule of Dankar et al.
    that picks among them: Pitman's where at most a tenth of the population is sampled; else the lesser of the slide
    negative binomial and Zayatz's. Where Pitman's or the slide negative binomial has no solution, or one that is a
    limit within rounding, Zayatz's, which always has one, stands in.

    *Guarantee*: none that can be proved: the estimate says that at most this share of the records could be linked, with
    certainty, to one person of the population by somebody who knows all quasi-identifiers of everybody. Not promised:
    that the estimate is right; anything against somebody who knows who is in the data; anything about people who share
    their quasi-identifiers with one other. Cost: some dozen estimates, a few milliseconds each.

    Neither monotone nor closed: classes that are joined change what the estimators conclude from the larger classes,
    and the estimate may rise. Records alone in their class are suppressed; how many is found by bisection, so it is a
    number at which the rule holds while with one record less it does not. Zayatz's estimate falls with every record
    suppressed, so there it is the least such number.

    Parameters
    ----------
    share : from 0 to below 1
    size : people of the population, at most 100000000000
    estimator : ``dankar``, ``pitman``, ``zayatz`` or ``snb``

    References
    ----------
    Dankar, El Emam, Neisa, Roffey (2012), "Estimating the re-identification risk of clinical data sets"; and as named
    in `population_estimates`.
    """

    share: float
    size: int
    estimator: str = "dankar"

    model: ClassVar[str] = "population-uniqueness"
    counts: ClassVar[str] = "classes by their size"
    is_monotone: ClassVar[bool] = False
    is_closed: ClassVar[bool] = False
    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        keep_real(self, "share", "from 0 to below 1", lambda number: 0 <= number < 1)
        if whole_number("The population of population-uniqueness", self.size, 1) > MOST_PEOPLE:
            raise InputError(
                f"The population of population-uniqueness is {self.size}, but it must be at most {MOST_PEOPLE}, more"
                " people than there are. Give the number of all people that the patients may be among."
            )
        if not isinstance(self.estimator, str) or self.estimator not in ESTIMATORS:
            raise InputError(f"The estimator of population uniqueness must be one of {', '.join(ESTIMATORS)}.")

    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed, at most all uniques."""
        n_records = int(sizes.sum())
        if n_records > self.size:
            raise InputError(
                f"population-uniqueness was given a population of {self.size}, but there are {n_records} records. Give"
                " the number of all people that the patients may be among."
            )
        values, counts = np.unique(sizes, return_counts=True)
        low, high = 0, _excess_uniques(sizes, self.share)
        if high and self._is_within(values, counts, 0):
            return 0
        while low < high:
            middle = (low + high) // 2
            if self._is_within(values, counts, middle):
                high = middle
            else:
                low = middle + 1
        return low

    def _is_within(self, values: NDArray[np.int64], counts: NDArray[np.int64], suppressed: int) -> bool:
        """Whether the estimate is within the share once so many uniques are gone; some uniques must be left."""
        left = counts.copy()
        left[0] -= suppressed
        return estimated_share(Sample(values, left, self.size), self.estimator) <= self.share + TOLERANCE

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        described = {"model": self.model, "share": self.share, "population_size": self.size}
        return described | {"estimator": self.estimator}

    def words(self) -> str:
        """Return the rule as on the command line."""
        rest = "" if self.estimator == "dankar" else f",{self.estimator}"
        return f"{self.model}:{self.size}={written(self.share)}{rest}"

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"an estimated share of at most {written(self.share)} of the released records belong to people who are"
            f" unique among {self.size} (estimator: {self.estimator})"
        )


def _excess_uniques(sizes: NDArray[np.int64], share: float) -> int:
    """Least number of uniques to suppress so that the rest are at most a share of the records that are left."""
    n_uniques, n_records = int(np.searchsorted(sizes, 1, side="right")), int(sizes.sum())
    suppressed = np.arange(n_uniques + 1)
    left = np.maximum(n_records - suppressed, 1)
    return int(np.argmax(at_most((n_uniques - suppressed) / left, share)))
