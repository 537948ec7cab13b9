"""The course of code sets, by disassociation."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cloister.codesets.data import GivenCodes, data_frame
from cloister.codesets.disassociation.data import Disassociation, DisassociationRequest
from cloister.codesets.disassociation.facts import NO_SETS, codebook, count_sets, facts_of, rules_of, shown_of
from cloister.codesets.disassociation.manifest import DisassociationGuarantee, settings_of
from cloister.codesets.disassociation.protect import disassociate, load_kernels
from cloister.codesets.disassociation.release import CodesRelease, crosswalk, exact_figures, reconstruct
from cloister.codesets.disassociation.verify import DisassociationSecret, verify
from cloister.codesets.manifest import CodeRecords, columns_of, left_out_of, one_row_of
from cloister.codesets.policy import as_published
from cloister.codesets.request import CodesRequest, check_codes
from cloister.io.foreign import interruptible
from cloister.release import Custody
from cloister.results import Manifest, Stopwatch

from .stages import completed, passed


def protect_codes(
    given: GivenCodes,
    request: CodesRequest[DisassociationRequest],
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
) -> CodesRelease:
    """Take code sets through the stages, by disassociation."""
    watch = watch or Stopwatch()
    if request.policy is not None:
        request = replace(request, policy=as_published(request.policy, given.codes))
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("protect"):
        protected = interruptible(lambda: disassociate(check_codes(given.codes), request.method))
    released = protected.released
    secret = DisassociationSecret(given.codes, protected.cluster_of, request.method.diversity)
    check = partial(verify, secret=secret, diversity=request.method.diversity)
    with watch.stage("verify"):
        passed(interruptible(lambda: check(released)))
    with watch.stage("measure"):
        exact = exact_figures(given, request, protected, seed)
        manifest = describe_disassociation(given, request, released)
        frame = data_frame(reconstruct(released, seed), numbered=request.numbered)
    return CodesRelease(
        codebook=codebook(released, numbered=request.numbered),
        manifest=completed(manifest, source=given.name, seed=seed, watch=watch),
        custody=Custody(exact | dict(custody or {}), crosswalk(given, protected)),
        shown=lambda: shown_of(released),
        clusters=released,
        frame=frame,
        delimiter=given.delimiter,
        _check=check,
    )


def describe_disassociation(
    given: GivenCodes, request: CodesRequest[DisassociationRequest], released: Disassociation
) -> Manifest:
    """Return the part of ``release.json`` that is particular to disassociated code sets."""
    settings, policy = settings_of(given, request), request.policy
    sets = NO_SETS if policy is None else count_sets(released, policy.item_numbers(given.codes))
    facts = facts_of(released, settings, sets)
    guarantee = DisassociationGuarantee(rules=rules_of(settings), verified=True, one_row_per_patient=one_row_of(given))
    return {
        "shape": "codes",
        "method": "disassociation",
        "settings": settings.published(),
        "columns": columns_of(settings.ids).published(),
        "records": CodeRecords.of(released.n_records, left_out_of(given.n_empty, released.k)).published(),
        "guarantee": guarantee.published(),
        "utility": facts.utility.published(),
        "risk": facts.risk.published(),
        "clusters": facts.clusters.published(),
    }
