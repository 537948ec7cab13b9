"""The pipeline of patients and their claims."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cloister.errors import InternalError
from cloister.io.foreign import interruptible
from cloister.release.release import CustodianFiles
from cloister.results import Stopwatch
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.facts import facts_of
from cloister.shapes.claims.format.manifest import ClaimsPromise
from cloister.shapes.claims.format.population import count_people, read_population, voter_list
from cloister.shapes.claims.format.released_columns import QUASI, TABLES, plan_published
from cloister.shapes.claims.method.encode import encode
from cloister.shapes.claims.method.figures import describe_claims, evaluate, exact_figures, risk_of_release
from cloister.shapes.claims.method.prepare import prepare
from cloister.shapes.claims.method.protect import deidentify, load_kernels, settings_of
from cloister.shapes.claims.method.release import ClaimsRelease, lay_out
from cloister.shapes.claims.verify.original import PreparedOriginal
from cloister.shapes.claims.verify.recheck import crosswalk_of
from cloister.shapes.claims.verify.steps import repeat_steps
from cloister.shapes.claims.verify.verify import verify

from .provenance import add_provenance, check_useful, require_verified


def protect_claims(
    data: Claims,
    *,
    seed: int | None = None,
    threads: int = 1,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
    accept_empty: bool = False,
) -> ClaimsRelease:
    """Protect patients and their claims, and return the verified release."""
    watch = watch or Stopwatch()
    if seed is not None:
        data = replace(data, plan=replace(data.plan, risk=replace(data.plan.risk, seed=seed)))
    plan, published = data.plan, plan_published(data.plan)
    settings = settings_of(plan, threads=threads)
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("encode"):
        prepared = prepare(data)
        population = read_population(prepared.claims)
        encoding = encode(prepared.claims)
    with watch.stage("protect"):
        protected = interruptible(lambda: deidentify(encoding, plan, settings))
        laid = lay_out(prepared.claims, encoding, protected.suppression.released, protected.choice.levels)
        known = [one for table in TABLES for one in laid.form.of(table).values() if one.role == QUASI]
        check_useful(float(all(one.level == one.top for one in known)), accept_empty=accept_empty)
        risk = risk_of_release(protected, laid, plan)
    with watch.stage("verify"):
        origin = np.asarray(encoding.patient_rows[laid.patients], dtype=np.int64)
        again = repeat_steps(data)
        if again.lines != prepared.lines:
            raise InternalError("The steps before the search did not do what they do in SQL.")
        original = PreparedOriginal(again.claims, origin)
        promise = ClaimsPromise(laid.form, published, risk)
        check = partial(verify, promise=promise, original=original)
        require_verified(check(laid.files))
    with watch.stage("measure"):
        people = None
        if population is not None:
            people = count_people(population, prepared.claims, laid.files.patients, laid.form)
        facts = facts_of(laid.files, laid.form, published)
        voters = facts.voters if people is None else voter_list(people, settings.k, is_population=True)
        attacks = evaluate(prepared, protected, laid, people)
        stated, derived = describe_claims(data, prepared, protected, laid, risk, facts, attacks, voters)
        secret = crosswalk_of(data, prepared.claims, origin, laid.files.patients.to_series(0))
    return ClaimsRelease(
        manifest=add_provenance(
            stated,
            derived,
            source=data.names[0],
            seed=plan.risk.seed,
            watch=watch,
            written=(data.format, data.delimiter),
        ),
        derived=derived,
        custody=CustodianFiles(exact_figures(data, prepared, protected) | dict(custody or {}), secret),
        files=laid.files,
        format=data.format,
        delimiter=data.delimiter,
        _check=check,
    )
