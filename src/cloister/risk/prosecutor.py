"""The risk of somebody who knows that the patient is in the data: 1 / the size of the patient's class."""

from itertools import pairwise

import polars as pl

from cloister.results import Risk

BANDS = (1, 2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the class sizes that the histogram puts together."""

AGREEMENT = 1e-9
"""How far a risk may lie above the threshold by rounding alone."""


def measure_risk(sizes: pl.Series, threshold: float) -> Risk:
    """Prosecutor risk of records that stand in classes of these sizes.

    Parameters
    ----------
    sizes : records of each class, at least 1
    threshold : risk taken as acceptable, in (0, 1]
    """
    records = int(sizes.sum())
    ordered = sizes.sort()
    above = sizes.filter(sizes * threshold < 1.0 - AGREEMENT)
    return Risk(
        highest=1.0 / int(ordered[0]),
        average=len(sizes) / records,
        share_above_threshold=int(above.sum()) / records,
        threshold=threshold,
        classes=len(sizes),
        smallest=int(ordered[0]),
        largest=int(ordered[-1]),
        histogram=_histogram(sizes),
    )


def _histogram(sizes: pl.Series) -> tuple[tuple[str, int], ...]:
    """Records by the size of their class."""
    bands = [("1", sizes == 1)]
    bands += [(f"{low}-{high - 1}", sizes.is_between(low, high - 1)) for low, high in pairwise(BANDS[1:])]
    bands.append((f"{BANDS[-1]} and more", sizes >= BANDS[-1]))
    return tuple((label, int(sizes.filter(inside).sum())) for label, inside in bands)
