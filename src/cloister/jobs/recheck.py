"""The release of a job, checked again from its files: every part, the manifest, and whether parts can be joined."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from cloister.errors import GuaranteeViolation, InputError
from cloister.manifest.head import read_section
from cloister.manifests import typed
from cloister.release_folder import MANIFEST, REPORTS, is_file, manifest_failures, read_manifest
from cloister.results import Manifest, Verdict

from .manifest import UNLINKABLE, JobManifest, describe_job, files_of_parts, part_names, report_of_job
from .shared_columns_check import leading_to_few
from .unlinkable import joinable

HOW = "every part from its files, and the manifest of the job"


def recheck_job(folder: Path, manifest: Manifest, verify_part: Callable[[Path], Verdict]) -> Verdict:
    """Return the verdict on the folder of a job.

    ``verify_part``: returns the verdict on the folder of a part, or raises `GuaranteeViolation`
    """
    names = part_names(manifest)
    if not names:
        raise InputError(f"The manifest {MANIFEST} of {folder.name} lists no parts.", file=MANIFEST)
    checks, manifests = [], {}
    for name in names:
        place = folder / name
        if place.is_symlink() or not os.path.isdir(place):
            raise GuaranteeViolation(f"{folder.name} does not hold: its part {name} is missing.")
        verdict = verify_part(place)
        checks += [f"{name}: {check}" for check in verdict.checks]
        manifests[name] = read_manifest(place)
    failures = _failures(folder, manifest, manifests)
    checks += ["the manifest and the report of the job say what its parts say", UNLINKABLE]
    return Verdict(not failures, HOW, tuple(checks), tuple(failures))


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
        job.name, parts, seed=job.seed, created=job.created, seconds=job.seconds.total, files=files
    ):
        failures.append(f"{MANIFEST} does not say what the parts say")
    failures += manifest_failures(folder, manifest)
    failures += [f"{name} is missing" for name in REPORTS if not is_file(folder / name)]
    if job is not None and not failures:
        expected = report_of_job(folder, job, manifests)
        changed = [name for name, content in expected.items() if (folder / name).read_bytes() != content]
        failures += [f"{name} does not say what the parts say" for name in changed]
    return failures + joinable(folder, parts, leading_to_few)
