"""What is said of code sets beside their release, whatever the method."""

from cloister.codesets.data import CodeSets
from cloister.codesets.options import DISASSOCIATION, CodesOptions
from cloister.codesets.policy import UtilityPolicy
from cloister.codesets.request import GivenCodes, check_codes
from cloister.release import Release
from cloister.results import Manifest
from cloister.shape import Original, Prepared, Rows, Run


class PreparedCodes(Prepared):
    """Code sets in memory that are about to be protected by some method."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes, policy: UtilityPolicy | None) -> None:
        self.options, self.run, self.given, self.policy = options, run, given, policy
        self.original = Original(given)

    def check(self) -> None:
        """Refuse codes that cannot be written."""
        check_codes(self.given.codes)

    def notes(self, _release: Release, manifest: Manifest) -> list[str]:
        """Return what was taken for granted."""
        return notes_on(self.options, self.given, self.policy, manifest)

    def request_in_words(self) -> Rows:
        """Return what would be done."""
        return rows_of(self.options, self.given)


def notes_on(options: CodesOptions, given: GivenCodes, policy: UtilityPolicy | None, manifest: Manifest) -> list[str]:
    """Return what was taken for granted, and what is not said."""
    notes = [*given.notes, *_left_out(manifest), *([] if policy is None else _uncovered(policy, given.codes))]
    if options.workload is not None and options.custodian_dir is None:
        notes.append(
            "the errors of a workload are told to the custodian alone, in the folder that --custodian-dir names"
        )
    return notes


def _left_out(manifest: Manifest) -> list[str]:
    """A note on patients without codes, who are counted as the manifest counts them."""
    count = manifest["records"]["suppressed"]
    if count == 0:
        return []
    what = "no code" if manifest["method"] == DISASSOCIATION else "no code that is released"
    if count == 1:
        return [f"1 record has {what} and is left out"]
    how_many = f"fewer than {count[1:]}" if isinstance(count, str) else f"{count:,}"
    return [f"{how_many} records have {what} and are left out"]


def _uncovered(policy: UtilityPolicy, codes: CodeSets) -> list[str]:
    """A note on codes that are in no constraint; how many are in no frequent set is not for a log."""
    left = 0 if policy.support is not None else policy.n_uncovered(codes)
    codes_are = "code is" if left == 1 else "codes are"
    return [f"{left} {codes_are} in no set of the utility policy"] if left else []


def rows_of(options: CodesOptions, given: GivenCodes) -> Rows:
    """Return what would be done with code sets, in words."""
    known = f"m = {2 if options.m is None else options.m}" if options.privacy is None else "the sets of a policy"
    return [
        ("patients", f"{given.codes.n_records:,} with {given.codes.n_codes:,} codes"),
        ("method", options.method),
        ("rules", f"k = {options.k}, {known}"),
        ("policy", "none" if options.policy is None else policy_word(options.policy)),
    ]


def policy_word(words: str) -> str:
    """How a policy is called: the words of a builder, or the name of its file without its folder."""
    return words.rpartition("/")[2]
