"""What a step of the pipeline says of itself; the sentences of steps 2 to 4 and 7 say no more than the plan does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .data import Claims
from .plan import ClaimsPlan

LOOKED_FOR = {
    "diagnosis": ("diagnosis", "diagnoses"),
    "procedure": ("procedure", "procedures"),
    "place": ("place",),
}
"""Roles of the columns in which codes of each kind are looked for."""

WITHHELD = "withheld"
"""Stands for a total from which a withheld count could be worked out."""


def kinds_there(plan: ClaimsPlan, kinds: Sequence[str]) -> list[str]:
    """Kinds of codes that some column of claims holds."""
    return [kind for kind in kinds if any(plan.claim_columns(role) for role in LOOKED_FOR[kind])]


def excluded(plan: ClaimsPlan, kinds: Sequence[str]) -> str:
    """Step 2, where rules of these kinds are asked for."""
    there = kinds_there(plan, kinds)
    if not kinds:
        return "No exclusion list was asked for."
    if not there:
        return "No column has codes that the exclusion list could be compared with."
    done = f"Patients with codes on the exclusion list are left out, with all their claims: {', '.join(there)}."
    absent = [kind for kind in kinds if kind not in there]
    return f"{done} Not looked for, as no column has them: {', '.join(absent)}." if absent else done


def removed(plan: ClaimsPlan) -> str:
    """Step 3."""
    wanted, can = plan.removals, can_tell_newborns(plan)
    has_procedure = plan.claim_column("procedure") is not None
    asked = (
        (wanted.newborns, can, "those of newborns"),
        (wanted.letter_procedures, has_procedure, "those with a letter before the procedure"),
        (wanted.revenue_codes, has_procedure, "those with a revenue code for a procedure"),
    )
    done = [what for is_asked, is_there, what in asked if is_asked and is_there]
    sentences = [f"Claims removed: {', '.join(done)}." if done else "No claims were removed."]
    if wanted.newborns and not can:
        sentences.append("Newborns could not be told: there is no date of birth or no date of claim.")
    if (wanted.letter_procedures or wanted.revenue_codes) and not has_procedure:
        sentences.append("Procedures could not be told: there is no column of them.")
    return " ".join(sentences)


def can_tell_newborns(plan: ClaimsPlan) -> bool:
    """Whether there are a date of birth and a date of claim."""
    return plan.patient_column("birth-date") is not None and plan.claim_column("date") is not None


def without_claims(plan: ClaimsPlan) -> str:
    """Step 3, of patients who have none."""
    return f"Patients without claims are {'kept' if plan.patients.without_claims == 'keep' else 'left out'}."


def compared_by(variables: Sequence[str]) -> str:
    """Step 4, of variables at the levels released."""
    return f"Excluded and released patients compared by {', '.join(variables) or 'nothing'}."


def truncated(plan: ClaimsPlan, percentile: str) -> str:
    """Step 7; the percentile is ``none`` where nothing was truncated."""
    if percentile == "none":
        return "Nothing was truncated."
    return f"Claims were cut to the {percentile}th percentile of claims per {plan.truncation.per}."


@dataclass(frozen=True)
class StepLine:
    """One line of the report.

    Attributes
    ----------
    step : number and name of the step, as in `2 high-risk patients`
    done : what was done, in one sentence without values of the data
    total : what was removed or changed in all, if the step removes or changes
    counts : the same by reason; a patient or claim can have several reasons
    patients : of each count of claims, how many patients these are of
    patients_in_all : of a total of claims, how many patients these are of
    """

    step: str
    done: str
    total: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    patients: Mapping[str, int] = field(default_factory=dict)
    patients_in_all: int | None = None

    def exact(self) -> dict[str, object]:
        """Everything, for the custodian alone."""
        return {"step": self.step, "done": self.done, "total": self.total, "counts": dict(self.counts)}

    def told(self, k: int) -> dict[str, object]:
        """What may be told: counts of fewer than k patients are `<k`, or withheld where they are k claims and more.

        The total is withheld where it and the counts together could tell of fewer than k.

        Examples
        --------
        >>> StepLine("3 claims removed", "", 23, {"newborns": 3, "revenue codes": 20}).told(11)["counts"]
        {'newborns': '<11', 'revenue codes': 20}
        """
        counts = {reason: _told(count, self.patients.get(reason, count), k) for reason, count in self.counts.items()}
        total = None if self.total is None else WITHHELD if self._total_tells(k) else _told(self.total, self.total, k)
        return {"step": self.step, "done": self.done, "total": total, "counts": counts}

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


def _told(count: int, patients: int, k: int) -> int | str:
    if not 0 < patients < k:
        return count
    return f"<{k}" if count < k else WITHHELD


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
