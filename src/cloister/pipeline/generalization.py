"""Protection of code sets by generalization."""

from collections.abc import Sequence
from functools import partial

from cloister.errors import Message, setting
from cloister.release.manifest import AnyManifest
from cloister.release.release import CustodianFiles, Release
from cloister.report.release_warnings import describe_largest_term
from cloister.shapes.codes.data import GivenCodes, occurrence
from cloister.shapes.codes.manifest import count_suppressed, describe_code_sets
from cloister.shapes.codes.policy import as_published, name_classification
from cloister.shapes.codes.request import check_codes
from cloister.shapes.generalization.format.data import GeneralizationRequest
from cloister.shapes.generalization.format.manifest import settings_of
from cloister.shapes.generalization.format.released import DerivedTerms, data_frame
from cloister.shapes.generalization.method.losses import GeneralizedCodes, crosswalk, exact_figures, utility_of
from cloister.shapes.generalization.method.protect import generalize
from cloister.shapes.generalization.method.release import GeneralizedCodesRelease, check_size, check_writable
from cloister.shapes.generalization.verify.verify import GeneralizationSecret, guarantee_of, verify
from cloister.shapes.protocol import Original, Run

from .codes import CodesProtection
from .protecting import check_useful, complete_manifest


class GeneralizationProtection(CodesProtection[GivenCodes, GeneralizedCodes]):
    """Code sets that are generalized."""

    kernels = "generalization"
    request: GeneralizationRequest

    def __init__(self, given: GivenCodes, request: GeneralizationRequest, *, seed: int = 0) -> None:
        super().__init__(given, request, seed=seed)
        self.original = Original(given, privacy=request.privacy)

    def encode(self) -> GivenCodes:
        """Return the code sets, if they can be used and written."""
        check_writable(check_codes(self.given.codes), self.given.attributes)
        return self.given

    def protect(self, given: GivenCodes, _run: Run) -> GeneralizedCodes:
        """Generalize the code sets."""
        protected = generalize(given.codes, self.request)
        check_size(protected.released)
        return protected

    def describe(self, given: GivenCodes, protected: GeneralizedCodes) -> GeneralizedCodesRelease:
        """Measure what was lost, and describe the release."""
        request, released = self.request, protected.released
        check_useful(protected.figures.ncp, accept_empty=request.accept_empty)
        attributes = None if given.attributes is None else given.attributes.frame[protected.origin]
        policy = None if request.policy is None else as_published(request.policy, given.codes)
        words = None if policy is None else name_classification(policy.spec, given.codes)
        settings = settings_of(given, request, words, protected.figures.closeness)
        suppressed = count_suppressed(given.n_empty, settings.k, given.codes.n_records - released.n_records)
        derived = DerivedTerms(released, settings, suppressed, attributes)
        utility = utility_of(derived.facts[0], request, protected)
        stated = describe_code_sets(given, settings, str(request.method)) | {"utility": utility.as_json()}
        secret = GeneralizationSecret(protected.original, protected.origin)
        return GeneralizedCodesRelease(
            manifest=complete_manifest(
                stated, derived, source=given.name, seed=self.seed, written=(given.format, given.delimiter)
            ),
            derived=derived,
            custody=CustodianFiles(exact_figures(given, request, protected), crosswalk(given, protected, attributes)),
            generalized=released,
            frame=data_frame(released, numbered=request.numbered, attributes=attributes),
            format=given.format,
            delimiter=given.delimiter,
            _check=partial(verify, guarantee=guarantee_of(request), secret=secret),
        )

    def notes(self, release: Release, manifest: AnyManifest) -> Sequence[str]:
        """Return notes for the user, among them on sets and codes of the privacy policy that do not occur."""
        notes, codes = [*super().notes(release, manifest)], self.given.codes
        statuses = release.custody.figures["statuses"]
        sets, vacuous = sum(statuses.values()), statuses["vacuous"]
        if vacuous:
            have = "set of the privacy policy has" if sets == 1 else "sets of the privacy policy have"
            notes.append(f"{sets - vacuous:,} of {sets:,} {have} codes that occur; the others protect nothing")
        known, names = codes.items_by_code(), self.request.privacy.vocabulary
        if codes.repeats:
            names = tuple({(occurrence(name) or (name, 1))[0] for name in names})
        unknown = sum(name not in known for name in names)
        if unknown:
            do = "code of the privacy policy does" if len(names) == 1 else "codes of the privacy policy do"
            notes.append(f"{unknown:,} of {len(names):,} {do} not occur in the data; write codes as they do")
        assert manifest.form == "generalization"
        if describe_largest_term(manifest.utility.largest_term, manifest.utility.codes):
            notes.append(Message("with cba and ugaclip, smaller sets of ", setting("policy"), " keep codes apart"))
        return notes
