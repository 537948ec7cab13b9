"""The joint release of written parts: links between parts, the manifest, the report, and notes on changes.

Sets of shared columns grow by one column at a time, as in Apriori: where no row of one table agrees with a row of the
other on a set, none agrees on a larger one. All of them are compared, not just all columns at once: one column that
never agrees would hide the others.

A release contains no hash of the input. But the same data and settings give the same bytes. So if a new release
replaces one with the same settings and version, different data files show that the data changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import polars as pl

from cloister.errors import CloisterError, NoSafeRelease, name_few
from cloister.io import write_private
from cloister.release.folder import hashes_of, is_release, json_bytes, read_figures, read_manifest, report_json
from cloister.release.head import (
    FIGURES,
    MANIFEST,
    README,
    REPORT,
    REPORTS,
    SCRIPT,
    WITHOUT_RECORDS,
    read_section,
    same,
)
from cloister.release.manifest import AnyManifest, outline_of, parse_manifest
from cloister.release.release import is_internal
from cloister.report import render_job, render_readme
from cloister.report.release_warnings import warnings_of_job
from cloister.results import DIGITS, Figures, Manifest

from .job import Job
from .job_file import APART
from .manifest import (
    NOT_PROMISED,
    SENTENCES,
    JobManifest,
    describe_job,
    files_of_parts,
    is_job,
    part_names,
    parts_shown,
)
from .spelling import respell
from .statements import script_of
from .unlinkable import MOST_SETS, TOO_MANY, RowLookup, joinable


def linkage_failure(one: pl.DataFrame, two: pl.DataFrame, k: int, exempt: frozenset[str]) -> str | None:
    """Return why rows of two tables can be linked by values of shared columns, in words; None if they cannot.

    ``k``: rows that share any values that occur in both
    ``exempt``: columns that need not be compared where no other column is known
    """
    columns = [column for column in one.columns if not set(one[column].unique()).isdisjoint(two[column].unique())]
    counts = [frame.group_by(columns).agg(pl.len().alias(" n")) for frame in (one, two) if columns]
    grown: list[tuple[str, ...]] = [(column,) for column in columns]
    compared = 0
    while grown:
        agreeing = []
        for subset in grown:
            if compared == MOST_SETS:
                return TOO_MANY
            compared += 1
            fewest = _fewest(counts, subset)
            if fewest is not None:
                agreeing.append(subset)
                if fewest < k and not exempt.issuperset(subset):
                    return f"values of {name_few(subset)} lead to fewer than {k}"
        # sets of one column more, all of whose parts agree somewhere
        known = set(agreeing)
        larger = [(*subset, column) for subset in agreeing for column in columns[columns.index(subset[-1]) + 1 :]]
        grown = [subset for subset in larger if known.issuperset(combinations(subset, len(subset) - 1))]
    return None


def _fewest(counts: Sequence[pl.DataFrame], subset: tuple[str, ...]) -> int | None:
    """Return the smallest number of rows of either table that share values of both; None if no values occur in both."""
    one, two = (frame.group_by(subset).agg(pl.col(" n").sum()) for frame in counts)
    both = one.join(two, on=subset, how="inner", nulls_equal=True, suffix=" of the other")
    fewest: int | None = both.select(pl.min_horizontal(" n", " n of the other").min()).item()
    return fewest


LOOKUP = RowLookup(respell, linkage_failure)

LIMIT = "anyone with both releases can compare them (see known limits)"


def earlier_manifests(folder: Path) -> dict[str, Manifest]:
    """Return the manifest of an existing release, or of each part of it, by name; empty if none is readable."""
    try:
        manifest = read_manifest(folder)
        places = [folder / name for name in part_names(manifest)] if is_job(manifest) else [folder]
        return {place.name: read_manifest(place) for place in places}
    except (CloisterError, OSError):
        return {}


def what_changed(earlier: Mapping[str, Manifest], now: Mapping[str, Manifest]) -> list[str]:
    """Return notes on releases that differ from those that they replace."""
    notes = []
    for name in (name for name in now if name in earlier):
        old, new = outline_of(earlier[name]), outline_of(now[name])
        hashes = [
            {file: digest for file, digest in one.hashes.items() if file not in WITHOUT_RECORDS} for one in (old, new)
        ]
        n_records = [one.records.get("in") if isinstance(one.records, dict) else None for one in (old, new)]
        alike = ("cloister", "method", "seed", "settings")
        if hashes[0] == hashes[1]:
            continue
        if n_records[0] != n_records[1] or all(
            one in old.model_fields_set and same(getattr(old, one), getattr(new, one)) for one in alike
        ):
            notes.append(f"the data of {name} changed since the release that was replaced: {LIMIT}")
        else:
            notes.append(f"{name} differs from the release that was replaced, by its settings or by its data: {LIMIT}")
    return notes


def is_job_release(folder: Path) -> bool:
    """Return whether a folder is the release of a job without foreign files."""
    try:
        manifest = read_manifest(folder)
    except CloisterError:
        return False
    names = part_names(manifest)
    if not is_job(manifest) or not names:
        return False
    there = {entry.name for entry in folder.iterdir()}
    parts = there & {*names}
    own = [folder / name for name in there - parts]
    return (
        there <= {MANIFEST, SCRIPT, *REPORTS, *names}
        and all(is_release(folder / name) for name in parts)
        and all(path.is_file() and not path.is_symlink() for path in own)
    )


def is_internal_of_job(folder: Path) -> bool:
    """Return whether a folder contains only the custodian's files of a job."""
    entries = list(folder.iterdir())
    return bool(entries) and all(entry.is_dir() and not entry.is_symlink() and is_internal(entry) for entry in entries)


def refuse_joined(job: Job, found: Sequence[str]) -> None:
    """Raise an error with these sentences if there are any: parts of the job can be joined."""
    if found:
        raise NoSafeRelease(
            f"{job.file}: {'; '.join(found)}. Drop these columns from one of them, or release one part; {APART}."
        )


def refuse_joinable(job: Job, folder: Path, manifests: Mapping[str, Manifest]) -> None:
    """Reject parts whose rows can be linked by the contents of their files."""
    refuse_joined(job, joinable(folder, {name: parse_manifest(one) for name, one in manifests.items()}, LOOKUP))


def finish_job(
    job: Job,
    folder: Path,
    manifests: Mapping[str, Manifest],
    seconds: float,
    tested: Iterable[tuple[str, str]] | None = None,
) -> Manifest:
    """Write the manifest and the report of a job, and return the manifest; ``tested``: see `describe_job`."""
    parts = {name: parse_manifest(manifest) for name, manifest in manifests.items()}
    script = script_of(parts)
    if script is not None:
        write_private(folder / SCRIPT, script.text().encode())
    described = describe_job(
        job.name,
        parts,
        seed=job.seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(seconds, DIGITS),
        files=files_of_parts(folder, list(manifests)),
        tested=tested,
    )
    reports = report_of_job(folder, described, manifests)
    for name, content in reports.items():
        write_private(folder / name, content)
    manifest: Manifest = described.as_json() | {"files": described.files | hashes_of(folder, reports)}
    write_private(folder / MANIFEST, json_bytes(manifest))
    return manifest


def report_of_job(folder: Path, job: JobManifest, manifests: Mapping[str, Manifest]) -> dict[str, bytes]:
    """Return the report of a job and its figures, by file name."""
    page, warnings = _page_of_job(job, _with_figures(folder, manifests))
    numbers = report_json(job, warnings, parts_shown(folder, manifests))
    return {REPORT: page.encode(), FIGURES: json_bytes(numbers), README: render_readme(job)}


def report_with_originals(
    folder: Path, before: Mapping[str, Mapping[str, int]], risks: Mapping[str, Figures]
) -> str | None:
    """Return the report of the release of a job, for the custodian: with what is known of the originals of parts.

    ``before``: their class sizes
    ``risks``: in the original and in the release, as `RiskChange` has them; shown of parts without class sizes
    """
    job, _ = read_section(JobManifest, manifest := read_manifest(folder))
    if job is None:
        return None
    read = _with_figures(folder, {name: read_manifest(folder / name) for name in part_names(manifest)})
    for name, (part, figures) in read.items():
        if name in before:
            read[name] = part, {**figures, "class_sizes": figures["class_sizes"] | {"before": before[name]}}
        elif name in risks:
            read[name] = part, {**figures, "risk": risks[name]}
    return _page_of_job(job, read)[0]


def _with_figures(folder: Path, manifests: Mapping[str, Manifest]) -> dict[str, tuple[AnyManifest, Figures]]:
    return {name: (parse_manifest(one), read_figures(folder / name)) for name, one in manifests.items()}


def _page_of_job(job: JobManifest, read: Mapping[str, tuple[AnyManifest, Figures]]) -> tuple[str, list[str]]:
    """Return the page of the report of a job, and its warnings."""
    warnings = warnings_of_job(read)
    return render_job(job, job.name, read, warnings, promised=SENTENCES, not_promised=NOT_PROMISED), warnings
