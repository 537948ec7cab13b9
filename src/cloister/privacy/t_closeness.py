"""t-closeness: the sensitive values of a class are spread nearly as in the whole input."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from cloister.errors import InputError

from .earth_mover import equal_distance, hierarchical_distance, ordered_distance
from .parameters import name_of, real_number, written
from .rule import Classes, Histogram, Mask
from .threshold import Figures, at_most

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
    column : the sensitive column
    distance : ``equal``, ``ordered`` or ``hierarchical``
    hierarchy : of the column, for ``hierarchical``
    spec : how the hierarchy is written; taken from the hierarchy if there is one
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
        object.__setattr__(self, "t", real_number("t", self.t, "from 0 to below 1", lambda number: 0 <= number < 1))
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

    def holds(self, classes: Classes) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        return at_most(DISTANCES[self.distance][1](classes.histogram(self)), self.t)

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
