"""What a step of the pipeline says of itself, which the report words (`cloister.report.sentences`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import StringConstraints

from cloister.manifest.head import Count, Section
from cloister.masking import WITHHELD, mask_small_count, total_needs_suppression

from .data import Claims

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
    patients, patients_in_all : of each count of claims, and of a total of claims, how many patients these are of
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

        The total is withheld where it and the counts together could reveal fewer than k.

        Examples
        --------
        >>> StepLine("3 claims removed", 23, {"newborns": 3, "revenue codes": 20}).masked(11).counts
        {'newborns': '<11', 'revenue codes': 20}
        """
        counts = {name: mask_small_count(count, k, self.patients.get(name)) for name, count in self.counts.items()}
        total: int | str | None = self.total
        if self.total is not None:
            telling = total_needs_suppression(self.total, self.counts, k, self.patients, self.patients_in_all)
            total = WITHHELD if telling else mask_small_count(self.total, k)
        looked_for = {} if self.looked_for is None else {"looked_for": self.looked_for}
        return Step.model_validate({"step": self.step, "total": total, "counts": counts, **looked_for})


def early_steps(lines: Sequence[StepLine], counts: Mapping[str, Mapping[str, Masked]], k: int) -> list[Step]:
    """Return steps as they are published; some with the counts that the files give."""
    return [line.masked(k).counting(counts.get(line.step)) for line in lines]


@dataclass(frozen=True, eq=False, repr=False)
class Stepped:
    """Claims after a step, and its line; ``removed``: what a step that removes patients took away, whole."""

    claims: Claims
    line: StepLine
    removed: Claims | None = None
