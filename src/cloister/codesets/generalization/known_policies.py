"""The policies that the manifest of generalized code sets names: as the user gives them, or made anew.

A release names its policies and does not hold them: their sets may be those of patients, and may name codes that are
suppressed. Codes by level and the diseases of genome-wide studies follow from the terms alone.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import occurrence, plain_code
from cloister.codesets.policy import CLASSIFICATIONS, GWAS, UtilityPolicy, parse_policy
from cloister.codesets.policy_words import GIVEN, one_record, policy_words
from cloister.codesets.recheck import CodesExpectation
from cloister.errors import InputError

from .data import Generalization, PrivacySets
from .manifest import GeneralizationManifest, GeneralizationSettings
from .privacy_files import ALL, RECORDS, VISITS, sets_of_json, sets_of_records, sets_of_visits
from .verify import NO_SETS

DIGITS = 10
"""Digits of a number of codes that nobody knows."""

LEVEL, OF_ALL = "level", ("sim:", "sup:")
"""Utility policies by level and `GWAS` follow from the terms; those that begin like the others, from the original."""


def known_policy(
    stated: GeneralizationManifest,
    released: Generalization,
    given: "str | Path | UtilityPolicy | None",
    codes: CodeSets | None,
) -> UtilityPolicy | None:
    """Return the utility policy of a release; one without sets if there is none, None if it is not known.

    Parameters
    ----------
    given : by the user: the policy, or its words
    codes : the original
    """
    asked = stated.settings
    if asked.policy is None:
        return NO_SETS
    if isinstance(given, UtilityPolicy):
        return given
    if given is not None and not isinstance(given, str | Path):
        raise InputError(
            f"A utility policy is a UtilityPolicy, or words as on the command line, not {type(given).__name__}."
        )
    present = one_record(released.vocabulary, repeats=released.repeats) if codes is None else codes
    promised, wanted = policy_words(asked.policy), None if given is None else policy_words(str(given))
    if given is not None and (wanted is None or not wanted.fits(promised)):
        _require_codes(str(given), codes)
        return parse_policy(str(given), present)
    if promised is None or (codes is None and promised.kind not in (GWAS, LEVEL)):
        return None
    return _made_anew(asked, present, may_be_none=codes is None and stated.utility.suppressed_codes > 0)


def _require_codes(words: str, codes: CodeSets | None) -> None:
    """Refuse to make sets of the codes of a release that must be made of all."""
    if codes is None and words.startswith(OF_ALL):
        raise InputError(
            f"The sets of the policy {words} are made of the codes of all patients, and it is not the one that the "
            "release names. Give the original with --original."
        )


def sets_named(privacy: PrivacySets, released: Generalization, codes: CodeSets | None) -> int:
    """Return how many sets of a privacy policy have a code of the release, or of the original."""
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


def _made_anew(asked: GeneralizationSettings, codes: CodeSets, *, may_be_none: bool) -> UtilityPolicy:
    """The policy by its words; without sets where that may be, since the codes that it was made of are suppressed."""
    words = str(asked.policy)
    if words.startswith(f"{LEVEL}:") and "/" not in words and asked.code_hierarchy in CLASSIFICATIONS:
        words = f"{words}/{asked.code_hierarchy}"
    try:
        return parse_policy(words, codes)
    except InputError:
        if may_be_none:
            return NO_SETS
        raise


@dataclass(frozen=True, eq=False, repr=False)
class KnownPrivacy:
    """Privacy policies that a release is checked against.

    Attributes
    ----------
    promised : the one that it promises to keep to; None where sets of up to m codes are meant, and where it is lacking
    further : another one that was given
    m : sets of up to so many codes are expected to be safe
    is_lacking : whether the promised one is not known
    """

    promised: PrivacySets | None
    further: PrivacySets | None
    m: int | None
    is_lacking: bool


def known_privacy(asked: GeneralizationSettings, expectation: CodesExpectation, codes: CodeSets | None) -> KnownPrivacy:
    """Return the privacy policies that are known: the promised one first, by its name, and what else was given.

    The records are at hand where the original is, whatever else is given. A policy that was made of lists has no name,
    so that any may be it.
    """
    given, m = _given_privacy(expectation, codes), expectation.m
    if isinstance(given, int):
        given, m = None, given
    if asked.m is not None:
        return KnownPrivacy(None, given, m, False)
    if asked.privacy == RECORDS and codes is not None:
        further = None if given is None or given.spec == RECORDS else given
        return KnownPrivacy(sets_of_records(codes), further, m, False)
    if given is not None and asked.privacy in (given.spec, GIVEN):
        return KnownPrivacy(given, None, m, False)
    return KnownPrivacy(None, given, m, True)


def lacking(asked: GeneralizationSettings, privacy: KnownPrivacy) -> InputError:
    """Return what is said of a release that is in order, but whose privacy policy is not known."""
    give = (
        "Give the original with --original."
        if asked.privacy == RECORDS
        else "Give it with --privacy, by the name that the release says."
    )
    other = ""
    if privacy.further is not None:
        other = f" The one that was given, {privacy.further.spec}, is another; its sets hold."
    elif privacy.m is not None:
        other = f" Sets of up to {privacy.m} terms hold, but that is not what is promised."
    return InputError(
        f"The files are in order, but the privacy policy that the release promises to keep to, {asked.privacy}, is not "
        f"among them, since it tells sets of codes of patients.{other} {give}"
    )


def _given_privacy(expectation: CodesExpectation, codes: CodeSets | None) -> PrivacySets | int | None:
    """The privacy policy that the user gives, or m where that is meant."""
    given = expectation.privacy
    if given is None:
        return None
    if isinstance(given, PrivacySets):
        return given if given.m is None else max(given.m, expectation.m or 1)
    if not isinstance(given, str | Path):
        raise InputError(
            f"A privacy policy is a PrivacyPolicy, or words as on the command line, not {type(given).__name__}."
        )
    words = str(given)
    kind, colon, rest = words.partition(":")
    if colon and kind == ALL:
        return _all_of(words, rest, expectation.m)
    if words != RECORDS:
        return sets_of_visits(rest, expectation.visits) if colon and kind == VISITS else sets_of_json(words)
    if codes is None:
        raise InputError(
            "The privacy policy records is all codes of each patient, which only the original has. Give it with "
            "--original."
        )
    return sets_of_records(codes)


def _all_of(words: str, number: str, m: int | None) -> int:
    if not (number.isascii() and number.isdigit() and 0 < len(number) < DIGITS) or int(number) < 1:
        raise InputError(f"The privacy policy {words!r} needs a whole number from 1 on after the colon, as in all:2.")
    if m is not None:
        raise InputError(f"-m stands for all sets of so many codes, as --privacy {words} does. Give one of them.")
    return int(number)
