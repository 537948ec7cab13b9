"""Facts of a manifest as sentences, for the report and the screen."""

from typing import TYPE_CHECKING, cast

from cloister.release.manifest import GENERALIZED, AnyManifest, codes_of
from cloister.shapes.registry import FORMS, load

if TYPE_CHECKING:
    from cloister.shapes.claims.format.manifest import ClaimsManifest
    from cloister.shapes.disassociation.format.manifest import DisassociationManifest
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.table.format.manifest import AcceptedColumn, TableManifest
    from cloister.shapes.table_with_codes.format.terms import TableWithTermsManifest
    from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest


def guarantee_sentences(manifest: AnyManifest) -> list[str]:
    """Return the verified guarantee, in sentences without full stops."""
    sentences: list[str] = load(FORMS[manifest.form].guarantee)(manifest)
    return sentences


RESISTING = (
    "Labels resist downcoding: in every class, at least two distributions of its records on finer labels are possible, "
    "even for someone who knows the method and its settings, but neither which values occur nor the values of a patient"
)
OF_ANY = (
    "Counts of labels describe the released records: suppressed records are unusual, not missing at random",
    "Do not link or subtract two releases of the same patients: each guarantee covers one release only",
)
OF_TERMS = "A term means at least one of its codes: do not analyse which codes, or how many"
OF_A_FORM = {
    "table": ("Labels of different classes can overlap: the count of a label is a lower bound for its values",),
    "table_with_codes": (
        "Codes were assigned to the rows of a class at random: do not analyse cells of codes together with columns "
        "that are not quasi-identifiers",
        "Counts of codes under conditions on any column follow from the clusters, with bounds: use these",
    ),
    "table_with_terms": (OF_TERMS, "Terms differ between classes: count codes by bounds, not by cells that are equal"),
    "disassociation": (
        "The data file is one of many data sets consistent with the clusters: pairs of codes from different chunks are "
        "random",
        "Combinations of codes, regressions and clusters of patients need several reconstructions or bounds; the count "
        "of a single code does not",
        "Draw no conclusions from a single record: no record of the data file is a patient",
    ),
    "generalization": (
        OF_TERMS,
        "A code that does not occur in the release may be suppressed: its absence has no meaning",
    ),
    "trajectories": (
        "Pairs can be suppressed: the absence of a code, the number of codes and the time between two are unreliable",
        "All patients of a cluster have the same sequence: the variance within a cluster is lost",
    ),
    "claims": (
        "Claims are truncated and cells suppressed where flags are set: sums and numbers of claims of these patients "
        "are too low",
        "Days since the first claim are not dates: seasons and calendar trends cannot be analysed",
    ),
}
OF_SUPPRESSED = ("A code in no term of a class may be suppressed there: its absence has no meaning",)


def use_sentences(manifest: AnyManifest) -> list[str]:
    """Return the conclusions that a user must not draw from a release, in sentences without full stops."""
    terms = cast("TableWithTermsManifest", manifest) if manifest.form == "table_with_terms" else None
    averages = (
        {name: how for name, column in manifest.columns.items() if (how := getattr(column, "average", None))}
        if manifest.form in ("table", "table_with_codes", "table_with_terms")
        else {}
    )
    return [
        *OF_A_FORM.get(manifest.form, ()),
        *(OF_SUPPRESSED if terms is not None and terms.codes.may_suppress else ()),
        *(
            f"{name} shows the most frequent value of each class, which may not be a record's: rare values are too rare"
            if how == "mode"
            else f"{name} is averaged within classes: its variance and correlations are too small"
            for name, how in averages.items()
        ),
        *OF_ANY,
    ]


def recorded_codes(codes: int, changed: int | None = 0) -> str:
    """Return which codes are released as recorded; ``changed``: the number of other codes, None if not known yet."""
    if changed is None:
        return f"as many of the {codes:,} codes as the privacy models allow"
    return f"{codes - changed:,} of {codes:,} codes" if changed else f"all {codes:,} codes"


def columns_of(manifest: "TableManifest", role: str) -> list[str]:
    """Return the released columns of a role; a column of codes is described separately."""
    codes = codes_of(manifest)
    return [
        name for name, each in manifest.columns.items() if each.role == role and not (codes and name == codes.column)
    ]


def of_table(manifest: "TableManifest") -> list[str]:
    """Return the guarantee of a table, without that of its codes."""
    sentences = [rule.sentence() for rule in manifest.guarantee.rules]
    return [sentence[:1].upper() + sentence[1:] for sentence in sentences]


def resisting_words(manifest: AnyManifest) -> str:
    """Return what labels that resist downcoding leave open, which only the original can check; empty without them."""
    return RESISTING if getattr(manifest.settings, "resist_downcoding", None) else ""


def accepted_words(one: "AcceptedColumn") -> str:
    """Return how an accepted column undoes the protection of others."""
    if one.about is not None:
        return f"{one.column} is released as recorded and reveals more about {one.about} than its labels"
    if one.why == "free text":
        return f"{one.column} contains free text, most of which occurs in one record only"
    return f"{one.column} is not released, and its values repeat: if it identifies patients, k counts records instead"


def of_table_with_codes(manifest: "TableManifest") -> list[str]:
    """Return the guarantee of a table and of its codes."""
    return [*of_table(manifest), *of_codes(manifest)]


def of_codes(manifest: "TableManifest") -> list[str]:
    """Return the guarantee of the codes of a table; empty without codes."""
    codes = codes_of(manifest)
    if codes is not None and codes.method in GENERALIZED:
        rule = codes.guarantee.rules[0]
        known = "one code" if rule.m == 1 else f"{rule.m} codes or fewer"
        return [
            f"Someone who knows the quasi-identifiers and {known} of a patient finds at least {rule.k} records by the "
            "terms with these codes"
        ]
    return [
        f"For the quasi-identifiers and {_codes_known(rule.m)} of a patient, at least {rule.k} records have all of "
        "them in some data set that could have led to this release"
        for rule in (codes.guarantee.rules if codes else ())
    ]


def _codes_known(m: int) -> str:
    return "any code" if m == 1 else f"any {m} codes or fewer"


def of_trajectories(manifest: "TrajectoriesManifest") -> list[str]:
    """Return the guarantee of trajectories."""
    rule, *diversity = manifest.guarantee.rules
    known = "codes and ages" if manifest.columns.detail is None else "codes, ages and details"
    sentences = [
        f"Any combination of {known} of a patient matches the released trajectories of no patient or of at least "
        f"{rule.k} patients"
    ]
    for of in diversity:
        what = (
            "a released code means a sensitive one of at most one in {l}"
            if of.column is None
            else "at most one in {l} has the same value of {column!r} (missing values do not count)"
        )
        told = what.format(l=of.l, column=of.column)
        sentences.append(f"Among patients with the same trajectory, {told}")
    return sentences


def of_chunks(manifest: "DisassociationManifest") -> list[str]:
    """Return the guarantee of disassociated code sets."""
    rule, *diversity = manifest.guarantee.rules
    but = " other than the sensitive ones" if diversity else ""
    return [
        f"For {_codes_known(rule.m)}{but} of a patient, at least {rule.k} records have all of them in some data set "
        "that could have led to this release",
        *(
            f"Sensitive codes are separated from all others, and at most one of {of.l} records of a cluster has each"
            for of in diversity
        ),
    ]


def of_terms(manifest: "GeneralizationManifest") -> list[str]:
    """Return the guarantee of generalized code sets."""
    rule, often = manifest.guarantee.rules[0], ""
    if rule.model == "privacy-constrained anonymity":
        known = f"a set of codes of the privacy policy {rule.privacy}, or a part of one"
    else:
        known = "one code" if rule.m == 1 else f"{rule.m} codes or fewer"
        if manifest.settings.repeats:
            often = f", and at least how often {'it' if rule.m == 1 else 'each'} was recorded,"
    return [
        f"Someone who knows {known} of a patient{often} finds no record or at least {rule.k} by the terms with these "
        "codes"
    ]


def of_claims(manifest: "ClaimsManifest") -> list[str]:
    """Return the guarantee of claims."""
    rule, known = manifest.guarantee.rules[0], manifest.risk.known  # known: values of a column, in the mean
    sentences = [
        "Someone who knows the quasi-identifiers of a patient and up to "
        f"{rule.power} values of each quasi-identifier of claims by itself ({known:.1f} in the mean), and picks one of "
        f"the matching patients at random, identifies the right patient with a probability of at most "
        f"{rule.threshold:g}, in the mean over patients and known values",
        f"At most a share of {rule.threshold:g} of such attacks leaves fewer than {rule.k} candidates that include the "
        "right patient",
    ]
    if rule.flag_aware == "bounded":
        sentences.append(
            "The limit of the mean probability also holds for someone who allows values to be missing where flags mark "
            "suppression or truncation, and picks at random among all candidates or among those with the fewest "
            "missing values"
        )
    if rule.likeliest == "bounded":
        sentences.append("The limit of the mean probability also holds for someone who picks the most likely candidate")
    held = rule.patients_of_a_label
    return [*sentences, f"At least {held} released patients have each released label of a quasi-identifier"]
