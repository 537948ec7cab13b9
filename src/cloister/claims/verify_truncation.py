"""Whether patients were cut to the percentile of claims that is told, counted in the original."""

import math

import numpy as np
from numpy.typing import NDArray

from cloister.checks import Checks

from .data_file import WrittenClaims
from .promise import Truncated
from .verify_original import Original

Numbers = NDArray[np.int64]


def truncation_holds(checks: Checks, files: WrittenClaims, original: Original, told: Truncated) -> None:
    """Look for the claims that the percentile leaves of every released patient, suppressed claims aside."""
    assert original.origin is not None
    if told.by_year and original.years is None:
        checks.require(False, "claims have years to be cut by")
        return
    left = _left(original, told)[original.origin]
    shown = np.bincount(files.owners, minlength=files.patients.height)
    right = shown <= left if told.loses_more else shown == left
    each = "patient and year" if told.by_year else "patient"
    cut = f"as many claims of each {each} as the {told.percentile:g}th percentile is, or fewer where there are"
    had = "all of their claims" if told.percentile >= 100 else cut
    more = ", or fewer by suppression" if told.loses_more else ""
    checks.require(bool(right.all()), f"released patients have {had}{more}")


def _left(original: Original, told: Truncated) -> Numbers:
    """How many claims of each patient of the original the percentile leaves; by nearest rank over those who have any.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 1.
    """
    n = original.patients.height
    years = original.years if told.by_year and original.years is not None else np.zeros_like(original.owners)
    groups, counts = np.unique(np.stack([original.owners, years]), axis=1, return_counts=True)
    if told.percentile < 100 and counts.size:
        rank = max(1, math.ceil(round(told.percentile * counts.size / 100, 9)))
        counts = np.minimum(counts, np.sort(counts)[rank - 1])
    return np.bincount(groups[0], weights=counts, minlength=n).astype(np.int64)
