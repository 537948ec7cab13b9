"""A release folder of claims, checked again from its files alone, or with the original, its plan and its crosswalk."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.checker import Checker, Facts, Opened, Request
from cloister.errors import InputError
from cloister.release_folder import read_data
from cloister.results import Verdict

from .codebook import codebook, shown_of
from .compared import MOST_BANDS, compared
from .data import PATIENT, Claims
from .data_file import CLAIMS, NUMBER, PATIENTS, TRUNCATED, WrittenClaims
from .declared import plan_published
from .facts import SUPPRESSION, ClaimsFacts, facts_of
from .ladders import hierarchy_named
from .manifest import ClaimsManifest, ClaimsPromise
from .plan import ClaimsPlan
from .plan_sections import HMAC
from .population import counted, read_population, voter_list
from .prepare import PreparedClaims, prepare, years_of
from .steps import Masked, early_steps
from .verify import verify
from .verify_original import PreparedOriginal

STEPS_AGAIN = "what is said of the steps before the search is what they do again"
WORD_ONLY = "the risk of values drawn from the original claims is the releaser's word: compare with the original"
BAND = re.compile(
    r"[\[(]?[0-9]{1,4}(?:-[0-9]{1,4}|\+)?[\])]?(?: (?:days?|weeks|months))?|week [0-9]{1,4}|[^\W\d_]{1,12}",
)
"""Names of bands: of ages, days, months, weeks; and a sex, which is a short word or a digit."""


@dataclass(frozen=True)
class ClaimsOriginal:
    """What only the custodian has: patients and claims as read again, with the plan; the crosswalk if it is given."""

    claims: Claims
    crosswalk: pl.DataFrame | None = None


@dataclass(frozen=True)
class ComparedClaims:
    """The original, after the steps before the search, and as the verifier sees it."""

    source: Claims
    prepared: PreparedClaims
    secret: PreparedOriginal


ReleaseFolder = Opened[ClaimsManifest, WrittenClaims, ComparedClaims]


class ClaimsChecker(Checker[ClaimsManifest, WrittenClaims, ComparedClaims]):
    """Checks claims."""

    manifest = ClaimsManifest

    def read_files(self, folder: Path, manifest: ClaimsManifest) -> WrittenClaims:
        """Read the files of patients and of claims."""
        frames = []
        for table in (PATIENTS, CLAIMS):
            name = next(name for name in manifest.files if name.startswith(f"{table}."))
            frames.append(read_data(folder / name, manifest.settings.delimiter).cast(pl.String))
        return WrittenClaims(frames[0], frames[1])

    def read_original(self, request: Request, manifest: ClaimsManifest, files: WrittenClaims) -> ComparedClaims | None:
        """Read what the custodian has."""
        original = read_original(request)
        return None if original is None else ComparedClaims(original.claims, *_secret(original, manifest, files))

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the promise."""
        secret = None if release.original is None else release.original.secret
        verdict = verify(release.files, ClaimsPromise.of(release.manifest), secret)
        more = WORD_ONLY if secret is None or secret.origin is None else STEPS_AGAIN
        return replace(verdict, checks=(*verdict.checks, more))

    def facts(self, release: ReleaseFolder) -> Facts:
        """Compare the manifest with what follows from the files."""
        stated, files, original = release.manifest, release.files, release.original
        promise = ClaimsPromise.of(stated)
        facts = facts_of(files, promise.form, promise.plan)
        wrong = [*facts.differing(stated), *_unfounded(stated, files)]
        failures = [f"{part} in release.json does not follow from the files" for part in wrong]
        if original is not None:
            wrong = _unlike(stated, original.source, original.prepared, files, facts)
            wrong += _lost_otherwise(stated, files, original.secret)
            failures += [f"{part} in release.json is not what the original says" for part in wrong]
        return Facts(failures, codebook(files, promise.form), shown_of(files, promise.form, promise.k))

    def unexpected(self, release: ReleaseFolder) -> list[str]:
        """Compare with what the recipient expects."""
        k, promised = release.request.k, release.manifest.risk.k
        if k is None or k <= promised:
            return []
        return [f"as asked: classes from {promised} patients on are not flagged, but k = {k} was expected"]


def read_original(request: Request) -> ClaimsOriginal | None:
    """Return the original and its crosswalk; the original may have been read before."""
    given, words = request.original, request.words
    if given is None:
        return None
    if not isinstance(given, Claims):
        files = given if isinstance(given, list | tuple) else ()
        if len(files) != 2 or not all(isinstance(file, str | Path) for file in files):
            raise InputError("The original of claims is given as two files, that of patients and that of claims.")
        if request.plan is None:
            raise InputError("To compare claims with their original, the plan that they were released by is needed.")
        given = Claims.read(
            files[0],
            files[1],
            ClaimsPlan.read(request.plan),
            encoding=words.encoding,
            delimiter=words.delimiter,
            missing=words.missing,
        )
    return ClaimsOriginal(given, request.secret())


def _unfounded(stated: ClaimsManifest, files: WrittenClaims) -> list[str]:
    """What cannot be so by the files, of what does not follow from them."""
    columns = [column for frame in (files.patients, files.claims) for column in frame.get_columns()]
    shown = {label for column in columns if column.n_unique() <= MOST_BANDS for label in column.unique().drop_nulls()}
    bands = {band for one in stated.representativeness.variables.values() for band in one.shares}
    is_cut = bool((files.patients[TRUNCATED] == "1").any())
    may_cut = stated.choice.truncation != "none" or stated.settings.plan.suppression.treatment == "claims"
    fits = {
        "representativeness": all(band in shown or BAND.fullmatch(band) for band in bands),
        "choice.truncation": may_cut or not is_cut,
    }
    return [part for part, holds in fits.items() if not holds]


def _unlike(
    stated: ClaimsManifest, source: Claims, prepared: PreparedClaims, files: WrittenClaims, facts: ClaimsFacts
) -> list[str]:
    """What is said of the steps before the search, and of the population, and is not found again."""
    k, form = stated.risk.k, stated.columns
    steps = early_steps(prepared.lines, facts.counts, k)
    population = read_population(prepared.claims)
    voters = facts.voters
    if population is not None:
        people = counted(population, prepared.claims, files.patients, form)
        voters = voter_list(people, k, is_population=True)
    same = {
        "steps": [*stated.steps[: len(steps)]] == steps,
        "representativeness": stated.representativeness == compared(prepared, files, form, k),
        "records.in": stated.records.in_ in ("withheld", source.n_patients),
        "sensitivity.voter_list": stated.sensitivity.voter_list == voters,
    }
    return [part for part, holds in same.items() if not holds]


def _lost_otherwise(stated: ClaimsManifest, files: WrittenClaims, original: PreparedOriginal) -> list[str]:
    """Steps that count other patients or, with the crosswalk, other claims left out than are missing."""
    steps = {step.step: step for step in stated.steps}
    left_out, k = steps[SUPPRESSION].counts, stated.risk.k
    n_gone = original.patients.height - files.patients.height
    wrong = [] if _can_be(left_out.get("patients left out", 0), n_gone, k) else ["patients left out"]
    if original.origin is not None:
        is_released = np.zeros(original.patients.height, dtype=np.bool_)
        is_released[original.origin[original.origin >= 0]] = True
        missing = int(is_released[original.owners].sum()) - files.claims.height
        parts = [steps["7 truncation"].total or 0, left_out.get("claims left out", 0)]
        wrong += [] if _add_up(parts, missing) else ["claims left out"]
    return wrong


def _can_be(found: Masked, true: int, k: int) -> bool:
    """Whether a count is as it is, or masked; what few patients have may be withheld."""
    return found in (true, f"<{k}", "withheld")


def _add_up(counts: Sequence[Masked], true: int) -> bool:
    """Whether counts can add up to a number; those that are masked may be any."""
    known = [one for one in counts if isinstance(one, int)]
    return sum(known) == true if len(known) == len(counts) else sum(known) <= true


def prepared_again(source: Claims, stated: ClaimsManifest) -> PreparedClaims:
    """Return the original after the steps before the search, by the plan that the release names."""
    plan = replace(source.plan, risk=replace(source.plan.risk, seed=stated.seed))
    if plan_published(plan) != stated.settings.plan:
        raise InputError("The plan given is not the one that the release names. Give the plan that it was made by.")
    return prepare(source)


def _secret(
    original: ClaimsOriginal, stated: ClaimsManifest, files: WrittenClaims
) -> tuple[PreparedClaims, PreparedOriginal]:
    """The original after the steps before the search, and who is who if the crosswalk is given."""
    source, prepared = original.claims, prepared_again(original.claims, stated)
    if original.crosswalk is None:
        return prepared, original_of(prepared.claims, None)
    # numbers are what they should be, whatever the file says
    ids = files.patients.to_series(0)
    if stated.columns.ids == NUMBER:
        ids = pl.Series(range(1, files.patients.height + 1)).cast(pl.String)
    origin = origin_from(original.crosswalk, source, prepared.claims, ids)
    if origin is None:
        raise InputError("The crosswalk does not map each patient of the release to one patient of the original.")
    return prepared, original_of(prepared.claims, origin)


def original_of(prepared: Claims, origin: NDArray[np.int64] | None) -> PreparedOriginal:
    """Return the original.

    Parameters
    ----------
    prepared : after steps 1 to 6
    origin : (n_released,) row of each released patient, if known
    """
    plan = prepared.plan
    rows = prepared.patients.select(PATIENT).with_row_index("row")
    owners = prepared.claims.select(PATIENT).join(rows, on=PATIENT, how="left", maintain_order="left")["row"]
    hierarchies = {
        table: {column: hierarchy_named(words, plan.grouping.tables).hierarchy for column, words in qi.items()}
        for table, qi in ((PATIENTS, plan.patients.qi), (CLAIMS, plan.claims.qi))
    }
    (name,) = plan.patient_columns("id")
    ids = prepared.patients[name] if plan.ids.patients.startswith(HMAC) else None
    years = None
    if plan.claim_column("date") is not None:
        years = years_of(prepared).fill_null(0).to_numpy().astype(np.int64)
    rows_of = owners.to_numpy().astype(np.int64)
    return PreparedOriginal(prepared.patients, prepared.claims, rows_of, hierarchies, origin, years, ids)


def crosswalk_of(source: Claims, prepared: Claims, patients: NDArray[np.int64], ids: pl.Series) -> pl.DataFrame:
    """Return the secret map from released to original ids.

    Parameters
    ----------
    source : as read
    patients : (n_released,) row of each released patient among the prepared ones
    ids : (n_released,) as released
    """
    (name,) = source.plan.patient_columns("id")
    numbers = prepared.patients[PATIENT].gather(pl.Series(patients))
    own = source.patients[name].gather(numbers)  # patients are numbered by their rows
    return pl.DataFrame([ids.alias("released"), own.alias("original")])


def origin_from(crosswalk: pl.DataFrame, source: Claims, prepared: Claims, ids: pl.Series) -> NDArray[np.int64] | None:
    """Return the rows of released patients from the map that was written with a release; None where it does not fit.

    A patient who is not among the prepared ones, since the plan leaves such patients out, has the row -1.

    Parameters
    ----------
    ids : as released, in released order
    """
    if crosswalk.columns != ["released", "original"]:
        return None
    (name,) = source.plan.patient_columns("id")
    numbers = source.patients.select(pl.col(name).alias("original"), PATIENT)
    rows = prepared.patients.select(PATIENT).with_row_index("row")
    told = crosswalk.cast(pl.String)
    found = ids.alias("released").to_frame().join(told, on="released", how="left", maintain_order="left")
    found = found.join(numbers, on="original", how="left", maintain_order="left")
    found = found.join(rows, on=PATIENT, how="left", maintain_order="left")
    if told.height != ids.len() or found.height != ids.len() or found[PATIENT].null_count():
        return None
    return found["row"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
