"""What became of a release that is replaced: whether the data changed, which the two releases together would show.

No hash of the input stands in a release. But the same data and settings give the same bytes, so that data files that
differ under the same settings, by the same version, tell that the data changed.
"""

from collections.abc import Mapping
from pathlib import Path

from cloister.errors import CloisterError
from cloister.manifests import outline_of
from cloister.release_folder import CODEBOOK, any_manifest, same
from cloister.results import Manifest

from .manifest import is_job, part_names

LIMIT = "whoever has both releases can compare them (see known limits)"


def earlier_parts(folder: Path) -> dict[str, Manifest]:
    """Return the manifests of the parts of a release that is there, by name; none where there is none to read."""
    try:
        manifest = any_manifest(folder)
        names = part_names(manifest) if is_job(manifest) else []
        return {name: any_manifest(folder / name) for name in names}
    except (CloisterError, OSError):
        return {}


def earlier_release(folder: Path) -> Manifest | None:
    """Return the manifest of a release of one part that is there; None where there is none to read."""
    try:
        manifest = any_manifest(folder)
    except (CloisterError, OSError):
        return None
    return None if is_job(manifest) else manifest


def what_changed(earlier: Mapping[str, Manifest], now: Mapping[str, Manifest]) -> list[str]:
    """Return notes on parts that differ from those of the release that is replaced."""
    both = [(earlier[name], now[name], name) for name in now if name in earlier]
    return [change for before, after, name in both for change in changes(before, after, name)]


def changes(before: Manifest, after: Manifest, name: str) -> list[str]:
    """Return a note on a release that differs from the one of the same kind that it replaces."""
    old, new = outline_of(before), outline_of(after)
    if not isinstance(old.files, dict):
        return []  # of another version, or by another hand
    hashes = [{file: digest for file, digest in one.hashes.items() if file != CODEBOOK} for one in (old, new)]
    if hashes[0] == hashes[1]:
        return []
    n_records = [one.records.get("in") if isinstance(one.records, dict) else None for one in (old, new)]
    alike = ("cloister", "method", "seed", "settings")
    if n_records[0] != n_records[1] or all(
        one in old.model_fields_set and same(getattr(old, one), getattr(new, one)) for one in alike
    ):
        return [f"the data of {name} changed since the release that was replaced: {LIMIT}"]
    return [f"{name} differs from the release that was replaced, by its settings or by its data: {LIMIT}"]
