"""A release folder of claims, checked again from its files alone, or with the original, its plan and its crosswalk."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io import read_table
from cloister.release_folder import CODEBOOK, check_files, delimiter_told, read_data, same, stated
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict

from .data import Claims
from .data_file import (
    CLAIMS,
    NUMBER,
    PATIENTS,
    QUASI,
    TRUNCATED,
    ClaimsPromise,
    ReadBack,
    WrittenClaims,
)
from .ladders import hierarchy_named
from .manifest import METHOD, codebook, one_row, plan_told, rules_of, sentences_of, shown_of
from .original import origin_from, original_of
from .plan import parsed_plan
from .prepare import PreparedClaims, prepare
from .stated import PROMISER, agreements, is_declared, n_nodes, read_promise
from .steps_told import MOST_BANDS, compared, compared_told, early_lines, steps_are_told
from .told import parts_of
from .verify import verify
from .verify_manifest import Register, late_steps_agree, losses_agree, population_agrees, together_agrees, voters_agree
from .verify_original import PreparedOriginal

CHECKED = (
    "files are as they were released, and no others are there",
    "the files are written in the one way there is",
    "the manifest does not contradict itself or the files",
    "the codebook lists what was released, and nothing else",
)
STEPS_AGAIN = "what is told of the steps before the search is what they do again"
WORD_ONLY = "the risk of values drawn from the original claims is the releaser's word: compare with --original"


@dataclass(frozen=True)
class ClaimsOriginal:
    """What only the custodian has.

    Attributes
    ----------
    claims : patients and claims as read again, with the plan
    crosswalk : written with the release; None where it is not given
    """

    claims: Claims
    crosswalk: pl.DataFrame | None = None


def recheck_claims(
    folder: Path, manifest: Manifest, k: int | None = None, original: ClaimsOriginal | None = None
) -> Verdict:
    """Check hashes, form, risk, codebook and figures of a release folder.

    Parameters
    ----------
    k : smallest class that the recipient expects not to be flagged, whatever the manifest says
    """
    failures = check_files(folder, manifest)
    if failures or not os.path.isfile(folder / CODEBOOK):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    promise = read_promise(manifest)
    try:
        files = _read(folder, manifest)
    except InputError as error:
        return Verdict(False, "the files were read", (), (error.message.rstrip("."),))
    failures = _contradictions(folder, manifest, promise, files)
    ids = released_ids(files, promise)
    secret, prepared = (None, None) if original is None else _secret(original, manifest, ids)
    # where columns are not those of the plan, the original does not have them
    is_comparable = stated(lambda: is_declared(promise.form, manifest["settings"]["plan"]), PROMISER)
    verdict = verify(files, promise, secret if is_comparable else None)
    failures = [*verdict.failures, *failures]
    if original is not None and prepared is not None and is_comparable:
        failures += _strays(manifest, original.claims, prepared, ReadBack(files, promise.form), promise.k)
        late = stated(lambda: losses_agree(manifest, files, secret), PROMISER) if secret is not None else {}
        failures += [failure for failure, holds in late.items() if not holds]
    if original is not None and is_comparable and not _population_holds(original, manifest, promise, files):
        failures.append("sensitivity.voter_list is not what the population says")
    failures += [] if failures else report_failures(folder, manifest, shown_of(files, promise.form, promise.k))
    if k is not None and k > promise.k:
        failures.append(f"as asked: classes from {promise.k} patients on are not flagged, but k = {k} was expected")
    told = (*verdict.checks, *CHECKED, *([WORD_ONLY] if secret is None or secret.origin is None else [STEPS_AGAIN]))
    return Verdict(not failures, verdict.how, told, tuple(failures))


def _read(folder: Path, manifest: Manifest) -> WrittenClaims:
    delimiter = delimiter_told(manifest)
    frames = []
    for table in (PATIENTS, CLAIMS):
        name = next(name for name in manifest["files"] if name.startswith(f"{table}."))
        frames.append(read_data(folder / name, delimiter).cast(pl.String))
    return WrittenClaims(frames[0], frames[1])


def _contradictions(folder: Path, manifest: Manifest, promise: ClaimsPromise, files: WrittenClaims) -> list[str]:
    """What the manifest or the codebook says that the files do not."""

    def found() -> list[str]:
        guarantee, plan, records = manifest["guarantee"], manifest["settings"]["plan"], manifest["records"]
        told = {
            **agreements(manifest, promise),
            "method is unknown": manifest["method"] == METHOD,
            "guarantee.rules are not those of the settings": guarantee["rules"] == rules_of(plan),
            "guarantee.sentences do not say what the rules promise": guarantee["sentences"]
            == sentences_of(plan, manifest["risk"]["known"]),
            "guarantee.verified is not true": guarantee["verified"] is True,
            "guarantee.one_row_per_patient does not fit columns": guarantee["one_row_per_patient"]
            == one_row(promise.form),
            "records are not those of the files": (records["released"], records["claims"])
            == (files.patients.height, files.claims.height)
            and (type(records["in"]) is not int or records["in"] - records["released"] == records["suppressed"]),
            "sensitivity.unbounded is not what both files say together": together_agrees(
                manifest["sensitivity"]["unbounded"], files, promise.form, promise.k
            ),
            "sensitivity.voter_list does not fit the files": voters_agree(
                manifest["sensitivity"]["voter_list"], files, promise.form
            ),
            **_told(manifest, promise, files),
            f"{CODEBOOK} does not say what the files say": _codebook_agrees(folder, promise, files),
        }
        return [failure for failure, holds in told.items() if not holds]

    return stated(found, PROMISER)


def _population_holds(
    original: ClaimsOriginal, manifest: Manifest, promise: ClaimsPromise, files: WrittenClaims
) -> bool:
    """Whether voters were counted in the population that the plan names, if it names one."""
    plan = original.claims.plan
    if plan.population.patients is None:
        return True
    ladders = {name: hierarchy_named(words, plan.grouping.tables) for name, words in plan.patients.qi.items()}
    register = Register(
        read_table(plan.population.patients).frame, {name: one.hierarchy for name, one in ladders.items()}
    )
    told = stated(lambda: manifest["sensitivity"]["voter_list"], PROMISER)
    return stated(lambda: population_agrees(told, register, files, promise.form, promise.k), PROMISER)


def _told(manifest: Manifest, promise: ClaimsPromise, files: WrittenClaims) -> dict[str, bool]:
    """Sentences about what is told besides, each with whether it is false: nothing but our words and numbers."""
    plan = manifest["settings"]["plan"]
    names = promise.form.names(CLAIMS, QUASI)
    labels = {name: files.claims[name].n_unique() for name in names if name in files.claims.columns}
    columns = [column for frame in (files.patients, files.claims) for column in frame.get_columns()]
    shown = {label for column in columns if column.n_unique() <= MOST_BANDS for label in column.unique().drop_nulls()}
    forms = parts_of(plan, promise, labels, n_nodes(promise.form, plan), shown)
    n_cut = int((files.patients[TRUNCATED] == "1").sum()) if TRUNCATED in files.patients.columns else 0
    may_cut = manifest["choice"]["truncation"] != "none" or plan["suppression"]["treatment"] == "claims"
    return {
        **{f"{part} holds what no release tells": holds(manifest[part]) for part, holds in forms.items()},
        "steps hold what no release tells": _steps_hold(manifest, promise, files),
        **late_steps_agree(manifest, files, promise.form),
        "choice.truncation is none, but claims are missing": may_cut or not n_cut,
    }


def _steps_hold(manifest: Manifest, promise: ClaimsPromise, files: WrittenClaims) -> bool:
    """Whether steps tell no more than what they can count; what is counted in the files is counted again.

    Where the files cannot be read by the plan, this says no more than that: other checks say why.
    """
    told = manifest["settings"]["plan"]
    try:
        plan = parsed_plan(told)
    except InputError:
        return False
    is_readable = all(files.of(table).columns == promise.form.names(table) for table in (PATIENTS, CLAIMS))
    is_readable = is_readable and bool((files.owners >= 0).all())  # no claim of nobody, which the verifier says
    laid = ReadBack(files, promise.form) if is_readable and is_declared(promise.form, told) else None
    return steps_are_told(manifest["steps"], plan, promise.k, laid)


def _strays(manifest: Manifest, source: Claims, prepared: PreparedClaims, filed: ReadBack, k: int) -> list[str]:
    """What is told of the steps before the search and is not what they do again."""

    def found() -> list[str]:
        variables = compared(prepared, filed, k)
        lines = [line.told(k) for line in early_lines(prepared, filed)]
        told = {
            "steps before the search are not told as they are": same(manifest["steps"][: len(lines)], lines),
            "representativeness is not told as it is": same(
                manifest["representativeness"], compared_told(prepared, filed, variables, k)
            ),
            "records.in is not the number of patients": manifest["records"]["in"] in ("withheld", source.n_patients),
        }
        return [failure for failure, holds in told.items() if not holds]

    return stated(found, PROMISER)


def _codebook_agrees(folder: Path, promise: ClaimsPromise, files: WrittenClaims) -> bool:
    if files.patients.columns != promise.form.names(PATIENTS) or files.claims.columns != promise.form.names(CLAIMS):
        return False
    try:
        listed = read_data(folder / CODEBOOK, ",")
    except InputError:
        return False
    return listed.cast(pl.String).equals(codebook(files, promise.form))


def released_ids(files: WrittenClaims, promise: ClaimsPromise) -> pl.Series:
    """Ids of patients in released order; where they are to be numbers, those that they should be."""
    if promise.form.ids == NUMBER:
        return pl.Series(range(1, files.patients.height + 1)).cast(pl.String)
    return files.patients.to_series(0)


def _secret(original: ClaimsOriginal, manifest: Manifest, ids: pl.Series) -> tuple[PreparedOriginal, PreparedClaims]:
    """The original after the steps before the search, and who is who if the crosswalk is given."""
    source = original.claims
    seed = manifest["seed"]
    plan = replace(source.plan, risk=replace(source.plan.risk, seed=seed))
    if plan_told(plan) != manifest["settings"]["plan"]:
        raise InputError("The plan given is not the one that the release names. Give the plan that it was made by.")
    prepared = prepare(source)
    if original.crosswalk is None:
        return original_of(prepared.claims, None), prepared
    origin = origin_from(original.crosswalk, source, prepared.claims, ids)
    if origin is None:
        raise InputError("The crosswalk does not map each patient of the release to one patient of the original.")
    return original_of(prepared.claims, origin), prepared
