"""The content of the application's folder; nothing outside it, whatever links or names point there."""

import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cloister.errors import InputError

MANIFEST, EXPLORATION = "release.json", "exploration.json"
"""As `cloister.release.folder` and `cloister.exploration.running` call them, whose dataframes take a second to load."""

TABLES = (
    ".csv",
    ".tsv",
    ".txt",
    ".parquet",
    ".xlsx",
    ".xls",
    ".ods",
    ".dta",
    ".sav",
    ".zsav",
    ".por",
    ".sas7bdat",
    ".xpt",
)
COLLECTIONS = (".zip", ".ndjson")
""".zip and NDJSON are collections of files, which a profile reads."""

DEPTH, MOST = 4, 2_000
"""Of folders that are looked into, and of files that are listed."""

LONGEST_JOB = 2**20
HIERARCHY, HIERARCHIES = "_hierarchy_", "hierarchies"
"""In the names of hierarchy files next to their data; and the folder of files that the application writes."""


@dataclass(frozen=True)
class FoundRelease:
    """A release: its path, and its shape, or number of parts, and date as stated in its manifest."""

    place: str
    shape: str
    created: str


@dataclass
class Contents:
    """The content of the folder by kind, as relative paths."""

    data: list[tuple[str, int]] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    releases: list[FoundRelease] = field(default_factory=list)
    explorations: list[str] = field(default_factory=list)
    is_whole: bool = True


@dataclass(frozen=True)
class Folder:
    """The opened folder; ``path`` is resolved, without links."""

    path: Path

    def inside(self, place: str) -> Path:
        """Return a path inside the folder; refuse hidden parts and paths that leave the folder."""
        problem = InputError("There is no such place in this folder. Go back to the start.")
        parts = () if "\0" in place else Path(place).parts
        if not parts or os.path.isabs(place) or any(part.startswith(".") for part in parts):
            raise problem
        path = self.path / place
        if not path.resolve().is_relative_to(self.path):
            raise problem
        return path

    def existing(self, place: str) -> Path:
        """Return the path of an existing file or folder inside the folder."""
        path = self.inside(place)
        if not path.exists():
            raise InputError(f"{path.name} is not there any more. Go back to the start.", file=path.name)
        return path

    def place(self, path: Path) -> str:
        """Return a path relative to the folder."""
        return path.relative_to(self.path).as_posix()

    def look(self) -> Contents:
        """List the folder: data files, jobs, releases and explorations."""
        found = Contents()
        for path in self._files(self.path, found):
            place = self.place(path)
            if path.name == MANIFEST:
                found.releases.append(_release(path, place.removesuffix(f"/{MANIFEST}")))
            elif path.name == EXPLORATION:
                found.explorations.append(place.removesuffix(f"/{EXPLORATION}"))
            elif path.suffix == ".toml" and is_job(path):
                found.jobs.append(place)
            elif HIERARCHY in path.name or path.parent.name == HIERARCHIES:
                continue
            elif path.name.lower().removesuffix(".gz").endswith((*TABLES, *COLLECTIONS)):
                found.data.append((place, path.stat().st_size))
        return found

    def _files(self, folder: Path, found: Contents, depth: int = 0) -> Iterator[Path]:
        """Files beneath a folder, no links and nothing hidden; of a release or an exploration its manifest alone."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: (entry.is_dir(follow_symlinks=False), entry.name))
        except OSError:
            return
        entries = [entry for entry in entries if not entry.name.startswith(".") and not entry.is_symlink()]
        whole = next((entry for entry in entries if entry.name in (MANIFEST, EXPLORATION) and entry.is_file()), None)
        if whole is not None:
            if folder != self.path:
                yield Path(whole.path)
            return
        for number, entry in enumerate(entries):
            if number >= MOST:
                found.is_whole = False
                return
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
            elif depth < DEPTH:
                yield from self._files(Path(entry.path), found, depth + 1)


def is_job(path: Path) -> bool:
    """Whether a file is a job, even an invalid one."""
    try:
        return path.stat().st_size <= LONGEST_JOB and "protect" in tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False


def _release(path: Path, place: str) -> FoundRelease:
    try:
        content = json.loads(path.read_bytes())
        parts = content.get("parts", [content])  # of a job
        shape = str(parts[0]["shape"]) if len(parts) == 1 else f"job of {len(parts)} parts"
        return FoundRelease(place, shape, str(content["created"])[:10])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return FoundRelease(place, "unreadable", "")
