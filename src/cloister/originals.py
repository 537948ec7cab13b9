"""What a release was made from, read again as it was read then. Loads neither the search nor the kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloister.claims.data import Claims
from cloister.claims.plan import ClaimsPlan
from cloister.claims.recheck import ClaimsOriginal
from cloister.codesets.request import CodesOriginal, read_given
from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import CodeColumns, EventColumns, read_table
from cloister.release_folder import delimiter_told
from cloister.results import Manifest
from cloister.trajectories.recheck import TrajectoriesOriginal
from cloister.trajectories.request import read_given as read_trajectories


@dataclass(frozen=True)
class ReadingWords:
    """How the original is to be read."""

    missing: Sequence[str] = ()
    encoding: str | None = None
    delimiter: str | None = None

    def named(self) -> dict[str, Any]:
        """Return the same as readers take it."""
        return {"missing": tuple(self.missing), "encoding": self.encoding, "delimiter": self.delimiter}


def _settings(manifest: Manifest) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings that a manifest states, and the columns that it says were read; empty where it says nothing."""
    settings = manifest.get("settings")
    asked = settings if isinstance(settings, dict) else {}
    columns = asked.get("input_columns")
    return asked, columns if isinstance(columns, dict) else {}


def code_columns(manifest: Manifest) -> dict[str, str]:
    """The columns of codes that a manifest names."""
    _, columns = _settings(manifest)
    return {role: columns[role] for role in ("codes", "code") if isinstance(columns.get(role), str)}


def original_codes(
    manifest: Manifest, original: Any, crosswalk: str | Path | None, words: ReadingWords
) -> CodesOriginal | None:
    """Read what a release of code sets was made from, as it was read then."""
    if original is None:
        return None
    if not isinstance(original, str | Path):
        raise InputError("The original of code sets is given as the file that they were read from.")
    asked, named = _settings(manifest)
    given = read_given(
        original,
        CodeColumns(**named) if named.keys() == {"id", "codes", "code"} else CodeColumns(),
        repeats=asked.get("repeats") is True,
        drop_empty=asked.get("drop_empty") is True,
        usual_delimiter=delimiter_told(manifest),
        **words.named(),
    )
    return CodesOriginal(given, None if crosswalk is None else read_table(crosswalk).frame)


def original_trajectories(
    manifest: Manifest,
    original: Any,
    crosswalk: str | Path | None,
    attributes: str | Path | None,
    hierarchies: Mapping[str, Hierarchy],
    words: ReadingWords,
) -> TrajectoriesOriginal | None:
    """Read what a release of trajectories was made from, as it was read then."""
    if original is None:
        return None
    if not isinstance(original, str | Path):
        raise InputError("The original of trajectories is given as the file that they were read from.")
    usual = delimiter_told(manifest)
    given = read_trajectories(original, _event_columns(manifest), attributes, usual_delimiter=usual, **words.named())
    secret = None if crosswalk is None else read_table(crosswalk).frame
    return TrajectoriesOriginal(given, secret, hierarchies.get("code"), hierarchies.get("age"))


def original_claims(
    original: Any, plan: str | Path | None, crosswalk: str | Path | None, words: ReadingWords
) -> ClaimsOriginal | None:
    """Read what a release of claims was made from, as it was read then."""
    if original is None:
        return None
    files = original if isinstance(original, list | tuple) else ()
    if len(files) != 2 or not all(isinstance(file, str | Path) for file in files):
        raise InputError("The original of claims is given as two files, that of patients and that of claims.")
    if plan is None:
        raise InputError("To compare claims with their original, the plan that they were released by is needed.")
    claims = Claims.read(files[0], files[1], ClaimsPlan.read(plan), **words.named())
    return ClaimsOriginal(claims, None if crosswalk is None else read_table(crosswalk).frame)


def _event_columns(manifest: Manifest) -> EventColumns:
    """The columns that a manifest says were read; the usual ones where it says nothing that can be used."""
    asked, named = _settings(manifest)
    if named.keys() != {"id", "code", "age", "date", "anchor"}:
        return EventColumns()
    if not all(name is None or isinstance(name, str) for name in named.values()):
        return EventColumns()
    return EventColumns(**named, unit="days" if asked.get("age_unit") == "days" else "years")
