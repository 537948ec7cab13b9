"""What a policy loses at least, and when that is too much: bounds on the loss, and the order among equal losses."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit

TOLERANCE = 1e-12
"""Losses no further apart than this are equal."""


class Best(NamedTuple):
    """The best policy known: ``loss`` (2,) least loss seen and loss of the policy; ``suppressed`` (1,); ``levels``."""

    loss: NDArray[np.float64]
    suppressed: NDArray[np.int64]
    levels: NDArray[np.int64]


@jit
def term(costs, attribute, level, share):
    """What one attribute adds to the bound at a level when this share of the records is suppressed."""
    loss = costs.mean[attribute, level] + share * (1.0 - costs.worst[attribute, level])
    if costs.geometric:
        return costs.weight[attribute] * np.log1p(loss)
    return costs.weight[attribute] * loss


@jit
def aggregate(costs, terms):
    """The loss that a sum of terms stands for."""
    return np.expm1(terms) if costs.geometric else terms


@jit
def bound_of(costs, levels, share):
    """Sum of terms of a policy of which at least this share of the records is suppressed."""
    terms = 0.0
    for j in range(levels.shape[0]):
        terms += term(costs, j, levels[j], share)
    return terms


@jit
def _beats(ladders, suppressed, levels, best):
    """Whether this wins a tie of losses: fewer suppressed, lower rank, smaller level vector."""
    if suppressed != best.suppressed[0]:
        return suppressed < best.suppressed[0]
    rank = 0
    for j in range(levels.shape[0]):
        rank += ladders.number[j, levels[j]] - ladders.number[j, best.levels[j]]
    if rank != 0:
        return rank < 0
    for j in range(levels.shape[0]):
        if levels[j] != best.levels[j]:
            return levels[j] < best.levels[j]
    return False


@jit
def cannot_win(ladders, loss, suppressed, lower, best):
    """Whether nothing that loses at least this and suppresses at least that can replace the best."""
    if loss > best.loss[0] + TOLERANCE:
        return True
    return loss >= best.loss[0] - TOLERANCE and not _beats(ladders, suppressed, lower, best)


@jit
def width(costs, attribute, low, high):
    """How much two levels of an attribute differ in cost."""
    return term(costs, attribute, high, 0.0) - term(costs, attribute, low, 0.0)
