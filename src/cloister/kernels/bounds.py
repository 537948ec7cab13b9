"""What a transformation loses at least, when that is too much, and the order among equal losses."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit

TOLERANCE = 1e-12
"""Losses no further apart than this are equal."""

NOISE = 1e-14
"""How far rounding can move a loss; much less than the tolerance."""

MOST_FOUND = 64
"""Transformations that one exploration may find before it hands them over."""


class Best(NamedTuple):
    """What is known of good transformations.

    loss : (2,) least loss seen, and loss of the reference
    suppressed : (1,) records that the reference suppresses
    levels : (n_attributes,) the reference: of the transformations found, the one of least loss, ties decided
    found : (MOST_FOUND, n_attributes) transformations found in this exploration, no dearer than the least then known
    n_found : (1,) how many
    uppers, least : (MOST_FOUND, n_attributes), (MOST_FOUND,) where boxes are handed over: ``found`` holds their lower
        transformations, these their upper ones and the records suppressed throughout
    is_final : whether class size alone decides what is suppressed; else settled boxes are handed over

    Equality of losses within a tolerance is not transitive, so which transformation wins is decided only at the end,
    among all that were found. The reference only rules transformations out: what loses no less and stands behind it in
    the tie break can never win.
    """

    loss: NDArray[np.float64]
    suppressed: NDArray[np.int64]
    levels: NDArray[np.int64]
    found: NDArray[np.int64]
    n_found: NDArray[np.int64]
    uppers: NDArray[np.int64]
    least: NDArray[np.int64]
    is_final: bool


def reference(loss: float, suppressed: int, levels: list[int], *, is_final: bool = True) -> Best:
    """Start from one transformation that is safe; an infinite loss stands for none."""
    return Best(
        loss=np.array([loss, loss], dtype=np.float64),
        suppressed=np.array([suppressed], dtype=np.int64),
        levels=np.array(levels, dtype=np.int64),
        found=np.zeros((MOST_FOUND, len(levels)), dtype=np.int64),
        n_found=np.zeros(1, dtype=np.int64),
        uppers=np.zeros((MOST_FOUND, len(levels)), dtype=np.int64),
        least=np.zeros(MOST_FOUND, dtype=np.int64),
        is_final=is_final,
    )


@inner
def term(costs, attribute, level, share):
    """What one attribute adds to the bound at a level when this share of the records is suppressed."""
    loss = costs.mean[attribute, level] + share * (1.0 - costs.worst[attribute, level])
    if costs.geometric:
        return costs.weight[attribute] * np.log1p(loss)
    return costs.weight[attribute] * loss


@inner
def aggregate(costs, terms):
    """The loss that a sum of terms stands for."""
    return np.expm1(terms) if costs.geometric else terms


@jit
def bound_of(costs, levels, share):
    """Sum of terms of a transformation of which at least this share of the records is suppressed."""
    terms = 0.0
    for j in range(levels.shape[0]):
        terms += term(costs, j, levels[j], share)
    return terms


@inner
def _beats(maps, suppressed, levels, best):
    """Whether this wins a tie of losses: fewer suppressed, lower rank, smaller level vector."""
    if suppressed != best.suppressed[0]:
        return suppressed < best.suppressed[0]
    rank = 0
    for j in range(levels.shape[0]):
        rank += maps.number[j, levels[j]] - maps.number[j, best.levels[j]]
    if rank != 0:
        return rank < 0
    for j in range(levels.shape[0]):
        if levels[j] != best.levels[j]:
            return levels[j] < best.levels[j]
    return False


@inner
def cannot_win(maps, loss, suppressed, lower, best):
    """Whether nothing that loses at least this and suppresses at least that can win against what is known."""
    # Within the tolerance all stay: which of them wins is decided at the end, whatever the order of the work.
    if loss > best.loss[0] + TOLERANCE:
        return True
    return loss >= best.loss[1] - NOISE and not _beats(maps, suppressed, lower, best)


@inner
def keep(maps, loss, suppressed, levels, best):
    """Note a safe transformation that can win, and make it the reference if it wins against that."""
    if cannot_win(maps, loss, suppressed, levels, best):
        return
    for j in range(levels.shape[0]):
        best.found[best.n_found[0], j] = levels[j]
    best.n_found[0] += 1
    best.loss[0] = min(best.loss[0], loss)
    less = loss < best.loss[1] - NOISE
    if less or (loss <= best.loss[1] + NOISE and _beats(maps, suppressed, levels, best)):
        best.loss[1] = loss
        best.suppressed[0] = suppressed
        for j in range(levels.shape[0]):
            best.levels[j] = levels[j]


@inner
def hand_over(best, lower, upper, suppressed):
    """Note a box whose transformations cannot be told apart by class sizes."""
    for j in range(lower.shape[0]):
        best.found[best.n_found[0], j] = lower[j]
        best.uppers[best.n_found[0], j] = upper[j]
    best.least[best.n_found[0]] = suppressed
    best.n_found[0] += 1


@inner
def width(costs, attribute, low, high):
    """How much two levels of an attribute differ in cost."""
    return term(costs, attribute, high, 0.0) - term(costs, attribute, low, 0.0)
