"""The steps of a release of claims in words: each sentence follows from the facts of the manifest."""

from collections.abc import Mapping
from typing import Any

from cloister.results import Manifest

ROLES_OF_KIND = {"diagnosis": ("diagnosis", "diagnoses"), "procedure": ("procedure", "procedures"), "place": ("place",)}
"""Roles of the columns of claims in which codes of each kind are looked for."""

NOT_TOP_CODED = "No column was top-coded."
ENDED = "search.nodes or search.time_limit_s ended the search: the levels are the best found by then."


def worded_steps(manifest: Manifest) -> list[dict[str, Any]]:
    """Return the steps, each with what was done, in a sentence."""
    return [{**line, "done": SENTENCES[line["step"]](manifest)} for line in manifest["steps"]]


def _plan(manifest: Manifest) -> Mapping[str, Any]:
    plan: Mapping[str, Any] = manifest["settings"]["plan"]
    return plan


def _roles(manifest: Manifest, table: str = "claims") -> Mapping[str, str]:
    """From each role to a column of it; of several columns, the last."""
    return {role: column for column, role in _plan(manifest)[table]["roles"].items()}


def _ids(manifest: Manifest) -> str:
    how, roles, ids = "replaced by numbers in released order", _roles(manifest), _plan(manifest)["ids"]
    if ids["patients"] == "hmac":
        how = "replaced by keyed hashes (HMAC-SHA256), which link releases made with the same key"
    others = [f"{role} {ids[role]}" for role in ("pcp", "provider", "vendor") if role in roles]
    return f"Patients' ids are {how}." + (f" Other ids: {', '.join(others)}." if others else "")


def _excluded(manifest: Manifest) -> str:
    (line,) = [line for line in manifest["steps"] if "looked_for" in line]
    kinds, roles = line["looked_for"], _roles(manifest)
    there = [kind for kind in kinds if any(role in roles for role in ROLES_OF_KIND[kind])]
    if not kinds:
        return "No exclusion list was asked for."
    if not there:
        return "No column has codes that the exclusion list could be compared with."
    done = f"Patients with codes on the exclusion list are left out, with all their claims: {', '.join(there)}."
    absent = [kind for kind in kinds if kind not in there]
    return f"{done} Not looked for, as no column has them: {', '.join(absent)}." if absent else done


def _removed(manifest: Manifest) -> str:
    wanted, roles = _plan(manifest)["removals"], _roles(manifest)
    can_tell_newborns = "birth-date" in _roles(manifest, "patients") and "date" in roles
    has_procedure = "procedure" in roles
    asked = (
        (wanted["newborns"], can_tell_newborns, "those of newborns"),
        (wanted["letter_procedures"], has_procedure, "those with a letter before the procedure"),
        (wanted["revenue_codes"], has_procedure, "those with a revenue code for a procedure"),
    )
    done = [what for is_asked, is_there, what in asked if is_asked and is_there]
    sentences = [f"Claims removed: {', '.join(done)}." if done else "No claims were removed."]
    if wanted["newborns"] and not can_tell_newborns:
        sentences.append("Newborns could not be told: there is no date of birth or no date of claim.")
    if (wanted["letter_procedures"] or wanted["revenue_codes"]) and not has_procedure:
        sentences.append("Procedures could not be told: there is no column of them.")
    return " ".join(sentences)


def _without_claims(manifest: Manifest) -> str:
    kept = _plan(manifest)["patients"]["without_claims"] == "keep"
    return f"Patients without claims are {'kept' if kept else 'left out'}."


def _compared(manifest: Manifest) -> str:
    variables = ", ".join(manifest["representativeness"]["variables"]) or "nothing"
    return f"Excluded and released patients compared by {variables}."


def _derived(manifest: Manifest) -> str:
    asked = [*_plan(manifest)["claims"]["derived"], *_plan(manifest)["patients"]["derived"]]
    return f"Derived: {', '.join(asked)}." if asked else "Nothing was derived."


def _grouped(manifest: Manifest) -> str:
    roles = _roles(manifest)
    columns = [f"{roles[role]!r} ({role})" for role in _plan(manifest)["grouping"]["columns"] if role in roles]
    return f"Replaced by groups: {', '.join(columns)}." if columns else "No column was replaced by groups."


def _top_coded(manifest: Manifest) -> str:
    told = [
        f"{coding['column']!r} from its {100 * coding['quantile']:g}th percentile"
        f"{', zeros left out' if coding['exclude_zero'] else ''}"
        for coding in _plan(manifest)["top_coding"]
    ]
    return f"Top-coded: {'; '.join(told)}. The label is that percentile of the data." if told else NOT_TOP_CODED


def _truncated(manifest: Manifest) -> str:
    percentile, per = manifest["choice"]["truncation"], _plan(manifest)["truncation"]["per"]
    if percentile == "none":
        return "Nothing was truncated."
    return f"Claims were cut to the {percentile}th percentile of claims per {per}."


def _power(manifest: Manifest) -> str:
    most, known = _plan(manifest)["adversary"]["power"], manifest["risk"]["known"]
    return f"At most {most} values of each quasi-identifier of claims are known, {known:.1f} in the mean."


def _searched(manifest: Manifest) -> str:
    choice, asked = manifest["choice"], _plan(manifest)["risk"]["max_flag_rate"]
    used = choice["max_flag_rate"]
    done = f"{choice['lattice']:,} nodes for each truncation level; max_flag_rate {used:g}."
    lower = "" if asked == used else f" With max_flag_rate {asked:g}, as asked, suppression did not suffice."
    return f"{done}{lower}{'' if choice['optimal'] else f' {ENDED}'}"


def _evaluated(manifest: Manifest) -> str:
    found = manifest["sensitivity"]
    return (
        f"{len(found['attacks'])} adversaries were simulated on what is released, patients and claims together unless "
        f"they say otherwise; the list of voters is of the {found['voter_list']['list']}."
    )


SENTENCES = {
    "1 pseudonyms": _ids,
    "2 high-risk patients": _excluded,
    "3 claims removed": _removed,
    "3 patients without claims": _without_claims,
    "4 representativeness": _compared,
    "5 derived columns": _derived,
    "6 grouping": _grouped,
    "6 top-coding": _top_coded,
    "7 truncation": _truncated,
    "8 adversary power": _power,
    "9 node risk": lambda manifest: f"{manifest['risk']['draws']:,} draws.",
    "10 search": _searched,
    "11 suppression": lambda m: f"Treatment: {_plan(m)['suppression']['treatment']}. k = {m['risk']['k']}.",
    "12 evaluation": _evaluated,
}
