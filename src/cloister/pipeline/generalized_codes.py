"""The course of code sets, by generalization."""

from collections.abc import Mapping
from typing import Any

from cloister.codesets.data import GivenCodes
from cloister.codesets.generalization.data import GeneralizationRequest, GeneralizedCodes
from cloister.codesets.generalization.losses import crosswalk, exact_figures, utility_of
from cloister.codesets.generalization.manifest import (
    GeneralizationSettings,
    TermsGuarantee,
    settings_of,
)
from cloister.codesets.generalization.protect import generalize, load_kernels
from cloister.codesets.generalization.release import (
    GeneralizedCodesRelease,
    check_size,
    check_writable,
    codebook,
    data_frame,
    facts_of,
    shown_of,
)
from cloister.codesets.generalization.verify import GeneralizationSecret, guarantee_of, verify
from cloister.codesets.manifest import CodeRecords, columns_of, left_out_of, one_row_of
from cloister.codesets.policy import as_published, classified
from cloister.codesets.request import CodesRequest, check_codes
from cloister.io.foreign import interruptible
from cloister.release import Custody
from cloister.results import Manifest, Stopwatch

from .stages import check_useful, completed, passed


def protect_by_generalization(
    given: GivenCodes,
    request: CodesRequest[GeneralizationRequest],
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
) -> GeneralizedCodesRelease:
    """Take code sets through the stages, by generalization."""
    watch = watch or Stopwatch()
    check_writable(check_codes(given.codes))
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("protect"):
        protected = generalize(given.codes, request.method)
        check_size(protected.released)
    released, secret = protected.released, GeneralizationSecret(protected.original, protected.origin)
    guarantee = guarantee_of(request.method)
    with watch.stage("verify"):
        passed(verify(released, guarantee, secret))
    with watch.stage("measure"):
        exact = exact_figures(given, request, protected)
        policy = None if request.policy is None else as_published(request.policy, given.codes)
        spec = None if policy is None else classified(policy.spec, given.codes)
        settings = settings_of(given, request, spec, protected.figures.closeness)
        manifest = _described(given, request, protected, settings)
        check_useful(protected.figures.ncp, accept_empty=request.accept_empty)
    return GeneralizedCodesRelease(
        codebook=codebook(released, numbered=request.numbered),
        manifest=completed(manifest, source=given.name, seed=seed, watch=watch),
        custody=Custody(exact | dict(custody or {}), crosswalk(given, protected)),
        shown=lambda: shown_of(released),
        generalized=released,
        frame=data_frame(released, numbered=request.numbered),
        format=given.format,
        delimiter=given.delimiter,
        _check=lambda found: verify(found, guarantee, secret),
    )


def _described(
    given: GivenCodes,
    request: CodesRequest[GeneralizationRequest],
    protected: GeneralizedCodes,
    settings: GeneralizationSettings,
) -> Manifest:
    """The part of ``release.json`` that is particular to generalized code sets."""
    released = protected.released
    facts = facts_of(released, settings)
    left_out = left_out_of(given.n_empty, released.k, given.codes.n_records - released.n_records)
    guarantee = TermsGuarantee(rules=facts.rules, verified=True, one_row_per_patient=one_row_of(given))
    return {
        "shape": "codes",
        "method": str(request.method.method),
        "settings": settings.published(),
        "columns": columns_of(settings.ids).published(),
        "records": CodeRecords.of(released.n_records, left_out).published(),
        "guarantee": guarantee.published(),
        "utility": utility_of(facts.counts, request, protected).published(),
        "risk": facts.risk.published(),
    }
