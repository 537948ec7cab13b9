"""Delta-presence: whether a person of the population is in the data stays uncertain."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from cloister.errors import InputError

from .parameters import checked_name, real_number, written
from .rule import EquivalenceClasses, Mask, at_least, at_most


@dataclass(frozen=True)
class DeltaPresence:
    """For every person of the population, the probability of being in the release is from ``lower`` to ``upper``.

    It is the number of released records of the person's class over the number of people of that class.

    *Guarantee*: an adversary who knows all quasi-identifiers of a person, and the population table, concludes that the
    person is in the release with a probability of at most ``upper``, and of at least ``lower``. Not promised: anything
    about a person outside the population table; anything once presence is known otherwise. Cost: one comparison a
    class.

    With ``lower`` above 0 nobody may be absent for certain: then either all classes are safe or none is, since
    suppressing one class, or leaving people of the population without any record, breaks the promise for those people
    (`forbids_suppression`). Where other rules suppress a class, this one no longer holds.

    Not monotone: records added to a class raise its share. Closed: the share of a union lies between those of its
    parts, and what covers the population still does when classes are joined.

    Parameters
    ----------
    lower, upper : probabilities, 0 <= lower <= upper <= 1; from 0 to 1 would promise nothing
    population : table of all people, one row a person, with the quasi-identifiers; the patients are among them
    name : name of the table, as the manifest shows it; never a path
    source : where the command line found the table, until it is read; never shown

    References
    ----------
    Nergiz, Atzori, Clifton (2007), "Hiding the presence of individuals from shared databases", section 3.
    """

    lower: float
    upper: float
    population: Any = field(default=None, kw_only=True, repr=False, compare=False)
    name: str | None = field(default=None, kw_only=True)
    source: str | None = field(default=None, kw_only=True, repr=False, compare=False)

    model: ClassVar[str] = "delta-presence"
    counts: ClassVar[str] = "records over people of the population"
    needs: ClassVar[str] = "population"
    column: ClassVar[str | None] = None
    is_monotone: ClassVar[bool] = False
    is_closed: ClassVar[bool] = True
    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for bound in ("lower", "upper"):
            number = real_number(bound, getattr(self, bound), "from 0 to 1", lambda number: 0 <= number <= 1)
            object.__setattr__(self, bound, number)
        if self.lower > self.upper or self.upper == 0 or (self.lower, self.upper) == (0, 1):
            raise InputError(
                f"delta-presence from {written(self.lower)} to {written(self.upper)} cannot be met or promises nothing:"
                " the lower bound must not be above the upper one, the upper one above 0, and not both 0 and 1."
            )
        object.__setattr__(self, "name", checked_name(self.population, self.name, self.model))

    @property
    def forbids_suppression(self) -> bool:
        """Whether suppressing any class breaks the rule: its people would be absent for certain."""
        return self.lower > 0

    def with_population(self, population: Any) -> "DeltaPresence":
        """Return the rule with the table that its source named."""
        return replace(self, population=population, source=None)

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,); one without people does not."""
        people = classes.population(self)
        share = classes.sizes / np.maximum(people, 1)
        safe = (people > 0) & at_least(share, self.lower) & at_most(share, self.upper)
        if self.forbids_suppression and not (safe.all() and classes.is_covering(self)):
            return np.zeros(len(safe), dtype=np.bool_)
        return np.asarray(safe)

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        return {"model": self.model, "lower": self.lower, "upper": self.upper, "population": self.name}

    def words(self) -> str:
        """Return the rule as on the command line."""
        return f"{self.model}:{self.name}={written(self.lower)},{written(self.upper)}"

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"whoever is in the population {self.name!r} is in the release with a probability from"
            f" {written(self.lower)} to {written(self.upper)}, judged by quasi-identifiers"
        )
