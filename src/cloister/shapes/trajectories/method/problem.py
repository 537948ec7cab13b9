"""From trajectories and a request to the input of the compiled search: trees, exact losses, distinct sequences, blocks.

Many patients are cut into blocks inside which they are clustered, so that work grows with their number only.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from threading import Thread
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy.bound import ROOT
from cloister.kernels.alignment import Branches, Domain
from cloister.kernels.clusters import Sequences
from cloister.kernels.ragged import take_runs
from cloister.shapes.trajectories.format.data import (
    Attributes,
    CodeSetConstraint,
    Cost,
    Integers,
    Method,
    Numbers,
    Trajectories,
    TrajectoriesRequest,
)
from cloister.shapes.trajectories.format.domain import NO_DETAILS, ValueTree

LARGEST_LOSS = 2**60  # No sum of losses reaches this
UNBLOCKED = 32_768  # Up to so many distinct trajectories are all compared with each other, if nothing else is asked
# Distinct trajectories of a block, at most, if nothing else is asked. With twice as many, 100,000 patients took half as
# long again, and lost 1 % less by the exact measure.
USUAL_BLOCK = 4_096
BEST_SIZE = 3  # A block has so many times k patients at least, so that clusters can be formed around two extremes
MOST_GROUPS = 64  # Groups of codes, and of ages, that are counted for cutting
HIGHEST_COUNT = 255  # Where counting stops
T = TypeVar("T")
Trees = tuple[ValueTree, ...]  # Of codes, ages, and details if there are any
Counts = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """The clustering problem."""

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
    detail: Numbers  # (n_symbols,) int32, as ``code`` and ``age``
    detail_tree: ValueTree | None  # None: pairs have no detail

    @property
    def trees(self) -> tuple[ValueTree, ValueTree, ValueTree]:
        """Those of codes, ages and details."""
        return self.code_tree, self.age_tree, self.detail_tree or NO_DETAILS

    def sequences(self, contents: Integers) -> Sequences:
        """Return distinct contents, by their numbers in ascending order, for the compiled search."""
        patients = self.order[self.first[contents]]
        starts, places = take_runs(self.offsets, patients)
        present, symbol = np.unique(self.symbols[places], return_inverse=True)
        ranks = self.code[present], self.age[present], self.detail[present]
        return Sequences(starts, symbol.astype(np.int32), *ranks, self.counts()[contents], self.value[patients])

    def counts(self) -> Integers:
        """Return the number of patients with each distinct content."""
        return np.diff(self.first, append=self.order.size)

    @cached_property
    def place(self) -> Integers:
        """The place of each patient in ``order``: (n_patients,) int64."""
        return np.argsort(self.order)


def units(weights: Sequence[Fraction], *sizes: int) -> tuple[int, ...]:
    """Return the value of one leaf of each attribute, as the smallest integers in the right proportion.

    ``sizes``: leaves of each attribute

    Examples
    --------
    >>> units((Fraction(1, 2), Fraction(1, 2)), 2, 8)
    (4, 1)
    """
    shares = [weight / size for weight, size in zip(weights, sizes, strict=True)]
    scale = math.lcm(*(share.denominator for share in shares))
    whole = [int(share * scale) for share in shares]
    return tuple(one // math.gcd(*whole) for one in whole)


def build_problem(
    trajectories: Trajectories, trees: Trees, request: TrajectoriesRequest, attributes: Attributes | None = None
) -> Problem:
    """Return the problem of clustering these trajectories."""
    code_tree, age_tree, detail_tree = (*trees, NO_DETAILS)[:3]
    value = np.full(trajectories.n_patients, -1, dtype=np.int32)
    if attributes is not None and attributes.sensitive is not None and request.diversity is not None:
        value = attributes.sensitive.astype(np.int32)
    n_codes, n_details = max(1, len(trajectories.vocabulary)), max(1, len(trajectories.detail_values))
    pairs = trajectories.ages.astype(np.int64) * n_codes + trajectories.codes
    details = 0 if trajectories.details is None else trajectories.details
    present, symbols = np.unique(pairs * n_details + details, return_inverse=True)
    rest, details = np.divmod(present, n_details)
    ages, codes = np.divmod(rest, n_codes)
    order, first = _by_content(trajectories.offsets, symbols, value, None if attributes is None else attributes.rank)
    domain = domain_of(trees, request)
    whole = domain.code_unit * domain.code.leaf.size + domain.age_unit * domain.age.leaf.size
    whole += domain.detail_unit * domain.detail.leaf.size
    longest = max(1, int(np.diff(trajectories.offsets).max(initial=0)))
    if whole * 4 * longest * (2 * request.k if domain.weighted else 1) >= LARGEST_LOSS:
        raise InputError(
            "The weights are so fine that losses cannot be compared exactly. Give them with fewer decimal places."
        )
    offsets, ranks = trajectories.offsets, (code_tree.low[codes], age_tree.low[ages])
    given = None if detail_tree is NO_DETAILS else detail_tree
    numbers = symbols.astype(np.int32), *ranks, order, first, value, detail_tree.low[details]
    return Problem(code_tree, age_tree, domain, offsets, *numbers, given)


def domain_of(trees: Trees, request: TrajectoriesRequest) -> Domain:
    """Return trees, values and way of counting for the compiled search."""
    code_unit, age_unit, detail_unit = (*units(request.weights, *(tree.n_values for tree in trees)), 0)[:3]
    code, *others = (*trees, NO_DETAILS)[:3]
    age, detail = (_branches(tree, np.zeros(tree.n_nodes, dtype=np.bool_)) for tree in others)
    return Domain(
        _branches(code, crossing(code, request.constraints)),
        age,
        code_unit,
        age_unit,
        detail,
        detail_unit,
        request.cost is Cost.EXACT,
        request.method is Method.BASELINE,
    )


def crossing(tree: ValueTree, constraints: tuple[CodeSetConstraint, ...]) -> NDArray[np.bool_]:
    """Return which nodes are in a release for codes of a constraint and for others: (n_nodes,) bool."""
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


@dataclass(frozen=True, eq=False, repr=False)
class AnonymizedTrajectories:
    """The released data: clusters of patients, each with one sequence of generalized pairs for all its patients.

    Nodes are numbers of the two trees, and those that labels stand for (``ValueTree.released``). Clusters are in the
    order of their released rows (labels by UTF-8 bytes, code before age, row by row), larger ones first where rows are
    equal.
    """

    k: int
    code_tree: ValueTree
    age_tree: ValueTree
    sizes: Integers  # (n_clusters,) int64, patients of each cluster, at least k
    # (n_clusters + 1,) int64, where each cluster's sequence begins; a cluster whose pairs are all suppressed has an
    # empty one, and is written as the one row (`*`, `*`) a patient
    offsets: Integers
    # codes, ages, details: int32, nodes of the sequences, in their order
    codes: Numbers
    ages: Numbers
    # None: pairs have no detail
    detail_tree: ValueTree | None = None
    details: Numbers | None = None

    @property
    def columns(self) -> tuple[tuple[ValueTree, Numbers], ...]:
        """Trees and nodes of codes, ages, and details if there are any."""
        pairs = (self.code_tree, self.codes), (self.age_tree, self.ages)
        has_details = self.detail_tree is not None and self.details is not None
        return (*pairs, (self.detail_tree, self.details)) if has_details else pairs  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"AnonymizedTrajectories({self.n_patients} patients, {self.n_clusters} clusters)"

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.sizes.size

    @property
    def n_patients(self) -> int:
        """The number of released patients."""
        return int(self.sizes.sum())

    def rows_of(self, cluster: int) -> list[tuple[str, ...]]:
        """Return the sequence of a cluster as it is written: labels of each pair, one pair of `*` where it is empty."""
        here = slice(int(self.offsets[cluster]), int(self.offsets[cluster + 1]))
        labels = [[tree.labels[node] for node in nodes[here].tolist()] for tree, nodes in self.columns]
        return list(zip(*labels, strict=True)) or [(ROOT,) * len(labels)]

    def of(self, clusters: NDArray[np.integer]) -> "AnonymizedTrajectories":
        """Return some of the clusters, in the requested order."""
        offsets, places = take_runs(self.offsets, clusters)
        details = None if self.details is None else self.details[places]
        found = replace(self, codes=self.codes[places], ages=self.ages[places], details=details)
        return replace(found, sizes=self.sizes[clusters], offsets=offsets)


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """The released places of each patient and pair: for the custodian only."""

    cluster_of: Numbers  # (n_patients,) int32, the cluster that each patient of the original is in
    # (n_pairs,) int32, where in its cluster's sequence each pair of the original is released; -1: suppressed. Positions
    # ascend within a patient
    position: Numbers


@dataclass(frozen=True)
class ConstraintOutcome:
    """The outcome of one set of the utility policy."""

    name: str
    pairs: int  # pairs of the original with one of its codes
    suppressed: int  # those of them that are suppressed
    kept: bool  # whether no released code covers one of its codes and one beyond it
    kept_common: bool  # the same for codes of k patients or more; reveals nothing of other codes


@dataclass(frozen=True)
class Losses:
    """The losses of codes and of ages; for the custodian only, as exact figures reveal single patients."""

    # ilm, alm: as Algorithm 3 accumulates and returns them (step 20), in [0, 1] or above
    ilm: float
    alm: float
    # ilm_exact, alm_exact: mean over the original pairs of what each lost, in [0, 1]; 1 for a suppressed pair
    ilm_exact: float
    alm_exact: float
    # ilm_macro, alm_macro: the same, as a mean over patients of the means over their pairs
    ilm_macro: float
    alm_macro: float
    suppressed: int  # pairs that are suppressed
    # ilm_common, alm_common: like the exact ones, over the values of k patients or more; these two are released
    ilm_common: float
    alm_common: float
    all_common: bool  # whether k patients or more have every code, age and detail that someone has
    # dlm, dlm_exact, dlm_macro, dlm_common: the same of details; None: pairs have none
    dlm: float | None = None
    dlm_exact: float | None = None
    dlm_macro: float | None = None
    dlm_common: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTrajectories:
    """Anonymized trajectories, with information for the custodian only."""

    released: AnonymizedTrajectories
    alignment: Alignment
    losses: Losses
    blocks: int = 1
    outcomes: tuple[ConstraintOutcome, ...] = ()
    kept: Integers | None = None  # the patients that are released, ascending, where some may be omitted; None: all


def cut(problem: Problem, block: int | str, k: int) -> list[Integers]:
    """Return the distinct contents of each block, ascending.

    Cut blocks in two, repeatedly, where their patients differ most: at the middle of the length of their trajectories,
    or of the number of codes or of ages of a group. Use the cut with the highest weighted variance, of equal cuts the
    first. Patients with equal contents stay in one block. The order of the patients does not matter. Every block has at
    least k patients, and 3k unless patients with equal contents prevent it. Clusters give the same guarantee with
    blocks and without.
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
    domain, all_of_them = problem.domain, problem.sequences(np.arange(problem.first.size))
    lengths = np.diff(all_of_them.start)
    owner = np.repeat(np.arange(lengths.size), lengths)
    branches = (domain.code_unit, domain.code), (domain.age_unit, domain.age), (domain.detail_unit, domain.detail)
    whole = [unit * tree.leaf.size for unit, tree in branches]
    columns, worth = [lengths[:, None]], [sum(whole)]
    ranks = all_of_them.code, all_of_them.age, all_of_them.detail
    n_attributes = 2 if problem.detail_tree is None else 3
    for tree, rank, one in [*zip(problem.trees, ranks, whole, strict=True)][:n_attributes]:
        groups = groups_of(tree)
        n_groups = int(groups.max()) + 1
        cell = owner * n_groups + groups[rank[all_of_them.symbol]]
        columns.append(np.bincount(cell, minlength=lengths.size * n_groups).reshape(-1, n_groups))
        worth += [one] * n_groups
    counts = [np.minimum(column, HIGHEST_COUNT).astype(np.uint8) for column in columns]
    return np.concatenate(counts, axis=1), np.array(worth, dtype=np.int64)


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
    """Return the results of pieces of work, in order; they run in a number of threads that end with the process.

    The last pieces begin first: blocks are in the order of the length of their trajectories, and a long one at the end
    would be waited for alone.
    """
    if threads == 1 or len(work) == 1:
        return [each() for each in work]
    found: list[Future[T]] = [Future() for _ in work]
    waiting = iter([*zip(work, found, strict=True)][::-1])  # of a list, so that threads can share it

    def run() -> None:
        for each, future in waiting:
            try:
                future.set_result(each())
            except BaseException as error:  # raised again where the result is waited for
                future.set_exception(error)

    for _ in range(min(threads, len(work))):
        Thread(target=run, daemon=True).start()
    wait(found)
    return [each.result() for each in found]
