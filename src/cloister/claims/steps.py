"""What a step of the pipeline says of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .data import Claims

WITHHELD = "withheld"
"""Stands for a total from which a withheld count could be worked out."""


@dataclass(frozen=True)
class StepLine:
    """One line of the report.

    Attributes
    ----------
    step : number and name of the step, as in `2 high-risk patients`
    done : what was done, in one sentence without values of the data
    total : what was removed or changed in all, if the step removes or changes
    counts : the same by reason; a patient or claim can have several reasons
    """

    step: str
    done: str
    total: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    def exact(self) -> dict[str, object]:
        """Everything, for the custodian alone."""
        return {"step": self.step, "done": self.done, "total": self.total, "counts": dict(self.counts)}

    def told(self, k: int) -> dict[str, object]:
        """What may be told: counts from 1 to k - 1 are `<k`.

        The total is withheld with them where it could tell one: where a single count is withheld, or where those
        withheld are fewer than k in all.

        Examples
        --------
        >>> StepLine("3 claims removed", "", 23, {"newborns": 3, "revenue codes": 20}).told(11)["counts"]
        {'newborns': '<11', 'revenue codes': 20}
        """
        hidden = [count for count in self.counts.values() if 0 < count < k]
        tells = len(hidden) == 1 or 0 < sum(hidden) < k
        total = None if self.total is None else WITHHELD if tells else _told(self.total, k)
        counts = {reason: _told(count, k) for reason, count in self.counts.items()}
        return {"step": self.step, "done": self.done, "total": total, "counts": counts}


def _told(count: int, k: int) -> int | str:
    return f"<{k}" if 0 < count < k else count


@dataclass(frozen=True, eq=False, repr=False)
class Stepped:
    """Claims after a step, and its line.

    Attributes
    ----------
    claims : what remains
    line : for the report
    removed : what a step that removes patients took away, whole
    """

    claims: Claims
    line: StepLine
    removed: Claims | None = None
