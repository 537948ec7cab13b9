"""The course of code sets, by generalization."""

from collections.abc import Mapping
from typing import Any

from cloister.codesets.generalization.data import GeneralizationRequest
from cloister.codesets.generalization.manifest import crosswalk, describe, settings_of, work_out
from cloister.codesets.generalization.protect import generalize, load_kernels
from cloister.codesets.generalization.release import (
    GeneralizedCodesRelease,
    check_size,
    check_writable,
    codebook,
    data_frame,
    shown_of,
)
from cloister.codesets.generalization.verify import GeneralizationSecret, promise_of, verify
from cloister.codesets.policy_words import as_told, classified
from cloister.codesets.request import CodesRequest, GivenCodes, check_codes
from cloister.release import Custody
from cloister.stopwatch import Stopwatch

from .stages import completed, interruptible, passed


def protect_by_generalization(
    given: GivenCodes,
    request: CodesRequest[GeneralizationRequest],
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
) -> GeneralizedCodesRelease:
    """Take code sets through the stages, by generalization.

    Parameters
    ----------
    given : the code sets as read and numbered
    seed : of a workload; nothing that protects code sets is random
    watch : a stopwatch that already holds the time spent on starting and reading
    custody : what else only the custodian may see
    """
    watch = watch or Stopwatch()
    check_writable(check_codes(given.codes))
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("protect"):
        protected = generalize(given.codes, request.method)
        check_size(protected.released)
    released, secret = protected.released, GeneralizationSecret(protected.original, protected.origin)
    promise = promise_of(request.method)
    with watch.stage("verify"):
        verdict = passed(verify(released, promise, secret))
    with watch.stage("measure"):
        figures = work_out(given, request, protected)
        policy = None if request.policy is None else as_told(request.policy, given.codes)
        spec = None if policy is None else classified(policy.spec, given.codes)
        settings = settings_of(request.method, spec, protected.figures.closeness)
        manifest = describe(given, request, released, verdict, settings, figures.told)
    return GeneralizedCodesRelease(
        codebook=codebook(released, numbered=request.numbered),
        manifest=completed(manifest, source=given.name, seed=seed, watch=watch),
        custody=Custody(figures.exact | dict(custody or {}), crosswalk(given, protected)),
        shown=lambda: shown_of(released),
        generalized=released,
        frame=data_frame(released, numbered=request.numbered),
        format=given.format,
        delimiter=given.delimiter,
        _check=lambda found: verify(found, promise, secret),
    )
