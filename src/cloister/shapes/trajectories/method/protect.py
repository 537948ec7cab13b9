"""Anonymize trajectories: cluster the patients, and release one sequence of generalized pairs for each cluster.

Turn the clusters of the compiled search into the release and its secret part, and keep sensitive values diverse.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, InternalError, NoSafeRelease
from cloister.hierarchy import suppress
from cloister.hierarchy.bound import ROOT
from cloister.kernels.alignment import Domain, align, distances
from cloister.kernels.clusters import Groups, Sequences, group
from cloister.kernels.ragged import starts_of, take_runs
from cloister.shapes.trajectories.format.data import (
    Attributes,
    Cost,
    Diversity,
    Integers,
    Method,
    Numbers,
    Trajectories,
    TrajectoriesRequest,
)
from cloister.shapes.trajectories.format.domain import ValueTree

from .figures import measure, outcomes_of, within
from .problem import (
    Alignment,
    AnonymizedTrajectories,
    Problem,
    ProtectedTrajectories,
    Trees,
    build_problem,
    cut,
    side_by_side,
)

NODES = ("code", "age", "detail")  # How the nodes of attributes are called
BYTES_OF_PRICE, BYTES_OF_CELL = 8, 25  # of what a pair loses with a leaf; of three losses and a choice for two pairs
MOST_BYTES = 2**33  # That an alignment may need
# From domain, what makes the sequences of each block, k and l to the clusters of each block, as `group` finds them
ClusterBlocks = Callable[[Domain, Sequence[Callable[[], Sequences]], int, int], list[Groups]]


def anonymize(
    trajectories: Trajectories,
    request: TrajectoriesRequest,
    attributes: Attributes | None = None,
    *,
    threads: int | None = None,
    cluster: ClusterBlocks | None = None,
) -> ProtectedTrajectories:
    """Give the patients of every cluster one sequence of generalized pairs.

    *Guarantee* (Definition 1 of the paper): k patients or more share every released sequence, so any set of (code, age)
    pairs, however large, matches k patients or none. It holds against someone who knows everything of a patient's
    trajectory, which patients are in the data, and the release. Not promised: that nothing is learned of the patients
    of a cluster together (all patients of a cluster have the codes of its sequence; ask for a diversity); anything
    against someone who knows the auxiliary attributes, who knows many other patients of the cluster, or who has
    several releases of changing data; how much is lost. Cost: quadratic in the number of distinct trajectories, or in
    the size of a block.

    The result does not depend on the order of the patients, nor on the number of threads. Deviations from the paper,
    which leaves them open: of several most frequent, farthest or closest trajectories, the method uses the
    shortest, then the first by its pairs (age before code); the last cluster grows around the most frequent one that is
    left, not a random one. Patients with equal trajectories are distinguished by auxiliary attributes, then not at all.

    References
    ----------
    Tamersoy, Loukides, Nergiz, Saygin, Malin (2012), "Anonymization of longitudinal electronic medical records", IEEE
    Transactions on Information Technology in Biomedicine 16(3), 413-423: Algorithms 1 to 4.
    """
    if not trajectories.n_patients:
        raise InputError("There are no patients.")
    if trajectories.n_patients < request.k:
        raise NoSafeRelease(
            f"There are {trajectories.n_patients} patients, fewer than k = {request.k}. Give a smaller k, or more data."
        )
    hierarchies = [request.code_hierarchy, request.age_hierarchy, request.detail_hierarchy]
    given = [hierarchy for hierarchy in hierarchies if hierarchy is not None]
    trees = tuple(
        ValueTree.of(hierarchy.bind(name, values), values)
        for hierarchy, (name, values, _) in zip(given, trajectories.columns, strict=True)
    )
    return anonymize_under(trajectories, request, trees, attributes, threads=threads, cluster=cluster)


def anonymize_under(
    trajectories: Trajectories,
    request: TrajectoriesRequest,
    trees: Trees,
    attributes: Attributes | None = None,
    *,
    threads: int | None = None,
    cluster: ClusterBlocks | None = None,
) -> ProtectedTrajectories:
    """Anonymize with trees that are already bound."""
    problem = build_problem(trajectories, trees, request, attributes)
    k, share, diversity = request.k, 1, request.diversity
    if diversity is not None and diversity.column is not None:
        require_possible(problem, diversity)
        k, share = min(max(k, diversity.l), problem.order.size), diversity.l  # a cluster needs l patients
    _check_lengths(problem, is_by_index=problem.domain.by_index and request.diversity is None)
    blocks = cut(problem, request.block, k)
    pieces = [partial(problem.sequences, block) for block in blocks]
    if cluster is None:
        work = [partial(lambda own: group(problem.domain, own(), k, share), piece) for piece in pieces]
        groups = side_by_side(work, threads or os.cpu_count() or 1)
    else:
        groups = cluster(problem.domain, pieces, k, share)
    clusters = gather(problem, blocks, groups)
    if diversity is not None:
        change = suppress_for_diversity if diversity.codes else merge_for_diversity
        clusters = change(problem, clusters, diversity)
    released, alignment = release(problem, clusters, request.k, drop_empty=request.drop_empty_pairs)
    kept, gained = None, clusters.gained
    if request.max_loss is not None:
        kept = within(request.max_loss, request.weights, trajectories, released, alignment)
        gained = gained[np.unique(clusters.cluster_of()[kept])]
        left, cluster_of = np.unique(alignment.cluster_of[kept], return_inverse=True)
        position = alignment.position[take_runs(trajectories.offsets, kept)[1]]
        released, alignment = released.of(left), Alignment(cluster_of.astype(np.int32), position)
        trajectories = trajectories.only(kept)
    losses = measure(trajectories, released, alignment, gained.sum(axis=0))
    # The loss of values that everybody has would reveal something about the suppressed patients.
    losses = replace(losses, all_common=losses.all_common and trajectories.n_patients == problem.order.size)
    outcomes = outcomes_of(trajectories, released, alignment, request.constraints)
    return ProtectedTrajectories(released, alignment, losses, len(blocks), outcomes, kept)


def _check_lengths(problem: Problem, *, is_by_index: bool) -> None:
    """Refuse trajectories too long to align: each pair with each leaf, or with each pair of the next longest."""
    second, longest = np.sort(np.diff(problem.offsets, prepend=0))[-2:].tolist()
    leaves = sum(tree.n_values for tree in problem.trees)
    needed = longest * max(BYTES_OF_PRICE * leaves, 0 if is_by_index else BYTES_OF_CELL * second)
    if needed > MOST_BYTES:
        raise InputError(
            f"The longest trajectories have {longest:,} and {second:,} pairs; aligning them would need "
            f"{needed // 10**9:,} GB of memory. Remove such patients, or make their pairs fewer (ages in years, each "
            "code once a year)."
        )


@dataclass(frozen=True, eq=False, repr=False)
class FoundClusters:
    """Clusters of patients, and their sequences of nodes."""

    patient: Integers  # (n_patients,) int64, patients cluster by cluster
    size: Integers  # (n_clusters,) int64
    offsets: Integers  # (n_clusters + 1,) int64, where each cluster's sequence begins
    # code, age, detail: int32, nodes
    code: Numbers
    age: Numbers
    detail: Numbers
    position: Numbers  # (n_pairs,) int32, where each pair of the original went, -1: suppressed
    gained: Integers  # (n_clusters, 3) int64, leaves that codes, ages and details gained, as the paper counts them

    def cluster_of(self) -> Numbers:
        """Return the cluster of each patient, (n_patients,) int32."""
        found = np.empty(self.patient.size, dtype=np.int32)
        found[self.patient] = np.repeat(np.arange(self.size.size), self.size)
        return found

    def without(self, dropped: NDArray[np.bool_], problem: Problem) -> "FoundClusters":
        """Return the clusters without some pairs of their sequences: (n_nodes,) bool; those behind are suppressed."""
        if not dropped.any():
            return self
        kept_before = starts_of(~dropped)
        owner = np.repeat(self.cluster_of(), np.diff(problem.offsets))
        there = self.position >= 0
        begin = self.offsets[owner[there]]
        old = begin + self.position[there]
        position = self.position.copy()
        position[there] = np.where(dropped[old], -1, kept_before[old] - kept_before[begin])
        nodes = {name: getattr(self, name)[~dropped] for name in NODES}
        return replace(self, offsets=kept_before[self.offsets], position=position, **nodes)


def gather(problem: Problem, contents: Sequence[Integers], groups: Sequence[Groups]) -> FoundClusters:
    """Combine the results of all blocks; ``contents``: the distinct ones of each block."""
    member = np.concatenate([own[found.member] for own, found in zip(contents, groups, strict=True)])
    patient = np.empty(member.size, dtype=np.int64)
    patient[np.argsort(member, kind="stable")] = problem.order  # equal contents in the order of clusters
    position = np.empty(problem.symbols.size, dtype=np.int32)
    position[take_runs(problem.offsets, patient)[1]] = np.concatenate([found.position for found in groups])
    return FoundClusters(
        patient,
        np.concatenate([found.size for found in groups]),
        starts_of(np.concatenate([found.length for found in groups])),
        position=position,
        gained=np.concatenate([found.gained for found in groups]),
        **{name: np.concatenate([getattr(found, name) for found in groups]) for name in NODES},
    )


def release(
    problem: Problem, clusters: FoundClusters, k: int, *, drop_empty: bool
) -> tuple[AnonymizedTrajectories, Alignment]:
    """Return the clusters in the order of their released rows, with the nodes of their labels."""
    trees, sides = problem.trees, (clusters.code, clusters.age, clusters.detail)
    if drop_empty:  # omit pairs of which everything is suppressed
        no_value = [np.array([label == ROOT for label in tree.labels])[tree.released] for tree in trees]
        empty = np.logical_and.reduce([none[nodes] for none, nodes in zip(no_value, sides, strict=True)])
        clusters = clusters.without(empty, problem)
    code, age, detail = (tree.released[getattr(clusters, name)] for tree, name in zip(trees, NODES, strict=True))
    found = AnonymizedTrajectories(k, *trees[:2], clusters.size, clusters.offsets, code, age)
    if problem.detail_tree is not None:
        found = replace(found, detail_tree=problem.detail_tree, details=detail)
    # Larger clusters first where rows are equal, then that of the first patient; code points sort as UTF-8 bytes.
    rows = [found.rows_of(cluster) for cluster in range(found.n_clusters)]
    least = np.minimum.reduceat(problem.place[clusters.patient], starts_of(clusters.size)[:-1])
    keys = list(zip(rows, (-clusters.size).tolist(), least.tolist(), strict=True))
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    return found.of(order), Alignment(np.argsort(order).astype(np.int32)[clusters.cluster_of()], clusters.position)


@dataclass
class Cluster:
    """A cluster that may still grow: where the pairs of each patient went, what they have become, leaves gained."""

    position: dict[int, Numbers]
    nodes: tuple[Numbers, ...]  # of codes, ages and details
    gained: Integers

    @property
    def patients(self) -> list[int]:
        """The patients, in the order in which they joined."""
        return list(self.position)


def require_possible(problem: Problem, diversity: Diversity) -> None:
    """Reject sensitive values if one of them is too frequent even for a single cluster of all patients."""
    counts = np.bincount(problem.value[problem.value >= 0])
    if counts.size and int(counts.max()) * diversity.l > problem.value.size:
        raise NoSafeRelease(
            f"A sensitive value of column {diversity.column!r} may be that of one in {diversity.l} patients at most, "
            "but one is more frequent in the data. Give a lower diversity."
        )


def merge_for_diversity(problem: Problem, clusters: FoundClusters, diversity: Diversity) -> FoundClusters:
    """Merge clusters until at most one in l patients of each cluster has any given sensitive value.

    A cluster that does not hold is dissolved, and its patients join another one by one: of those with which it then
    holds, the one that is closest to its first patient by content; where there is none, the one with the most patients
    to spare. Clusters may then have 2 k patients or more.
    """
    value, place = problem.value, problem.place
    parts = np.split(clusters.patient, np.cumsum(clusters.size)[:-1])
    short = [number for number, part in enumerate(parts) if _excess(value[part], diversity.l) > 0]
    if not short:
        return clusters
    pairs = np.split(clusters.position, problem.offsets[1:-1])
    nodes = zip(*(np.split(getattr(clusters, name), clusters.offsets[1:-1]) for name in NODES), strict=True)
    grown = {
        number: Cluster({one: pairs[one] for one in part.tolist()}, own, gained)
        for number, (part, own, gained) in enumerate(zip(parts, nodes, clusters.gained, strict=True))
    }
    while short:
        number = min(short, key=lambda each: int(place[grown[each].patients].min()))
        patients = sorted(grown.pop(number).patients, key=lambda each: int(place[each]))
        joined = _partner(problem, grown, patients, diversity.l)
        for patient in patients:
            _add(problem, joined, patient)
        short = [each for each, cluster in grown.items() if _excess(value[cluster.patients], diversity.l) > 0]
    found = list(grown.values())
    where = {patient: position for cluster in found for patient, position in cluster.position.items()}
    return FoundClusters(
        np.concatenate([cluster.patients for cluster in found]).astype(np.int64),
        np.array([len(cluster.position) for cluster in found], dtype=np.int64),
        starts_of([cluster.nodes[0].size for cluster in found]),
        position=np.concatenate([where[patient] for patient in range(len(where))]),
        gained=np.stack([cluster.gained for cluster in found]),
        **{name: np.concatenate([cluster.nodes[at] for cluster in found]) for at, name in enumerate(NODES)},
    )


def suppress_for_diversity(problem: Problem, clusters: FoundClusters, diversity: Diversity) -> FoundClusters:
    """Suppress released codes until at most one in l patients of a cluster has a sensitive code behind them.

    All patients of a cluster get the same codes. So a released code is a statement about each of them, and a code that
    covers only sensitive codes would reveal that all of them have one. Count the patients of whom a sensitive code is
    released, as recorded or generalized. Suppress the released code of most of these patients, of several the first,
    for the whole cluster. Repeat as often as needed.
    """
    vocabulary = problem.code_tree.labels[: problem.code_tree.n_values]
    sensitive = np.array([code in diversity.codes for code in vocabulary])
    leaf = problem.domain.code.leaf[problem.code[problem.symbols]]
    behind = np.flatnonzero((clusters.position >= 0) & sensitive[leaf])
    owner = np.searchsorted(problem.offsets, behind, side="right") - 1
    cluster = clusters.cluster_of()[owner]
    place = clusters.offsets[cluster] + clusters.position[behind]
    dropped = np.zeros(clusters.code.size, dtype=np.bool_)
    for number in np.unique(cluster).tolist():
        here = cluster == number
        dropped[_too_telling(owner[here], place[here], int(clusters.size[number]) // diversity.l)] = True
    return clusters.without(dropped, problem)


def _too_telling(owner: Integers, place: Integers, most: int) -> list[int]:
    """Released pairs to suppress, so that at most so many patients have one of theirs released."""
    found: list[int] = []
    while np.unique(owner).size > most:
        places, counts = np.unique(place, return_counts=True)
        found.append(int(places[np.argmax(counts)]))
        owner, place = owner[place != found[-1]], place[place != found[-1]]
    return found


def _excess(values: Numbers, diversity: int) -> int:
    """How many patients more a cluster needs for its most frequent sensitive value; 0 or less: it holds."""
    counts = np.bincount(values[values >= 0], minlength=1)
    return int(counts.max()) * diversity - values.size


def _partner(problem: Problem, grown: dict[int, Cluster], patients: list[int], diversity: int) -> Cluster:
    """The cluster that patients, by content, are to join."""
    others = list(grown.values())
    excess = [_excess(problem.value[[*each.patients, *patients]], diversity) for each in others]
    first = [int(problem.place[each.patients].min()) for each in others]
    able = [at for at, lacking in enumerate(excess) if lacking <= 0]
    if not able:
        return others[min(range(len(others)), key=lambda at: (excess[at], first[at]))]
    chosen = [others[at] for at in able]
    start = starts_of([each.nodes[0].size for each in chosen])
    sizes = np.array([len(each.position) if problem.domain.weighted else 1 for each in chosen], dtype=np.int64)
    nodes = tuple(map(np.concatenate, zip(*(each.nodes for each in chosen), strict=True)))
    loss = distances(problem.domain, start, nodes, sizes, _ranks(problem, patients[0])).tolist()
    return chosen[min(range(len(able)), key=lambda at: (loss[at], first[able[at]]))]


def _ranks(problem: Problem, patient: int) -> tuple[Numbers, ...]:
    symbols = problem.symbols[problem.offsets[patient] : problem.offsets[patient + 1]]
    return problem.code[symbols], problem.age[symbols], problem.detail[symbols]


def _add(problem: Problem, cluster: Cluster, patient: int) -> None:
    ranks = _ranks(problem, patient)
    weight = len(cluster.position) if problem.domain.weighted else 1
    match = align(problem.domain, cluster.nodes, weight, ranks)[2]
    kept = np.flatnonzero(match >= 0)
    place = np.full(match.size + 1, -1, dtype=np.int32)  # the last one, at -1, is of pairs that are suppressed
    place[kept] = np.arange(kept.size)
    own = np.full(ranks[0].size, -1, dtype=np.int32)
    own[match[kept]] = place[kept]
    cluster.position = {one: place[old] for one, old in cluster.position.items()} | {patient: own}
    lonely = match.size + own.size - 2 * kept.size
    nodes, gained = [], []
    branches_of = problem.domain.code, problem.domain.age, problem.domain.detail
    for tree, branches, old, rank in zip(problem.trees, branches_of, cluster.nodes, ranks, strict=True):
        leaves = branches.leaf[rank[match[kept]]].tolist()
        met = [tree.meet(node, leaf) for node, leaf in zip(old[kept].tolist(), leaves, strict=True)]
        nodes.append(np.array(met, dtype=np.int32))
        gained.append(2 * int(tree.leaves[met].sum()) - int(tree.leaves[old].sum()) + lonely * tree.n_values)
    cluster.nodes = tuple(nodes)
    cluster.gained = cluster.gained + np.array(gained)


def check_groups(sequences: Sequences, found: Groups, k: int) -> None:
    """Check that every patient of a block is in one cluster of k or more, and that every pair has a place or none."""
    lengths = np.diff(sequences.start)[found.member]
    most = np.repeat(np.repeat(found.length, found.size), lengths)
    sound = (
        np.array_equal(np.bincount(found.member, minlength=sequences.times.size), sequences.times)
        and bool(np.all(found.size >= k))
        and int(found.size.sum()) == found.member.size
        and found.position.size == most.size
        and bool(np.all((found.position >= -1) & (found.position < most)))
        and {getattr(found, name).size for name in NODES} == {int(found.length.sum())}
    )
    if not sound:
        raise InternalError("A block of trajectories was not clustered as it must be.")


RECORDS = [[("a", 1)], [("a", 1), ("b", 2)], [("b", 2)], [("a", 1), ("b", 3)], [("a", 2)], [("b", 1)], [("a", 3)]]


def load_kernels() -> None:
    """Run every kernel once, on seven patients."""
    trajectories = Trajectories.from_records(RECORDS)
    for method in Method:
        for cost in Cost:
            anonymize(trajectories, TrajectoriesRequest(2, suppress(), suppress(), method, cost=cost))
