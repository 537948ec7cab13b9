"""The release of a job, checked again from its files: every part, the manifest, and whether parts can be joined."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cloister.errors import GuaranteeViolation, InputError
from cloister.manifest.head import Count, Moment, Section, read_section
from cloister.release_folder import (
    FIGURES,
    MANIFEST,
    REPORT,
    json_bytes,
    manifest_failures,
    read_manifest,
    same,
    stated,
)
from cloister.report import render_job
from cloister.results import Manifest, Verdict

from .manifest import UNLINKABLE, describe_job, files_of_parts, job_contents, part_names
from .shared_columns_check import leading_to_few
from .unlinkable import joinable

HOW = "every part from its files, and the manifest of the job"


class JobSeconds(Section):
    """Time that all parts took together."""

    total: float


class JobHead(Section):
    """What follows from nothing else in the manifest of a job."""

    name: str
    seed: Count
    created: Moment
    seconds: JobSeconds


def recheck_job(folder: Path, manifest: Manifest, verify_part: Callable[[Path], Verdict]) -> Verdict:
    """Return the verdict on the folder of a job.

    Parameters
    ----------
    verify_part : returns the verdict on the folder of a part, or raises `GuaranteeViolation`
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
    there = {entry.name for entry in folder.iterdir()} - {MANIFEST, REPORT, FIGURES, *manifests}
    failures = [f"{len(there)} files do not belong to the release"] if there else []
    files = files_of_parts(folder, list(manifests))
    if manifest["files"] != files:
        failures.append(f"{MANIFEST} does not list the files of the parts as they are")
    if not same(manifest, _expected(manifest, manifests, files)):
        failures.append(f"{MANIFEST} does not say what the parts say")
    failures += manifest_failures(folder, manifest) + _report_failures(folder, manifest, manifests)
    return failures + stated(lambda: joinable(folder, manifests, leading_to_few), "a part")


def _report_failures(folder: Path, manifest: Manifest, manifests: Mapping[str, Manifest]) -> list[str]:
    names = (REPORT, FIGURES)
    missing = [name for name in names if (folder / name).is_symlink() or not os.path.isfile(folder / name)]
    if missing:
        return [f"{name} is missing" for name in missing]
    expected = _rendered(folder, manifest, manifests)
    changed = [name for name, content in zip(names, expected, strict=True) if (folder / name).read_bytes() != content]
    return [f"{name} does not say what the parts say" for name in changed]


def _expected(manifest: Manifest, manifests: Mapping[str, Manifest], files: Mapping[str, str]) -> Any:
    """The manifest that these parts have; what follows from nothing else is taken over if it may be so."""
    head, _ = read_section(JobHead, {name: part for name, part in manifest.items() if name in JobHead.model_fields})
    if head is None:
        return None
    describe = partial(describe_job, head.name, manifests, seed=head.seed, created=head.created)
    return stated(lambda: describe(seconds=head.seconds.total, files=files), "a part")


def _rendered(folder: Path, manifest: Manifest, manifests: Mapping[str, Manifest]) -> tuple[bytes, bytes]:
    """The page and its numbers."""
    try:
        contents = job_contents(folder, manifest, manifests)
        return render_job(manifest, contents["parts"]).encode(), json_bytes(contents)
    except Exception:  # a manifest that cannot be rendered was not written by us
        return b"", b""
