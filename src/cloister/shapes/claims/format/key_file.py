"""The secret key of keyed hashes, in a file that only its owner may read.

References
----------
Krawczyk, Bellare, Canetti (1997), RFC 2104 (HMAC).
"""

import stat
from pathlib import Path

from cloister.errors import InputError
from cloister.io.csv import load_bytes
from cloister.release.folder import release_around

SHORTEST_KEY = 32


def read_key(path: Path) -> bytes:
    """Return the key; reject a key that is short, that others may read, or that is in a release."""
    key = load_bytes(path)
    if (around := release_around(path)) is not None:
        raise InputError(f"The key file {path.name} is in the release {around.name}. Move it away.", file=path.name)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"The key file {path.name} may be read by others. Make it private: chmod 600.", file=path.name)
    if len(key) < SHORTEST_KEY:
        raise InputError(f"The key in {path.name} has {len(key)} bytes; {SHORTEST_KEY} are needed.", file=path.name)
    return key
