"""A folder that a user says is a release."""

import os
from pathlib import Path

from cloister.cli.places import tidy_beside
from cloister.errors import InputError
from cloister.release_folder import read_manifest
from cloister.results import Manifest


def release_at(folder: Path) -> Manifest:
    """Return the manifest of a release folder; what killed runs left beside it is removed before.

    Raises
    ------
    InputError
        There is no such folder, or it is not a release.
    """
    tidy_beside(folder)
    if not os.path.isdir(folder):
        raise InputError(f"There is no folder {folder.name}.", file=folder.name)
    return read_manifest(folder)
