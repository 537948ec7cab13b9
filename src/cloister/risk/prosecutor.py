"""The risk of somebody who knows that the patient is in the data: 1 / the size of the patient's class.

Columns of text become numbered cells and classes first; the risk is compared with what is taken as acceptable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.special_uniques import Cells, cells_of, classes
from cloister.results import Risk


@dataclass(frozen=True, eq=False, repr=False)
class GroupedRecords:
    """Records by their quasi-identifiers.

    Attributes
    ----------
    cells : the distinct combinations of values, numbered, and how many records have each
    labels : (n_records,) int64, which combination each record has
    first : (n_classes,) int64, the first record of each
    """

    columns: tuple[str, ...]
    cells: Cells
    labels: NDArray[np.int64]
    first: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class, shape (n_classes,) int64."""
        return self.cells.records

    @property
    def n_records(self) -> int:
        """Records of all classes."""
        return self.labels.size


def group(texts: pl.DataFrame, columns: Sequence[str]) -> GroupedRecords:
    """Return the classes of records by these columns of text; a missing value is a value of its own."""
    numbered = [_numbered(texts[column]) for column in columns]
    cells = cells_of(np.stack([values for values, _ in numbered]), np.array([width for _, width in numbered]))
    found = classes(cells, np.arange(len(numbered)))
    distinct = Cells(np.ascontiguousarray(cells.values[:, found.first]), cells.widths, found.sizes)
    return GroupedRecords(tuple(columns), distinct, found.labels, found.first)


def _numbered(text: pl.Series) -> tuple[NDArray[np.uint32], int]:
    """Number each value of a column, and how many numbers there are; the order of numbers means nothing."""
    names = text.drop_nulls().unique()
    numbers = text.cast(pl.Enum(names)).to_physical().cast(pl.UInt32).fill_null(len(names))
    return numbers.to_numpy(), len(names) + 1


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


THRESHOLDS = {"hhp": 0.05, "ema": 0.09}
"""By name: the Heritage Health Prize (El Emam et al. 2012) and the European Medicines Agency (policy 0070)."""

USUAL = 0.2


def parse_threshold(text: str | float) -> float:
    """Return a threshold that was given as a number above 0 and at most 1, or by name.

    Examples
    --------
    >>> parse_threshold("ema"), parse_threshold("0.2")
    (0.09, 0.2)
    """
    if isinstance(text, str) and text in THRESHOLDS:
        return THRESHOLDS[text]
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise InputError(
            f"The threshold of risk is a number above 0 and at most 1, or one of {', '.join(THRESHOLDS)}, as in 0.2."
        )
    return number
