"""Verification of a job's release from its files: every part, the manifest, and that parts cannot be joined.

Which sets of shared columns join rows is found by other means than in `jobs.release`: no joins, depth first.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import GuaranteeViolation, name_few
from cloister.release.folder import (
    figure_failures,
    hashes_of,
    is_file,
    manifest_failures,
    read_manifest,
    report_failures,
)
from cloister.release.head import MANIFEST, README, REPORT, REPORTS, SCRIPT, UNBOUND, UNBOUND_REPORT, read_section
from cloister.release.manifest import AnyManifest, outline_of, parse_manifest
from cloister.results import Checks, Manifest, Verdict
from cloister.verification.driver import OTHER_SCRIPT, has_other_script
from cloister.verification.script import note

from .manifest import UNLINKABLE, JobManifest, describe_job, files_of_parts, part_names, parts_shown
from .recheck_spelling import respell
from .statements import files_read, script_of
from .unlinkable import MOST_SETS, TOO_MANY, RowLookup, joinable

Numbers = NDArray[np.intp]


def linkage_failure(one: pl.DataFrame, two: pl.DataFrame, k: int, exempt: frozenset[str]) -> str | None:
    """Return why rows of two tables can be linked; see `jobs.release.linkage_failure`.

    The rows of both tables are split by one column after the other. Only groups with rows of both are split further.
    """
    values, counts = _distinct(one, two)
    n_rows = counts.shape[1]
    waiting: list[tuple[tuple[int, ...], Numbers, Numbers]] = [((), np.arange(n_rows), np.zeros(n_rows, np.intp))]
    n_sets = 0
    while waiting:
        subset, rows, groups = waiting.pop()
        for column in range(subset[-1] + 1 if subset else 0, len(values)):
            split = _split(groups, values[column][rows])
            fewest = np.minimum(*(np.bincount(split, weights=side[rows]) for side in counts))
            if not fewest.any():
                continue
            names = [one.columns[place] for place in (*subset, column)]
            n_sets += 1
            if n_sets > MOST_SETS:
                return TOO_MANY
            if fewest[fewest > 0].min() < k and not exempt.issuperset(names):
                return f"values of {name_few(names)} lead to fewer than {k}"
            agreeing = fewest[split] > 0
            waiting.append(((*subset, column), rows[agreeing], split[agreeing]))
    return None


def _distinct(one: pl.DataFrame, two: pl.DataFrame) -> tuple[list[Numbers], Numbers]:
    """Return numbers for the values of distinct rows, by column, and how often each row occurs in each table."""
    both = [pl.concat([one[column], two[column]]) for column in one.columns]
    values = [column.rank("dense").fill_null(0).to_numpy().astype(np.intp) for column in both]
    rows = np.zeros(one.height + two.height, np.intp)
    for numbers in values:
        rows = _split(rows, numbers)
    first = np.unique(rows, return_index=True)[1]
    counts = [np.bincount(side, minlength=first.size) for side in (rows[: one.height], rows[one.height :])]
    return [numbers[first] for numbers in values], np.array(counts)


def _split(groups: Numbers, values: Numbers) -> Numbers:
    """Return the groups of rows, split by one more column."""
    split: Numbers = np.unique(groups * (values.max(initial=0) + 1) + values, return_inverse=True)[1]
    return split


LOOKUP = RowLookup(respell, linkage_failure)

UNBOUND_WORDS = (
    UNBOUND_REPORT[0],
    f"whether {REPORT}, {README} and the sentences of {MANIFEST} are as they were written: schema {UNBOUND} of a job "
    "has no hash of them",
)
HOW = "every part from its files, and the manifest of the job"


def recheck_job(folder: Path, manifest: Manifest, verify_part: Callable[[Path], Verdict]) -> Verdict:
    """Return the verdict on a job's folder; ``verify_part`` returns that on a part or raises `GuaranteeViolation`."""
    names = part_names(manifest)
    if not names:
        raise GuaranteeViolation(
            f"{folder.name} does not hold: its {MANIFEST} lists parts by names that are not allowed."
        )
    checks, unchecked, manifests = list[str](), list[tuple[str, str]](), {}
    for name in names:
        place = folder / name
        if place.is_symlink() or not os.path.isdir(place):
            raise GuaranteeViolation(f"{folder.name} does not hold: its part {name} is missing.")
        verdict = verify_part(place)
        whose = f"{name}: " if len(names) > 1 else ""
        checks += [type(check)(f"{whose}{check}") for check in verdict.checks]
        unchecked += [(what, f"{whose}{why}") for what, why in verdict.unchecked]
        manifests[name] = read_manifest(place)
    parts, together = {name: parse_manifest(one) for name, one in manifests.items()}, Checks()
    failures = _failures(folder, manifest, manifests, parts)
    check_together(folder, parts, together)
    unbound = [UNBOUND_WORDS] if outline_of(manifest).schema_ == UNBOUND else []
    listed = [SCRIPT] if is_file(folder / SCRIPT) else []
    unbound += [OTHER_SCRIPT] if has_other_script(folder / SCRIPT, script_of(parts), listed) else []
    checks += [
        *together.done,
        "the manifest of the job, and the figures of its report, say what its parts say",
        UNLINKABLE,
    ]
    return Verdict(HOW, tuple(checks), (*failures, *together.failures), (*unchecked, *unbound))


def check_together(folder: Path, parts: Mapping[str, AnyManifest], checks: Checks) -> None:
    """Run the script that checks the parts together."""
    script = script_of(parts)
    if script is not None:
        note(checks, script.run(folder, files_read(parts)))


def _failures(
    folder: Path, manifest: Manifest, manifests: Mapping[str, Manifest], parts: Mapping[str, AnyManifest]
) -> list[str]:
    there = {entry.name for entry in folder.iterdir()} - {MANIFEST, SCRIPT, *REPORTS, *manifests}
    failures = [f"{len(there)} files do not belong to the release"] if there else []
    # Nothing is checked key by key: the manifest that these parts have is made again, and must be this one.
    job, _ = read_section(JobManifest, manifest)
    failures += manifest_failures(folder, manifest)
    failures += [f"{MANIFEST} is not what a job says"] if job is None else _contradictions(folder, job, parts)
    if job is not None and not failures:
        failures += figure_failures(folder, job, parts_shown(folder, manifests))
    return failures + joinable(folder, parts, LOOKUP)


def _contradictions(folder: Path, job: JobManifest, parts: Mapping[str, AnyManifest]) -> list[str]:
    """Return statements of a job's manifest that its parts or files contradict, in sentences."""
    own = [name for name in REPORTS if name in job.files and is_file(folder / name)]
    files = files_of_parts(folder, list(parts)) | hashes_of(folder, own)
    failures = report_failures(folder, job.schema_, job.files)
    if job.files != files:
        failures.append(f"{MANIFEST} does not list the files of the job as they are")
    made_again = describe_job(
        job.name,
        parts,
        seed=job.seed,
        created=job.created,
        seconds=job.seconds.total,
        files=files,
        tested=None if job.links is None else job.links.tested,
    )
    return failures if job.facts() == made_again.facts() else [*failures, f"{MANIFEST} does not say what the parts say"]
