"""The pipeline of code sets, by generalization."""

from collections.abc import Mapping

from cloister.io.foreign import interruptible
from cloister.release.head import AttributesFile
from cloister.release.release import Custody
from cloister.results import Stopwatch
from cloister.shapes.codes.data import GivenCodes
from cloister.shapes.codes.manifest import described
from cloister.shapes.codes.policy import as_published, classified
from cloister.shapes.codes.request import check_codes
from cloister.shapes.generalization.format.data import GeneralizationRequest
from cloister.shapes.generalization.format.manifest import facts_of, rules_of, settings_of
from cloister.shapes.generalization.format.released import codebook, data_frame, shown_of
from cloister.shapes.generalization.method.losses import crosswalk, exact_figures, utility_of
from cloister.shapes.generalization.method.protect import generalize, load_kernels
from cloister.shapes.generalization.method.release import GeneralizedCodesRelease, check_size, check_writable
from cloister.shapes.generalization.verify.verify import GeneralizationSecret, guarantee_of, verify

from .provenance import check_useful, completed, passed


def protect_by_generalization(
    given: GivenCodes,
    request: GeneralizationRequest,
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
) -> GeneralizedCodesRelease:
    """Take code sets through the stages, by generalization."""
    watch = watch or Stopwatch()
    check_writable(check_codes(given.codes), given.attributes)
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("protect"):
        protected = generalize(given.codes, request)
        check_size(protected.released)
    released, secret = protected.released, GeneralizationSecret(protected.original, protected.origin)
    guarantee = guarantee_of(request)
    beside = None if given.attributes is None else given.attributes.frame[protected.origin]
    with watch.stage("verify"):
        passed(verify(released, guarantee, secret))
    with watch.stage("measure"):
        exact = exact_figures(given, request, protected)
        policy = None if request.policy is None else as_published(request.policy, given.codes)
        words = None if policy is None else classified(policy.spec, given.codes)
        settings = settings_of(given, request, words, protected.figures.closeness)
        counts, risk = facts_of(released)
        manifest = described(
            given,
            settings,
            rules_of(settings),
            method=str(request.method),
            released=released.n_records,
            few=given.codes.n_records - released.n_records,
            utility=utility_of(counts, request, protected),
            risk=risk,
        )
        if beside is not None:
            manifest |= {"attributes": AttributesFile.of(beside.columns).published()}
        check_useful(protected.figures.ncp, accept_empty=request.accept_empty)
    return GeneralizedCodesRelease(
        codebook=codebook(released, numbered=request.numbered, beside=beside),
        manifest=completed(manifest, source=given.name, seed=seed, watch=watch),
        custody=Custody(exact | dict(custody or {}), crosswalk(given, protected, beside)),
        shown=lambda: shown_of(released, beside),
        generalized=released,
        frame=data_frame(released, numbered=request.numbered, beside=beside),
        format=given.format,
        delimiter=given.delimiter,
        _check=lambda found: verify(found, guarantee, secret),
    )
