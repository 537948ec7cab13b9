"""Choose labels to suppress so that few draws are flagged at little loss: a greedy, lazily updated cover.

A label that is suppressed is suppressed in all claims: a draw that holds it is missed, and no class of others becomes
smaller, so that what one label does is never undone by another. Only rare labels are taken: without a common one,
nearly every draw would be missed, and who believes flags would know as much as before.
"""

import heapq
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Draws, Recoding

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

RARE = 0.25
"""Share of the patients who have a label at most for it to be rare."""

NOTHING = 1e-12
"""What a label costs at least, so that gains per cost can be compared."""


def distinct(numbers: Numbers) -> Numbers:
    """The different ones of some numbers from 0 on, in order; np.unique hashes, which of millions takes longer."""
    found = np.sort(numbers)
    first: Numbers = found[np.diff(found, prepend=-1) != 0]
    return first


@dataclass(frozen=True, eq=False, repr=False)
class DrawnLabels:
    """Which labels are in which draws, each pair once; labels by their number among those of all columns and levels.

    ``labels, draws``: (n_pairs,); ``of_values``: (n_values,) the label of each value drawn.
    """

    labels: Numbers
    draws: Numbers
    of_values: Numbers

    @classmethod
    def of(cls, draws: Draws, recoding: Recoding) -> "DrawnLabels":
        """The labels of draws at the levels of a node."""
        sizes = np.diff(draws.starts, axis=1)
        columns = np.repeat(np.tile(np.arange(sizes.shape[1]), sizes.shape[0]), sizes.reshape(-1))
        labels = recoding.labels[recoding.at[columns] + draws.values]
        n = max(draws.patients.size, 1)
        pairs = distinct(labels * n + np.repeat(np.arange(draws.patients.size), sizes.sum(axis=1)))
        return cls(pairs // n, pairs % n, labels)

    def only(self, wanted: Flags) -> "DrawnLabels":
        """Some of the pairs."""
        return replace(self, labels=self.labels[wanted], draws=self.draws[wanted])


def greedy_cover(drawn: DrawnLabels, costs: NDArray[np.float64], needed: int) -> Numbers:
    """Return labels that hold so many of the draws together, most draws for their cost first; all useful ones if fewer.

    Lazily: gains only fall as labels are taken, so that one whose gain, counted again, still comes first is the next.
    Of labels with equal gains for their cost those with lower numbers come first.

    costs : by label; infinite for labels that may not be taken
    """
    labels, starts = np.unique(drawn.labels, return_index=True)
    ends = np.append(starts, drawn.labels.size)[1:]
    left = np.ones(int(drawn.draws.max(initial=-1)) + 1, dtype=np.bool_)
    own = np.maximum(costs[labels], NOTHING)
    heap = [
        (-float(end - start) / float(cost), int(label), int(start), int(end), float(cost))
        for label, start, end, cost in zip(labels, starts, ends, own, strict=True)
        if np.isfinite(cost)
    ]
    heapq.heapify(heap)
    taken: list[int] = []
    while needed > 0 and heap:
        _, label, start, end, cost = heapq.heappop(heap)
        held = drawn.draws[start:end]
        gain = int(np.count_nonzero(left[held]))
        now = (-gain / cost, label, start, end, cost)
        if heap and now > heap[0]:
            if gain:
                heapq.heappush(heap, now)
            continue
        if not gain:
            break
        left[held] = False
        needed -= gain
        taken.append(label)
    return np.array(taken, dtype=np.int64)


def without_labels(draws: Draws, gone: Flags) -> Draws:
    """The same draws without some of their values, (n_values,)."""
    n, n_columns = draws.patients.size, draws.starts.shape[1] - 1
    before = np.concatenate([[0], np.cumsum(~gone)]).astype(np.int64)
    sizes = np.diff(before[draws.starts], axis=1)
    ends = np.cumsum(sizes.reshape(-1)).reshape(n, n_columns)
    starts = np.zeros_like(draws.starts)
    starts[:, 1:] = ends
    starts[1:, 0] = starts[:-1, -1]
    return Draws(draws.patients, starts, draws.values[~gone])
