"""The policies of a release that is checked again: as the user gives them, or made anew where that can be done.

A release names its policies and does not hold them: their sets may be those of patients, and may name codes that are
suppressed. Codes by level and the diseases of genome-wide studies follow from the terms alone.
"""

from pathlib import Path

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import occurrence, plain_code
from cloister.codesets.expectation import CodesExpectation
from cloister.codesets.policy import CLASSIFICATIONS, UtilityPolicy, parse_policy
from cloister.errors import InputError

from .data import Generalization, PrivacySets
from .privacy_files import ALL, RECORDS, VISITS, sets_of_json, sets_of_records, sets_of_visits
from .stated import Stated
from .verify import NO_SETS

GWAS, LEVEL = "gwas", "level:"
BUILT = (LEVEL, "sim:", "sup:")
"""How utility policies begin that can be made anew from the original; by level and `GWAS` also from terms."""


def known_policy(
    asked: Stated, released: Generalization, given: "str | Path | UtilityPolicy | None", codes: CodeSets | None
) -> UtilityPolicy | None:
    """Return the utility policy of a release; one without sets if there is none, None if it is not known.

    Parameters
    ----------
    given : by the user: the policy, or its words
    codes : the original

    Raises
    ------
    InputError
        The words are no policy.
    """
    if asked.policy is None:
        return NO_SETS
    present = _all_codes(released) if codes is None else codes
    if isinstance(given, UtilityPolicy):
        return given
    words = asked.policy.partition("/")[0]
    if given is not None and not (str(given) == words and words.startswith(BUILT)):
        return parse_policy(str(given), present)
    if asked.policy != GWAS and not asked.policy.startswith(LEVEL if codes is None else BUILT):
        return None
    return _made_anew(asked, present)


def sets_named(privacy: PrivacySets, released: Generalization, codes: CodeSets | None) -> int:
    """Return how many sets of a privacy policy have a code of the release, or of the original.

    Raises
    ------
    InputError
        None has, so that nothing would be checked.
    """
    present = set(released.vocabulary) | (set() if codes is None else set(codes.vocabulary))
    names = privacy.vocabulary
    if released.repeats:
        present = {plain_code(code, repeats=True) for code in present}
        names = tuple((occurrence(name) or (name, 1))[0] for name in names)
    sets, known = privacy.sets, np.array([name in present for name in names], dtype=np.bool_)
    found = len(set(sets.owners()[known[sets.items]].tolist()))
    if not found:
        raise InputError(
            f"None of the {len(sets)} sets of the privacy policy {privacy.spec} has a code of the release, so nothing "
            "was checked. Give the policy that the release names, with codes as the data write them, or the original "
            "with --original."
        )
    return found


def _made_anew(asked: Stated, codes: CodeSets) -> UtilityPolicy:
    """The policy by its words; without sets where no code has a place in the classification."""
    words = str(asked.policy)
    if words.startswith(LEVEL) and "/" not in words and asked.code_hierarchy in CLASSIFICATIONS:
        words = f"{words}/{asked.code_hierarchy}"
    try:
        return parse_policy(words, codes)
    except InputError:
        return NO_SETS


def _all_codes(released: Generalization) -> CodeSets:
    """One record that holds every code."""
    n_codes = len(released.vocabulary)
    offsets = np.array([0, n_codes], dtype=np.int64)
    return CodeSets(released.vocabulary, offsets, np.arange(n_codes, dtype=np.int32), None, released.repeats)


def known_privacy(asked: Stated, expectation: CodesExpectation, codes: CodeSets | None) -> PrivacySets | None:
    """Return the sets of the privacy policy; None where sets of up to m codes are meant, or expected.

    Raises
    ------
    InputError
        It is not known, or cannot be read.
    """
    given: str | Path | PrivacySets | None = expectation.privacy
    if given is not None and not isinstance(given, str | Path):
        return given
    if given is not None and str(given) != RECORDS:
        words = str(given)
        if words.startswith(f"{ALL}:"):
            raise InputError("Sets of up to so many codes are checked with -m, as in -m 2. Leave --privacy out.")
        kind, colon, path = words.partition(":")
        return sets_of_visits(path, expectation.visits) if colon and kind == VISITS else sets_of_json(words)
    if RECORDS in (given, asked.privacy) and codes is not None:
        return sets_of_records(codes)
    if asked.m is None and expectation.m is None:
        raise InputError(
            "The files are in order, but the privacy policy that the release promises to keep to is not among them, "
            "since it tells sets of codes of patients. Give it with --privacy, or where it is records with --original, "
            "or say with -m how many codes somebody may know."
        )
    return None
