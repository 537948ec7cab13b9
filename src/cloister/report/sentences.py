"""Facts of a manifest as sentences, for the report and the screen."""

from typing import TYPE_CHECKING, cast

from cloister.release.manifest import GENERALIZED, AnyManifest, codes_of
from cloister.results import Promise
from cloister.shapes.registry import FORMS, load

from .promises import promise_codes_of_table

if TYPE_CHECKING:
    from cloister.shapes.table.format.manifest import AcceptedColumn, TableManifest
    from cloister.shapes.table_with_codes.format.terms import TableWithTermsManifest


def promise_of(manifest: AnyManifest) -> Promise:
    """Return the verified guarantee and its limits."""
    promise: Promise = load(FORMS[manifest.form].promise)(manifest)
    return promise


def guarantee_sentences(manifest: AnyManifest) -> list[str]:
    """Return the verified guarantee, in sentences without full stops."""
    return [*promise_of(manifest).guarantee]


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


def of_table(manifest: "TableManifest") -> Promise:
    """Return the promise of a table, without that of its codes."""
    sentences = [rule.sentence() for rule in manifest.guarantee.rules]
    return Promise([sentence[:1].upper() + sentence[1:] for sentence in sentences], [])


def resisting_words(manifest: AnyManifest) -> str:
    """Return what labels that resist downcoding leave open, which only the original can check; empty without them."""
    return RESISTING if getattr(manifest.settings, "resist_downcoding", None) else ""


def accepted_words(one: "AcceptedColumn") -> str:
    """Return how an accepted column undoes the protection of others."""
    if one.about is not None:
        return f"{one.column} is released as recorded and reveals more about {one.about} than its labels"
    if one.why == "free text":
        return f"{one.column} contains free text, most of which occurs in one record only"
    return f"{one.column} repeats: if it distinguishes patients, k counts records and not patients"


def of_table_with_codes(manifest: "TableManifest") -> Promise:
    """Return the promise of a table and of its codes."""
    codes = of_codes(manifest)
    return Promise([*of_table(manifest).guarantee, *codes.guarantee], codes.limits)


def of_codes(manifest: "TableManifest") -> Promise:
    """Return the promise of the codes of a table; empty without codes."""
    codes = codes_of(manifest)
    if codes is None:
        return Promise()
    (rule,) = codes.guarantee.rules
    return promise_codes_of_table(rule.k, rule.m, generalizes=codes.method in GENERALIZED)
