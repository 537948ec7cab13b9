"""What each form of release promises, and against whom it does not protect, in sentences without full stops.

They are made of settings, so that a page can show them before there is a release; those of a manifest are the same.
"""

from typing import TYPE_CHECKING

from cloister.results import Promise

if TYPE_CHECKING:
    from cloister.shapes.claims.format.manifest import ClaimsManifest, RiskRule
    from cloister.shapes.disassociation.format.manifest import DisassociationManifest
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.trajectories.format.facts import Rules
    from cloister.shapes.trajectories.format.manifest import DiversityRule, TrajectoriesManifest

ONE_RECORD = "Each patient is assumed to have one record"
ATTRIBUTES = "Auxiliary columns are not protected. An identifying or known column breaks the guarantee"


def some_codes(m: int) -> str:
    """Return how many codes are known at most, for someone who looks for them."""
    return "one code" if m == 1 else f"{m} codes or fewer"


def name_codes(m: int) -> str:
    """Return which codes of a patient are known at most: any that many."""
    return "any code" if m == 1 else f"any {some_codes(m)}"


def up_to(m: int) -> str:
    """Return how many codes are known at most."""
    return "one code" if m == 1 else f"up to {m} codes"


def promise_chunks(k: int, m: int, diversity: int | None, *, separates: bool) -> Promise:
    """Return the promise of disassociation.

    ``diversity``: of sensitive codes, None without any
    ``separates``: whether codes that reveal another code were separated
    """
    but = " other than the sensitive ones" if diversity else ""
    known = f"{up_to(m)}{but}"
    guarantee = [
        f"For {name_codes(m)}{but} of a patient, at least {k} records have all of them in some data set that could "
        "have led to this release"
    ]
    limits = [
        "The guarantee counts possible candidates. They need not be equally likely, so it does not bound a probability",
        f"It covers someone who knows {known} of one patient. It does not cover more codes, codes that a patient does "
        "not have, or codes of several patients",
        "Chunks depend on all patients. Someone who knows the algorithm can draw conclusions from them",
    ]
    if not separates:
        limits.append("Codes of one chunk can reveal each other")
    limits.append(
        "All patients of a cluster can have a code in common. Someone who knows another of their codes then learns it"
    )
    if diversity:
        guarantee.append(
            f"Sensitive codes are separated from all others, and each belongs to at most one in {diversity} records of "
            "a cluster"
        )
        limits.append("The release shows which clusters contain none of the sensitive codes")
    return Promise(guarantee, [*limits, ONE_RECORD])


def of_chunks(manifest: "DisassociationManifest") -> Promise:
    """Return the promise of disassociated code sets."""
    rule, *diversity = manifest.guarantee.rules
    separates = manifest.settings.inference_check == "enforce"
    return promise_chunks(rule.k, rule.m, diversity[0].l if diversity else None, separates=separates)


def promise_terms(k: int, known: int | str, *, repeats: bool) -> Promise:
    """Return the promise of generalized code sets; ``known``: a number of codes, or the name of a privacy policy."""
    often = ""
    if isinstance(known, str):
        what = f"a set of codes of the privacy policy {known}, or a part of one,"
        limit = (
            f"The guarantee covers someone who knows a set of the privacy policy {known}, or part of one. It does not "
            "cover other codes, or codes that a patient does not have"
        )
    else:
        what = some_codes(known)
        limit = (
            f"The guarantee covers someone who knows {up_to(known)} of a patient. It does not cover more codes, "
            "or codes that a patient does not have"
        )
        if repeats:
            often = f", and at least how often {'it' if known == 1 else 'each'} was recorded,"
    return Promise(
        [f"Someone who knows {what} of a patient{often} finds no record or at least {k} by the terms with these codes"],
        [
            limit,
            "The records of a group may agree in their other codes. Someone who finds the group learns these codes",
            "Which codes are generalized or suppressed depends on their frequency. Someone who knows the algorithm can "
            "draw conclusions from this",
            ONE_RECORD,
        ],
    )


def of_terms(manifest: "GeneralizationManifest") -> Promise:
    """Return the promise of generalized code sets."""
    rule = manifest.guarantee.rules[0]
    known = rule.privacy if rule.model == "privacy-constrained anonymity" else rule.m
    return promise_terms(rule.k, known, repeats=manifest.settings.repeats)


def promise_codes_of_table(k: int, m: int, *, generalizes: bool) -> Promise:
    """Return the promise of codes in a table, beyond that of its quasi-identifiers."""
    if generalizes:
        guarantee = (
            f"Someone who knows the quasi-identifiers and {some_codes(m)} of a patient finds at least {k} records by "
            "the terms with these codes"
        )
        counts = (
            "The guarantee about codes counts records by their terms. It does not cover what these records have in "
            "common: all may have the same sensitive value or further code. Most records can be unique by all their "
            "terms"
        )
    else:
        guarantee = (
            f"For the quasi-identifiers and {name_codes(m)} of a patient, at least {k} records have all of them in "
            "some data set that could have led to this release"
        )
        counts = (
            "The guarantee about codes counts possible candidates; they need not be equally likely, so it does not "
            "bound a probability"
        )
    covers = (
        f"It covers someone who knows the quasi-identifiers and {up_to(m)} of a patient. It does not cover more codes, "
        "codes that a patient does not have, or other columns"
    )
    return Promise([guarantee], [f"{counts}. {covers}"])


def promise_trajectories(rules: "Rules", *, has_details: bool, has_attributes: bool) -> Promise:
    """Return the promise of trajectories."""
    rule, *diversity = rules
    known = "codes, ages and details" if has_details else "codes and ages"
    sensitive = any(of.column is not None for of in diversity)
    return Promise(
        [
            f"Any combination of {known} of a patient matches the released trajectories of no patient or of at least "
            f"{rule.k} patients",
            *map(_differ, diversity),
        ],
        [
            "The guarantee covers someone who knows any codes of a patient with their ages"
            f"{' and details' if has_details else ''}, and which codes the patient does not have",
            "Someone who finds the patients of a shared trajectory learns its contents for all of them"
            f"{', except the sensitive column' if sensitive else ''}",
            "The clusters depend on all patients. Someone who knows the algorithm, or many patients of a cluster, can "
            "draw conclusions from them",
            *([ATTRIBUTES] if has_attributes else []),
        ],
    )


def _differ(of: "DiversityRule") -> str:
    if of.column is None:
        differ = f"a released code can stand for a sensitive one of at most one in {of.l}"
    else:
        differ = f"at most one in {of.l} has the same value of {of.column!r} (missing values do not count)"
    return f"Among patients with the same trajectory, {differ}"


def of_trajectories(manifest: "TrajectoriesManifest") -> Promise:
    """Return the promise of trajectories."""
    has_details, has_attributes = manifest.columns.detail is not None, manifest.attributes is not None
    return promise_trajectories(manifest.guarantee.rules, has_details=has_details, has_attributes=has_attributes)


def promise_claims(rule: "RiskRule", known: float | None = None, *, of_patients: bool) -> Promise:
    """Return the promise of claims.

    ``known``: values of a column that are known, in the mean, once simulated
    ``of_patients``: whether patients have quasi-identifiers of their own
    """
    also = "the quasi-identifiers of a patient and " if of_patients else ""
    whose = "the" if of_patients else "a"
    simulated = "" if known is None else f" ({known:.1f} in the mean)"
    guarantee = [
        f"Someone who knows {also}up to {rule.power} values of each quasi-identifier of {whose} patient's "
        f"claims{simulated}, and picks one of the matching patients at random, is right with a probability of at most "
        f"{rule.threshold:g}, in the mean over patients",
        f"At most {100 * rule.threshold:g} % of such attacks leave fewer than {rule.k} candidates, the right patient "
        "among them",
    ]
    limits = [
        "The probability is estimated by simulation, at the upper end of a 95 % interval: another sample of known "
        "values gives another figure"
    ]
    for limited, adversary in (
        (rule.flag_aware, "someone who allows for values that flags mark as suppressed or truncated"),
        (rule.likeliest, "someone who picks the most likely candidate"),
    ):
        if limited == "bounded":
            guarantee.append(f"The same limit holds for {adversary}")
        else:
            limits.append(f"The probability is reported, but not limited, for {adversary}")
    guarantee.append(
        f"At least {rule.patients_of_a_label} released patients share each released label of a quasi-identifier"
    )
    return Promise(
        guarantee,
        [
            *limits,
            "The known values of claims are drawn at random, of each column by itself. The adversary does not know "
            "which values belong to one claim, nor their order. An adversary who allows for flagged values picks at "
            "random among all candidates, or among those with the fewest missing values",
            "The simulation does not cover columns released as recorded, nor which claims share a pseudonym. Someone "
            "who knows the claims of a provider may recognize the provider",
            "The release limits the mean risk, not the risk of each patient. Some patients have a higher risk",
        ],
    )


def of_claims(manifest: "ClaimsManifest") -> Promise:
    """Return the promise of claims."""
    of_patients = bool(manifest.settings.plan.patients.qi)
    return promise_claims(manifest.guarantee.rules[0], manifest.risk.known, of_patients=of_patients)
