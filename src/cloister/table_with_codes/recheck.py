"""A release folder of a table with codes, checked again from its files, and against the original if that is given."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from cloister.codesets.disassociation.clusters_file import read_clusters
from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.facts import counted, facts_of, method_failures, utility_follows
from cloister.codesets.disassociation.recheck import expectation_failures, is_as_written
from cloister.codesets.disassociation.verify import verify as verify_codes
from cloister.codesets.request import CodesExpectation
from cloister.errors import InputError
from cloister.io import as_text
from cloister.release_folder import CLUSTERS, check_files
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict
from cloister.tabular.facts import codebook
from cloister.tabular.manifest import promise_of
from cloister.tabular.recheck import (
    Expectation,
    TableOriginal,
    check_table,
    checked,
    codebook_failures,
    is_complete,
    read_released,
    report_data_of_release,
    source_of,
)
from cloister.tabular.verify import generalized

from .data import PRESENT, with_presence, words_of
from .manifest import TableWithCodesManifest, cluster_counts, codebook_with_codes
from .verify import SET, agreements, classes_of_rows, counts_agree, may_be_part, sizes_agree

CHECKED = (
    f"{CLUSTERS} is written in the one way there is",
    "what the manifest says of the codes does not contradict the clusters; its figures were counted anew",
)


def recheck_with_codes(
    folder: Path,
    manifest: Manifest,
    expectation: Expectation,
    m: int | None,
    original: TableOriginal,
    missing: Sequence[str] = (),
) -> Verdict:
    """Check table and codes of a release folder, each by itself and one against the other.

    Parameters
    ----------
    expectation, m : what the recipient expects, whatever the manifest says
    original : the table it was made from, codes and all; of codes it is checked class by class whether the original
        is a data set that the clusters may stand for, as far as counts of single codes tell
    missing : texts in the original that stand for a missing code
    """
    failures = check_files(folder, manifest)
    try:
        stated = TableWithCodesManifest.of(manifest)
        if not is_complete(folder, stated) or not os.path.isfile(folder / CLUSTERS):
            return Verdict(False, "the files were looked for", (), tuple(failures))
        frame, released = read_released(folder, stated), read_clusters(folder / CLUSTERS)
    except InputError as error:
        return Verdict(False, "the files were read", (), (*failures, error.text.rstrip(".")))
    column = stated.codes.column
    if released.repeats or released.sensitive.size or not released.class_columns:
        return Verdict(False, f"{CLUSTERS} was read", (), (*failures, f"{CLUSTERS} is not that of a table with codes"))
    if tuple(frame.columns) != tuple(stated.columns):
        wrong = "the data file does not have the columns that release.json declares"
        return Verdict(False, "the files were read", (), (*failures, wrong))
    table, reduced = original, with_presence(frame, column)
    if original.frame is not None and column in original.frame.columns:
        table = replace(original, frame=with_presence(original.frame, column, missing))
    found = check_table(reduced, stated, expectation, table)
    codes = verify_codes(released)
    checks, failures = [*codes.checks], [*failures, *found.failures, *codes.failures]
    if codes.holds:
        promise = promise_of(stated)
        expected = tuple(name for name in promise.levels if name != column)
        promised = [
            ("clusters name the quasi-identifiers", released.class_columns == expected),
            *agreements(frame, column, promise.id, released),
            *_compared(stated, released, original, table, missing),
        ]
        checks += [promise for promise, holds in promised if holds]
        failures += [f"not so: {promise}" for promise, holds in promised if not holds]
        failures += _contradictions(folder, stated, released)
        failures += codebook_failures(folder, codebook_with_codes(codebook(reduced, stated), column, released), stated)
        failures += expectation_failures(released, CodesExpectation(expectation.k, m))
    shown = report_data_of_release(reduced, stated, column)
    if shown is not None:
        failures += report_failures(
            folder, manifest, replace(shown, columns=(*shown.columns, counted(released, column)))
        )
    of_table = found.checks if failures else (*found.checks, *checked(stated, table))
    checks += [] if failures else CHECKED
    return Verdict(not failures, f"{found.how}; {codes.how}", (*of_table, *checks), tuple(failures))


def _compared(
    stated: TableWithCodesManifest,
    released: Disassociation,
    original: TableOriginal,
    reduced: TableOriginal,
    missing: Sequence[str],
) -> list[tuple[str, bool]]:
    """Whether the clusters may stand for the original: class by class where one policy tells the classes."""
    if original.frame is None or reduced.frame is None:
        return []
    promise, column = promise_of(stated), stated.codes.column
    cells = as_text(original.frame.get_column(column)).to_frame("c")
    # Codes of each record, each once, in order, separated by single spaces.
    words = cells.select(words_of("c", tuple(missing))).to_series()
    sets = words.list.unique().list.sort().list.join(" ").alias(SET)
    shown = reduced.frame.get_column(column) == PRESENT
    if not promise.has_one_policy:
        within = may_be_part(sets.filter(shown), released)
        return [
            ("no code of the clusters is more frequent than in the whole original (levels differ by class)", within)
        ]
    source = source_of(reduced.frame, stated, original.hierarchies)
    texts = pl.DataFrame([as_text(source.frame.get_column(name)) for name in promise.levels])
    labels = generalized(texts, source.ladders, promise.levels)
    rows = labels.with_columns(sets.alias(column)).filter(shown)
    found = classes_of_rows(rows, column, released)
    known = found.filter(found["class"].is_not_null())
    return [
        (
            "each class has as many patients of the original with codes, and each code as often as its clusters allow",
            sizes_agree(known, released) and counts_agree(known, released, is_drawn=False),
        )
    ]


def _contradictions(folder: Path, stated: TableWithCodesManifest, released: Disassociation) -> list[str]:
    """What the manifest says of the codes that the clusters do not."""
    part, records = stated.codes, stated.records.released
    counts = part.patients.with_codes, part.patients.without_codes
    facts = facts_of(released, part.settings, part.utility)
    agreements = {
        "patients are not counted as they are": counts == (released.n_records, records - released.n_records),
        "clusters are not counted as they are": part.clusters == cluster_counts(facts.clusters, released),
        "utility does not follow from the clusters": utility_follows(part.utility, part.settings, released, facts),
        "risk is not that of the clusters": part.risk == facts.risk,
        f"does not fit {CLUSTERS}, which is not written as a release is": is_as_written(folder, released),
    }
    failures = [f"codes of release.json: {failure}" for failure, holds in agreements.items() if not holds]
    return failures + [f"codes: {failure}" for failure in method_failures(released, part.settings)]
