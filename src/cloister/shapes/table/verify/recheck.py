"""Verification of a table's release folder, from its files only or compared with the original."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import polars as pl

from cloister.engines.choice import is_spark
from cloister.errors import InputError, name_few, setting
from cloister.hierarchy import BoundHierarchy, Hierarchy, parse_hierarchy
from cloister.hierarchy.build import BUILDERS
from cloister.hierarchy.stated_leaves import state_leaves
from cloister.io import Tally, as_text, from_native, without_formulas
from cloister.io.batches import is_large, read_runs
from cloister.io.columns import check_columns
from cloister.release.folder import read_data
from cloister.results import Caveat, Verdict
from cloister.shapes.table.format.facts import DerivedTable, class_sizes, facts_of
from cloister.shapes.table.format.guarantee import OriginalTable, bound_hierarchies, join_released
from cloister.shapes.table.format.losses import differing_losses
from cloister.shapes.table.format.manifest import TableManifest, guarantee_of
from cloister.verification.driver import Checker, F, O, ReleaseUnderCheck, Request
from cloister.verification.script import Finding

from .elsewhere import count_in_database, find_in_database, find_on_spark
from .statements import find_broken, sizes_in
from .verify import OTHERS_AS_RECORDED, generalize_values, released_texts, verify

OF_ORDER = ("rows are sorted by", "the patients of a class are numbered")
"""Beginnings of promises about the order of values as text."""

ROW = "row\0"  # numbers the rows of the original; no column is called so

T = TypeVar("T", bound=TableManifest)
ReleaseFolder = ReleaseUnderCheck[TableManifest, Tally, Tally]


class TableChecker(Checker[TableManifest, Tally, Tally]):
    """The checker of tables, in a folder or in a database."""

    def fetch(self, manifest: TableManifest, request: Request) -> Tally | None:
        """Count the records in a database."""
        if manifest.table is None:
            if request.engine is not None and not is_spark(request.engine):
                raise InputError(
                    "The records of this release are in its folder, and ",
                    setting("engine"),
                    " names a database. Leave it out, or give ",
                    setting("engine", "spark"),
                    ".",
                )
            return None
        if request.engine is None or is_spark(request.engine):
            raise InputError(
                f"The records of this release are in the table {manifest.table.name} of a database. Name the database "
                "as ",
                setting("engine"),
                ", to have them counted there.",
            )
        return count_in_database(request.engine, manifest)

    def read_files(self, folder: Path, manifest: TableManifest) -> Tally:
        """Read the records; large files are read as runs."""
        return read_released(folder, manifest)

    def read_original(self, request: Request, _manifest: TableManifest, _files: Tally) -> Tally | None:
        """Read the custodian's data."""
        return original_of(request)

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the guarantee."""
        manifest, original = release.manifest, release.original
        verdict = check_table(release.files, manifest, release.request, original, found_in(release, release.files))
        how, checks = verdict.how, (*verdict.checks, *list_figure_checks(manifest, original))
        if manifest.table is not None:
            how = how.replace("from the released file", "from counts of the protected table in its database")
            if unseen := [column for column in manifest.table.not_counted if column != guarantee_of(manifest).id]:
                others = [check for check in checks if check != OTHERS_AS_RECORDED]
                checks = (*others, Caveat(f"not looked at, as they stay in the database: {name_few(unseen)}"))
        return replace(verdict, how=how, checks=checks)

    def derive(self, release: ReleaseFolder) -> DerivedTable:
        """Return the parts that follow from the records."""
        return derive(release.files, release.manifest)


def original_of(request: Request) -> Tally | None:
    """Return the original of a table."""
    given = request.original
    return given if given is None or isinstance(given, Tally) else Tally(from_native(given).frame)


def list_figure_checks(manifest: TableManifest, original: Tally | None) -> tuple[str, ...]:
    """Return the passed checks of risk and losses."""
    guarantee = guarantee_of(manifest)
    # Which records were released is known, and of which labels their levels are.
    is_known = guarantee.has_one_transformation or (manifest.suppressed == 0 and not guarantee.averaged)
    is_compared = original is not None and is_known
    losses = "losses follow from the original and the released records" if is_compared else "losses fit each other"
    return (
        "figures of risk follow from the released records",
        losses if manifest.utility.exact else Caveat("losses are estimates, which were not recomputed"),
    )


def read_released(folder: Path, manifest: TableManifest) -> Tally:
    """Return the records of the data file: as runs if there are many, but each by itself if they are of patients."""
    path, guarantee = folder / manifest.data_file, guarantee_of(manifest)
    delimiter = manifest.settings.delimiter
    if is_large(path) and guarantee.patient is None:
        id_column = guarantee.id if guarantee.numbered else None
        return read_runs(path, delimiter if path.suffix == ".csv" else None, id_column)
    return Tally(read_data(path, delimiter))


def found_in(release: ReleaseUnderCheck[T, F, O], table: Tally) -> tuple[Finding, ...]:
    """Return the findings of the script on the files of a release, by Spark if it is named, or on a database."""
    manifest, engine = release.manifest, release.request.engine
    if engine is not None and manifest.table is not None:
        return find_in_database(engine, manifest)
    found = release.findings()
    if engine is not None:
        found = tuple(dict.fromkeys((*found, *find_on_spark(engine, release.folder, manifest))))
    # SQL writes these of Parquet in another way than a release sorts them: their order is asked of what was read.
    if any(map(_is_written_otherwise, table.frame.dtypes)):
        read = find_broken(table, guarantee_of(manifest), sizes_in(manifest))
        found = (
            *(one for one in found if not one.promise.startswith(OF_ORDER)),
            *(one for one in read if one.promise.startswith(OF_ORDER)),
        )
    return found


def _is_written_otherwise(dtype: pl.DataType) -> bool:
    has_zone = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    return dtype.is_float() or dtype == pl.Duration or has_zone


def check_table(
    table: Tally, manifest: TableManifest, request: Request, original: Tally | None, findings: tuple[Finding, ...]
) -> Verdict:
    """Return the verdict on released records: guarantee, expectations and stated facts."""
    guarantee, source, hierarchies = guarantee_of(manifest), None, None
    stayed = () if manifest.table is None else manifest.table.not_counted
    if original is not None:
        own = without_formulas(original.frame) if manifest.settings.escape_formulas else original.frame
        own = own.with_columns(pl.lit(None, dtype=pl.Int64).alias(column) for column in stayed)
        given = original.replace_rows(own)
        source = source_of(given, manifest, request.hierarchies, table.frame)
        guarantee = replace(guarantee, limit=manifest.settings.allowed_suppression(given.n_records))
        hierarchies = _hierarchies_of_released(table, source, manifest, request.hierarchies)
    verdict = verify(table, guarantee, source, _populations(request, manifest), findings=findings)
    check_columns(request.quasi_identifiers, table.frame.columns, "the release")
    if uncounted := [column for column in request.quasi_identifiers if column in stayed]:
        raise InputError(
            f"Classes by {name_few(uncounted)} were not counted: the values of these columns stay in the database. "
            "Expect something of the others, or count there."
        )
    failures = [*verdict.failures]
    is_as_declared = tuple(table.frame.columns) == guarantee.columns
    if is_as_declared and (records := released_texts(table, guarantee)).n_records:
        known = hierarchies if hierarchies is not None and manifest.utility.exact else {}
        known = {column: hierarchy for column, hierarchy in known.items() if column not in guarantee.averaged}
        wrong = differing_losses(records, manifest, guarantee, known)
        failures += [f"what should follow from the released records does not: {', '.join(wrong)}"] if wrong else []
        # What the recipient asks for beyond the manifest; without a class size, that which the rules ask for.
        k = request.k or max(rule.class_size for rule in manifest.guarantee.rules)
        asked = request.quasi_identifiers or tuple(manifest.quasi_identifiers)
        sizes = class_sizes(records, asked, guarantee.id and guarantee.patient).sort()
        if small := len(sizes.filter(sizes < k)):
            failures.append(
                f"as asked: {small} of {len(sizes)} classes have fewer than {k} records (the smallest {sizes[0]})"
            )
    return replace(verdict, failures=tuple(failures))


def _hierarchies_of_released(
    table: Tally, source: OriginalTable, manifest: TableManifest, hierarchies: Mapping[str, Hierarchy]
) -> Mapping[str, BoundHierarchy] | None:
    """Hierarchies bound to the values of those original records that were released; None where these are not known."""
    guarantee = guarantee_of(manifest)
    if guarantee.suppressed == 0:
        return source.hierarchies
    if guarantee.recoded or guarantee.averaged or tuple(table.frame.columns) != guarantee.columns:
        return None
    texts = pl.DataFrame([as_text(source.frame.get_column(column)) for column in guarantee.levels])
    every = generalize_values(texts, source.hierarchies, guarantee.levels).with_row_index(ROW)
    classes = released_texts(table, guarantee).frame.select(list(guarantee.levels)).unique()
    rows = every.join(classes, on=list(guarantee.levels), how="semi", nulls_equal=True)[ROW]
    return _hierarchies(source.tally.gather(rows.sort()), manifest, hierarchies)


def derive(table: Tally, manifest: TableManifest, without: str | None = None) -> DerivedTable:
    """Return the parts that follow from released records; ``without``: see `DerivedTable`."""
    released = released_texts(table, guarantee_of(manifest))
    facts = facts_of(released, manifest.settings, manifest.guarantee.patients)
    return DerivedTable(table, released, manifest, facts, without)


def source_of(
    table: Tally, manifest: TableManifest, hierarchies: Mapping[str, Hierarchy], released: pl.DataFrame | None = None
) -> OriginalTable:
    """Return a table as the source of a release, with hierarchies bound to its values.

    ``released``: the released table, whose labels may join intervals; None if they are those of levels
    """
    guarantee, frame = guarantee_of(manifest), table.frame
    check_columns([column for column in guarantee.columns if column != guarantee.id], frame.columns, "the original")
    groups = {}
    for rule in guarantee.rules:
        if "hierarchy" in rule and rule["column"] in frame.columns:
            column, spec = rule["column"], rule["hierarchy"]
            hierarchy = hierarchies[column] if column in hierarchies else _by_words(column, spec, is_file=False)
            groups[column, spec] = bound_hierarchies(frame, {column: hierarchy})[column]
    return OriginalTable(table, _hierarchies(table, manifest, hierarchies, released), groups)


def _populations(request: Request, manifest: TableManifest) -> dict[str, OriginalTable]:
    asked = {str(rule["population"]) for rule in guarantee_of(manifest).rules if "population" in rule}
    strange = sorted(request.populations.keys() - asked)
    if strange:
        raise InputError(
            f"No rule of the release compares with the population {strange[0]}. Its rules name: "
            f"{', '.join(sorted(asked)) or 'none'}.",
            file=strange[0],
        )
    people = {}
    for name, given in request.populations.items():
        frame = from_native(given).frame
        check_columns(list(manifest.quasi_identifiers), frame.columns, f"the population {name}")
        people[name] = OriginalTable(Tally(frame), _hierarchies(Tally(frame), manifest, request.hierarchies))
    return people


def _hierarchies(
    table: Tally, manifest: TableManifest, hierarchies: Mapping[str, Hierarchy], released: pl.DataFrame | None = None
) -> dict[str, BoundHierarchy]:
    chosen = {}
    for name, column in manifest.quasi_identifiers.items():
        # The words of the manifest may name a builder, but no file of this machine.
        words, is_file = manifest.settings.hierarchies[name], column.hierarchy == "file"
        chosen[name] = hierarchies[name] if name in hierarchies else _by_words(name, words, is_file=is_file)
    bound = bound_hierarchies(table.frame, chosen)
    if manifest.settings.resist_downcoding:
        bound = {name: state_leaves(one, chosen[name]) for name, one in bound.items()}
    for name, level in guarantee_of(manifest).levels.items():
        if not level < bound[name].n_levels:
            raise InputError(f"The manifest states level {level} of column {name!r}, which its hierarchy lacks.")
    if released is None or manifest.settings.labels is None:
        return bound
    bounds = manifest.settings.level_bounds
    lowest = {name: least for name, (least, _) in bounds.items()}
    return join_released(bound, chosen, released, lowest, table, manifest.settings.k)


def _by_words(column: str, spec: str, *, is_file: bool) -> Hierarchy:
    name, colon, _ = spec.partition("/")[0].partition(":")
    if is_file or name not in BUILDERS or not (colon or "/" not in spec):
        raise InputError(
            f"The hierarchy of column {column!r} came from a file. To compare with the original, give it with ",
            setting("hierarchies", "DIR"),
            " or ",
            setting("qi", {column: "FILE"}),
            column=column,
        )
    return parse_hierarchy(spec)
