"""The one decorator of all kernels: what is cached, and where, is decided here."""

import hashlib
import os
import stat
from pathlib import Path


def _private(folder: Path) -> bool:
    """Whether the folder is this user's alone, so that nobody else can plant a cached kernel (they are pickles)."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077 and os.access(folder, os.W_OK)


def _edition() -> str:
    """A name for the kernels as they are now.

    Numba compiles a kernel anew when its own file changed, but not when a kernel of another file did that it calls.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return f"edition-{digest.hexdigest()[:12]}"


def _choose_cache() -> bool:
    """Point Numba to a private cache folder; False where there is none and kernels are compiled anew each time."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(home) / "cloister" / "kernels")
    if folder.name.startswith("edition-"):  # as a process above this one chose it
        folder = folder.parent
    own = folder / _edition()
    if not _private(folder) or not _private(own):
        return False
    os.environ["NUMBA_CACHE_DIR"] = str(own)
    return True


CACHED = _choose_cache()


def is_compiled(kernel: str) -> bool:
    """Whether an earlier process left this kernel compiled, as ``module.function``; it may have to be compiled anew."""
    return CACHED and any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob(f"{kernel}-*.nbi"))


import numba  # noqa: E402  (the cache folder must be known before)

jit = numba.njit(cache=CACHED, nogil=True, fastmath=False)
"""No fast-math: counts are integers and a loss must not depend on the processor. No GIL: kernels run side by side."""
