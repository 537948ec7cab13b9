"""Verification of a release folder of claims, from its files only, or with the original, its plan and crosswalk."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io.batches import is_large, read_packed_frame
from cloister.release.folder import read_data
from cloister.release.masking import WITHHELD, below
from cloister.results import Caveat, Verdict
from cloister.settings.reading import how_read
from cloister.shapes.claims.format.data import PATIENT, Claims, early_steps
from cloister.shapes.claims.format.facts import SUPPRESSION, DerivedClaims, facts_of
from cloister.shapes.claims.format.manifest import ClaimsManifest, ClaimsPromise
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.claims.format.population import count_people, read_population, voter_list
from cloister.shapes.claims.format.released_columns import (
    IN_FILES,
    NUMBER,
    PATIENTS,
    QUASI,
    TRUNCATED,
    WrittenClaims,
    at_levels,
    plan_published,
)
from cloister.shapes.claims.format.representativeness import MOST_BANDS, PreprocessedClaims, compare_variables
from cloister.verification.driver import Checker, ReleaseUnderCheck, Request

from .original import PreparedOriginal
from .steps import repeat_steps
from .verify import verify

STEPS_AGAIN = "the steps before the search, repeated by SQL, give the stated results"
WORD_ONLY = Caveat(
    "the risk of values drawn from the original claims is the releaser's word: compare with the original"
)
BAND = re.compile(
    r"[\[(]?[0-9]{1,4}(?:-[0-9]{1,4}|\+)?[\])]?(?: (?:days?|weeks|months))?|week [0-9]{1,4}|[^\W\d_]{1,12}"
)
"""Names of bands: of ages, days, months, weeks; and a sex, which is a short word or a digit."""


@dataclass(frozen=True)
class ClaimsOriginal:
    """The custodian's data: patients and claims as read again, with the plan; the crosswalk if it is given."""

    claims: Claims
    crosswalk: pl.DataFrame | None = None


@dataclass(frozen=True)
class ComparedClaims:
    """The original after the steps before the search, in the form that the verifier uses."""

    n_patients: int  # as read
    prepared: PreprocessedClaims
    secret: PreparedOriginal


ReleaseFolder = ReleaseUnderCheck[ClaimsManifest, WrittenClaims, ComparedClaims]


class ClaimsChecker(Checker[ClaimsManifest, WrittenClaims, ComparedClaims]):
    """The checker of claims."""

    def read_files(self, folder: Path, manifest: ClaimsManifest) -> WrittenClaims:
        """Read the files of patients and of claims."""
        frames, delimiter = [], manifest.settings.delimiter
        for path in (folder / spec.name for spec in manifest.file_specs()):
            frames.append(read_packed_frame(path, delimiter) if is_large(path) else read_data(path, delimiter))
        return WrittenClaims.of_frames(frames[0], frames.pop())

    def read_original(self, request: Request, manifest: ClaimsManifest, files: WrittenClaims) -> ComparedClaims | None:
        """Read the custodian's data."""
        original = read_original(request)
        if original is None:
            return None
        return ComparedClaims(original.claims.n_patients, *_secret(original, manifest, files))

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the guarantee."""
        secret = None if release.original is None else release.original.secret
        verdict = verify(release.files, ClaimsPromise.of(release.manifest), secret, release.findings())
        more = WORD_ONLY if secret is None or secret.origin is None else STEPS_AGAIN
        return replace(verdict, checks=(*verdict.checks, more))

    def derive(self, release: ReleaseFolder) -> DerivedClaims:
        """Return the parts that follow from the files."""
        files, stated, plan = release.files, release.manifest, release.manifest.settings.plan
        return DerivedClaims(files, stated.columns, plan, stated.steps, facts_of(files, stated.columns, plan))

    def contradictions(self, release: ReleaseFolder) -> list[str]:
        """Check the releaser's statements against the files, and against the original."""
        stated, files, original = release.manifest, release.files, release.original
        failures = [f"{part} in release.json does not follow from the files" for part in _unfounded(stated, files)]
        if original is not None:
            wrong = _list_unconfirmed(stated, original, files)
            wrong += _list_wrong_counts(stated, files, original.secret)
            failures += [f"{part} in release.json is not what the original says" for part in wrong]
        return failures

    def unmet_expectations(self, release: ReleaseFolder) -> list[str]:
        """Check the expectations of the recipient."""
        k, promised = release.request.k, release.manifest.risk.k
        if k is None or k <= promised:
            return []
        return [f"as asked: classes from {promised} patients on are not flagged, but k = {k} was expected"]


def read_original(request: Request) -> ClaimsOriginal | None:
    """Return the original and its crosswalk; the original may already be in memory."""
    given, words = request.original, request.words
    if given is None:
        return None
    if not isinstance(given, Claims):
        files = given if isinstance(given, list | tuple) else ()
        if len(files) != 2 or not all(isinstance(file, str | Path) for file in files):
            raise InputError("The original of claims is given as two files, that of patients and that of claims.")
        if request.plan is None:
            raise InputError("To compare claims with their original, the plan that they were released by is needed.")
        given = Claims.read(files[0], files[1], ClaimsPlan.read(request.plan), **how_read(words))
    return ClaimsOriginal(given, request.secret())


def _unfounded(published: ClaimsManifest, files: WrittenClaims) -> list[str]:
    """List manifest entries that the released files rule out."""
    columns = [column for frame in (files.patients, files.claims) for column in frame.get_columns()]
    labels = {label for column in columns if column.n_unique() <= MOST_BANDS for label in column.unique().drop_nulls()}
    bands = {band for one in published.representativeness.variables.values() for band in one.shares}
    is_cut = bool((files.patients[TRUNCATED] == "1").any())
    voters = published.sensitivity.voter_list
    may_cut = published.choice.truncation != "none" or published.settings.plan.suppression.treatment == "claims"
    fits = {
        "representativeness": all(band in labels or BAND.fullmatch(band) for band in bands),
        "choice.truncation": may_cut or not is_cut,
        "sensitivity.voter_list": {*voters.columns} <= {*published.columns.names(PATIENTS, QUASI)}
        and (bool(voters.columns) or published.settings.plan.population.patients is None),
    }
    return [part for part, holds in fits.items() if not holds]


def _list_unconfirmed(published: ClaimsManifest, original: ComparedClaims, files: WrittenClaims) -> list[str]:
    """List statements about the preprocessing and the population that the original data do not confirm."""
    k, form, prepared = published.risk.k, published.columns, original.prepared
    counted_in_files = {step.step: step.counts for step in published.steps if step.step in IN_FILES}
    steps = early_steps(prepared.lines, counted_in_files, k)
    voters, population = published.sensitivity.voter_list, read_population(prepared.claims)
    if population is not None:
        voters = voter_list(count_people(population, prepared.claims, files.patients, form), k, is_population=True)
    same = {
        "steps": [*published.steps[: len(steps)]] == steps,
        "representativeness": published.representativeness == compare_variables(prepared, files, form, k),
        "records.in": published.records.in_ in ("withheld", original.n_patients),
        "sensitivity.voter_list": published.sensitivity.voter_list == voters,
    }
    return [part for part, holds in same.items() if not holds]


def _list_wrong_counts(published: ClaimsManifest, files: WrittenClaims, original: PreparedOriginal) -> list[str]:
    """List counts of suppressed patients or, with the crosswalk, of claims that differ from the number missing."""
    steps = {step.step: step for step in published.steps}
    counts, k = steps[SUPPRESSION].counts, published.risk.k
    data, origin = original
    n_gone = data.n_patients - files.patients.height
    # as it is or masked; what few patients have may be withheld
    is_right = counts.get("patients left out", 0) in (n_gone, below(k), WITHHELD)
    wrong = [] if is_right else ["patients left out"]
    if origin is not None:
        missing = int(np.isin(data.owners, origin).sum()) - files.claims.height
        parts = [steps["7 truncation"].total or 0, counts.get("claims left out", 0)]
        known = [one for one in parts if isinstance(one, int)]
        adds_up = sum(known) == missing if len(known) == len(parts) else sum(known) <= missing
        wrong += [] if adds_up else ["claims left out"]
    return wrong


def prepared_again(source: Claims, published: ClaimsManifest) -> PreprocessedClaims:
    """Return the original after the steps before the search, by the plan that the release names."""
    plan = replace(source.plan, risk=replace(source.plan.risk, seed=published.seed))
    fixed = at_levels(plan, published.columns, published.choice.truncation) or plan
    if published.settings.plan not in map(plan_published, (plan, fixed)):
        raise InputError("The plan given is not the one that the release names. Give the plan that it was made by.")
    return repeat_steps(source)


def _secret(
    original: ClaimsOriginal, published: ClaimsManifest, files: WrittenClaims
) -> tuple[PreprocessedClaims, PreparedOriginal]:
    """The original after the steps before the search, and who is who if the crosswalk is given."""
    source, prepared = original.claims, prepared_again(original.claims, published)
    if original.crosswalk is None:
        return prepared, PreparedOriginal(prepared.claims, None)
    # numbers are what they should be, whatever the file says
    ids = files.patients.to_series(0)
    if published.columns.ids == NUMBER:
        ids = pl.Series(range(1, files.patients.height + 1)).cast(pl.String)
    origin = origin_from(original.crosswalk, source, prepared.claims, ids)
    if origin is None:
        raise InputError("The crosswalk does not map each patient of the release to one patient of the original.")
    return prepared, PreparedOriginal(prepared.claims, origin)


def crosswalk_of(source: Claims, prepared: Claims, patients: NDArray[np.int64], ids: pl.Series) -> pl.DataFrame:
    """Return the secret map from released to original ids; ``patients``: rows of the released among the prepared."""
    (name,) = source.plan.patients.columns("id")
    numbers = prepared.patients[PATIENT].gather(pl.Series(patients))
    own = source.patients[name].gather(numbers)  # patients are numbered by their rows
    return pl.DataFrame([ids.alias("released"), own.alias("original")])


def origin_from(crosswalk: pl.DataFrame, source: Claims, prepared: Claims, ids: pl.Series) -> NDArray[np.int64] | None:
    """Return the rows of released patients from the map that was written with a release; None where it does not fit.

    A patient who is not among the prepared ones, since the plan leaves such patients out, has the row -1.
    """
    if crosswalk.columns != ["released", "original"]:
        return None
    (name,) = source.plan.patients.columns("id")
    numbers = source.patients.select(pl.col(name).alias("original"), PATIENT)
    rows = prepared.patients.select(PATIENT).with_row_index("row")
    secret = crosswalk.cast(pl.String)
    joined = ids.alias("released").to_frame().join(secret, on="released", how="left", maintain_order="left")
    joined = joined.join(numbers, on="original", how="left", maintain_order="left")
    joined = joined.join(rows, on=PATIENT, how="left", maintain_order="left")
    if secret.height != ids.len() or joined.height != ids.len() or joined[PATIENT].null_count():
        return None
    return joined["row"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
