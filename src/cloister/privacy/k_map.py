"""k-map: no record can be told apart from fewer than k - 1 others in the population that the patients come from."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from cloister.errors import InputError

from .parameters import checked_name, real_number, whole_number, written
from .rule import EquivalenceClasses, Mask

SIGNIFICANCE = 0.01
LEAST_ESTIMATED = 2
"""Records per class below which an estimate never goes."""


@dataclass(frozen=True)
class KMap:
    """Every class of the release matches at least ``k`` people of the population.

    The people are counted in a population table that has the quasi-identifiers, or estimated from the number of
    people: then every class needs as many records as a population class of ``k`` people or fewer yields with a
    probability of at most ``significance``. That count is the least c for which a Poisson variable of mean k n / N is
    c or more with that probability (n records of the input, N people), at least 2 and at most k.

    *Guarantee*: with a table, somebody who knows all quasi-identifiers of a person, but not who is in the data, is left
    with at least ``k`` people for any record. With a size the same, up to an error of ``significance`` for each small
    class of the population, if the input is a random sample of it. Not promised: anything against somebody who knows
    that the patient is in the data; k-anonymity is for that. Nor that the error is so small among the classes that were
    sampled: the test does not take account of a class being seen at all. Cost: one comparison a class.

    Monotone and closed: the people of a class, as its records, only become more when it grows.

    Deviations: El Emam and Dankar truncate the distribution at zero as an alternative, which asks for larger classes;
    it is not used. A single record is never enough here: where few people are sampled, the test alone would let every
    class pass. k records are always enough, since they are k people.

    Parameters
    ----------
    k : people per class, at least 2
    name : name of the table, as the manifest shows it; never a path
    significance : for ``size``: how probable it may be that a class too small passes, above 0 and at most 0.5
    least : for ``size``: records per class; known once the number of records is (`in_sample`)
    source : where the command line found the table, until it is read; never shown

    References
    ----------
    Sweeney (2001), "Computational disclosure control", k-map; El Emam, Dankar (2008), "Protecting privacy using
    k-anonymity", the hypothesis test by the Poisson distribution.
    """

    k: int
    population: Any = field(default=None, kw_only=True, repr=False, compare=False)
    name: str | None = field(default=None, kw_only=True)
    size: int | None = field(default=None, kw_only=True)
    significance: float = field(default=SIGNIFICANCE, kw_only=True)
    least: int | None = field(default=None, kw_only=True)
    source: str | None = field(default=None, kw_only=True, repr=False, compare=False)

    model: ClassVar[str] = "k-map"
    counts: ClassVar[str] = "people of the population"
    column: ClassVar[str | None] = None
    is_monotone: ClassVar[bool] = True
    is_closed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number("k", self.k, 2)
        significance = real_number(
            "significance", self.significance, "above 0 and at most 0.5", lambda number: 0 < number <= 0.5
        )
        object.__setattr__(self, "significance", significance)
        if self.size is None:
            object.__setattr__(self, "name", checked_name(self.population, self.name, self.model))
            return
        if self.population is not None or self.name is not None:
            raise InputError("k-map takes either a population table or the number of people, not both.")
        whole_number("The population of k-map", self.size, self.k)
        if self.least is not None and whole_number("class_size", self.least, LEAST_ESTIMATED) > self.k:
            raise InputError(f"k-map with k = {self.k} never asks for more than {self.k} records per class.")

    @property
    def needs(self) -> str:
        """What must be prepared: counts of the population table, or class sizes alone."""
        return "population" if self.size is None else "sizes"

    @property
    def class_size(self) -> int:
        """Records that a class needs at least; 1 with a table, or while the number of records is not known."""
        return self.least or 1

    def with_population(self, population: Any) -> "KMap":
        """Return the rule with the table that its source named."""
        return replace(self, population=population, source=None)

    def in_sample(self, n_records: int) -> "KMap":
        """Return the rule with the class size that an input of so many records needs; unchanged with a table."""
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
        """Return the rule as the manifest names it."""
        if self.size is None:
            return {"model": self.model, "k": self.k, "population": self.name}
        described = {"model": self.model, "k": self.k, "population_size": self.size, "significance": self.significance}
        return described | ({} if self.least is None else {"class_size": self.least})

    def words(self) -> str:
        """Return the rule as on the command line."""
        rest = "" if self.size is None or self.significance == SIGNIFICANCE else f",{written(self.significance)}"
        return f"{self.model}:{self.name if self.size is None else self.size}={self.k}{rest}"

    def sentence(self) -> str:
        """Return the rule in words."""
        if self.size is None:
            return f"every class matches at least {self.k} people of the population {self.name!r}"
        asked = "" if self.least is None else f": at least {self.least} records"
        return (
            f"every class is large enough{asked}, for an estimated {self.k} people or more among {self.size} (Poisson"
            f" test, significance {written(self.significance)})"
        )


def _least_class(k: int, mean: float, significance: float) -> int:
    """Least count from 2 to k that a Poisson variable reaches with at most this probability; k if none does."""
    from scipy.special import gammainc  # 0.1 s to import

    low, high = LEAST_ESTIMATED, k
    while low < high:
        middle = (low + high) // 2
        if gammainc(middle, mean) <= significance:
            high = middle
        else:
            low = middle + 1
    return low
