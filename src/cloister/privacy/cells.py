"""Sums over the cells of a histogram, class by class."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .rule import Histogram
from .threshold import Figures

Counts = NDArray[np.int64]
Number = TypeVar("Number", np.int64, np.float64)


def recorded(histogram: Histogram) -> Counts:
    """Return the records of each cell, 0 where the value is missing; shape (n_cells,)."""
    return np.where(histogram.value == histogram.missing, 0, histogram.records)


def recorded_whole(histogram: Histogram) -> Counts:
    """Return the records of each value in the whole input, 0 for missing; shape (n_values,)."""
    return np.where(np.arange(len(histogram.whole)) == histogram.missing, 0, histogram.whole)


def class_sums(histogram: Histogram, cells: NDArray[Number]) -> NDArray[Number]:
    """Return the sum over the cells of each class, shape (n_classes,)."""
    return np.add.reduceat(cells, histogram.start[:-1])


def class_maxima(histogram: Histogram, cells: NDArray[Number]) -> NDArray[Number]:
    """Return the largest of the cells of each class, shape (n_classes,)."""
    return np.maximum.reduceat(cells, histogram.start[:-1])


def class_of_cell(histogram: Histogram) -> Counts:
    """Return the number of the class that each cell belongs to, shape (n_cells,)."""
    return np.repeat(np.arange(len(histogram.start) - 1), np.diff(histogram.start))


def shares(histogram: Histogram) -> Figures:
    """Return each cell's share of the records of its class, missing ones included; shape (n_cells,)."""
    sizes = class_sums(histogram, histogram.records)
    return np.asarray(histogram.records / np.repeat(sizes, np.diff(histogram.start)), dtype=np.float64)
