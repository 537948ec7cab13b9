"""The folder of a job as it stands on disk: its parts, each a release folder, its manifest and its report."""

from pathlib import Path
from typing import Any

from cloister.errors import CloisterError
from cloister.io import sha256
from cloister.release import is_internal
from cloister.release_folder import FIGURES, MANIFEST, REPORT, any_manifest, is_release
from cloister.results import Manifest

JOB = "job"
"""The shape of a manifest that is of several parts."""


def is_job(manifest: Manifest) -> bool:
    """Whether a manifest says that it is of a job."""
    return manifest.get("shape") == JOB


def part_names(manifest: Manifest) -> list[str]:
    """Return the names of the parts that a manifest lists; none where it lists something else."""
    parts = manifest.get("parts")
    if not isinstance(parts, list):
        return []
    names: list[Any] = [part.get("name") if isinstance(part, dict) else None for part in parts]
    right = all(isinstance(name, str) and name and Path(name).name == name and name != ".." for name in names)
    return names if right and len(set(names)) == len(names) else []


def is_job_release(folder: Path) -> bool:
    """Whether a folder is the release of a job and holds nothing else."""
    try:
        manifest = any_manifest(folder)
    except CloisterError:
        return False
    names = part_names(manifest)
    if not is_job(manifest) or not names:
        return False
    there = {entry.name for entry in folder.iterdir()}
    parts = there & {*names}
    own = [folder / name for name in there - parts]
    return (
        there <= {MANIFEST, REPORT, FIGURES, *names}
        and all(is_release(folder / name) for name in parts)
        and all(path.is_file() and not path.is_symlink() for path in own)
    )


def is_internal_of_job(folder: Path) -> bool:
    """Whether a folder holds what a job wrote for the custodian alone, and nothing else."""
    entries = list(folder.iterdir())
    return bool(entries) and all(entry.is_dir() and not entry.is_symlink() and is_internal(entry) for entry in entries)


def files_of_parts(folder: Path, names: list[str]) -> dict[str, str]:
    """Return the hash of every file of every part, by its path inside the folder."""
    files = sorted(path for name in names for path in (folder / name).iterdir() if path.is_file())
    return {path.relative_to(folder).as_posix(): f"sha256:{sha256(path)}" for path in files}
