"""``omop:cdm.zip``: where data are, with how files of that kind are taken together."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cloister.errors import InputError, did_you_mean
from cloister.io.disk import shown_name

NAMES = ("omop", "fhir", "synthea", "synpuf")
"""Words before the colon; `profiles.PROFILES` has one for each."""

WRITTEN = re.compile(r"([A-Za-z][A-Za-z0-9_-]+):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Profiled:
    """A collection of files, and the profile that it is read by.

    Attributes
    ----------
    profile : one of `NAMES`
    path : a folder, a zip archive or a file
    """

    profile: str
    path: Path

    @property
    def name(self) -> str:
        """The name of the collection, without its folder."""
        return shown_name(Path(os.path.abspath(self.path)))

    def at(self, moved: Callable[[Path], Path]) -> str:
        """The same as it is written, the path as ``moved`` returns it."""
        return f"{self.profile}:{moved(self.path).as_posix()}"

    def files(self) -> tuple[Path, ...]:
        """The files of the collection, by name."""
        if not self.path.is_dir():
            return (self.path,)
        return tuple(sorted(file for file in self.path.iterdir() if file.is_file() and not file.name.startswith(".")))


def profiled(place: object) -> Profiled | None:
    """What ``PROFILE:PATH`` says; None where it is the name of a file, or of something else.

    Raises
    ------
    InputError
        No profile has that name, but the path is there.

    Examples
    --------
    >>> profiled("omop:cdm.zip")
    Profiled(profile='omop', path=PosixPath('cdm.zip'))
    >>> profiled("cdm.csv") is None
    True
    """
    found = WRITTEN.fullmatch(str(place)) if isinstance(place, str | Path) else None
    if found is None or _is_there(Path(str(place))):
        return None
    if found[1] in NAMES:
        return Profiled(found[1], Path(found[2]))
    if not _is_there(Path(found[2])):
        return None
    raise InputError(
        f"There is no profile {found[1]!r}.{did_you_mean(found[1], NAMES)} Profiles: {', '.join(NAMES)}; a file that "
        "needs none is named without one.",
        file=shown_name(Path(found[2])),
    )


def _is_there(path: Path) -> bool:
    """Whether there is a file or folder of that name; not where the system takes no such name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
