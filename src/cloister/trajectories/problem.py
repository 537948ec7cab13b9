"""From trajectories and a request to what the compiled search sees: trees, exact losses, distinct sequences, blocks.

Many patients are cut into blocks inside which they are clustered, so that work grows with their number only.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from fractions import Fraction
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.alignment import Branches, Domain
from cloister.kernels.clusters import Sequences

from .data import Attributes, Constraint, Cost, Integers, Method, Numbers, Trajectories, TrajectoriesRequest
from .tree import ValueTree

LARGEST_LOSS = 2**60  # No sum of losses reaches this


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What is clustered."""

    code_tree: ValueTree
    age_tree: ValueTree
    domain: Domain
    offsets: Integers
    symbols: Numbers
    # code, age: (n_symbols,) int32, rank of the leaves of each pair
    code: Numbers
    age: Numbers
    order: Integers  # (n_patients,) int64, patients by content: length, pairs, sensitive value, attributes row
    first: Integers  # (n_distinct,) int64, where in ``order`` the patients of each distinct content begin
    value: Numbers  # (n_patients,) int32, the sensitive value of each patient, -1 for none

    def sequences(self, chosen: Integers) -> Sequences:
        """Return distinct contents, by their numbers in ascending order, for the compiled search."""
        patients = self.order[self.first[chosen]]
        lengths = self.offsets[patients + 1] - self.offsets[patients]
        start = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(start[-1]) - np.repeat(start[:-1], lengths)
        symbols = self.symbols[np.repeat(self.offsets[patients], lengths) + within]
        present, symbol = np.unique(symbols, return_inverse=True)
        return Sequences(
            start.astype(np.int64),
            symbol.astype(np.int32),
            self.code[present],
            self.age[present],
            self.counts()[chosen],
            self.value[patients],
        )

    def counts(self) -> Integers:
        """Return how many patients have each distinct content."""
        return np.diff(self.first, append=self.order.size)


def units(weights: tuple[Fraction, Fraction], n_codes: int, n_ages: int) -> tuple[int, int]:
    """Return what one leaf of codes and of ages is worth, as the smallest whole numbers in the right proportion.

    Examples
    --------
    >>> units((Fraction(1, 2), Fraction(1, 2)), 2, 8)
    (4, 1)
    """
    code, age = weights[0] / n_codes, weights[1] / n_ages
    scale = math.lcm(code.denominator, age.denominator)
    pair = int(code * scale), int(age * scale)
    return pair[0] // math.gcd(*pair), pair[1] // math.gcd(*pair)


def pose(
    trajectories: Trajectories,
    trees: tuple[ValueTree, ValueTree],
    request: TrajectoriesRequest,
    attributes: Attributes | None = None,
) -> Problem:
    """Return the problem of clustering these trajectories."""
    code_tree, age_tree = trees
    value = np.full(trajectories.n_patients, -1, dtype=np.int32)
    if attributes is not None and attributes.sensitive is not None and request.diversity is not None:
        value = attributes.sensitive.astype(np.int32)
    keys = trajectories.ages.astype(np.int64) * len(trajectories.vocabulary) + trajectories.codes
    present, symbols = np.unique(keys, return_inverse=True)
    ages, codes = np.divmod(present, max(1, len(trajectories.vocabulary)))
    order, first = _by_content(trajectories.offsets, symbols, value, None if attributes is None else attributes.rank)
    domain = domain_of(trees, request)
    whole = domain.code_unit * domain.code.leaf.size + domain.age_unit * domain.age.leaf.size
    longest = max(1, int(np.diff(trajectories.offsets).max(initial=0)))
    if whole * 4 * longest * (2 * request.k if domain.weighted else 1) >= LARGEST_LOSS:
        raise InputError(
            "The weights are so fine that losses cannot be compared exactly. Give them with fewer decimal places."
        )
    return Problem(
        code_tree,
        age_tree,
        domain,
        trajectories.offsets,
        symbols.astype(np.int32),
        code_tree.low[codes],
        age_tree.low[ages],
        order,
        first,
        value,
    )


def domain_of(trees: tuple[ValueTree, ValueTree], request: TrajectoriesRequest) -> Domain:
    """Return trees, values and way of counting for the compiled search."""
    code_unit, age_unit = units(request.weights, trees[0].n_values, trees[1].n_values)
    return Domain(
        _branches(trees[0], crossing(trees[0], request.constraints)),
        _branches(trees[1], np.zeros(trees[1].n_nodes, dtype=np.bool_)),
        code_unit,
        age_unit,
        request.cost is Cost.EXACT,
        request.method is Method.BASELINE,
    )


def crossing(tree: ValueTree, constraints: tuple[Constraint, ...]) -> NDArray[np.bool_]:
    """Return which nodes stand in a release for codes of a constraint and for others: (n_nodes,) bool."""
    found = np.zeros(tree.n_nodes, dtype=np.bool_)
    if not constraints:
        return found
    group = np.full(tree.n_values, -1, dtype=np.int64)
    labels = tree.labels[: tree.n_values]
    for number, constraint in enumerate(constraints):
        group[[leaf for leaf, label in enumerate(labels) if label in constraint.codes]] = number
    for node in range(tree.n_nodes):
        of_leaves = group[tree.leaves_below(int(tree.released[node]))]
        found[node] = bool((of_leaves >= 0).any() and (of_leaves != of_leaves[0]).any())
    return found


def _branches(tree: ValueTree, closed: NDArray[np.bool_]) -> Branches:
    leaf = np.argsort(tree.low[: tree.n_values], kind="stable").astype(np.int32)
    return Branches(tree.parent, tree.leaves, tree.low, tree.high, leaf, closed)


def _by_content(
    offsets: Integers, symbols: NDArray[np.int64], value: Numbers, rank: Integers | None
) -> tuple[Integers, Integers]:
    """Patients by length, pairs, sensitive value, attributes; where each distinct content without attributes begins."""
    lengths = np.diff(offsets)
    attributes = np.zeros(lengths.size, dtype=np.int64) if rank is None else rank
    orders, firsts, done = [], [], 0
    for length in np.unique(lengths).tolist():
        patients = np.flatnonzero(lengths == length)
        pairs = symbols[offsets[patients][:, None] + np.arange(length)]
        content = np.column_stack([pairs, value[patients]])
        order = np.lexsort([attributes[patients], *content.T[::-1]])
        content = content[order]
        fresh = np.ones(order.size, dtype=np.bool_)
        fresh[1:] = (content[1:] != content[:-1]).any(axis=1)
        orders.append(patients[order])
        firsts.append(done + np.flatnonzero(fresh))
        done += order.size
    return np.concatenate(orders), np.concatenate(firsts)


UNBLOCKED = 32_768  # Up to so many distinct trajectories are all compared with each other, if nothing else is asked

USUAL_BLOCK = 4_096
"""Distinct trajectories of a block, at most, if nothing else is asked.

With twice as many, 100,000 patients took half as long again, and lost 1 % less by the exact measure.
"""

BEST_SIZE = 3  # A block has so many times k patients at least, so that clusters can be formed around two extremes
MOST_GROUPS = 64  # Groups of codes, and of ages, that are counted for cutting
HIGHEST_COUNT = 255  # Where counting stops
T = TypeVar("T")
Counts = NDArray[np.uint8]


def cut(problem: Problem, block: int | str, k: int) -> list[Integers]:
    """Return the distinct contents of each block, ascending.

    Patients are cut in two, and again, where they differ most: at the middle of the length of their trajectories, of
    how many codes of a group they have, or of how many ages of a group. The cut that is taken has the highest variance
    by the weights asked for; of equal ones the first. Equal contents stay together. The order of patients has no part
    in it. Every block has k patients or more, three times k where patients of equal content do not stand against it;
    clusters formed in it promise what they would without blocks.
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


def groups_of(tree: ValueTree) -> Numbers:
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
