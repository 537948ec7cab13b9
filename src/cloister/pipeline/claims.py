"""Protection of patients and their claims, by the steps of their plan."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from cloister.errors import InternalError
from cloister.io import as_text
from cloister.io.foreign import interruptible
from cloister.jobs.linked_columns import RecordedValues
from cloister.release.manifest import AnyManifest
from cloister.release.release import CustodianFiles, Release
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.facts import facts_of
from cloister.shapes.claims.format.manifest import ClaimsPromise
from cloister.shapes.claims.format.plan import CHOSEN
from cloister.shapes.claims.format.population import count_people, read_population, voter_list
from cloister.shapes.claims.format.released_columns import QUASI, TABLES, plan_published
from cloister.shapes.claims.method.encode import Encoding, encode
from cloister.shapes.claims.method.figures import describe_claims, evaluate, exact_figures, risk_of_release
from cloister.shapes.claims.method.prepare import DescribedClaims, prepare
from cloister.shapes.claims.method.protect import ProtectedClaims, deidentify
from cloister.shapes.claims.method.release import ClaimsRelease, ReleaseTables, lay_out
from cloister.shapes.claims.verify.original import PreparedOriginal
from cloister.shapes.claims.verify.recheck import crosswalk_of
from cloister.shapes.claims.verify.steps import repeat_steps
from cloister.shapes.claims.verify.verify import verify
from cloister.shapes.protocol import Original, Run

from .protecting import StagedProtection, check_useful, complete_manifest


@dataclass(frozen=True, eq=False, repr=False)
class NumberedClaims:
    """Patients and claims after the first six steps, as the search takes them, and the population."""

    prepared: DescribedClaims
    population: pl.DataFrame | None
    encoding: Encoding


@dataclass(frozen=True, eq=False, repr=False)
class ChosenFiles:
    """What the search chose, and the files that it makes."""

    protected: ProtectedClaims
    laid: ReleaseTables


class ClaimsProtection(StagedProtection[NumberedClaims, ChosenFiles]):
    """Patients and their claims, with a plan."""

    kernels = "claims"

    def __init__(self, data: Claims, *, seed: int | None = None, threads: int = 1, accept_empty: bool = False) -> None:
        if seed is not None:
            data = replace(data, plan=replace(data.plan, risk=replace(data.plan.risk, seed=seed)))
        self.data, self.threads, self.accept_empty = data, threads, accept_empty
        self.doing = f"protecting {data.n_patients:,} patients with {data.n_claims:,} claims"
        self.how_read = self.assumptions = data.notes
        self.original = Original(data)
        self.recorded = data.plan.patients.columns("keep")

    def encode(self) -> NumberedClaims:
        """Take the first six steps, and number the values that are generalized."""
        prepared = prepare(self.data)
        return NumberedClaims(prepared, read_population(prepared.claims), encode(prepared.claims))

    def protect(self, encoded: NumberedClaims, _run: Run) -> ChosenFiles:
        """Choose levels, and suppress."""
        encoding, plan = encoded.encoding, self.data.plan
        protected = interruptible(lambda: deidentify(encoding, plan, self.threads))
        laid = lay_out(encoded.prepared.claims, encoding, protected.suppression.released, protected.choice.levels)
        known = [one for table in TABLES for one in laid.form.of(table).values() if one.role == QUASI]
        check_useful(float(all(one.level == one.top for one in known)), accept_empty=self.accept_empty)
        return ChosenFiles(protected, laid)

    def describe(self, encoded: NumberedClaims, chosen: ChosenFiles) -> ClaimsRelease:
        """Measure risk and loss, repeat the first six steps for the verifier, and describe the release."""
        data, prepared, protected, laid = self.data, encoded.prepared, chosen.protected, chosen.laid
        published, risk = plan_published(data.plan), risk_of_release(protected, laid, data.plan)
        people = None
        if encoded.population is not None:
            people = count_people(encoded.population, prepared.claims, laid.files.patients, laid.form)
        facts = facts_of(laid.files, laid.form, published)
        voters = facts.voters if people is None else voter_list(people, data.plan.risk.k, is_population=True)
        attacks = evaluate(prepared, protected, laid, people)
        stated, derived = describe_claims(data, prepared, protected, laid, risk, facts, attacks, voters)
        origin = np.asarray(encoded.encoding.patient_rows[laid.patients], dtype=np.int64)
        secret = crosswalk_of(data, prepared.claims, origin, laid.files.patients.to_series(0))
        original = PreparedOriginal(_repeat_steps(data, prepared), origin)
        promise = ClaimsPromise(laid.form, published, risk)
        return ClaimsRelease(
            manifest=complete_manifest(
                stated, derived, source=data.names[0], seed=data.plan.risk.seed, written=(data.format, data.delimiter)
            ),
            derived=derived,
            custody=CustodianFiles(exact_figures(data, prepared, protected), secret),
            files=laid.files,
            format=data.format,
            delimiter=data.delimiter,
            _check=partial(verify, promise=promise, original=original),
        )

    def recorded_values(self) -> RecordedValues | None:
        """Return the columns of patients that are released as recorded."""
        patients = self.data.patients
        if not self.recorded:
            return None
        (name,) = self.data.plan.patients.columns("id")
        return RecordedValues(patients.select(pl.col(self.recorded).cast(pl.String)), 2, as_text(patients[name]))

    def notes(self, release: Release, manifest: AnyManifest) -> Sequence[str]:
        """Return assumptions made while reading, and other notes for the user."""
        notes, plan = [*self.assumptions], self.data.plan
        assert manifest.form == "claims"
        if manifest.empty:
            notes.append("to keep more, allow a higher risk, suppress more, or give a column more weight in the plan")
        notes += [sentence.removesuffix(".") for sentence in release.custody.figures["to_keep"]]
        used, asked = manifest.choice.max_flag_rate, plan.risk.max_flag_rate
        if asked == CHOSEN and used != asked:
            notes.append(f"levels were chosen as published, with max_flag_rate {used}, not together with suppression")
        elif used != asked:
            notes.append(
                f"max_flag_rate was lowered to {used}: of the levels chosen by the {asked} that was asked, suppression "
                "did not bring the risk down"
            )
        return notes


def _repeat_steps(data: Claims, prepared: DescribedClaims) -> Claims:
    """Return the claims after the first six steps, which the verifier takes by SQL; both must have done the same."""
    again = repeat_steps(data)
    if again.lines != prepared.lines:
        raise InternalError("The steps before the search did not do what they do in SQL.")
    return again.claims
