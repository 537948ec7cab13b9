"""What makes a release of parts that are written already: the refusal of parts that can be joined, manifest, report."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from cloister.errors import NoSafeRelease
from cloister.io import write_private
from cloister.manifests import typed
from cloister.release_folder import MANIFEST, json_bytes
from cloister.results import Manifest
from cloister.stopwatch import DIGITS

from .job import Job
from .job_file import APART
from .manifest import describe_job, files_of_parts, report_of_job
from .shared_columns import leading_to_few
from .unlinkable import joinable


def finish_job(job: Job, folder: Path, manifests: Mapping[str, Manifest], seconds: float) -> Manifest:
    """Write the manifest and the report of a job, and return the manifest."""
    parts = {name: typed(manifest) for name, manifest in manifests.items()}
    found = joinable(folder, parts, leading_to_few)
    if found:
        raise NoSafeRelease(
            f"{job.file}: {'; '.join(found)}. Drop these columns from one of them, or release one part; {APART}."
        )
    created = datetime.now(UTC).isoformat(timespec="seconds")
    files = files_of_parts(folder, list(manifests))
    seconds = round(seconds, DIGITS)
    described = describe_job(job.name, parts, seed=job.seed, created=created, seconds=seconds, files=files)
    for name, content in report_of_job(folder, described, manifests).items():
        write_private(folder / name, content)
    manifest = described.published()
    write_private(folder / MANIFEST, json_bytes(manifest))
    return manifest
