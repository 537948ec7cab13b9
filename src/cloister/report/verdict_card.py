"""What the first page of a report says at one look: columns released as recorded, and columns that lost most.

Functions of manifest and figures; they name columns and counts, never a value.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cloister.release.manifest import AnyManifest, codes_of
from cloister.results import Figures


@dataclass(frozen=True)
class RecordedColumns:
    """The columns released as recorded, those first that single out most records.

    Attributes
    ----------
    columns
        Every such column.
    unique, records
        Records that labels and these columns make unique, of all released; None where this was not counted.
    ranked
        Columns that contribute most, each with the records that it newly makes unique.
    """

    columns: tuple[str, ...]
    unique: int | None = None
    records: int | None = None
    ranked: tuple[tuple[str, int], ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """The columns without a rank."""
        return tuple(name for name in self.columns if name not in dict(self.ranked))


@dataclass(frozen=True)
class LostColumn:
    """The share of its information that a column, or all codes, lost (0 to 1), and the records that show ``*``."""

    name: str
    loss: float
    stars: int | str | None = None


def rank_recorded_columns(manifest: AnyManifest, figures: Figures) -> RecordedColumns:
    """Return the columns that are released as recorded, ranked by how far they single out records."""
    if manifest.form == "table" or manifest.form == "table_with_codes" or manifest.form == "table_with_terms":
        codes = codes_of(manifest)
        names = [name for name, role in manifest.roles().items() if role in ("sensitive", "kept")]
        columns = tuple(name for name in names if codes is None or name != codes.column)
        counted = figures.get("recorded")
        if counted is None:
            return RecordedColumns(columns)
        ranked = tuple((str(name), int(count)) for name, count in counted["contributors"])
        return RecordedColumns(columns, counted["unique"], counted["records"], ranked)
    if manifest.form == "generalization" or manifest.form == "trajectories":
        return RecordedColumns(() if manifest.attributes is None else tuple(manifest.attributes.columns))
    if manifest.form == "claims":
        plan = manifest.settings.plan
        return RecordedColumns((*plan.patients.columns("keep"), *plan.claims.columns("keep")))
    return RecordedColumns(())


def lost_columns(manifest: AnyManifest, figures: Figures) -> list[LostColumn]:
    """Return what each column lost, the most first."""
    stars = {
        marginal["column"]: cell["after"]
        for marginal in figures.get("marginals", ())
        for cell in marginal["labels"]
        if cell["label"] == "*"
    }
    averaged = getattr(manifest.settings, "microaggregate", {})  # where ``*`` is a value as any other
    found = [LostColumn(name, loss, None if name in averaged else stars.get(name)) for name, loss in _losses(manifest)]
    return sorted(found, key=lambda one: (-one.loss, one.name))


def _losses(manifest: AnyManifest) -> Iterator[tuple[str, float]]:
    """Yield names and losses of the quasi-identifiers of a release, or of its codes as a whole."""
    if manifest.form == "table" or manifest.form == "table_with_codes" or manifest.form == "table_with_terms":
        codes = codes_of(manifest)
        for name, column in manifest.utility.columns.items():
            if codes is None or name != codes.column:
                yield name, column.loss
        if codes is not None:
            yield codes.column, codes.lost
    elif manifest.form == "trajectories":
        yield from zip(manifest.columns.quasi_identifiers, manifest.utility.exact, strict=True)
    elif manifest.form == "claims":
        for table in ("patients", "claims"):
            yield from ((name, 1 - share) for name, share in manifest.utility.kept.of(table).items())
    elif manifest.form == "disassociation":
        yield "codes without a count", manifest.utility.occurrences_in_item_chunks
    elif manifest.form == "generalization":
        changed = manifest.utility.suppressed_codes + manifest.utility.generalized_codes
        yield "codes not released as recorded", changed / max(manifest.utility.codes, 1)


def labels_overlap(manifest: AnyManifest, column: str) -> bool:
    """Whether labels of a column can cover the same value, so that their counts are no parts of a whole."""
    if manifest.form == "table" or manifest.form == "table_with_codes" or manifest.form == "table_with_terms":
        released = manifest.columns.get(column)
        return released is not None and len(getattr(released, "levels", None) or ()) > 1
    return manifest.form == "trajectories"
