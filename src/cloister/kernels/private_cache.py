"""The cache of compiled kernels and templates between commands: a folder that only the user can write to."""

import os
import stat
import sys
from hashlib import sha256
from pathlib import Path


def _is_private(folder: Path) -> bool:
    """Whether the folder is this user's alone, so that nobody else can plant what is loaded from it and runs."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077 and os.access(folder, os.W_OK)


def cache_folder(kind: str, sources: Path) -> Path | None:
    """Return the cache folder for a kind of file; None if no folder is private.

    The folder follows from the interpreter, not from who calls it: what ``make`` compiled, the command finds compiled.
    In a virtual environment it is removed with it. It is named after the folder of the sources, since an environment
    can serve several.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [Path(home) / "cloister" / kind]
    if sys.prefix != sys.base_prefix:
        places.insert(0, Path(sys.prefix) / "cache" / kind)
    asked = os.environ.get("NUMBA_CACHE_DIR")
    if asked and kind == "kernels":
        places = [Path(asked)]
    for place in places:
        folder = place / f"sources-{sha256(str(sources).encode()).hexdigest()[:12]}"
        if _is_private(place) and _is_private(folder):
            return folder
    return None
