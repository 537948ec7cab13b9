"""A release folder of a table with codes, checked again from its files, and against the original if that is given."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from cloister.codesets.disassociation.clusters_file import read_clusters
from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.facts import counted, facts_of, method_failures, utility_follows
from cloister.codesets.disassociation.manifest import DisassociationUtility, MethodSettings
from cloister.codesets.disassociation.recheck import expectation_failures, is_as_written
from cloister.codesets.disassociation.verify import verify as verify_codes
from cloister.codesets.request import CodesExpectation
from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, suppress
from cloister.io import as_text
from cloister.manifest.head import read_section
from cloister.release_folder import CLUSTERS, DISASSOCIATION, WITH_CODES, data_file, read_data, same, stated
from cloister.results import Manifest, Verdict
from cloister.tabular.data import Role
from cloister.tabular.manifest import promise_of
from cloister.tabular.recheck import Around, Expectation, recheck, source_of
from cloister.tabular.recheck_data import delimiter_of
from cloister.tabular.verify import generalized

from .manifest import KEYS, codebook_with_codes, guarantee_of, patients_of
from .presence import PRESENT, with_presence, words_of
from .verify import SET, agreements, classes_of_rows, counts_agree, may_be_part, sizes_agree

T = TypeVar("T")

CHECKED = (
    f"{CLUSTERS} is written in the one way there is",
    "what the manifest says of the codes does not contradict the clusters; its figures were counted anew",
)
NOT_PRESENCE = "the column of codes is not described as one that tells classes with codes from those without"


def recheck_with_codes(
    folder: Path,
    manifest: Manifest,
    expectation: Expectation,
    m: int | None = None,
    original: pl.DataFrame | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    populations: Mapping[str, pl.DataFrame] | None = None,
    missing: Sequence[str] = (),
) -> Verdict:
    """Check table and codes of a release folder, each by itself and one against the other.

    Parameters
    ----------
    expectation, m : what the recipient expects, whatever the manifest says
    original : the table it was made from, codes and all; of codes it is checked class by class whether the original
        is a data set that the clusters may stand for, as far as counts of single codes tell
    hierarchies, populations : as of `cloister.tabular.recheck.recheck`
    missing : texts in the original that stand for a missing code

    Raises
    ------
    InputError
        The folder cannot be read as a release, or what is expected of it does not fit it.
    """
    column = _stated(lambda: str(manifest[WITH_CODES]["column"]))
    if not _stated(lambda: _is_presence(manifest, column)):
        return Verdict(False, "release.json was read", (), (NOT_PRESENCE,))
    if not os.path.isfile(folder / CLUSTERS):
        return Verdict(False, "the files were looked for", (), (f"{CLUSTERS} is missing",))
    try:
        released = read_clusters(folder / CLUSTERS)
    except InputError as error:
        return Verdict(False, f"{CLUSTERS} was read", (), (error.message.rstrip("."),))
    if released.repeats or released.sensitive.size or not released.class_columns:
        return Verdict(False, f"{CLUSTERS} was read", (), (f"{CLUSTERS} is not that of a table with codes",))
    around = Around(
        lambda frame: with_presence(frame, column, missing) if column in frame.columns else frame,
        lambda book: codebook_with_codes(book, column, released),
        column,
        lambda found: replace(found, columns=(*found.columns, counted(released, column))),
    )
    read = _read(folder, manifest)
    table = recheck(folder, manifest, expectation, original, hierarchies, populations, around, read)
    codes = verify_codes(released)
    checks, failures = [*table.checks, *codes.checks], [*table.failures, *codes.failures]
    if codes.holds:
        found = _agreements(read, manifest, column, released)
        if original is not None:
            given = _Given(original, column, tuple(missing), hierarchies or {})
            found += _compared(given, manifest, released)
        checks += [promise for promise, holds in found if holds]
        failures += [f"not so: {promise}" for promise, holds in found if not holds]
        failures += _stated(lambda: _contradictions(folder, manifest, released))
        failures += expectation_failures(released, CodesExpectation(expectation.k, m))
    checks += [] if failures else CHECKED
    return Verdict(not failures, f"{table.how}; {codes.how}", tuple(checks), tuple(failures))


def _stated(read: Callable[[], T]) -> T:
    return stated(read, "a table with codes")


def _read(folder: Path, manifest: Manifest) -> pl.DataFrame | None:
    """The data file; None where it cannot be read, which the check of the table says."""
    name = data_file(manifest)
    if name is None or not os.path.isfile(folder / name):
        return None
    try:
        return read_data(folder / name, delimiter_of(manifest, name))
    except InputError:
        return None


def _agreements(
    frame: pl.DataFrame | None, manifest: Manifest, column: str, released: Disassociation
) -> list[tuple[str, bool]]:
    """Promises about table and codes together; none where the table is not as declared, which was said before."""
    promise = _stated(lambda: promise_of(manifest))
    if frame is None or tuple(frame.columns) != promise.columns:
        return []
    expected = tuple(name for name in promise.levels if name != column)
    named = ("clusters name the quasi-identifiers", released.class_columns == expected)
    return [named, *agreements(frame, column, promise.id, released)]


@dataclass(frozen=True)
class _Given:
    """The original, and how it is read."""

    frame: pl.DataFrame
    column: str
    missing: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]

    def reduced(self) -> pl.DataFrame:
        """The codes reduced to whether there are any."""
        return with_presence(self.frame, self.column, self.missing)

    def sets(self) -> pl.Series:
        """Codes of each record, each once, in order, separated by single spaces; of those that have any."""
        words = (
            as_text(self.frame.get_column(self.column)).to_frame("c").select(words_of("c", self.missing)).to_series()
        )
        return words.list.unique().list.sort().list.join(" ").alias(SET)


def _compared(given: _Given, manifest: Manifest, released: Disassociation) -> list[tuple[str, bool]]:
    """Whether the clusters may stand for the original: class by class where one policy tells the classes."""
    promise = _stated(lambda: promise_of(manifest))
    reduced, sets = given.reduced(), given.sets()
    shown = reduced.get_column(given.column) == PRESENT
    if not promise.has_one_policy:
        within = may_be_part(sets.filter(shown), released)
        return [
            ("no code of the clusters is more frequent than in the whole original (levels differ by class)", within)
        ]
    source = source_of(reduced, manifest, promise, given.hierarchies)
    texts = pl.DataFrame([as_text(source.frame.get_column(name)) for name in promise.levels])
    labels = generalized(texts, source.ladders, promise.levels)
    rows = labels.with_columns(sets.alias(given.column)).filter(shown)
    found = classes_of_rows(rows, given.column, released)
    known = found.filter(found["class"].is_not_null())
    return [
        (
            "each class has as many patients of the original with codes, and each code as often as its clusters allow",
            sizes_agree(known, released) and counts_agree(known, released, is_drawn=False),
        )
    ]


def _is_presence(manifest: Manifest, column: str) -> bool:
    """Whether the column of codes is a quasi-identifier that stays as it is: whether there are any codes."""
    described, settings = manifest["columns"][column], manifest["settings"]
    return bool(
        described["role"] == Role.QUASI_IDENTIFIER
        and described["hierarchy"] == settings["hierarchies"][column] == suppress().spec
        and described["level"] == 0
        and described.get("levels", [0]) == [0]
        and "average" not in described
        and settings["level_bounds"][column] == [0, 0]
    )


def _contradictions(folder: Path, manifest: Manifest, released: Disassociation) -> list[str]:
    """What the manifest says of the codes that the clusters do not."""
    part, records = manifest[WITH_CODES], manifest["records"]["released"]
    guarantee = part["guarantee"]
    settings, wrong_settings = read_section(MethodSettings, part["settings"])
    utility, wrong_utility = read_section(DisassociationUtility, part["utility"])
    if settings is None or utility is None:
        wrong = [*(f"settings.{place}" for place in wrong_settings), *(f"utility.{place}" for place in wrong_utility)]
        return [f"{WITH_CODES} of release.json has a wrong {place}" for place in wrong]
    promised, facts = guarantee_of(released, part["column"]), facts_of(released, settings, utility)
    agreements = {
        "has unknown or missing keys": part.keys() == KEYS,
        "method is not one that this version can check": part["method"] == DISASSOCIATION,
        "settings.k is not the class size of the table": settings.k == _class_size(manifest),
        "patients are not counted as they are": same(part["patients"], patients_of(released, records)),
        "guarantee does not say what the clusters promise": guarantee["verified"] is True
        and same({name: guarantee[name] for name in promised}, promised)
        and guarantee.keys() == {*promised, "verified"},
        "clusters are not counted as they are": same(
            part["clusters"], facts.clusters.published() | {"classes": len(released.classes)}
        ),
        "utility does not follow from the clusters": utility_follows(utility, settings, released, facts),
        "risk is not that of the clusters": same(part["risk"], facts.risk.published()),
        f"does not fit {CLUSTERS}, which is not written as a release is": is_as_written(folder, released),
    }
    failures = [f"{WITH_CODES} of release.json {failure}" for failure, holds in agreements.items() if not holds]
    return failures + [f"{WITH_CODES}: {failure}" for failure in method_failures(released, settings)]


def _class_size(manifest: Manifest) -> Any:
    """The k of the table's own k-anonymity."""
    return max(rule["k"] for rule in manifest["guarantee"]["rules"] if rule["model"] == "k-anonymity")
