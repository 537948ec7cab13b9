"""The steps of a release of claims in words: each sentence follows from the facts of the manifest."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloister.claims.data import Step
    from cloister.claims.manifest import ChosenLevels, ClaimsManifest
    from cloister.claims.plan import ClaimsPlan

ROLES_OF_KIND = {"diagnosis": ("diagnosis", "diagnoses"), "procedure": ("procedure", "procedures"), "place": ("place",)}
"""Roles of the columns of claims in which codes of each kind are looked for."""

ENDED = "search.nodes or search.time_limit_s ended the search: the levels are the best found by then."


def worded_steps(manifest: "ClaimsManifest") -> list[tuple["Step", str]]:
    """Return the steps, each with what was done, in a sentence."""
    plan, choice, risk, sensitivity = manifest.settings.plan, manifest.choice, manifest.risk, manifest.sensitivity
    roles: dict[str, str] = {role: column for column, role in plan.claims.roles.items()}  # of several columns, the last
    percentile = choice.truncation
    derived = [*plan.claims.derived, *plan.patients.derived]
    grouped = [f"{roles[role]!r} ({role})" for role in plan.grouping.columns if role in roles]
    top_coded = [
        f"{coding.column!r} from its {100 * coding.quantile:g}th percentile"
        f"{', zeros left out' if coding.exclude_zero else ''}"
        for coding in plan.top_coding
    ]
    sentences = {
        "1 pseudonyms": _ids(plan, roles),
        "2 high-risk patients": _excluded(manifest.steps, roles),
        "3 claims removed": _removed(plan, roles),
        "3 patients without claims": (
            f"Patients without claims are {'kept' if plan.patients.without_claims == 'keep' else 'left out'}."
        ),
        "4 representativeness": (
            "Excluded and released patients compared by "
            f"{', '.join(manifest.representativeness.variables) or 'nothing'}."
        ),
        "5 derived columns": f"Derived: {', '.join(derived)}." if derived else "Nothing was derived.",
        "6 grouping": f"Replaced by groups: {', '.join(grouped)}." if grouped else "No column was replaced by groups.",
        "6 top-coding": (
            f"Top-coded: {'; '.join(top_coded)}. The label is that percentile of the data."
            if top_coded
            else "No column was top-coded."
        ),
        "7 truncation": (
            "Nothing was truncated."
            if percentile == "none"
            else f"Claims were cut to the {percentile}th percentile of claims per {plan.truncation.per}."
        ),
        "8 adversary power": (
            f"At most {plan.adversary.power} values of each quasi-identifier of claims are known, "
            f"{risk.known:.1f} in the mean."
        ),
        "9 node risk": f"{risk.draws:,} draws.",
        "10 search": _searched(choice, plan.risk.max_flag_rate),
        "11 suppression": f"Treatment: {plan.suppression.treatment}. k = {risk.k}.",
        "12 evaluation": (
            f"{len(sensitivity.attacks)} adversaries were simulated on what is released, patients and claims "
            f"together unless they say otherwise; the list of voters is of the {sensitivity.voter_list.list}."
        ),
    }
    return [(step, sentences[step.step]) for step in manifest.steps]


def _ids(plan: "ClaimsPlan", roles: Mapping[str, str]) -> str:
    how, ids = "replaced by numbers in released order", plan.ids
    if ids.patients == "hmac":
        how = "replaced by keyed hashes (HMAC-SHA256), which link releases made with the same key"
    of_others = {"pcp": ids.pcp, "provider": ids.provider, "vendor": ids.vendor}
    others = [f"{role} {told}" for role, told in of_others.items() if role in roles]
    return f"Patients' ids are {how}." + (f" Other ids: {', '.join(others)}." if others else "")


def _excluded(steps: Sequence["Step"], roles: Mapping[str, str]) -> str:
    (kinds,) = [step.looked_for for step in steps if step.looked_for is not None]
    there = [kind for kind in kinds if any(role in roles for role in ROLES_OF_KIND[kind])]
    if not kinds:
        return "No exclusion list was asked for."
    if not there:
        return "No column has codes that the exclusion list could be compared with."
    done = f"Patients with codes on the exclusion list are left out, with all their claims: {', '.join(there)}."
    absent = [kind for kind in kinds if kind not in there]
    return f"{done} Not looked for, as no column has them: {', '.join(absent)}." if absent else done


def _removed(plan: "ClaimsPlan", roles: Mapping[str, str]) -> str:
    wanted = plan.removals
    can_tell_newborns = "birth-date" in plan.patients.roles.values() and "date" in roles
    has_procedure = "procedure" in roles
    asked = (
        (wanted.newborns, can_tell_newborns, "those of newborns"),
        (wanted.letter_procedures, has_procedure, "those with a letter before the procedure"),
        (wanted.revenue_codes, has_procedure, "those with a revenue code for a procedure"),
    )
    done = [what for is_asked, is_there, what in asked if is_asked and is_there]
    sentences = [f"Claims removed: {', '.join(done)}." if done else "No claims were removed."]
    if wanted.newborns and not can_tell_newborns:
        sentences.append("Newborns could not be told: there is no date of birth or no date of claim.")
    if (wanted.letter_procedures or wanted.revenue_codes) and not has_procedure:
        sentences.append("Procedures could not be told: there is no column of them.")
    return " ".join(sentences)


def _searched(choice: "ChosenLevels", asked: float) -> str:
    used = choice.max_flag_rate
    done = f"{choice.lattice:,} nodes for each truncation level; max_flag_rate {used:g}."
    lower = "" if asked == used else f" With max_flag_rate {asked:g}, as asked, suppression did not suffice."
    return f"{done}{lower}{'' if choice.optimal else f' {ENDED}'}"
