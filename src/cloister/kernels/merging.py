"""What merging one class of a table with each other class loses."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit


class Classes(NamedTuple):
    """Classes of a table, each by its first row.

    Attributes
    ----------
    codes : (n_attributes, n_levels, n) int64, label of the row at each level; levels beyond the top repeat it
    costs : (n_attributes, n_levels, n) float64, loss of that label, in [0, 1]
    levels : (n_attributes, n) int64, level of each class now
    sizes : (n,) int64, records
    is_there : (n,) bool, whether the class was not merged into another
    """

    codes: NDArray[np.int64]
    costs: NDArray[np.float64]
    levels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    is_there: NDArray[np.bool_]


@jit
def _common_level(classes, attribute, one, other):
    """The lowest level, not below that of either class, at which both have one label."""
    level = max(classes.levels[attribute, one], classes.levels[attribute, other])
    while classes.codes[attribute, level, one] != classes.codes[attribute, level, other]:
        level += 1
    return level


@jit
def _prices(classes, one, weights, highest, prices):
    for other in range(classes.sizes.shape[0]):
        prices[other] = np.inf
        if other == one or not classes.is_there[other]:
            continue
        price = 0.0
        for j in range(weights.shape[0]):
            level = _common_level(classes, j, one, other)
            if level > highest[j]:
                price = np.inf
                break
            mine = classes.costs[j, level, one] - classes.costs[j, classes.levels[j, one], one]
            theirs = classes.costs[j, level, one] - classes.costs[j, classes.levels[j, other], other]
            price += weights[j] * (mine * classes.sizes[one] + theirs * classes.sizes[other])
        prices[other] = price


def merge_prices(
    classes: Classes, one: int, weights: NDArray[np.float64], highest: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what merging a class with each other one adds to the weighted loss of records.

    Parameters
    ----------
    weights, highest : (n_attributes,) weight, and highest level allowed

    Returns
    -------
    prices : (n,) float64; infinite where classes are gone or may not be merged

    Raises
    ------
    ValueError
        The arrays do not fit together.
    """
    attributes, _, n = classes.codes.shape
    if classes.costs.shape != classes.codes.shape or classes.levels.shape != (attributes, n):
        raise ValueError("codes, costs and levels must have the same attributes and classes")
    if not (classes.sizes.shape == classes.is_there.shape == (n,)) or not 0 <= one < n:
        raise ValueError("sizes and is_there must have one entry a class, and the class be one of them")
    if weights.shape != (attributes,) or highest.shape != (attributes,):
        raise ValueError("weights and highest must have one entry an attribute")
    if n and np.any(classes.codes[:, -1] != classes.codes[:, -1, :1]):
        raise ValueError("all classes must have one label at the last level")
    prices = np.empty(n, dtype=np.float64)
    _prices(classes, one, weights, highest, prices)
    return prices
