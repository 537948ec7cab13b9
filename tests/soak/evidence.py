"""What a release says that its files cannot tell: the releaser's word, as nobody can recompute it without the original.

A change of it informs wrongly, but breaks no promise. A change of anything else must be refused, or leave a release
that keeps its promise: of a column that is released as recorded, or of which of two ways a chunk is shared in, the
files cannot tell what was recorded.
"""

from fnmatch import fnmatchcase

EVIDENCE = (
    "created",
    "cloister",
    "machine*",
    "seconds*",
    "seed",
    "*settings.*",
    "*search.*",
    "utility.columns.*",
    "utility.losses.*",
    "utility.exact*",
    "utility.loss",
    "utility.mean_loss",
    "utility.kept.*",
    *("utility.ilm", "utility.alm", "utility.ilm_exact", "utility.alm_exact"),  # with the original they are checked
    "clustering.*",
    "attack",  # whether attacks were tried at all; the same data without --attack are released without it
    "attack.targets",
    "risk.*missed",
    "risk.as_released.draws",
    "risk.known",  # with the original it is checked
    "risk.threshold",
    "risk.flag_aware.highest",
    "choice.max_flag_rate",
    "choice.truncation",
    "choice.optimal",
    "representativeness.variables*",
    "representativeness.median_claims_excluded",
    "sensitivity.attacks*",
    "sensitivity.voter_list.*",
    "steps.*",
)
PROMISED = {"k", "m", "threshold", "power", "rules", "diversity", "sensitive", "privacy", "roles", "qi", "codes"}
"""Settings that say what is promised, or of which columns, are no evidence."""

IN_NO_FILE = ("settings.plan.claims.roles.date", "settings.plan.patients.roles.born")
"""Roles of columns of the original that no released file has: which there were, it cannot tell."""

RECORDED = ("bytes of data.*", "bytes of patients.*", "bytes of claims.*", "clusters.json *")
"""What may be changed into another release that keeps the same promise."""


def is_evidence(what):
    """Whether a change, as ``release.json seconds.search``, is of the releaser's word."""
    file, _, place = what.partition(" ")
    if file == "release.json" and any(fnmatchcase(place, one) for one in IN_NO_FILE):
        return True
    keys = place.partition("settings.")[2].split(".")
    of_settings = not PROMISED.isdisjoint(keys if keys[0] == "plan" else keys[:1])
    return file == "release.json" and not of_settings and any(fnmatchcase(place, one) for one in EVIDENCE)


def may_be_recorded(what):
    """Whether a change may have led to another release that keeps its promise."""
    return any(fnmatchcase(what, one) for one in RECORDED)
