"""The course of code sets, by disassociation."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cloister.codesets.data import data_frame
from cloister.codesets.disassociation.data import DisassociationRequest
from cloister.codesets.disassociation.manifest import codebook, describe, shown_of
from cloister.codesets.disassociation.measure import crosswalk, work_out
from cloister.codesets.disassociation.protect import disassociate, load_kernels
from cloister.codesets.disassociation.release import CodesRelease, reconstruct
from cloister.codesets.disassociation.verify import DisassociationSecret, verify
from cloister.codesets.policy_words import as_told
from cloister.codesets.request import CodesRequest, GivenCodes, check_codes
from cloister.release import Custody
from cloister.stopwatch import Stopwatch

from .stages import completed, interruptible, passed


def protect_codes(
    given: GivenCodes,
    request: CodesRequest[DisassociationRequest],
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
) -> CodesRelease:
    """Take code sets through the stages, by disassociation.

    Parameters
    ----------
    given : the code sets as read and numbered
    seed : of the reconstruction in ``data.csv``; nothing that protects code sets is random
    watch : a stopwatch that already holds the time spent on starting and reading
    custody : what else only the custodian may see
    """
    watch = watch or Stopwatch()
    if request.policy is not None:
        request = replace(request, policy=as_told(request.policy, given.codes))
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("protect"):
        protected = interruptible(lambda: disassociate(check_codes(given.codes), request.method))
    released, secret = (
        protected.released,
        DisassociationSecret(given.codes, protected.cluster_of, request.method.diversity),
    )
    check = partial(verify, secret=secret, diversity=request.method.diversity)
    with watch.stage("verify"):
        verdict = passed(interruptible(lambda: check(released)))
    with watch.stage("measure"):
        figures = work_out(given, request, protected, reconstruct, seed)
        manifest = describe(given, request, released, verdict, figures.utility, figures.risk)
        frame = data_frame(reconstruct(released, seed), numbered=request.numbered)
    return CodesRelease(
        codebook=codebook(released, numbered=request.numbered),
        manifest=completed(manifest, source=given.name, seed=seed, watch=watch),
        custody=Custody(figures.exact | dict(custody or {}), crosswalk(given, protected)),
        shown=lambda: shown_of(released),
        clusters=released,
        frame=frame,
        delimiter=given.delimiter,
        _check=check,
    )
