"""Steps 1 to 6 in order, and what each says."""

from dataclasses import dataclass

from .contents import check_contents
from .data import Claims
from .derived import derived
from .exclusions import exclusions
from .grouping import grouping, top_coding
from .pseudonyms import pseudonyms
from .removals import leave_out_without_claims, removals
from .representativeness import Representativeness, representativeness
from .steps import StepLine


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """Claims after steps 1 to 6.

    Attributes
    ----------
    claims : what remains, ready to be encoded
    lines : for the report, in the order of the steps
    representativeness : excluded against remaining patients
    excluded : the patients whom step 2 took out, with what is derived of them
    """

    claims: Claims
    lines: tuple[StepLine, ...]
    representativeness: Representativeness
    excluded: Claims


def prepare(data: Claims) -> Prepared:
    """Take patients and claims through steps 1 to 6.

    Excluded patients go through the derivations as well, since they are compared with the others by them.

    Raises
    ------
    InputError
        A step cannot be done with these data or this plan.
    """
    check_contents(data)
    renamed = pseudonyms(data)
    chosen = exclusions(renamed.claims)
    assert chosen.removed is not None
    cut = removals(chosen.claims)
    having = leave_out_without_claims(cut.claims)
    worked_out = derived(having.claims)
    excluded = derived(chosen.removed).claims
    compared = representativeness(excluded, worked_out.claims)
    grouped = grouping(worked_out.claims)
    topped = top_coding(grouped.claims)
    lines = (
        renamed.line,
        chosen.line,
        cut.line,
        having.line,
        compared.line,
        worked_out.line,
        grouped.line,
        topped.line,
    )
    return Prepared(topped.claims, lines, compared, excluded)
