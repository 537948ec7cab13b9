"""Facts of a manifest in words, for the report and the screen."""

from typing import TYPE_CHECKING

from cloister.release.manifest import AnyManifest, codes_of
from cloister.shapes.registry import FORMS, load

if TYPE_CHECKING:
    from cloister.shapes.claims.format.manifest import ClaimsManifest
    from cloister.shapes.disassociation.format.manifest import DisassociationManifest
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.table.format.manifest import AcceptedColumn, TableManifest
    from cloister.shapes.table_with_codes.format.data import TableWithCodesManifest
    from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest


def guarantee_sentences(manifest: AnyManifest) -> list[str]:
    """Return what is promised and was verified, in sentences without a full stop."""
    sentences: list[str] = load(FORMS[manifest.form].guarantee)(manifest)
    return sentences


OF_ANY = (
    "A count of labels counts what was released: suppressed records are the unusual ones, not missing at random",
    "Two releases of the same patients must not be joined or subtracted: neither promises anything about both",
)
OF_A_FORM = {
    "table": ("Labels of different classes may overlap: the count of one label is a lower bound of its values",),
    "table_with_codes": (
        "The codes of a row of the data file are drawn at random within its class: relations between codes and columns "
        "that are not quasi-identifiers are not those of the patients",
        "Codes may be counted by columns of classes, from the clusters",
    ),
    "disassociation": (
        "The data file is one of many data sets that the clusters may stand for: its pairs of codes from different "
        "chunks are drawn at random",
        "Combinations of codes, regressions on them and clusters of patients need several reconstructions or bounds; "
        "a code's own count needs neither",
        "Nothing follows for a single record: no record of the data file is a patient's",
    ),
    "generalization": (
        "A term says that one or more of its codes are there: their number, and which, must not be analysed",
        "A code that is nowhere in the release may be suppressed: its absence says nothing",
    ),
    "trajectories": (
        "Pairs may be suppressed: the absence of a code, the number of codes and the time between two say little",
        "All patients of a cluster have one sequence: its variance within the cluster is lost",
    ),
    "claims": (
        "Patients with many claims are truncated and cells are suppressed, as flags say: sums and numbers of claims "
        "are too low for them",
        "Days since the first claim are no dates: seasons and trends of calendar time cannot be analysed",
    ),
}


def use_sentences(manifest: AnyManifest) -> list[str]:
    """Return what must not be concluded from a release, in sentences without a full stop."""
    averages = (
        [name for name, column in manifest.columns.items() if getattr(column, "average", None)]
        if (manifest.form == "table" or manifest.form == "table_with_codes")
        else []
    )
    return [
        *OF_A_FORM.get(manifest.form, ()),
        *(f"{name} is averaged within classes: its variance and correlations are too small" for name in averages),
        *OF_ANY,
    ]


def recorded_codes(codes: int, changed: int | None = 0) -> str:
    """Return which codes are released as recorded; ``changed``: how many are not, None where that is not known yet."""
    if changed is None:
        return f"as many of the {codes:,} codes as the rules allow"
    return f"{codes - changed:,} of {codes:,} codes" if changed else f"all {codes:,} codes"


def columns_of(manifest: "TableManifest", role: str) -> list[str]:
    """Return the released columns of a role; the column of codes has rows of its own."""
    codes = codes_of(manifest)
    return [
        name for name, each in manifest.columns.items() if each.role == role and not (codes and name == codes.column)
    ]


def of_table(manifest: "TableManifest") -> list[str]:
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


def of_table_with_codes(manifest: "TableWithCodesManifest") -> list[str]:
    """Return what is promised of a table and of its codes."""
    return [*of_table(manifest), *of_codes(manifest)]


def of_codes(manifest: "TableManifest") -> list[str]:
    """Return what is promised of the codes of a table; nothing where there are none."""
    codes = codes_of(manifest)
    return [
        f"For the quasi-identifiers of a patient and {_codes_known(rule.m)} of it there is a data set that could have "
        f"led to this release in which at least {rule.k} records have them all"
        for rule in (codes.guarantee.rules if codes else ())
    ]


def _codes_known(m: int) -> str:
    return "any code" if m == 1 else f"any {m} codes or fewer"


def of_trajectories(manifest: "TrajectoriesManifest") -> list[str]:
    """Return what is promised of trajectories."""
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


def of_chunks(manifest: "DisassociationManifest") -> list[str]:
    """Return what is promised of disassociated code sets."""
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


def of_terms(manifest: "GeneralizationManifest") -> list[str]:
    """Return what is promised of generalized code sets."""
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


def of_claims(manifest: "ClaimsManifest") -> list[str]:
    """Return what is promised of claims."""
    rule, known = manifest.guarantee.rules[0], manifest.risk.known  # known: values of a column, in the mean
    sentences = [
        "Whoever knows the quasi-identifiers of a patient and, of each quasi-identifier of claims by itself, up to "
        f"{rule.power} values of the patient ({known:.1f} in the mean), and picks one of those who fit at random, "
        f"names the right patient with a chance of at most {rule.threshold:g}, in the mean over patients and what "
        "is known of them",
        f"At most a share of {rule.threshold:g} of such attacks leaves fewer than {rule.k} candidates, the right "
        "one among them",
    ]
    if rule.flag_aware == "bounded":
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
