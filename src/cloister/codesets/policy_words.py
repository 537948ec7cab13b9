"""Utility policies whose words say how they are made of the codes alone: they can be made anew from a release."""

from dataclasses import dataclass, replace

import numpy as np

from cloister.errors import InputError

from .data import CodeSets
from .policy import CLASSIFICATIONS, GWAS, LEVELS, UtilityPolicy, better_known, is_built, parse_policy

BY_SUPPORT = "sup"
"""How the words of a policy of frequent sets begin, of which nothing is told."""

GIVEN = "given"


def as_told(policy: UtilityPolicy, codes: CodeSets) -> UtilityPolicy:
    """Return the policy; where its words would make another one of these codes, with words that say nothing.

    A recipient makes the policy anew from its words, so that they must be true.
    """
    if policy.support is not None:
        own = is_support(policy.spec)
        return policy if own else replace(policy, spec=f"{BY_SUPPORT}:{policy.support.percent:.12g}")
    if not is_built(policy.spec):
        return policy
    made = None if is_support(policy.spec) else _made(policy.spec, codes)
    is_true = made is not None and set(made.constraints) == set(policy.constraints)
    return policy if is_true else replace(policy, spec=GIVEN)


def classified(spec: str, codes: CodeSets) -> str:
    """Return words for a policy with the classification that they mean for these codes: ``level:1/icd9``.

    Where codes are suppressed the other classification may know more of those that are left.
    """
    if spec == GWAS or not is_made_of_codes(spec) or "/" in spec:
        return spec
    return f"{spec}/{better_known(codes)}"


def is_support(spec: str) -> bool:
    """Whether words are those of a policy of frequent sets."""
    return spec.partition(":")[:2] == (BY_SUPPORT, ":")


def is_made_of_codes(spec: str) -> bool:
    """Whether words say how a policy is made of the codes alone."""
    return is_built(spec) and not is_support(spec)


def made_anew(spec: str, vocabulary: tuple[str, ...], *, repeats: bool) -> UtilityPolicy | None:
    """Return the policy that words make of the codes of a release; None where they make none."""
    return _made(spec, one_record(vocabulary, repeats=repeats))


def one_record(vocabulary: tuple[str, ...], *, repeats: bool) -> CodeSets:
    """Return code sets of one record that holds every code."""
    n_codes = len(vocabulary)
    offsets = np.array([0, n_codes], dtype=np.int64)
    return CodeSets(vocabulary, offsets, np.arange(n_codes, dtype=np.int32), None, repeats)


@dataclass(frozen=True)
class PolicyWords:
    """What words say of how a policy is made of codes.

    Attributes
    ----------
    kind : ``level``, ``sim``, ``sup`` or ``gwas``
    number : of the level, of codes or percent; 0 for ``gwas``
    classification : None where it is not said
    """

    kind: str
    number: float
    classification: str | None

    def fits(self, other: "PolicyWords | None") -> bool:
        """Whether these words may mean what others do: a classification that is not said may be any."""
        if other is None or (self.kind, self.number) != (other.kind, other.number):
            return False
        return self.classification is None or self.classification == other.classification


def policy_words(spec: str) -> PolicyWords | None:
    """Return what words say; None where they make no policy of any codes.

    Examples
    --------
    >>> policy_words("level:1/icd9") == policy_words("level:1.0/icd9"), policy_words("level:9"), policy_words("my.json")
    (True, None, None)
    """
    if spec == GWAS:
        return PolicyWords(GWAS, 0, None)
    if not is_built(spec):
        return None
    kind, _, rest = spec.partition(":")
    text, slash, classification = rest.partition("/")
    try:
        number = float(text)
    except ValueError:
        return None
    known = {"level": number in LEVELS, "sim": number >= 1 and number.is_integer(), BY_SUPPORT: 0 < number <= 100}
    classified = not slash or (kind != BY_SUPPORT and classification in CLASSIFICATIONS)
    return PolicyWords(kind, number, classification if slash else None) if known[kind] and classified else None


def _made(spec: str, codes: CodeSets) -> UtilityPolicy | None:
    try:
        return parse_policy(spec, codes)
    except InputError:
        return None
