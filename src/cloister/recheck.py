"""Any release folder, checked again from its files: `verify_folder`. Loads neither the search nor the kernels."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloister.claims.data import Claims
from cloister.claims.plan import ClaimsPlan
from cloister.claims.recheck import ClaimsOriginal, recheck_claims
from cloister.codesets.disassociation.recheck import recheck_codes
from cloister.codesets.expectation import CodesExpectation, CodesOriginal
from cloister.codesets.generalization.data import Method, VisitsFile
from cloister.codesets.generalization.recheck import recheck_generalized
from cloister.codesets.request import read_given
from cloister.errors import GuaranteeViolation, InputError
from cloister.hierarchy import Hierarchy
from cloister.io import CodeColumns, EventColumns, from_native, read_table
from cloister.jobs.folder import is_job
from cloister.jobs.recheck import recheck_job
from cloister.manifest_head import head_failures
from cloister.privacy import KAnonymity
from cloister.release_folder import WITH_CODES, delimiter_told, read_manifest
from cloister.results import Manifest, Verdict
from cloister.table_with_codes.recheck import recheck_with_codes
from cloister.tabular.recheck import Expectation, recheck
from cloister.trajectories.recheck import TrajectoriesOriginal, recheck_trajectories
from cloister.trajectories.request import read_given as read_trajectories


def verify_folder(
    folder: str | Path,
    *,
    original: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    populations: Mapping[str, Any] | None = None,
    k: int | None = None,
    quasi_identifiers: Sequence[str] = (),
    m: int | None = None,
    crosswalk: str | Path | None = None,
    missing: Sequence[str] = (),
    privacy: Any = None,
    policy: Any = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    visit: str | None = None,
    side: str | Path | None = None,
    plan: str | Path | None = None,
) -> Verdict:
    """Return the verdict on a release folder, from its files alone or compared with the original.

    Parameters
    ----------
    folder : a release, or the release of a job, whose parts are all checked
    original : what it was made from: a dataframe; of code sets and trajectories, the file; of claims, the files of
        patients and of claims
    hierarchies : by column (of trajectories ``code`` and ``age``), those that came from files; needed with ``original``
        and ``populations``
    populations : dataframes of the population tables that rules compare with, by the name that the rules call them
    k, quasi_identifiers : what the recipient expects, whatever the manifest says; k is at least 2
    m : of code sets and tables with codes, how many codes the recipient expects to be safe to know
    crosswalk : of code sets and trajectories, the secret map that was written with the release; needed with
        ``original`` of chunks
    missing : of all but tables without codes, texts of the original that stand for a missing value
    privacy, policy : of generalized code sets, the policies that the release names, which are not in it: as objects,
        or in words
    visit : of a privacy policy that is a file of visits, the column that tells them apart
    encoding, delimiter : of code sets and trajectories, of the original and of a file of visits, where what is
        detected is not right; a delimiter that cannot be detected is that of the release
    plan : of claims, the plan that the release was made by; needed with ``original``
    side : of trajectories, the file of what rides along; needed with ``original`` where the release has such columns

    Raises
    ------
    InputError
        The folder is not a release that this version can check.
    GuaranteeViolation
        It does not hold; says what failed, in counts.
    """
    place = Path(folder)
    if not os.path.isdir(place):
        raise InputError(f"There is no folder {place.name}.", file=place.name)
    manifest = read_manifest(place)
    if is_job(manifest):
        told = (k, m, crosswalk, privacy, policy, visit, side, plan, encoding, delimiter, original)
        if any(word is not None for word in told) or hierarchies or populations or quasi_identifiers or missing:
            raise InputError(
                f"{place.name} is of a job, and is checked as a whole. Compare or expect something of a part: "
                f"{place.name}/PART."
            )
        return _whole(place, recheck_job(place, manifest, verify_folder))
    if m is not None and m < 1:
        raise InputError(f"m is {m}, but somebody who knows no code needs no promise: expect 1 or more.")
    if manifest.get("shape") == "codes":
        visits = VisitsFile(
            visit, **_code_columns(manifest), encoding=encoding, delimiter=delimiter, missing=(*missing,)
        )
        expected = CodesExpectation(None if k is None else KAnonymity(k).k, m, privacy, policy, visits)
        given = _original_codes(manifest, original, crosswalk, missing, encoding, delimiter)
        return _held(place, manifest, _recheck_codes(place, manifest, expected, given))
    if manifest.get("shape") == "trajectories":
        asked = None if k is None else KAnonymity(k).k
        words = _Words(missing, encoding, delimiter)
        known = _original_trajectories(manifest, original, crosswalk, side, hierarchies or {}, words)
        return _held(place, manifest, recheck_trajectories(place, manifest, asked, known))
    if manifest.get("shape") == "claims":
        asked = None if k is None else KAnonymity(k).k
        both = _original_claims(original, plan, crosswalk, _Words(missing, encoding, delimiter))
        return _held(place, manifest, recheck_claims(place, manifest, asked, both))
    if manifest.get("shape") != "table":
        raise InputError(
            f"{place.name} is not a release of a shape that this version can check: table, codes, trajectories, claims."
        )
    frame = None if original is None else from_native(original).frame
    expectation = Expectation(None if k is None else KAnonymity(k).k, tuple(quasi_identifiers))
    people = {name: from_native(table).frame for name, table in (populations or {}).items()}
    if WITH_CODES in manifest:
        return _held(
            place, manifest, recheck_with_codes(place, manifest, expectation, m, frame, hierarchies, people, missing)
        )
    return _held(place, manifest, recheck(place, manifest, expectation, frame, hierarchies, people))


def _recheck_codes(
    place: Path, manifest: Manifest, expected: CodesExpectation, original: CodesOriginal | None
) -> Verdict:
    """Check code sets by the method that the manifest names."""
    if manifest.get("method") in tuple(Method):
        return recheck_generalized(place, manifest, expected, original)
    if expected.privacy is not None or expected.policy is not None:
        raise InputError("Policies are for releases of generalized code sets. Leave them out.")
    return recheck_codes(place, manifest, expected, original)


def _whole(place: Path, verdict: Verdict) -> Verdict:
    if not verdict.holds:
        raise GuaranteeViolation(f"{place.name} does not hold: {'; '.join(verdict.failures)}.")
    return verdict


def _held(place: Path, manifest: Manifest, verdict: Verdict) -> Verdict:
    failures = [*verdict.failures, *head_failures(manifest)]
    if failures or not verdict.holds:
        raise GuaranteeViolation(f"{place.name} does not hold: {'; '.join(failures)}.")
    return verdict


def _code_columns(manifest: Manifest) -> dict[str, str]:
    """The columns of codes that a manifest names."""
    settings = manifest.get("settings")
    named = settings.get("input_columns") if isinstance(settings, dict) else None
    columns = named if isinstance(named, dict) else {}
    return {role: columns[role] for role in ("codes", "code") if isinstance(columns.get(role), str)}


def _original_codes(
    manifest: Manifest,
    original: Any,
    crosswalk: str | Path | None,
    missing: Sequence[str],
    encoding: str | None,
    delimiter: str | None,
) -> CodesOriginal | None:
    """Read what a release of code sets was made from, as it was read then."""
    if original is None:
        return None
    if not isinstance(original, str | Path):
        raise InputError("The original of code sets is given as the file that they were read from.")
    settings = manifest.get("settings")
    asked = settings if isinstance(settings, dict) else {}
    named = asked.get("input_columns")
    columns = CodeColumns(**named) if isinstance(named, dict) and named.keys() == {"id", "codes", "code"} else None
    given = read_given(
        original,
        columns or CodeColumns(),
        repeats=asked.get("repeats") is True,
        drop_empty=asked.get("drop_empty") is True,
        encoding=encoding,
        delimiter=delimiter,
        missing=tuple(missing),
        usual_delimiter=delimiter_told(manifest),
    )
    return CodesOriginal(given, None if crosswalk is None else read_table(crosswalk).frame)


@dataclass(frozen=True)
class _Words:
    """How the original is to be read."""

    missing: Sequence[str]
    encoding: str | None
    delimiter: str | None


def _original_trajectories(
    manifest: Manifest,
    original: Any,
    crosswalk: str | Path | None,
    side: str | Path | None,
    hierarchies: Mapping[str, Hierarchy],
    words: _Words,
) -> TrajectoriesOriginal | None:
    """Read what a release of trajectories was made from, as it was read then."""
    if original is None:
        return None
    if not isinstance(original, str | Path):
        raise InputError("The original of trajectories is given as the file that they were read from.")
    given = read_trajectories(
        original,
        _event_columns(manifest),
        side,
        encoding=words.encoding,
        delimiter=words.delimiter,
        missing=tuple(words.missing),
        usual_delimiter=delimiter_told(manifest),
    )
    secret = None if crosswalk is None else read_table(crosswalk).frame
    return TrajectoriesOriginal(given, secret, hierarchies.get("code"), hierarchies.get("age"))


def _original_claims(
    original: Any, plan: str | Path | None, crosswalk: str | Path | None, words: _Words
) -> ClaimsOriginal | None:
    """Read what a release of claims was made from, as it was read then."""
    if original is None:
        return None
    files = original if isinstance(original, list | tuple) else ()
    if len(files) != 2 or not all(isinstance(file, str | Path) for file in files):
        raise InputError("The original of claims is given as two files, that of patients and that of claims.")
    if plan is None:
        raise InputError("To compare claims with their original, the plan that they were released by is needed.")
    claims = Claims.read(
        files[0],
        files[1],
        ClaimsPlan.read(plan),
        encoding=words.encoding,
        delimiter=words.delimiter,
        missing=words.missing,
    )
    return ClaimsOriginal(claims, None if crosswalk is None else read_table(crosswalk).frame)


def _event_columns(manifest: Manifest) -> EventColumns:
    """The columns that a manifest says were read; the usual ones where it says nothing that can be used."""
    settings = manifest.get("settings")
    asked = settings if isinstance(settings, dict) else {}
    named, unit = asked.get("input_columns"), asked.get("age_unit")
    if not isinstance(named, dict) or named.keys() != {"id", "code", "age", "date", "anchor"}:
        return EventColumns()
    if not all(name is None or isinstance(name, str) for name in named.values()):
        return EventColumns()
    return EventColumns(**named, unit="days" if unit == "days" else "years")
