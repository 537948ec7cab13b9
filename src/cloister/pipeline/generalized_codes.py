"""The pipeline of code sets, by generalization."""

from collections.abc import Mapping
from functools import partial

from cloister.io.foreign import interruptible
from cloister.release.release import CustodianFiles
from cloister.results import Stopwatch
from cloister.shapes.codes.data import GivenCodes
from cloister.shapes.codes.manifest import describe_code_sets, left_out_of
from cloister.shapes.codes.policy import as_published, name_classification
from cloister.shapes.codes.request import check_codes
from cloister.shapes.generalization.format.data import GeneralizationRequest
from cloister.shapes.generalization.format.manifest import settings_of
from cloister.shapes.generalization.format.released import DerivedTerms, data_frame
from cloister.shapes.generalization.method.losses import crosswalk, exact_figures, utility_of
from cloister.shapes.generalization.method.protect import generalize, load_kernels
from cloister.shapes.generalization.method.release import GeneralizedCodesRelease, check_size, check_writable
from cloister.shapes.generalization.verify.verify import GeneralizationSecret, guarantee_of, verify

from .provenance import add_provenance, check_useful, require_verified


def protect_by_generalization(
    given: GivenCodes,
    request: GeneralizationRequest,
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
) -> GeneralizedCodesRelease:
    """Protect code sets by generalization, and return the verified release."""
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
        check = partial(verify, guarantee=guarantee, secret=secret)
        require_verified(check(released))
    with watch.stage("measure"):
        exact = exact_figures(given, request, protected)
        policy = None if request.policy is None else as_published(request.policy, given.codes)
        words = None if policy is None else name_classification(policy.spec, given.codes)
        settings = settings_of(given, request, words, protected.figures.closeness)
        left_out = left_out_of(given.n_empty, settings.k, given.codes.n_records - released.n_records)
        derived = DerivedTerms(released, settings, left_out, beside)
        utility = utility_of(derived.facts[0], request, protected)
        stated = describe_code_sets(given, settings, str(request.method)) | {"utility": utility.as_json()}
        check_useful(protected.figures.ncp, accept_empty=request.accept_empty)
    return GeneralizedCodesRelease(
        manifest=add_provenance(
            stated, derived, source=given.name, seed=seed, watch=watch, written=(given.format, given.delimiter)
        ),
        derived=derived,
        custody=CustodianFiles(exact | dict(custody or {}), crosswalk(given, protected, beside)),
        generalized=released,
        frame=data_frame(released, numbered=request.numbered, beside=beside),
        format=given.format,
        delimiter=given.delimiter,
        _check=check,
    )
