"""Protecting from Python: patients with their claims."""

import os

from cloister.errors import InputError
from cloister.kernels.compiling import say_first_call
from cloister.pipeline.claims import protect_claims
from cloister.settings.declaration import check_threads
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.method.release import ClaimsRelease


def deidentify_claims(
    claims: Claims, *, seed: int | None = None, threads: int | None = None, accept_empty: bool = False
) -> ClaimsRelease:
    """Return a release of patients and their claims, verified: its measured risk is under the plan's threshold.

    Parameters
    ----------
    claims : both files as read, with the plan, which says all that is asked
    seed : of the simulations, from 0 to below 2**32; that of the plan if None
    threads : all cores if None; never changes the answer
    accept_empty : release although all quasi-identifiers are empty

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
        raise InputError("deidentify_claims takes what cl.Claims.read returned.")
    check_threads(threads)
    say_first_call("claims")
    threads = threads or os.cpu_count() or 1
    return protect_claims(claims, seed=seed, threads=threads, accept_empty=accept_empty)
