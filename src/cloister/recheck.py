"""Any release folder, checked again from its files: `verify_folder`. Loads neither the search nor the kernels."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from cloister.claims.recheck import recheck_claims
from cloister.codesets.disassociation.recheck import recheck_codes
from cloister.codesets.generalization.data import GeneralizationMethod
from cloister.codesets.generalization.recheck import recheck_generalized
from cloister.codesets.request import CodesExpectation, CodesOriginal, VisitsFile
from cloister.errors import GuaranteeViolation, InputError
from cloister.hierarchy import Hierarchy
from cloister.io import from_native, is_tally
from cloister.jobs.manifest import is_job
from cloister.jobs.recheck import recheck_job
from cloister.originals import ReadingWords, code_columns, original_claims, original_codes, original_trajectories
from cloister.privacy import KAnonymity
from cloister.release_folder import TABLE, WITH_CODES, read_manifest
from cloister.released_in_database import released_in
from cloister.results import Manifest, Verdict
from cloister.table_with_codes.recheck import recheck_with_codes
from cloister.tabular.recheck import Expectation, TableOriginal, recheck_table
from cloister.trajectories.recheck import recheck_trajectories


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
    attributes: str | Path | None = None,
    plan: str | Path | None = None,
    database: str | None = None,
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
    attributes : of trajectories, the file of auxiliary attributes; needed with ``original`` if the release has some
    database : of a table that was protected inside a database, the address of that, without a password

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
        told = (k, m, crosswalk, privacy, policy, visit, attributes, plan, encoding, delimiter, original)
        if any(word is not None for word in told) or hierarchies or populations or quasi_identifiers or missing:
            raise InputError(
                f"{place.name} is of a job, and is checked as a whole. Compare or expect something of a part: "
                f"{place.name}/PART."
            )
        return _whole(place, recheck_job(place, manifest, partial(_part, database=database)))
    if m is not None and m < 1:
        raise InputError(f"m is {m}, but somebody who knows no code needs no promise: expect 1 or more.")
    if manifest.get("shape") == "codes":
        visits = VisitsFile(
            visit, **code_columns(manifest), encoding=encoding, delimiter=delimiter, missing=(*missing,)
        )
        expected = CodesExpectation(None if k is None else KAnonymity(k).k, m, privacy, policy, visits)
        given = original_codes(manifest, original, crosswalk, ReadingWords(missing, encoding, delimiter))
        return _whole(place, _recheck_codes(place, manifest, expected, given))
    if manifest.get("shape") == "trajectories":
        asked = None if k is None else KAnonymity(k).k
        words = ReadingWords(missing, encoding, delimiter)
        known = original_trajectories(manifest, original, crosswalk, attributes, hierarchies or {}, words)
        return _whole(place, recheck_trajectories(place, manifest, asked, known))
    if manifest.get("shape") == "claims":
        asked = None if k is None else KAnonymity(k).k
        both = original_claims(original, plan, crosswalk, ReadingWords(missing, encoding, delimiter))
        return _whole(place, recheck_claims(place, manifest, asked, both))
    if manifest.get("shape") != "table":
        raise InputError(
            f"{place.name} is not a release of a shape that this version can check: table, codes, trajectories, claims."
        )
    frame = None if original is None else _original_table(original)
    expectation = Expectation(None if k is None else KAnonymity(k).k, tuple(quasi_identifiers))
    people = {name: from_native(table).frame for name, table in (populations or {}).items()}
    given_table = TableOriginal(frame, hierarchies or {}, people)
    if WITH_CODES in manifest:
        return _whole(place, recheck_with_codes(place, manifest, expectation, m, given_table, missing))
    if database is not None and TABLE not in manifest:
        raise InputError(f"{place.name} holds its records itself. Leave out the address of a database.")
    counted = None if database is None else partial(released_in, database)
    return _whole(place, recheck_table(place, manifest, expectation, given_table, counted))


def _part(place: Path, database: str | None) -> Verdict:
    """The verdict on a part of a job, of which some may be in a database."""
    inside = TABLE in read_manifest(place)
    return verify_folder(place, database=database if inside else None)


def _original_table(original: Any) -> pl.DataFrame:
    """The original of a table, or its tally where it is too large to be held whole."""
    if isinstance(original, pl.DataFrame) and is_tally(original):
        return original
    return from_native(original).frame


def _recheck_codes(
    place: Path, manifest: Manifest, expected: CodesExpectation, original: CodesOriginal | None
) -> Verdict:
    """Check code sets by the method that the manifest names."""
    if manifest.get("method") in tuple(GeneralizationMethod):
        return recheck_generalized(place, manifest, expected, original)
    if expected.privacy is not None or expected.policy is not None:
        raise InputError("Policies are for releases of generalized code sets. Leave them out.")
    return recheck_codes(place, manifest, expected, original)


def _whole(place: Path, verdict: Verdict) -> Verdict:
    if not verdict.holds:
        raise GuaranteeViolation(f"{place.name} does not hold: {'; '.join(verdict.failures)}.")
    return verdict
