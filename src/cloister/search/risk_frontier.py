"""The Pareto frontier of transformations by highest risk and loss, without suppression."""

import heapq

import numpy as np

from cloister.errors import InputError, setting
from cloister.kernels.layout import TOLERANCE

from .problem import Candidate, SearchProblem

Levels = tuple[int, ...]


def risk_frontier(problem: SearchProblem) -> list[Candidate]:
    """Return the transformations on the Pareto frontier of smallest class size and loss, least loss first.

    Nothing is suppressed: the smallest class is that of all records, and the highest risk is one by its size. Of
    transformations that are alike in both, the one of the lowest levels is there.

    *Guarantee*: every transformation of the lattice is beaten by one that is returned, or alike in both figures, or is
    returned. Classes only grow with the levels and so does the loss, which is a mean of the columns' losses: a box of
    transformations whose coarsest has no larger classes than one that loses no more is omitted whole. Cost: of the
    order of the transformations on the frontier and next to it, counted once each (350 of the 6,480 of adult).

    Source: Xia, Heatherly, Ding, Li, Malin (2015), "R-U policy frontiers for health data de-identification".
    """
    if not problem.is_mean_loss:
        raise InputError("The frontier needs a loss that is a mean over columns. Take another for ", setting("loss"))
    costs, every = problem.task.costs, np.arange(len(problem.names))
    measured: dict[Levels, Candidate] = {}

    def smallest(levels: Levels) -> int:
        if levels not in measured:
            measured[levels] = problem.measure(levels)
        return measured[levels].smallest

    def loss(levels: Levels) -> float:
        return problem.aggregate(costs.mean[every, levels].tolist())

    low, high = tuple(problem.lowest.tolist()), problem.top
    boxes, found, largest = [(loss(low), low, high)], list[Candidate](), 0
    while boxes:
        least, low, high = heapq.heappop(boxes)
        # Boxes come by what their finest transformation loses: all found so far lose no more than any of this one.
        if smallest(high) <= largest:
            continue
        if low == high or smallest(low) == smallest(high):
            if smallest(low) > largest:
                largest = smallest(low)
                found.append(measured[low])
            continue
        widths = costs.weight * (costs.mean[every, high] - costs.mean[every, low])
        j = int(np.argmax(np.where(np.array(high) > np.array(low), widths, -1.0)))
        middle = (low[j] + high[j]) // 2
        upper = (*low[:j], middle + 1, *low[j + 1 :])
        heapq.heappush(boxes, (least, low, (*high[:j], middle, *high[j + 1 :])))
        heapq.heappush(boxes, (loss(upper), upper, high))
    # Losses that differ by rounding alone are equal: of these the one with the largest classes beats the others.
    after = [*(one.bound for one in found[1:]), np.inf]
    return [one for one, following in zip(found, after, strict=True) if one.bound < following - TOLERANCE]
