"""A release folder of claims, verified from its files alone, or with the original, its plan and its crosswalk."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.release_folder import CODEBOOK, check_files, read_data
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict

from .compared import MOST_BANDS, compared
from .data import PATIENT, Claims
from .data_file import CLAIMS, NUMBER, PATIENTS, TRUNCATED, WrittenClaims
from .declared import plan_published
from .facts import SUPPRESSION, ClaimsFacts, codebook, facts_of, report_counts
from .ladders import hierarchy_named
from .manifest import ClaimsManifest, ClaimsPromise
from .plan_sections import HMAC
from .population import counted, read_population, voter_list
from .prepare import PreparedClaims, prepare, years_of
from .steps import early_steps
from .verify import verify
from .verify_original import PreparedOriginal

CHECKED = (
    "files are as they were released, and no others are there",
    "the files are written in the one way there is",
    "the manifest has the types that it must have, and says of the files what they say",
    "the codebook lists what was released, and nothing else",
)
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


def recheck_claims(
    folder: Path, manifest: Manifest, k: int | None = None, original: ClaimsOriginal | None = None
) -> Verdict:
    """Check a release folder; ``k``: smallest class that the recipient expects not to be flagged."""
    # what was changed after the release is not worth a look at what it says
    failures = check_files(folder, manifest)
    if failures or not os.path.isfile(folder / CODEBOOK):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    try:
        published = ClaimsManifest.of(manifest)
        files = read_files(folder, published)
    except InputError as error:
        return Verdict(False, "the files were read", (), (error.message.rstrip("."),))
    promise, prepared, secret = ClaimsPromise.of(published), None, None
    form = promise.form
    if original is not None:
        prepared, secret = _secret(original, published, files)
    verdict = verify(files, promise, secret)
    failures = list(verdict.failures)
    are_columns = all(files.of(table).columns == form.names(table) for table in (PATIENTS, CLAIMS))
    if are_columns and files.patients.height and (files.owners >= 0).all():  # else the verifier says what is wrong
        facts = facts_of(files, form, promise.plan)
        wrong = [*facts.differing(published), *_unfounded(published, files)]
        failures += [f"{part} in release.json does not follow from the files" for part in wrong]
        try:
            is_listed = read_data(folder / CODEBOOK, ",").cast(pl.String).equals(codebook(files, form))
        except InputError:
            is_listed = False
        failures += [] if is_listed else [f"{CODEBOOK} does not say what the files say"]
        if original is not None and prepared is not None and secret is not None:
            wrong = _unlike(published, original.claims, prepared, files, facts)
            wrong += _lost_otherwise(published, files, secret)
            failures += [f"{part} in release.json is not what the original says" for part in wrong]
    failures += [] if failures else report_failures(folder, manifest, report_counts(files, form, promise.k))
    if k is not None and k > promise.k:
        failures.append(f"as asked: classes from {promise.k} patients on are not flagged, but k = {k} was expected")
    checked = (*verdict.checks, *CHECKED, WORD_ONLY if secret is None or secret.origin is None else STEPS_AGAIN)
    return Verdict(not failures, verdict.how, checked, tuple(failures))


def read_files(folder: Path, manifest: ClaimsManifest) -> WrittenClaims:
    """Return the two files of a folder."""
    frames = []
    for table in (PATIENTS, CLAIMS):
        name = next(name for name in manifest.files if name.startswith(f"{table}."))
        frames.append(read_data(folder / name, manifest.settings.delimiter).cast(pl.String))
    return WrittenClaims(frames[0], frames[1])


def _unfounded(published: ClaimsManifest, files: WrittenClaims) -> list[str]:
    """What cannot be so by the files, of what does not follow from them."""
    columns = [column for frame in (files.patients, files.claims) for column in frame.get_columns()]
    labels = {label for column in columns if column.n_unique() <= MOST_BANDS for label in column.unique().drop_nulls()}
    bands = {band for one in published.representativeness.variables.values() for band in one.shares}
    is_cut = bool((files.patients[TRUNCATED] == "1").any())
    may_cut = published.choice.truncation != "none" or published.settings.plan.suppression.treatment == "claims"
    fits = {
        "representativeness": all(band in labels or BAND.fullmatch(band) for band in bands),
        "choice.truncation": may_cut or not is_cut,
    }
    return [part for part, holds in fits.items() if not holds]


def _unlike(
    published: ClaimsManifest, source: Claims, prepared: PreparedClaims, files: WrittenClaims, facts: ClaimsFacts
) -> list[str]:
    """What is said of the steps before the search, and of the population, and is not found again."""
    k, form = published.risk.k, published.columns
    steps = early_steps(prepared.lines, facts.counts, k)
    voters, population = facts.voters, read_population(prepared.claims)
    if population is not None:
        voters = voter_list(counted(population, prepared.claims, files.patients, form), k, is_population=True)
    same = {
        "steps": [*published.steps[: len(steps)]] == steps,
        "representativeness": published.representativeness == compared(prepared, files, form, k),
        "records.in": published.records.in_ in ("withheld", source.n_patients),
        "sensitivity.voter_list": published.sensitivity.voter_list == voters,
    }
    return [part for part, holds in same.items() if not holds]


def _lost_otherwise(published: ClaimsManifest, files: WrittenClaims, original: PreparedOriginal) -> list[str]:
    """Steps that count other patients or, with the crosswalk, other claims left out than are missing."""
    steps = {step.step: step for step in published.steps}
    left_out, k = steps[SUPPRESSION].counts, published.risk.k
    n_gone = original.patients.height - files.patients.height
    # as it is or masked; what few patients have may be withheld
    is_right = left_out.get("patients left out", 0) in (n_gone, f"<{k}", "withheld")
    wrong = [] if is_right else ["patients left out"]
    if original.origin is not None:
        is_released = np.zeros(original.patients.height, dtype=np.bool_)
        is_released[original.origin[original.origin >= 0]] = True
        missing = int(is_released[original.owners].sum()) - files.claims.height
        parts = [steps["7 truncation"].total or 0, left_out.get("claims left out", 0)]
        known = [one for one in parts if isinstance(one, int)]
        adds_up = sum(known) == missing if len(known) == len(parts) else sum(known) <= missing
        wrong += [] if adds_up else ["claims left out"]
    return wrong


def prepared_again(source: Claims, published: ClaimsManifest) -> PreparedClaims:
    """Return the original after the steps before the search, by the plan that the release names."""
    plan = replace(source.plan, risk=replace(source.plan.risk, seed=published.seed))
    if plan_published(plan) != published.settings.plan:
        raise InputError("The plan given is not the one that the release names. Give the plan that it was made by.")
    return prepare(source)


def _secret(
    original: ClaimsOriginal, published: ClaimsManifest, files: WrittenClaims
) -> tuple[PreparedClaims, PreparedOriginal]:
    """The original after the steps before the search, and who is who if the crosswalk is given."""
    source, prepared = original.claims, prepared_again(original.claims, published)
    if original.crosswalk is None:
        return prepared, original_of(prepared.claims, None)
    # numbers are what they should be, whatever the file says
    ids = files.patients.to_series(0)
    if published.columns.ids == NUMBER:
        ids = pl.Series(range(1, files.patients.height + 1)).cast(pl.String)
    origin = origin_from(original.crosswalk, source, prepared.claims, ids)
    if origin is None:
        raise InputError("The crosswalk does not map each patient of the release to one patient of the original.")
    return prepared, original_of(prepared.claims, origin)


def original_of(prepared: Claims, origin: NDArray[np.int64] | None) -> PreparedOriginal:
    """Return the original after steps 1 to 6, with the row of each released patient, (n_released,), if known."""
    plan = prepared.plan
    rows = prepared.patients.select(PATIENT).with_row_index("row")
    owners = prepared.claims.select(PATIENT).join(rows, on=PATIENT, how="left", maintain_order="left")["row"]
    hierarchies = {
        table: {column: hierarchy_named(words, plan.grouping.tables).hierarchy for column, words in qi.items()}
        for table, qi in ((PATIENTS, plan.patients.qi), (CLAIMS, plan.claims.qi))
    }
    (name,), has_dates = plan.patient_columns("id"), plan.claim_column("date") is not None
    return PreparedOriginal(
        prepared.patients,
        prepared.claims,
        owners.to_numpy().astype(np.int64),
        hierarchies,
        origin,
        years_of(prepared).fill_null(0).to_numpy().astype(np.int64) if has_dates else None,
        prepared.patients[name] if plan.ids.patients.startswith(HMAC) else None,
    )


def crosswalk_of(source: Claims, prepared: Claims, patients: NDArray[np.int64], ids: pl.Series) -> pl.DataFrame:
    """Return the secret map from released to original ids; ``patients``: rows of the released among the prepared."""
    (name,) = source.plan.patient_columns("id")
    numbers = prepared.patients[PATIENT].gather(pl.Series(patients))
    own = source.patients[name].gather(numbers)  # patients are numbered by their rows
    return pl.DataFrame([ids.alias("released"), own.alias("original")])


def origin_from(crosswalk: pl.DataFrame, source: Claims, prepared: Claims, ids: pl.Series) -> NDArray[np.int64] | None:
    """Return the rows of released patients from the map that was written with a release; None where it does not fit.

    A patient who is not among the prepared ones, since the plan leaves such patients out, has the row -1.
    """
    if crosswalk.columns != ["released", "original"]:
        return None
    (name,) = source.plan.patient_columns("id")
    numbers = source.patients.select(pl.col(name).alias("original"), PATIENT)
    rows = prepared.patients.select(PATIENT).with_row_index("row")
    secret = crosswalk.cast(pl.String)
    found = ids.alias("released").to_frame().join(secret, on="released", how="left", maintain_order="left")
    found = found.join(numbers, on="original", how="left", maintain_order="left")
    found = found.join(rows, on=PATIENT, how="left", maintain_order="left")
    if secret.height != ids.len() or found.height != ids.len() or found[PATIENT].null_count():
        return None
    return found["row"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
