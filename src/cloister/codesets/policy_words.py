"""Utility policies whose words say how they are made of the codes alone: they can be made anew from a release."""

from dataclasses import replace

import numpy as np

from cloister.errors import InputError

from .data import CodeSets
from .policy import GWAS, UtilityPolicy, better_known, is_built, parse_policy

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
    n_codes = len(vocabulary)
    offsets = np.array([0, n_codes], dtype=np.int64)
    return _made(spec, CodeSets(vocabulary, offsets, np.arange(n_codes, dtype=np.int32), None, repeats))


def _made(spec: str, codes: CodeSets) -> UtilityPolicy | None:
    try:
        return parse_policy(spec, codes)
    except InputError:
        return None
