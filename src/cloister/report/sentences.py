"""Facts of a manifest in words, for the report and the screen; of claims the steps, too."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cloister.manifests import AnyManifest, codes_of

if TYPE_CHECKING:
    from cloister.claims.manifest import ChosenLevels, ClaimsManifest, RiskRule, Sensitivity
    from cloister.claims.plan import ClaimsPlan
    from cloister.claims.steps import Step
    from cloister.codesets.disassociation.manifest import DisassociationManifest
    from cloister.codesets.generalization.manifest import GeneralizationManifest
    from cloister.tabular.manifest import AcceptedColumn, TableManifest
    from cloister.trajectories.manifest import TrajectoriesManifest


def guarantee_sentences(manifest: AnyManifest) -> list[str]:
    """Return what is promised and was verified, in sentences without a full stop."""
    if manifest.form == "trajectories":
        return _of_trajectories(manifest)
    if manifest.form == "claims":
        return _of_claims(manifest.guarantee.rules[0], manifest.risk.known)
    if manifest.form == "disassociation":
        return _of_chunks(manifest)
    if manifest.form == "generalization":
        return _of_terms(manifest)
    return [*table_sentences(manifest), *codes_sentences(manifest)]


def empty_words(manifest: AnyManifest) -> list[str]:
    """Return which columns say nothing in a release, in a sentence; nothing where all do, or codes stay as recorded."""
    empty = [] if manifest.form == "disassociation" or manifest.form == "generalization" else manifest.empty
    return [f"{', '.join(empty)} {'says' if len(empty) == 1 else 'say'} nothing in this release."] if empty else []


def columns_of(manifest: "TableManifest", role: str) -> list[str]:
    """Return the released columns of a role; the column of codes has rows of its own."""
    codes = codes_of(manifest)
    return [
        name for name, each in manifest.columns.items() if each.role == role and not (codes and name == codes.column)
    ]


def one_row_words(manifest: AnyManifest) -> str:
    """Return what tells patients apart."""
    told = manifest.guarantee.one_row_per_patient
    if told != "ids":
        return told
    if manifest.form == "claims":
        return f"patients are told apart by {next(iter(manifest.columns.patients), '')!r}"
    if manifest.form == "trajectories":
        column = manifest.settings.input_columns.id
        return "patients are told apart by ids" if column is None else f"patients are told apart by {column!r}"
    if manifest.form == "disassociation" or manifest.form == "generalization":
        column = manifest.settings.input_columns.id
        return "ids are unique" if column is None else f"ids in {column!r} are unique"
    return told


def table_sentences(manifest: "TableManifest") -> list[str]:
    """Return what is promised of a table, whatever is promised of its codes."""
    sentences = [rule.sentence() for rule in manifest.guarantee.rules]
    return [sentence[:1].upper() + sentence[1:] for sentence in sentences]


def accepted_words(one: "AcceptedColumn") -> str:
    """Return how a column that the releaser accepted undoes the protection of others."""
    if one.about is not None:
        return f"{one.column} is released as recorded, and says more of {one.about} than its labels do"
    if one.why == "free text":
        return f"{one.column} holds texts of several words, most of which one record has alone"
    return f"{one.column} is left out, and repeats: if it tells patients apart, k counts records and not patients"


def codes_sentences(manifest: "TableManifest") -> list[str]:
    """Return what is promised of the codes of a table; nothing where there are none."""
    codes = codes_of(manifest)
    return [
        f"For the quasi-identifiers of a patient and {_codes_known(rule.m)} of it there is a data set that could have "
        f"led to this release in which at least {rule.k} records have them all"
        for rule in (codes.guarantee.rules if codes else ())
    ]


def _codes_known(m: int) -> str:
    return "any code" if m == 1 else f"any {m} codes or fewer"


def _of_trajectories(manifest: "TrajectoriesManifest") -> list[str]:
    rule, *diversity = manifest.guarantee.rules
    sentences = [
        "Any combination of a patient's codes and ages matches no released trajectory or those of at least "
        f"{rule.k} patients"
    ]
    for of in diversity:
        what = (
            "a released code stands for a sensitive one of at most one in {l}"
            if of.column is None
            else "at most one in {l} has the same value of {column!r}; a missing value is none"
        )
        told = what.format(l=of.l, column=of.column)
        sentences.append(f"Of the patients who share a trajectory, {told}")
    return sentences


def _of_chunks(manifest: "DisassociationManifest") -> list[str]:
    rule, *diversity = manifest.guarantee.rules
    but = " other than the sensitive ones" if diversity else ""
    return [
        f"For {_codes_known(rule.m)}{but} of a patient there is a data set that could have led to this release in "
        f"which at least {rule.k} records hold them all",
        *(
            f"Each sensitive code stands apart from all others, and at most one record in {of.l} of a cluster holds it"
            for of in diversity
        ),
    ]


def _of_terms(manifest: "GeneralizationManifest") -> list[str]:
    rule = manifest.guarantee.rules[0]
    if rule.model == "privacy-constrained anonymity":
        known = f"a set of codes of the privacy policy {rule.privacy}, or a part of one"
    else:
        known = "one code" if rule.m == 1 else f"{rule.m} codes or fewer"
        if manifest.settings.repeats:
            known += f", and that the patient has {'it' if rule.m == 1 else 'each'} at least so often"
    return [
        f"Whoever knows of a patient {known}, and looks for the terms that these codes are in, finds no record or at "
        f"least {rule.k}"
    ]


def _of_claims(rule: "RiskRule", known: float) -> list[str]:
    """What is promised of claims; ``known``: values of a column that are known in the mean."""
    sentences = [
        "Whoever knows the quasi-identifiers of a patient and, of each quasi-identifier of claims by itself, up to "
        f"{rule.power} values of the patient ({known:.1f} in the mean), and picks one of those who fit at random, "
        f"names the right patient with a chance of at most {rule.threshold:g}, in the mean over patients and what "
        "is known of them",
        f"At most a share of {rule.threshold:g} of such attacks leaves fewer than {rule.k} candidates, the right "
        "one among them",
    ]
    if rule.tolerant == "bounded":
        sentences.append(
            "The first holds as well against somebody who lets values be missing where flags say that some were left "
            "out, who then picks at random among those who fit, or among those who lack fewest values"
        )
    if rule.likeliest == "bounded":
        sentences.append(
            "The first holds as well against somebody who picks the likeliest of those who fit, not one at random"
        )
    held = rule.patients_of_a_label
    return [*sentences, f"Each label of a quasi-identifier is held by at least {held} released patients"]


ADVERSARIES = {
    "patients alone": "Knows the quasi-identifiers of a patient, and nothing of the claims.",
    "claims alone": "Knows as many values of claims as the plan says, and nothing else of the patient.",
    "patients and claims together": (
        "Knows both of the same patient at once: the adversary of the plan, whose risk is limited."
    ),
    "one value of each column": "Knows one value of each column of claims, of every patient alike.",
    "five values of each column": "Knows five values of each column of claims, of every patient alike.",
    "all values": (
        "Knows all values of each column of claims, those left out of the release as well, but not which stood in one "
        "claim."
    ),
    "whole claims (exact knowledge)": (
        "Knows which values stood in one claim, of as many claims as the adversary of the plan knows values."
    ),
    "values in their order (exact order)": (
        "Knows of each column in which order the values came, and could tell the order of released claims."
    ),
    "flags believed (tolerant)": (
        "Knows the same as the adversary of the plan, and lets values be missing where flags say that some were left "
        "out."
    ),
    "flags believed where nobody fits": "Lets values be missing only where nobody fits without.",
    "flags believed, fewest missing": "The same, and takes only who lacks fewest of the values.",
    "picks the likeliest": (
        "Knows the same, and picks of those who fit the one of whom it is likeliest, not one at random."
    ),
    "unbounded": (
        "Knows every quasi-identifier that is released of a patient and of each claim, and how many claims there are."
    ),
}
"""What adversaries of claims know; of others see `assumed_words`."""

POWER = "power up to "
"""Begins the names of adversaries like that of the plan, with another highest power."""


def assumed_words(adversary: str, sensitivity: "Sensitivity") -> str:
    """Return what an adversary of claims knows, in a sentence or two."""
    if adversary.startswith(POWER):
        most = adversary.removeprefix(POWER)
        return f"Knows up to {most} values of each column of claims, by the formula of the plan's adversary."
    voters = sensitivity.voter_list
    known = ", ".join(map(repr, voters.columns))
    if adversary == "counted in the population":
        return (
            "Knows the same, but not who of the population is released: candidates are scaled up to the people of the "
            f"same {known}."
        )
    if adversary == "voter list":
        is_population = voters.list == "population"
        return (
            f"Knows of everybody on a voter list {known or 'nothing'} and no claims, and guesses for each person one "
            "patient who is alike. The list holds "
            f"{'the population' if is_population else 'nobody but the released patients, which is the worst case'}."
        )
    if adversary == "discharge database":
        (row,) = [row for row in sensitivity.attacks if row.adversary == adversary]
        share = row.listed if isinstance(row.listed, str) else f"{row.listed} %"
        columns = ", ".join(map(repr, row.columns or ()))
        return (
            f"Has a list of the hospital stays of {share} of the released patients, with one stay of each "
            f"({columns}, all exact) and the quasi-identifiers of patients; the mean risk "
            "is the share matched rightly."
        )
    return ADVERSARIES.get(adversary, "")


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
