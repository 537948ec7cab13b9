"""A file, a query or a collection of files -> the input of a shape. ``omop:cdm.zip`` names a collection."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloister.errors import InputError, did_you_mean
from cloister.io import CodeColumns, CodeSource, EventColumns, EventSource, Source, code_events, code_lists
from cloister.io import read_code_events as events_in_file
from cloister.io import read_code_lists as lists_in_file
from cloister.io import read_table as table_in_file
from cloister.io.disk import shown_name

from . import fhir, omop, synpuf, synthea
from .files import CollectionReading, Files
from .forms import Form, made
from .records import Profile

PROFILES: Mapping[str, Profile] = {
    "omop": omop.PROFILE,
    "fhir": fhir.PROFILE,
    "synthea": synthea.PROFILE,
    "synpuf": synpuf.PROFILE,
}

NAMES = tuple(PROFILES)
"""Words before the colon."""

WRITTEN = re.compile(r"([A-Za-z][A-Za-z0-9_-]+):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Profiled:
    """A collection of files, and the profile that it is read by."""

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


def read_table(
    place: Any,
    form: Form = "table",
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    usual_delimiter: str | None = None,
) -> Source:
    """The table in a file, or the one that a profile makes of a collection of files.

    Parameters
    ----------
    place : as of `cloister.io.read_table`, or ``PROFILE:PATH``
    """
    collection = profiled(place)
    if collection is not None:
        files = Files.at(collection.path, collection.name, CollectionReading(encoding, delimiter, tuple(missing)))
        found = made(PROFILES[collection.profile], files, form)
        return Source(found.frame, "csv", ",", None, collection.name, found.notes)
    return table_in_file(
        place, encoding=encoding, delimiter=delimiter, missing=missing, usual_delimiter=usual_delimiter
    )


def read_claim_tables(patients: Any, claims: Any, **words: Any) -> tuple[Source, Source]:
    """The tables of patients and of their claims, from two files or from one collection named twice."""
    return read_table(patients, "patients", **words), read_table(claims, "claims", **words)


def form_of(shape: str) -> Form:
    """What a profile is to make for a shape that is read from one table."""
    forms: dict[str, Form] = {"codes": "codes", "trajectories": "trajectories"}
    return forms.get(shape, "table")


def read_code_lists(place: Any, *, columns: CodeColumns | None = None, **words: Any) -> CodeSource:
    """The codes in a file, or those that a profile finds in a collection of files."""
    if profiled(place) is None:
        return lists_in_file(place, columns=columns, **words)
    return code_lists(read_table(place, "codes", **words), columns or CodeColumns(), words.get("missing", ()))


def read_code_events(
    place: Any, *, columns: EventColumns | None = None, labels: bool = False, **words: Any
) -> EventSource:
    """The coded events in a file, or those that a profile finds in a collection of files."""
    if profiled(place) is None:
        return events_in_file(place, columns=columns, labels=labels, **words)
    return code_events(read_table(place, "trajectories", **words), columns or EventColumns(), labels=labels)
