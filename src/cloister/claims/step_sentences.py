"""The sentences of steps 2 to 4 and 7: each follows from the plan and from what is released, and says no more."""

from collections.abc import Sequence

from .plan import ClaimsPlan

LOOKED_FOR = {
    "diagnosis": ("diagnosis", "diagnoses"),
    "procedure": ("procedure", "procedures"),
    "place": ("place",),
}
"""Roles of the columns in which codes of each kind are looked for."""


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
