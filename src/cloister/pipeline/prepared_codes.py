"""What code sets have in common before they are protected, whatever the method: the request and its notes."""

from typing import TypeVar

from cloister.codesets.data import CodeSets, GivenCodes
from cloister.codesets.options import DISASSOCIATION, CodesOptions
from cloister.codesets.policy import UtilityPolicy, parse_policy
from cloister.codesets.request import CodesRequest, MethodRequest, check_codes, parse_workload
from cloister.manifests import AnyManifest
from cloister.release import Release
from cloister.settings import Keywords
from cloister.shape import Original, Prepared, Rows, Run

from .places import WORKLOAD_NOTE, custody_of
from .stages import MOST_LOST

Method = TypeVar("Method", bound=MethodRequest)


class PreparedCodes(Prepared):
    """Code sets in memory that are about to be protected by some method."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes, policy: UtilityPolicy | None) -> None:
        self.options, self.run, self.given, self.policy = options, run, given, policy
        self.original = Original(given)
        self.custody = custody_of(options.data, options.custodian_dir)
        self.how_read = given.notes

    def check(self) -> None:
        """Refuse codes that cannot be written."""
        check_codes(self.given.codes)

    def notes(self, _release: Release, manifest: AnyManifest) -> list[str]:
        """Return what was taken for granted."""
        return notes_on(self.options, self.given, self.policy, manifest)

    def request_in_words(self) -> Rows:
        """Return what would be done."""
        options, codes = self.options, self.given.codes
        known = f"m = {2 if options.m is None else options.m}" if options.privacy is None else "the sets of a policy"
        return [
            ("patients", f"{codes.n_records:,} with {codes.n_codes:,} codes"),
            ("method", options.method),
            ("rules", f"k = {options.k}, {known}"),
            ("policy", "none" if options.policy is None else options.policy.rpartition("/")[2]),
        ]


def policy_of(keywords: Keywords, codes: CodeSets) -> UtilityPolicy | None:
    """Return the utility policy that settings name, in words or as it is, on the codes of the data."""
    policy: UtilityPolicy | str | None = keywords.get("policy")
    if isinstance(policy, str):
        policy = parse_policy(policy, codes, keywords["k"])
    return None if policy is None else policy.on(codes)


def request_of(
    method: Method, keywords: Keywords, given: GivenCodes, policy: UtilityPolicy | None, *, accuracy: bool
) -> CodesRequest[Method]:
    """Return the whole request that settings by name state, as the command line or Python has them."""
    workload = keywords.get("workload")
    return CodesRequest(
        method=method,
        policy=policy,
        workload=None if workload is None else parse_workload(workload, given.codes, keywords["seed"]),
        numbered=keywords.get("ids", "number") == "number" and given.codes.ids is not None,
        accuracy=accuracy,
        **{name: keywords[name] for name in ("drop_empty", "accept_empty") if name in keywords},
    )


def notes_on(
    options: CodesOptions, given: GivenCodes, policy: UtilityPolicy | None, manifest: AnyManifest
) -> list[str]:
    """Return what was taken for granted, and what is not said; codes without a policy's set are not for a log."""
    notes, count = [*given.notes], manifest.records.suppressed
    if count != 0:
        what = "no code" if manifest.form == DISASSOCIATION else "no code that is released"
        how_many = f"fewer than {count[1:]}" if isinstance(count, str) else f"{count:,}"
        notes.append(f"{how_many} records have {what} and are left out")  # of fewer than k no number is given
    share = manifest.utility.occurrences_in_item_chunks if manifest.form == "disassociation" else 0.0
    if share > MOST_LOST:
        notes.append(
            f"next to nothing can be counted: {share:.0%} of the codes stand in item chunks, which do not show who has "
            "them together"
        )
    left = 0 if policy is None or policy.support is not None else policy.n_uncovered(given.codes)
    if left:
        notes.append(f"{left} {'code is' if left == 1 else 'codes are'} in no set of the utility policy")
    if options.workload is not None and options.custodian_dir is None:
        notes.append(WORKLOAD_NOTE)
    return notes
