"""What a step of the pipeline says of itself: facts, which the report words (`cloister.report.claim_steps`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cloister.masking import WITHHELD, mask_small_count, total_needs_suppression

from .data import Claims


@dataclass(frozen=True)
class StepLine:
    """One line of the report.

    Attributes
    ----------
    step : number and name of the step, as in `2 high-risk patients`
    total : what was removed or changed in all, if the step removes or changes
    counts : the same by reason; a patient or claim can have several reasons
    patients : of each count of claims, how many patients these are of
    patients_in_all : of a total of claims, how many patients these are of
    looked_for : kinds of codes on the exclusion list; None of other steps
    """

    step: str
    total: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    patients: Mapping[str, int] = field(default_factory=dict)
    patients_in_all: int | None = None
    looked_for: tuple[str, ...] | None = None

    def exact(self) -> dict[str, object]:
        """Everything, for the custodian alone."""
        return self._facts(self.total, self.counts)

    def told(self, k: int) -> dict[str, object]:
        """What may be told: counts of fewer than k patients are `<k`, or withheld where they are k claims and more.

        The total is withheld where it and the counts together could tell of fewer than k.

        Examples
        --------
        >>> StepLine("3 claims removed", 23, {"newborns": 3, "revenue codes": 20}).told(11)["counts"]
        {'newborns': '<11', 'revenue codes': 20}
        """
        counts = {name: mask_small_count(count, k, self.patients.get(name)) for name, count in self.counts.items()}
        total: int | str | None = self.total
        if self.total is not None:
            telling = total_needs_suppression(self.total, self.counts, k, self.patients, self.patients_in_all)
            total = WITHHELD if telling else mask_small_count(self.total, k)
        return self._facts(total, counts)

    def _facts(self, total: object, counts: Mapping[str, object]) -> dict[str, object]:
        facts = {"step": self.step, "total": total, "counts": dict(counts)}
        return facts if self.looked_for is None else facts | {"looked_for": list(self.looked_for)}


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
