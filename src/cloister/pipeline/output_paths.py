"""Output paths of a run, and the origin of the data for the custodian: common to all shapes."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from cloister.errors import InputError, Message, setting
from cloister.io import Query, is_taken, remove_dead_partials, sha256
from cloister.release.folder import read_manifest
from cloister.release.release import check_apart
from cloister.results import Manifest
from cloister.shapes.protocol import SILENCE, ProgressListener
from cloister.sources import parse_profile

DATA = "data"
"""The name of the only file of the data."""

IN_MEMORY = setting("engine", "memory")
WORKLOAD_NOTE = Message(
    "only the custodian gets the errors of a workload, in the folder that ", setting("custodian_dir"), " names"
)


def remove_remains(place: Path, voice: ProgressListener) -> None:
    """Remove the remains of interrupted runs next to a path; note them, and tables that may remain in a database."""
    for name, tables in remove_dead_partials(Path(os.path.abspath(place)).parent, with_tables=True).items():
        voice.note(f"Note: removed {name}, which an interrupted run left.", always=True)
        for table in tables:
            voice.note(
                f"Note: that run may have left the protected table {table} in its database. No report tells of it: "
                "remove it there.",
                always=True,
            )


def check_places(
    voice: ProgressListener,
    out: Path,
    *,
    overwrite: bool,
    custodian_dir: Path | None = None,
    crosswalk: Path | None = None,
    values: Path | None = None,
) -> None:
    """Reject output paths that would fail at the end: paths that exist, overlap, or have no parent folder."""
    places = [place for place in (out, custodian_dir, crosswalk, values) if place is not None]
    for place in places:
        remove_remains(place, voice)
    existing = [place for place in places if is_taken(place)]
    if out in existing and not overwrite:
        raise InputError(
            f"{out.name or out} exists already. Give another name, or ", setting("overwrite"), " to replace a release."
        )
    check_apart(out, custodian_dir, crosswalk, values)
    for place in places:
        if not os.path.isdir(place.absolute().parent):
            raise InputError(f"The folder around {place.name} does not exist. Make it first.", file=place.name)


def describe_origin(origin: Mapping[str, Path | Query], custodian_dir: Path | None) -> dict[str, object]:
    """Return the origin of the data and their hashes, for the custodian only; empty without a custodian folder.

    ``origin``: by the name of each file; one called `DATA` is alone
    """
    found: dict[str, object] = {}
    for name, data in origin.items() if custodian_dir is not None else ():
        found |= _origin_of(data) if name == DATA else {name: _origin_of(data)}
    return found


def _origin_of(data: Path | Query) -> dict[str, object]:
    if isinstance(data, Query):
        return {"query": data.query}
    collection = parse_profile(data)
    if collection is None:
        path = str(data.resolve())
        return {"path": path} if data.is_dir() else {"path": path, "sha256": sha256(data)}  # a folder has no hash
    files = collection.files()
    digests = [sha256(file) for file in files]
    together = "".join(f"{file.name} {digest}\n" for file, digest in zip(files, digests, strict=True))
    whole = digests[0] if len(files) == 1 else hashlib.sha256(os.fsencode(together)).hexdigest()
    return {"path": collection.at(Path.resolve), "sha256": whole}


def release_at(folder: Path, voice: ProgressListener = SILENCE) -> Manifest:
    """Return the manifest of a release folder, after removing the remains of interrupted runs next to it."""
    remove_remains(folder, voice)
    return read_manifest(folder)
