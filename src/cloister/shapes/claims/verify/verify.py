"""Check that a release of claims meets its guarantee, recomputed from the written files.

What the files show is asked by SQL (`statements`), and the adversary is simulated again with NumPy (`risk`). Nothing is
shared with what protects. The files alone show the risk where values are drawn from the released claims. The risk
against the original claims, from which values were drawn before truncation and suppression, takes the original.
"""

import math
from collections.abc import Iterable

import numpy as np
import polars as pl

from cloister.results import Checks, Verdict
from cloister.shapes.claims.format.data import years_of
from cloister.shapes.claims.format.manifest import ClaimsPromise
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.claims.format.released_columns import WrittenClaims
from cloister.verification.script import Finding, note

from .original import PreparedOriginal, compare
from .risk import original_holds, risk_holds, seed_of
from .statements import find_broken

HOW = "files counted again by SQL, risk simulated again with other random numbers, independently of the search"


def verify(
    files: WrittenClaims,
    promise: ClaimsPromise,
    original: PreparedOriginal | None = None,
    findings: Iterable[Finding] | None = None,
) -> Verdict:
    """Return the verdict on the files, and on the original if it is given.

    ``findings``: what the script found in the files of the release; without them, it is run on the files in memory
    """
    checks = Checks()
    if note(checks, find_broken(files, promise) if findings is None else findings):
        truth = None if original is None else compare(checks, files, promise.form, original)
        if original is not None and truth is not None and promise.percentile is not None:
            _check_truncation(checks, files, original, promise.percentile, promise.plan)
        seed = seed_of(files)
        risk_holds(checks, files, promise, seed)
        if truth is not None:
            original_holds(checks, files, promise, seed, truth)
    return checks.verdict(HOW)


def _check_truncation(
    checks: Checks, files: WrittenClaims, original: PreparedOriginal, percentile: float, plan: ClaimsPlan
) -> None:
    """Look for the claims that the percentile leaves of every released patient, suppressed claims aside.

    By nearest rank over those who have claims: El Emam et al. (2012), JMIR 14(1):e33, appendix, section 1.
    """
    (data, origin), owners = original, original.data.owners
    by_year, loses_more = plan.truncation.per == "patient-year", plan.suppression.treatment == "claims"
    if by_year and data.plan.claims.column("date") is None:
        checks.require(False, "claims have years to be cut by")
        return
    columns = [pl.Series("owner", owners), *([years_of(data).alias("year")] if by_year else [])]
    groups = pl.DataFrame(columns).group_by(pl.all()).len()
    counts = groups["len"].cast(pl.Int64).to_numpy()
    if percentile < 100 and counts.size:
        rank = max(1, math.ceil(round(percentile * counts.size / 100, 9)))
        counts = np.minimum(counts, np.sort(counts)[rank - 1])
    left = np.bincount(groups["owner"], weights=counts, minlength=data.n_patients).astype(np.int64)[origin]
    released = np.bincount(files.owners, minlength=files.patients.height)
    # suppression takes whole claims by one treatment only: then fewer may be left, by the others none may be missing
    right = released <= left if loses_more else released == left
    each = "patient and year" if by_year else "patient"
    cut = f"as many claims of each {each} as the {percentile:g}th percentile is, or fewer where there are"
    had = "all of their claims" if percentile >= 100 else cut
    more = ", or fewer by suppression" if loses_more else ""
    checks.require(bool(right.all()), f"released patients have {had}{more}")
