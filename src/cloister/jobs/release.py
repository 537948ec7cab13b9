"""What makes a release of parts that are written already: the refusal of parts that can be joined, manifest, report."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from cloister.errors import NoSafeRelease
from cloister.io import write_private
from cloister.release_folder import FIGURES, MANIFEST, REPORT, json_bytes
from cloister.report import render_job
from cloister.results import Manifest
from cloister.stopwatch import DIGITS

from .job import Job
from .job_file import APART
from .manifest import describe_job, files_of_parts, job_contents
from .shared_columns import leading_to_few
from .unlinkable import joinable


def finish_job(job: Job, folder: Path, manifests: Mapping[str, Manifest], seconds: float) -> Manifest:
    """Write the manifest and the report of a job, and return the manifest."""
    found = joinable(folder, manifests, leading_to_few)
    if found:
        raise NoSafeRelease(
            f"{job.file}: {'; '.join(found)}. Drop these columns from one of them, or release one part; {APART}."
        )
    created = datetime.now(UTC).isoformat(timespec="seconds")
    files = files_of_parts(folder, list(manifests))
    seconds = round(seconds, DIGITS)
    manifest = describe_job(job.name, manifests, seed=job.seed, created=created, seconds=seconds, files=files)
    contents = job_contents(folder, manifest, manifests)
    write_private(folder / REPORT, render_job(manifest, contents["parts"]).encode())
    write_private(folder / FIGURES, json_bytes(contents))
    write_private(folder / MANIFEST, json_bytes(manifest))
    return manifest
