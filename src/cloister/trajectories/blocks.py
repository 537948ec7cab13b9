"""Cutting many patients into blocks inside which they are clustered, so that work grows with their number only."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .data import Integers, Numbers
from .problem import Problem
from .tree import Tree

UNBLOCKED = 32_768
"""Up to so many distinct trajectories are all compared with each other, if nothing else is asked."""

USUAL_BLOCK = 4_096
"""Distinct trajectories of a block, at most, if nothing else is asked.

With twice as many, 100,000 patients took half as long again, and lost 1 % less by the exact measure.
"""

BEST_SIZE = 3
"""A block has so many times k patients at least, so that clusters can be formed around two extremes."""

MOST_GROUPS = 64
"""Groups of codes, and of ages, that are counted for cutting."""

HIGHEST_COUNT = 255
"""Where counting stops."""

T = TypeVar("T")
Counts = NDArray[np.uint8]


def cut(problem: Problem, block: int | str, k: int) -> list[Integers]:
    """Return the distinct contents of each block, ascending.

    Patients are cut in two, and again, where they differ most: at the middle of the length of their trajectories, of
    how many codes of a group they have, or of how many ages of a group. The cut that is taken has the highest variance
    by the weights asked for; of equal ones the first. Equal contents stay together. The order of patients has no part
    in it. Every block has k patients or more, three times k where patients of equal content do not stand against it;
    clusters formed in it promise what they would without blocks.

    Parameters
    ----------
    block : most distinct contents of a block, "off" or "auto"
    """
    n_distinct = problem.first.size
    if block == "auto":
        block = "off" if n_distinct <= UNBLOCKED else USUAL_BLOCK
    everything = np.arange(n_distinct, dtype=np.int64)
    if isinstance(block, str) or n_distinct <= block:
        return [everything]
    features, weights = _features(problem)
    times = problem.counts()
    waiting, found = [everything], []
    while waiting:
        chosen = waiting.pop()
        sides = None if chosen.size <= block else _halves(features[chosen], weights, times[chosen], BEST_SIZE * k)
        if sides is None:
            found.append(chosen)
        else:
            waiting += [chosen[~sides], chosen[sides]]
    return sorted(found, key=lambda chosen: int(chosen[0]))


def _features(problem: Problem) -> tuple[Counts, NDArray[np.int64]]:
    """Length, codes and ages by group of each distinct content, and what a unit of each is worth."""
    patients = problem.order[problem.first]
    lengths = np.diff(problem.offsets)[patients]
    owner = np.repeat(np.arange(patients.size), lengths)
    within = np.arange(owner.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    symbols = problem.symbols[np.repeat(problem.offsets[patients], lengths) + within]
    code_groups, age_groups = groups_of(problem.code_tree), groups_of(problem.age_tree)
    columns = [lengths]
    for groups, rank in ((code_groups, problem.code), (age_groups, problem.age)):
        group = groups[rank[symbols]]
        columns += [np.bincount(owner[group == one], minlength=patients.size) for one in range(int(groups.max()) + 1)]
    domain = problem.domain
    code, age = domain.code_unit * domain.code.leaf.size, domain.age_unit * domain.age.leaf.size
    worth = [code + age, *[code] * (int(code_groups.max()) + 1), *[age] * (int(age_groups.max()) + 1)]
    counts = np.stack([np.minimum(column, HIGHEST_COUNT).astype(np.uint8) for column in columns], axis=1)
    return counts, np.array(worth, dtype=np.int64)


def groups_of(tree: Tree) -> Numbers:
    """Return the group of each rank of leaves: the finest cut through the tree that has few enough groups.

    Starting from the root, the largest node is replaced by those below it as long as there is room for them.
    """
    below: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for node, above in enumerate(tree.parent.tolist()):
        if above >= 0:
            below[above].append(node)
    chosen = [tree.root]
    for node in range(tree.root, tree.n_values - 1, -1):  # from the largest on
        if node in chosen and len(chosen) - 1 + len(below[node]) <= MOST_GROUPS:
            chosen.remove(node)
            chosen += below[node]
    groups = np.zeros(tree.n_values, dtype=np.int32)
    for number, node in enumerate(sorted(chosen, key=lambda one: int(tree.low[one]))):
        groups[tree.low[node] : tree.high[node]] = number
    return groups


def _halves(features: Counts, weights: NDArray[np.int64], times: Integers, least: int) -> NDArray[np.bool_] | None:
    """Which contents go to the upper half; None where they cannot be cut so that both have patients enough."""
    total = int(times.sum())
    if total < 2 * least:
        return None
    counts = features.astype(np.int64)
    sums, squares = times @ counts, times @ (counts * counts)
    spread = [
        int(worth) ** 2 * (total * int(square) - int(each) ** 2)
        for worth, each, square in zip(weights, sums, squares, strict=True)
    ]
    best = max(range(len(spread)), key=lambda feature: (spread[feature], -feature))
    order = np.argsort(features[:, best], kind="stable")  # equal ones by content
    before = np.cumsum(times[order])
    at = int(np.searchsorted(before, total // 2)) + 1
    upper = np.ones(times.size, dtype=np.bool_)
    upper[order[:at]] = False
    if not least <= int(before[at - 1]) <= total - least:
        return None
    return upper


def side_by_side(work: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """Return what pieces of work return, in their order; they run on so many threads, which end with the process."""
    if threads == 1 or len(work) == 1:
        return [each() for each in work]
    found: list[Future[T]] = [Future() for _ in work]
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(len(work)):
        waiting.put(number)

    def run() -> None:
        while True:
            try:
                number = waiting.get_nowait()
            except Empty:
                return
            try:
                found[number].set_result(work[number]())
            except BaseException as error:  # raised again where the result is waited for
                found[number].set_exception(error)

    for _ in range(min(threads, len(work))):
        Thread(target=run, daemon=True).start()
    wait(found)
    return [each.result() for each in found]
