"""What became of a release that is replaced: whether the data changed, which the two releases together would show.

No hash of the input stands in a release. But the same data and settings give the same bytes, so that data files that
differ under the same settings, by the same version, tell that the data changed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloister.errors import CloisterError
from cloister.release_folder import CODEBOOK, is_of_this_version, read_manifest, same
from cloister.results import Manifest

from .folder import is_job, part_names

LIMIT = "whoever has both releases can compare them (see known limits)"


def earlier_parts(folder: Path) -> dict[str, Manifest]:
    """Return the manifests of the parts of a release that is there, by name; none where there is none to read."""
    try:
        manifest = read_manifest(folder)
        if not is_job(manifest):
            return {}
        return {name: read_manifest(folder / name) for name in part_names(manifest)}
    except (CloisterError, OSError):
        return {}


def what_changed(earlier: Mapping[str, Manifest], now: Mapping[str, Manifest]) -> list[str]:
    """Return notes on parts that differ from those of the release that is replaced."""
    notes = []
    for name in (name for name in now if name in earlier):
        before, after = earlier[name], now[name]
        if _data(before) == _data(after):
            continue
        if _records(before) != _records(after) or (is_of_this_version(before) and _same_settings(before, after)):
            notes.append(f"the data of {name} changed since the release that was replaced: {LIMIT}")
        else:
            notes.append(f"{name} differs from the release that was replaced, by its settings or by its data: {LIMIT}")
    return notes


def _data(manifest: Manifest) -> dict[str, Any]:
    """Hashes of the files with patients."""
    return {name: digest for name, digest in manifest["files"].items() if name != CODEBOOK}


def _records(manifest: Manifest) -> Any:
    records = manifest.get("records")
    return records.get("in") if isinstance(records, dict) else None


def _same_settings(before: Manifest, after: Manifest) -> bool:
    told = ("method", "seed", "settings")
    return all(name in before and same(before[name], after[name]) for name in told)
