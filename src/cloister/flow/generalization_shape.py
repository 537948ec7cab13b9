"""Code sets by generalization: from settings to a request, and what is done with it."""

from collections.abc import Mapping
from typing import Any

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import occurrence
from cloister.codesets.generalization.data import (
    VISITS,
    GeneralizationRequest,
    PrivacySets,
    Status,
    TermLoss,
    Uncovered,
)
from cloister.codesets.generalization.privacy_policy import PrivacyPolicy, parse_privacy
from cloister.codesets.generalization.protect import must_compile
from cloister.codesets.options import CodesOptions
from cloister.codesets.policy import parse_policy
from cloister.codesets.request import CodesRequest, GivenCodes, VisitsFile, parse_workload
from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.release import Release
from cloister.results import Manifest
from cloister.settings import asked, stated
from cloister.shape import Original, Run

from .codes_words import PreparedCodes
from .generalized_codes import protect_by_generalization
from .places import custody_of

USUAL_M = 2


class PreparedTerms(PreparedCodes):
    """Code sets that are about to be generalized."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes) -> None:
        with run.watch.stage("encode"):
            self.request = _request(options, given)
        super().__init__(options, run, given, self.request.policy)
        self.original = Original(given, privacy=self.request.method.privacy)

    def protect(self) -> Release:
        """Generalize them."""
        self.run.compiling(must_compile(), "the method", 10)
        custody = custody_of(self.options.data, self.options.custodian_dir)
        return protect_by_generalization(
            self.given, self.request, seed=self.options.seed, watch=self.run.watch, custody=custody
        )

    def notes(self, release: Release, manifest: Manifest) -> list[str]:
        """Return what was taken for granted, and which sets and codes do not occur."""
        return [
            *super().notes(release, manifest),
            *_vacuous(release.custody.figures["statuses"]),
            *_unknown(self.request.method.privacy, self.given.codes),
            *_large(manifest["utility"]),
        ]


def _vacuous(statuses: Mapping[str, int]) -> list[str]:
    """A note where sets of the privacy policy protect nothing, since none of their codes occurs."""
    sets, vacuous = sum(statuses.values()), statuses[Status.VACUOUS]
    if not vacuous:
        return []
    have = "set of the privacy policy has" if sets == 1 else "sets of the privacy policy have"
    return [f"{sets - vacuous:,} of {sets:,} {have} codes that occur; the others protect nothing"]


def _unknown(privacy: PrivacySets, codes: CodeSets) -> list[str]:
    """A note where codes of the privacy policy do not occur; sets are protected as far as they do."""
    known, names = codes.items_by_code(), privacy.vocabulary
    if codes.repeats:
        names = tuple({(occurrence(name) or (name, 1))[0] for name in names})
    unknown = sum(name not in known for name in names)
    do = "code of the privacy policy does" if len(names) == 1 else "codes of the privacy policy do"
    return [f"{unknown:,} of {len(names):,} {do} not occur in the data; write codes as they do"] if unknown else []


def _large(utility: dict[str, Any]) -> list[str]:
    """A note where most codes share one term."""
    if 2 * utility["largest_term"] <= utility["codes"] or utility["largest_term"] == 1:
        return []
    return [
        f"the largest term holds {utility['largest_term']} of {utility['codes']} codes, so that little can be told "
        "from the release; with cba and ugaclip, smaller sets of --policy keep codes apart"
    ]


def _request(options: CodesOptions, given: GivenCodes) -> CodesRequest[GeneralizationRequest]:
    for option, word, known in (("--uncovered", options.uncovered, Uncovered), ("--loss", options.loss, TermLoss)):
        if word is not None and word not in tuple(known):
            raise InputError(f"{option} can be {', '.join(known)}, not {word!r}.")
    policy = None if options.policy is None else parse_policy(options.policy, given.codes, options.k).on(given.codes)
    method = asked(
        GeneralizationRequest,
        stated(options),
        privacy=_privacy(options, given),
        policy=policy,
        hierarchy=None if options.code_hierarchy is None else parse_hierarchy(options.code_hierarchy),
    )
    workload = None if options.workload is None else parse_workload(options.workload, given.codes, options.seed)
    return CodesRequest(
        method=method,
        policy=policy,
        workload=workload,
        numbered=options.ids == "number" and given.codes.ids is not None,
        drop_empty=options.drop_empty,
    )


def _privacy(options: CodesOptions, given: GivenCodes) -> PrivacyPolicy:
    if options.visit is not None and not (options.privacy or "").startswith(f"{VISITS}:"):
        raise InputError("--visit names a column of a file of visits. Give --privacy visits:FILE, or leave it out.")
    if options.privacy is None:
        return PrivacyPolicy.all_combinations(given.codes, USUAL_M if options.m is None else options.m)
    if options.m is not None:
        raise InputError("-m stands for all sets of so many codes, and --privacy names the sets. Give one of them.")
    return parse_privacy(options.privacy, given.codes, _visits(options, given))


def _visits(options: CodesOptions, given: GivenCodes) -> VisitsFile:
    """How a file of visits is read: by the column of codes that the data have, and as is told of them."""
    return VisitsFile(
        visit=options.visit,
        codes=given.columns.codes,
        code=given.columns.code,
        encoding=options.encoding,
        delimiter=options.delimiter,
        missing=options.missing,
    )
