"""The files in a folder or an archive, or one file: their names, and how their bytes are had."""

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from cloister.errors import InputError
from cloister.io.foreign import call_foreign
from cloister.io.text import load_bytes

TABLE = re.compile(r"(.+?)\.(?:csv|csv\.gz|tsv|tsv\.gz|txt|parquet|pq)", re.IGNORECASE | re.DOTALL)
_ZIP = b"PK\x03\x04"
ENCRYPTED = 1
"""The flag of a file in an archive that is encrypted."""


@dataclass(frozen=True)
class Member:
    """A file of a collection.

    Attributes
    ----------
    name : without folders
    load : returns its bytes
    """

    name: str
    load: Callable[[], bytes] = field(repr=False)

    @property
    def stem(self) -> str | None:
        """Its name without what says that it is a table, in small letters; None where it is none."""
        found = TABLE.fullmatch(self.name)
        return found[1].lower() if found else None


def members_at(path: Path, name: str) -> tuple[Member, ...]:
    """The files of a folder or archive, or that file alone, by name; archives in a folder are looked into.

    Raises
    ------
    InputError
        There is no such place, it may not be read, or it is no whole archive.
    """
    if not path.exists():
        raise InputError(f"There is no file or folder {name}.", file=name)
    if path.is_dir():
        own = [file for file in _listed(path, name) if not file.name.startswith(".")]
        found = [member for file in own for member in _members_at(file)]
    else:
        found = _members_at(path)
    return tuple(sorted(found, key=lambda member: member.name))


def _listed(path: Path, name: str) -> list[Path]:
    try:
        return sorted(file for file in path.iterdir() if file.is_file())
    except OSError:
        raise InputError(f"The folder {name} may not be read: ask its owner for permission.", file=name) from None


def _members_at(path: Path) -> list[Member]:
    """The file ``path``; if it is an archive, the files in it, of which the folders do not count."""
    if not _is_archive(path):
        return [Member(path.name, lambda: load_bytes(path))]
    refusal = InputError(f"{path.name} is not a whole zip archive: copy it again.", file=path.name)
    archive = call_foreign(lambda: zipfile.ZipFile(io.BytesIO(load_bytes(path))), refusal)
    entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
    if any(entry.flag_bits & ENCRYPTED for entry in entries):
        raise InputError(
            f"{path.name} is an encrypted zip archive. Unpack it with its password, and name the folder.",
            file=path.name,
        )
    names = [entry.filename for entry in entries]
    return [Member(PurePosixPath(name).name, partial(_unzipped, archive, name, refusal)) for name in names]


def _is_hidden(entry: str) -> bool:
    """Whether a file of an archive was put there by an operating system."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(entry).parts)


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ZIP)) == _ZIP
    except OSError:
        return False  # the reader says what is wrong


def _unzipped(archive: zipfile.ZipFile, entry: str, refusal: InputError) -> bytes:
    return call_foreign(lambda: archive.read(entry), refusal)
