"""Search for the node with the least loss among nodes of sufficiently low risk (step 10).

The search sees levels, losses and two questions about a node, never rows. ``is_candidate`` is inherited by coarser
nodes, so a node that is none rules out all finer ones ("predictive tagging"); ``is_accepted`` need not be. What is left
to try are nodes that lose less than the best one known, those first that rule out most.

The searches of `cloister.search` do not fit: they know how records are suppressed by class size, and OLA there measures
all minimal nodes. Here losses are sums over columns, known before anything is measured, and measuring is all the work.

References
----------
El Emam, Dankar, Issa, Jonker, Amyot, Cogo, Corriveau, Walker, Chowdhury, Vaillancourt, Roffey, Bottomley (2009), "A
globally optimal k-anonymity method for the de-identification of health data", JAMIA 16(5):670-682: OLA, whose tagging
and bisection of paths these are. Deviation: only nodes that may still win are decided, not all minimal ones.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError

Node = tuple[int, ...]
Question = Callable[[Node], bool]

MOST_NODES = 1 << 26
"""Nodes of the largest lattice that is kept node by node."""

DECIMALS = 12
"""Losses that differ by less are equal; then the lower sum of levels wins, then the lower levels in column order."""


@dataclass(frozen=True)
class LatticeResult:
    """The node that loses least; None if none that loses less than the bound is a candidate and accepted.

    Of so many nodes of the lattice some were checked (are they candidates?) and some tested (are they accepted?).
    ``is_complete``: the search came to its end; else a node that loses less may have been left.
    """

    levels: Node | None
    loss: float
    lattice: int
    checked: int
    tested: int
    is_complete: bool = True


class Budget:
    """What searches may cost together: nodes asked, by either question, and seconds from now on; None is no bound."""

    def __init__(self, nodes: int | None = None, seconds: float | None = None) -> None:
        self._left = nodes
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        """Whether no other node may be asked."""
        return self._left == 0 or (self._end is not None and time.monotonic() >= self._end)

    def spend(self) -> bool:
        """Whether one more node may be asked; it then counts."""
        if self.is_spent:
            return False
        if self._left is not None:
            self._left -= 1
        return True


class _Search:
    """One run: flags for all nodes of the lattice, and their order."""

    def __init__(self, losses: Sequence[NDArray[np.float64]], fixed: float, bound: float, budget: Budget) -> None:
        self.shape = tuple(column.size for column in losses)
        total = np.full(self.shape, fixed)
        volume, rank = np.ones(self.shape), np.zeros(self.shape, dtype=np.int64)
        for j, column in enumerate(losses):
            along = [1] * len(losses)
            along[j] = column.size
            total += column.reshape(along)
            volume *= np.arange(1, column.size + 1).reshape(along)
            rank += np.arange(column.size).reshape(along)
        self.loss = np.round(total, DECIMALS)
        self.place = np.empty(total.size, dtype=np.int64)
        self.place[np.lexsort((rank.ravel(), self.loss.ravel()))] = np.arange(total.size)
        self.place = self.place.reshape(self.shape)
        self.volume, self.budget = volume, budget
        self.is_open = self.loss < round(bound, DECIMALS)
        self.candidates, self.rejected = np.zeros((2, *self.shape), dtype=np.bool_)
        self.best: Node | None = None
        self.checked = self.tested = 0
        self.is_complete = True

    def next(self) -> Node | None:
        """The open node that rules out most if it is no candidate; None when all is decided."""
        if not self.is_open.any():
            return None
        weight = np.where(self.is_open, self.volume, 0.0)
        return tuple(int(level) for level in np.unravel_index(int(np.argmax(weight)), self.shape))

    def asks(self, node: Node, is_candidate: Question) -> bool:
        """Whether a node is a candidate; what that rules out is closed, what it implies is noted."""
        if self.candidates[node]:
            return True
        below = tuple(slice(0, level + 1) for level in node)
        if not self.is_open[node] and not self.is_open[below].any():
            return False
        if not self._may_ask():
            return False
        self.checked += 1
        if is_candidate(node):
            # coarser nodes inherit it, so none of them has to be asked
            self.candidates[tuple(slice(level, None) for level in node)] = True
            return True
        # were a finer node a candidate, this one would be
        self.is_open[below] = False
        return False

    def accept(self, node: Node, is_accepted: Question) -> None:
        """Ask about a candidate; it becomes the best, and what does not lose less is closed, or it is closed alone."""
        self.is_open[node] = False
        if self.rejected[node] or not self._may_ask():
            return
        self.tested += 1
        if is_accepted(node):
            self.best = node
            self.is_open &= self.place < self.place[node]
        else:
            # acceptance is not inherited: neither finer nor coarser nodes are ruled out
            self.rejected[node] = True

    def _may_ask(self) -> bool:
        """Whether the budget allows one more question; if not, nothing is left open."""
        if self.budget.spend():
            return True
        self.is_complete = False
        self.is_open[...] = False
        return False

    def way_down(self, node: Node) -> list[Node]:
        """A path from a node down through open nodes, each step the one that saves most; the lowest node first."""
        path = [node]
        while True:
            finer = [(*path[-1][:j], level - 1, *path[-1][j + 1 :]) for j, level in enumerate(path[-1]) if level]
            below = [one for one in finer if self.is_open[one]]
            if not below:
                return path[::-1]
            path.append(min(below, key=lambda one: int(self.place[one])))


def search_lattice(
    losses: Sequence[NDArray[np.float64]],
    is_candidate: Question,
    is_accepted: Question,
    *,
    fixed: float = 0.0,
    bound: float = np.inf,
    budget: Budget | None = None,
) -> LatticeResult:
    """Return the node with the least loss among accepted candidates.

    *Guarantee*: if the coarser nodes of every candidate are candidates, no accepted candidate has a smaller loss. If
    the budget ended the search, the result states so and contains the best accepted candidate of the tested nodes. Not
    promised: more than the two tests promise; tests by simulation are as certain as the simulation. Cost: of the order
    of the nodes that are the coarsest to lose less than the answer, one question each; a few bytes for each node of the
    lattice.

    losses : what each level of each column adds to the loss, besides ``fixed``; never falls with the level
    is_candidate : whether a node's risk is low enough, inherited by coarser nodes
    is_accepted : whether a candidate is wanted
    bound : nodes that lose as much are not wanted
    budget : which nodes are asked until it is spent follows from the data, but for seconds
    """
    lattice = int(np.prod([column.size for column in losses], dtype=np.float64))
    if lattice > MOST_NODES:
        raise InputError(
            f"The lattice has {lattice} nodes, too many to search (at most {MOST_NODES}). Bound the levels of some "
            "columns, or leave levels out."
        )
    run = _Search(losses, fixed, bound, budget or Budget())
    for corner in corners(run.shape):
        if run.is_open.any():
            run.asks(corner, is_candidate)
    while (node := run.next()) is not None:
        if run.asks(node, is_candidate):
            _descend(run, node, is_candidate, is_accepted)
    loss = np.inf if run.best is None else float(run.loss[run.best])
    return LatticeResult(run.best, loss, lattice, run.checked, run.tested, run.is_complete)


def _descend(run: _Search, node: Node, is_candidate: Question, is_accepted: Question) -> None:
    """Bisect a path from a candidate down, and take the lowest of its candidates that is accepted."""
    path = run.way_down(node)
    # candidates are the upper end of a path, as coarser nodes inherit; path[high] is one throughout
    low, high = 0, len(path) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if run.asks(path[middle], is_candidate) else (middle + 1, high)
    for candidate in path[high:]:
        if run.is_open[candidate]:
            run.accept(candidate, is_accepted)


def corners(shape: Sequence[int]) -> list[Node]:
    """Nodes with one or two columns below the top level, which rule out most at a time where they are no candidates."""
    found = []
    for columns in (one for width in (1, 2) for one in combinations(range(len(shape)), width)):
        for levels in product(*(range(shape[j] - 2, -1, -1) for j in columns)):
            lowered = dict(zip(columns, levels, strict=True))
            found.append(tuple(lowered.get(j, size - 1) for j, size in enumerate(shape)))
    return found
