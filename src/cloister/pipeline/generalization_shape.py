"""Code sets by generalization: from settings to a request, and what is done with it."""

from collections.abc import Mapping
from typing import Any

from cloister.codesets.data import GivenCodes
from cloister.codesets.encode import occurrence
from cloister.codesets.generalization.data import VISITS, GeneralizationRequest, Status
from cloister.codesets.generalization.privacy_policy import PrivacyPolicy, parse_privacy
from cloister.codesets.generalization.privacy_sets import VisitsFile
from cloister.codesets.options import CodesOptions
from cloister.codesets.request import CodesRequest
from cloister.errors import InputError, setting
from cloister.hierarchy import parse_hierarchy
from cloister.manifests import AnyManifest
from cloister.reading import reading_of
from cloister.release import Release
from cloister.settings import build_request, check_numbers, settings_given
from cloister.shape import Original, Run

from .generalized_codes import protect_by_generalization
from .prepared_codes import PreparedCodes, policy_of, request_of

USUAL_M = 2


class PreparedTerms(PreparedCodes):
    """Code sets that are about to be generalized."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes) -> None:
        with run.watch.stage("encode"):
            hierarchy = None if options.code_hierarchy is None else parse_hierarchy(options.code_hierarchy)
            keywords = settings_given(options) | {"privacy": _privacy(options, given), "hierarchy": hierarchy}
            self.request = generalization_of(keywords, given)
        super().__init__(options, run, given, self.request.policy)
        self.original = Original(given, privacy=self.request.method.privacy)

    def protect(self) -> Release:
        """Generalize them."""
        self.run.compiling("generalization")
        return protect_by_generalization(
            self.given, self.request, seed=self.options.seed, watch=self.run.watch, custody=self.custody
        )

    def notes(self, release: Release, manifest: AnyManifest) -> list[str]:
        """Return what was taken for granted, and which sets and codes of the privacy policy do not occur."""
        notes, codes = super().notes(release, manifest), self.given.codes
        statuses = release.custody.figures["statuses"]
        sets, vacuous = sum(statuses.values()), statuses[Status.VACUOUS]
        if vacuous:
            have = "set of the privacy policy has" if sets == 1 else "sets of the privacy policy have"
            notes.append(f"{sets - vacuous:,} of {sets:,} {have} codes that occur; the others protect nothing")
        known, names = codes.items_by_code(), self.request.method.privacy.vocabulary
        if codes.repeats:
            names = tuple({(occurrence(name) or (name, 1))[0] for name in names})
        unknown = sum(name not in known for name in names)
        if unknown:
            do = "code of the privacy policy does" if len(names) == 1 else "codes of the privacy policy do"
            notes.append(f"{unknown:,} of {len(names):,} {do} not occur in the data; write codes as they do")
        assert manifest.form == "generalization"
        largest, n_codes = manifest.utility.largest_term, manifest.utility.codes
        if 2 * largest > n_codes and largest != 1:
            notes.append(
                f"the largest term holds {largest} of {n_codes} codes, so that little can be told from the release; "
                f"with cba and ugaclip, smaller sets of {setting('policy')} keep codes apart"
            )
        return notes


def generalization_of(settings: Mapping[str, Any], given: GivenCodes) -> CodesRequest[GeneralizationRequest]:
    """Return what settings by name ask of generalization; the privacy policy and the hierarchy are objects."""
    check_numbers(CodesOptions, settings)
    policy = policy_of(settings, given.codes)
    method = build_request(GeneralizationRequest, settings, policy=policy)
    return request_of(method, settings, given, policy, accuracy=False)


def _privacy(options: CodesOptions, given: GivenCodes) -> PrivacyPolicy:
    if options.visit is not None and not (options.privacy or "").startswith(f"{VISITS}:"):
        raise InputError(
            f"{setting('visit')} names a column of a file of visits. Give {setting('privacy', 'visits:FILE')}, or "
            "leave it out."
        )
    if options.privacy is None:
        return PrivacyPolicy.all_combinations(given.codes, USUAL_M if options.m is None else options.m)
    if options.m is not None:
        raise InputError(
            f"{setting('m')} stands for all sets of so many codes, and {setting('privacy')} names the sets. Give one "
            "of them."
        )
    visits = VisitsFile(
        visit=options.visit,
        codes=given.columns.codes,
        code=given.columns.code,
        reading=reading_of(options),
    )
    return parse_privacy(options.privacy, given.codes, visits)
