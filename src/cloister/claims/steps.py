"""What a step of the pipeline says of itself: facts, which the report words (`cloister.report.claim_steps`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import StringConstraints

from cloister.manifest.head import Count, Section

from .data import Claims

WITHHELD = "withheld"
"""Stands for a total from which a withheld count could be worked out."""

Masked = Count | Annotated[str, StringConstraints(pattern=r"^(<[1-9][0-9]{0,8}|withheld)$")]


class Step(Section):
    """What is published of a step; ``looked_for``: kinds of codes on the exclusion list, where that is the step."""

    step: str
    total: Masked | None
    counts: dict[str, Masked]
    looked_for: tuple[Literal["diagnosis", "procedure", "place"], ...] | None = None

    def counting(self, counts: Mapping[str, Masked] | None) -> "Step":
        """The same with other counts, if they are given."""
        return self if counts is None else self.model_copy(update={"counts": dict(counts)})


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
        facts: dict[str, object] = {"step": self.step, "total": self.total, "counts": dict(self.counts)}
        return facts if self.looked_for is None else facts | {"looked_for": list(self.looked_for)}

    def masked(self, k: int) -> Step:
        """What may be published: counts of fewer than k patients are `<k`, or withheld where they are k claims or more.

        The total is withheld where it and the counts together could tell of fewer than k.

        Examples
        --------
        >>> StepLine("3 claims removed", 23, {"newborns": 3, "revenue codes": 20}).masked(11).counts
        {'newborns': '<11', 'revenue codes': 20}
        """
        counts = {reason: _masked(count, self.patients.get(reason, count), k) for reason, count in self.counts.items()}
        total = None if self.total is None else WITHHELD if self._total_tells(k) else _masked(self.total, self.total, k)
        if self.looked_for is None:
            return Step(step=self.step, total=total, counts=counts)
        return Step.model_validate({"step": self.step, "total": total, "counts": counts, "looked_for": self.looked_for})

    def _total_tells(self, k: int) -> bool:
        """Whether the total, less some of the counts that are told, leaves fewer than k, or tells one that is not told.

        Reasons overlap: 25 and 30 of 54 patients are one who has both, 30 and 30 of 32 are two who have the second
        alone. Of claims that have both nobody knows how many patients they are of.
        """
        shown = [count for reason, count in self.counts.items() if self.patients.get(reason, count) >= k]
        total, n_hidden = self.total or 0, sum(count > 0 for count in self.counts.values()) - len(shown)
        if n_hidden and (n_hidden == 1 or self.patients or total - sum(shown) < k):
            return True
        if self.patients and total != sum(shown):
            return True
        if self.patients_in_all is not None and 0 < self.patients_in_all < k:
            return True
        return bool(shown) and _comes_near(total, shown, k)


def _masked(count: int, patients: int, k: int) -> int | str:
    if not 0 < patients < k:
        return count
    return f"<{k}" if count < k else WITHHELD


def early_steps(lines: Sequence[StepLine], counts: Mapping[str, Mapping[str, Masked]], k: int) -> list[Step]:
    """Return steps as they are published.

    Parameters
    ----------
    counts : what the files say of some of them, by step
    """
    return [line.masked(k).counting(counts.get(line.step)) for line in lines]


def is_count(value: int | str, k: int) -> bool:
    """Whether something is a count as it is published: below k it is not."""
    return value in (f"<{k}", WITHHELD) if isinstance(value, str) else value == 0 or value >= k


def _comes_near(total: int, counts: Sequence[int], k: int) -> bool:
    """Whether some of the counts sum up to something that differs from the total by 1 to k - 1."""
    sums = 1  # bit n: some of the counts sum up to n
    for count in counts:
        sums |= sums << count
    around = (sums << k) >> (total + 1)  # bit k - 1: the total itself; k - 1 bits below and above it
    return bool(around & ((1 << (2 * k - 1)) - 1) & ~(1 << (k - 1)))


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
