"""Warnings of a release: a function of its manifest and figures only, for terminal, report, JSON and browser.

A warning names columns and counts, never a value. Each is a sentence without its full stop.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cloister.errors import name_few
from cloister.release.head import MOST_LOST
from cloister.release.manifest import GENERALIZED, AnyManifest, codes_of
from cloister.results import Figures

from .sentences import accepted_words

if TYPE_CHECKING:
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.table.format.manifest import TableManifest
    from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest

Part = tuple[AnyManifest, Figures]
AS_RECORDED = "anyone who knows a patient's values there may find the patient"
KEYED_IDS = "keyed ids link this release to every other one that was made with the same key"


def warnings_of(manifest: AnyManifest, figures: Figures) -> list[str]:
    """Return the warnings of a release.

    ``figures``: as ``report.json`` has them
    """
    recorded = figures.get("recorded")
    return [
        *describe_empty(manifest.empty),
        *_of_form(manifest),
        *([] if recorded is None else describe_unique(**recorded)),
        *describe_formulas(figures.get("formulas", {})),
    ]


def warnings_of_job(parts: Mapping[str, Part]) -> list[str]:
    """Return the warnings of all parts, prefixed by the part's name if there are several."""
    every = [
        f"{name}: {text}" if len(parts) > 1 else text
        for name, (manifest, figures) in parts.items()
        for text in warnings_of(manifest, figures)
    ]
    counts = {name: manifest.records for name, (manifest, _) in parts.items()}
    for name, records in counts.items():
        more = [other for other, one in counts.items() if one.released > records.released]
        if isinstance(records.suppressed, str) and more:
            every.append(
                f"{name} suppresses few patients and withholds their number, but {more[0]} has more records: whoever "
                "has both parts can compute it (see known limits)"
            )
    return every


def describe_empty(columns: Sequence[str]) -> list[str]:
    """Return the warning about columns that lost all or nearly all of their information."""
    verb, whose = ("is", "its") if len(columns) == 1 else ("are", "their")
    lost = f"{verb} empty in this release: all or almost all of {whose} information is lost"
    return [f"{name_few(columns)} {lost}"] if columns else []


def describe_unique(records: int, unique: int, columns: int, contributors: Sequence[tuple[str, int]]) -> list[str]:
    """Return the warning about records that are unique by the columns released as recorded."""
    if not unique:
        return []
    most = name_few(dict(contributors), " and ")
    return [
        f"With {'the column' if columns == 1 else f'the {columns:,} columns'} released as recorded, "
        f"{unique:,} of {records:,} records {'is' if unique == 1 else 'are'} unique"
        + (f"; {most} contribute{'s' if len(contributors) == 1 else ''} most" if most else "")
    ]


def describe_not_compared(columns: Sequence[str]) -> list[str]:
    """Return the warning about recorded columns that were not compared with the quasi-identifiers."""
    reveal = "reveals" if len(columns) == 1 else "together reveal"
    return [
        f"whether {name_few(columns, ' and ')}, released as recorded, {reveal} a quasi-identifier was not checked, as "
        "the records were counted where they are"
    ]


def describe_recorded(columns: Sequence[str]) -> list[str]:
    """Return the warning about columns that are released as recorded."""
    words = ("column", "is") if len(columns) == 1 else ("columns", "are")
    return [f"the {words[0]} {name_few(columns)} {words[1]} released as recorded: {AS_RECORDED}"] if columns else []


def describe_formulas(formulas: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a warning for each file with cells that a spreadsheet would run as formulas."""
    return [
        f"a spreadsheet would run cells of {name_few(columns)} as formulas (they begin with =, +, - or @): read "
        f"{file} as text"
        for file, columns in formulas.items()
    ]


def _of_form(manifest: AnyManifest) -> list[str]:
    """Return the warnings that are particular to a form of release."""
    if manifest.form == "table" or manifest.form == "table_with_codes" or manifest.form == "table_with_terms":
        keyed = [KEYED_IDS] if manifest.settings.ids == "hmac" else []
        accepted = [f"accepted by the releaser: {accepted_words(one)}" for one in manifest.guarantee.accepted]
        recorded = [name for name, role in manifest.roles().items() if role in ("sensitive", "kept")]
        unseen = describe_not_compared(recorded) if recorded and manifest.is_in_database else []
        return [*_of_codes(manifest), *accepted, *unseen, *keyed]
    if manifest.form == "disassociation":
        return _uncountable(manifest.utility.occurrences_in_item_chunks)
    if manifest.form == "generalization" or manifest.form == "trajectories":
        attributes = [] if manifest.attributes is None else [*manifest.attributes.columns]
        return [*_lost(manifest), *describe_recorded(attributes)]
    if manifest.form == "claims":
        plan = manifest.settings.plan
        keyed = [KEYED_IDS] if plan.ids.patients == "hmac" else []
        return [*describe_recorded([*plan.patients.columns("keep"), *plan.claims.columns("keep")]), *keyed]
    return []


def _of_codes(manifest: "TableManifest") -> list[str]:
    """Return the warning about the codes of a table that lost most of their information."""
    codes = codes_of(manifest)
    if codes is None or codes.method not in GENERALIZED:
        return [] if codes is None else _uncountable(codes.lost)
    words = f"the codes have lost {codes.lost:.0%} of their information: most are in terms of many codes, or suppressed"
    return [words] if codes.lost > MOST_LOST else []


def _lost(manifest: "GeneralizationManifest | TrajectoriesManifest") -> list[str]:
    """Return the warnings about codes, ages and details that lost most of their information."""
    if manifest.form == "generalization":
        return describe_largest_term(manifest.utility.largest_term, manifest.utility.codes)
    lost = zip(manifest.columns.quasi_identifiers, manifest.utility.exact, strict=True)
    return [
        f"{what} has lost {share:.0%} of its information in this release. Ask for a smaller k"
        for what, share in lost
        if share > MOST_LOST and what not in manifest.empty
    ]


def _uncountable(share: float) -> list[str]:
    """Return the warning about codes that mostly cannot be counted."""
    why = "they are in item chunks, which do not show which patients have them together"
    return [f"{share:.0%} of the codes cannot be counted: {why}"] if share > MOST_LOST else []


def describe_largest_term(largest: int, codes: int) -> list[str]:
    """Return the warning about a term that contains most codes."""
    return [] if largest == 1 or 2 * largest <= codes else [
        f"the largest term contains {largest:,} of {codes:,} codes, so that little can be learned from the release"
    ]  # fmt: skip
