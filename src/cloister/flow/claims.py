"""The course of patients and their claims."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cloister.claims.data import Claims
from cloister.claims.encode import encode
from cloister.claims.figures import risk_told, work_out
from cloister.claims.manifest import codebook, describe, shown_of
from cloister.claims.original import crosswalk_of, original_of
from cloister.claims.population import read_population
from cloister.claims.prepare import prepare
from cloister.claims.protect import deidentify, settings_of
from cloister.claims.release import ClaimsRelease, lay_out
from cloister.claims.stated import promise_of
from cloister.claims.verify import verify
from cloister.release import Custody
from cloister.stopwatch import Stopwatch

from .stages import completed, interruptible, passed


def protect_claims(
    data: Claims,
    *,
    seed: int | None = None,
    threads: int = 1,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
    load: Callable[[], None] | None = None,
) -> ClaimsRelease:
    """Take patients and their claims through the stages.

    Parameters
    ----------
    data : as read, with the plan
    seed : of the simulations; that of the plan if None. Draws estimate the risk, and nothing else is random
    threads : never change what is released
    watch : a stopwatch that already holds the time spent on starting and reading
    custody : what else only the custodian may see
    load : loads what is compiled
    """
    watch = watch or Stopwatch()
    if seed is not None:
        data = replace(data, plan=replace(data.plan, risk=replace(data.plan.risk, seed=seed)))
    plan = data.plan
    settings = settings_of(plan, threads=threads)
    if load is not None:
        with watch.stage("start"):
            interruptible(load)
    with watch.stage("encode"):
        prepared = prepare(data)
        population = read_population(prepared.claims)
        encoding = encode(prepared.claims)
    with watch.stage("protect"):
        protected = interruptible(lambda: deidentify(encoding, plan, settings))
        laid = lay_out(prepared.claims, encoding, protected.suppression.released, protected.choice.levels)
        risk = risk_told(protected, laid, plan)
    with watch.stage("verify"):
        origin = np.asarray(encoding.patient_rows[laid.patients], dtype=np.int64)
        original = original_of(prepared.claims, origin)
        promise = promise_of(plan, laid.form, risk)
        verdict = passed(verify(laid.files, promise, original))
    with watch.stage("measure"):
        figures = work_out(data, prepared, protected, laid, risk, population)
        manifest = describe(data, laid.form, verdict, figures.told)
        book = codebook(laid.files, laid.form)
        secret = crosswalk_of(data, prepared.claims, origin, laid.files.patients.to_series(0))
    return ClaimsRelease(
        codebook=book,
        manifest=completed(manifest, source=data.names[0], seed=plan.risk.seed, watch=watch),
        custody=Custody(figures.exact | dict(custody or {}), secret),
        shown=lambda: shown_of(laid.files, laid.form, protected.settings.k),
        files=laid.files,
        format=data.format,
        delimiter=data.delimiter,
        _check=lambda found, with_risk: verify(found, promise, original, with_risk=with_risk),
    )
