"""The release of a job, checked again from its files: every part, the manifest, and whether parts can be joined.

Which sets of shared columns join rows is found by other means than in `jobs.release`: no joins, depth first.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import GuaranteeViolation, name_few
from cloister.release.folder import REPORTS, is_file, manifest_failures, read_manifest
from cloister.release.head import MANIFEST, read_section
from cloister.release.manifest import typed
from cloister.results import Manifest, Verdict

from .manifest import UNLINKABLE, JobManifest, describe_job, files_of_parts, part_names, report_of_job
from .recheck_spelling import respell
from .unlinkable import MOST_SETS, TOO_MANY, RowLookup, joinable

Numbers = NDArray[np.intp]


def leading_to_few(one: pl.DataFrame, two: pl.DataFrame, k: int, exempt: frozenset[str]) -> str | None:
    """Return why rows of two tables lead to each other; see `jobs.release.leading_to_few`.

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
    """Numbers for the values of distinct rows, column by column, and how many rows of each table each stands for."""
    both = [pl.concat([one[column], two[column]]) for column in one.columns]
    values = [column.rank("dense").fill_null(0).to_numpy().astype(np.intp) for column in both]
    rows = np.zeros(one.height + two.height, np.intp)
    for numbers in values:
        rows = _split(rows, numbers)
    first = np.unique(rows, return_index=True)[1]
    counts = [np.bincount(side, minlength=first.size) for side in (rows[: one.height], rows[one.height :])]
    return [numbers[first] for numbers in values], np.array(counts)


def _split(groups: Numbers, values: Numbers) -> Numbers:
    """Numbers of groups that also have one value in common."""
    split: Numbers = np.unique(groups * (values.max(initial=0) + 1) + values, return_inverse=True)[1]
    return split


LOOKUP = RowLookup(respell, leading_to_few)

HOW = "every part from its files, and the manifest of the job"


def recheck_job(folder: Path, manifest: Manifest, verify_part: Callable[[Path], Verdict]) -> Verdict:
    """Return the verdict on the folder of a job, given what returns that on a part, or raises `GuaranteeViolation`."""
    names = part_names(manifest)
    if not names:
        raise GuaranteeViolation(
            f"{folder.name} does not hold: its {MANIFEST} does not list parts by names that they may have."
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
    failures = _failures(folder, manifest, manifests)
    checks += ["the manifest and the report of the job say what its parts say", UNLINKABLE]
    return Verdict(HOW, tuple(checks), tuple(failures), tuple(unchecked))


def _failures(folder: Path, manifest: Manifest, manifests: Mapping[str, Manifest]) -> list[str]:
    there = {entry.name for entry in folder.iterdir()} - {MANIFEST, *REPORTS, *manifests}
    failures = [f"{len(there)} files do not belong to the release"] if there else []
    # Nothing is checked key by key: the manifest that these parts have is made again, and must be this one.
    job, _ = read_section(JobManifest, manifest)
    parts = {name: typed(one) for name, one in manifests.items()}
    files = files_of_parts(folder, list(manifests))
    if job is None or job.files != files:
        failures.append(f"{MANIFEST} does not list the files of the parts as they are")
    if job is None or job != describe_job(
        job.name,
        parts,
        seed=job.seed,
        created=job.created,
        seconds=job.seconds.total,
        files=files,
        tested=None if job.links is None else job.links.tested,
    ):
        failures.append(f"{MANIFEST} does not say what the parts say")
    failures += manifest_failures(folder, manifest)
    failures += [f"{name} is missing" for name in REPORTS if not is_file(folder / name)]
    if job is not None and not failures:
        expected = report_of_job(folder, job, manifests)
        changed = [name for name, content in expected.items() if (folder / name).read_bytes() != content]
        failures += [f"{name} does not say what the parts say" for name in changed]
    return failures + joinable(folder, parts, LOOKUP)
