"""Python interface for protecting patients with their claims."""

from typing import Any

from cloister.errors import InputError
from cloister.pipeline.claims_shape import ClaimsShape, prepare_claims
from cloister.pipeline.protecting import protect
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.options import ClaimsOptions
from cloister.shapes.claims.method.release import ClaimsRelease

from .keywords import NOWHERE, options_of, run_of, takes_settings

VERB = "protect_claims"
WITHOUT = ("patients", "claims", "plan")


@takes_settings(ClaimsOptions, WITHOUT)
def protect_claims(claims: Claims, **keywords: Any) -> ClaimsRelease:
    """Return a verified release of patients and their claims: its measured risk is below the threshold of the plan.

    Parameters
    ----------
    claims : both files as read, with the plan, which states what is asked
    **keywords

    Returns
    -------
    ClaimsRelease
        ``patients`` and ``claims`` are what is released, as text; one id joins them.

    Raises
    ------
    NoSafeRelease
        No levels and no suppression that the plan allows bring the risk under its threshold.

    Notes
    -----
    *Guarantee*: an adversary who knows the quasi-identifiers of a patient and a few values of each quasi-identifier of
    claims names the right patient with a probability of at most ``risk.threshold``, in the mean over patients, by
    simulation at the upper end of a 95 % interval. Not promised: a limit for each single patient; anything against an
    adversary who knows more, or columns that are kept as they are. Cost: see `cloister.shapes.claims.method.protect`.
    """
    if not isinstance(claims, Claims):
        raise InputError("protect_claims takes what cl.Claims.read returned.")
    options = options_of(
        VERB, ClaimsOptions, keywords, WITHOUT, patients=NOWHERE, claims=NOWHERE, plan=NOWHERE, out=NOWHERE
    )
    ClaimsShape().check(options)
    release = protect(prepare_claims(options, claims), run_of())
    assert isinstance(release, ClaimsRelease)
    return release
