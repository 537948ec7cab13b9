"""From what the compiled search found to the release and the secret beside it, sensitive values kept diverse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.hierarchy.bound import ROOT
from cloister.kernels.alignment import align, distances
from cloister.kernels.clusters import Groups

from .data import Alignment, AnonymizedTrajectories, Diversity, Integers, Numbers
from .problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class FoundClusters:
    """Clusters of patients, and their sequences of nodes."""

    patient: Integers  # (n_patients,) int64, patients cluster by cluster
    size: Integers  # (n_clusters,) int64
    offsets: Integers  # (n_clusters + 1,) int64, where each cluster's sequence begins
    # code, age: int32, nodes
    code: Numbers
    age: Numbers
    position: Numbers  # (n_pairs,) int32, where each pair of the original went, -1: suppressed
    gained: Integers  # (n_clusters, 2) int64, leaves that codes and ages gained, as the paper counts them

    def cluster_of(self) -> Numbers:
        """Return the cluster of each patient, (n_patients,) int32."""
        found = np.empty(self.patient.size, dtype=np.int32)
        found[self.patient] = np.repeat(np.arange(self.size.size), self.size)
        return found

    def without(self, dropped: NDArray[np.bool_], problem: Problem) -> "FoundClusters":
        """Return the clusters without some pairs of their sequences: (n_nodes,) bool; those behind are suppressed."""
        if not dropped.any():
            return self
        kept_before = np.concatenate([[0], np.cumsum(~dropped)])
        owner = np.repeat(self.cluster_of(), np.diff(problem.offsets))
        there = self.position >= 0
        begin = self.offsets[owner[there]]
        old = begin + self.position[there]
        position = self.position.copy()
        position[there] = np.where(dropped[old], -1, kept_before[old] - kept_before[begin])
        return replace(
            self, offsets=kept_before[self.offsets], code=self.code[~dropped], age=self.age[~dropped], position=position
        )


def gather(problem: Problem, chosen: Sequence[Integers], groups: Sequence[Groups]) -> FoundClusters:
    """Put together what was found in each block; ``chosen`` are the distinct contents of the blocks."""
    member = np.concatenate([own[found.member] for own, found in zip(chosen, groups, strict=True)])
    slots = np.argsort(member, kind="stable")  # by content, as `order` is; equal ones in the order of clusters
    patient = np.empty(member.size, dtype=np.int64)
    patient[slots] = problem.order
    lengths = np.diff(problem.offsets)[patient]
    ends = np.cumsum(lengths)
    within = np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths)
    position = np.empty(problem.symbols.size, dtype=np.int32)
    position[np.repeat(problem.offsets[patient], lengths) + within] = np.concatenate([f.position for f in groups])
    size = np.concatenate([found.size for found in groups])
    length = np.concatenate([found.length for found in groups])
    return FoundClusters(
        patient,
        size,
        np.concatenate([[0], np.cumsum(length)]).astype(np.int64),
        np.concatenate([found.code for found in groups]),
        np.concatenate([found.age for found in groups]),
        position,
        np.concatenate([found.gained for found in groups]),
    )


def release(
    problem: Problem, clusters: FoundClusters, k: int, *, drop_empty: bool
) -> tuple[AnonymizedTrajectories, Alignment]:
    """Return the clusters in the order of their released rows, as the nodes that labels stand for."""
    if drop_empty:  # leave out pairs whose code and age are both suppressed
        is_root = [
            np.array([label == ROOT for label in tree.labels])[tree.released]
            for tree in (problem.code_tree, problem.age_tree)
        ]
        clusters = clusters.without(is_root[0][clusters.code] & is_root[1][clusters.age], problem)
    code = problem.code_tree.released[clusters.code]
    age = problem.age_tree.released[clusters.age]
    # Clusters by their rows as text, larger ones first where these are equal.
    code_rank, age_rank = (_label_ranks([*tree.labels, ROOT]) for tree in (problem.code_tree, problem.age_tree))
    pairs = list(zip(code_rank[code].tolist(), age_rank[age].tolist(), strict=True))
    bounds = zip(clusters.offsets[:-1].tolist(), clusters.offsets[1:].tolist(), strict=True)
    nothing = [(int(code_rank[-1]), int(age_rank[-1]))]
    rows = [pairs[begin:end] or nothing for begin, end in bounds]
    sizes = clusters.size.tolist()
    place = np.empty(problem.order.size, dtype=np.int64)
    place[problem.order] = np.arange(problem.order.size)
    starts = np.cumsum(clusters.size) - clusters.size
    least = list(np.minimum.reduceat(place[clusters.patient], starts).tolist())
    order = np.array(sorted(range(len(rows)), key=lambda at: (rows[at], -sizes[at], least[at])), dtype=np.int64)
    lengths = np.diff(clusters.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    within = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], lengths)
    source = np.repeat(clusters.offsets[order], lengths) + within
    number = np.empty(order.size, dtype=np.int32)
    number[order] = np.arange(order.size)
    released = AnonymizedTrajectories(
        k, problem.code_tree, problem.age_tree, clusters.size[order], offsets, code[source], age[source]
    )
    return released, Alignment(number[clusters.cluster_of()], clusters.position)


def _label_ranks(labels: Sequence[str]) -> NDArray[np.int64]:
    """Rank of each label by UTF-8 bytes, equal for equal ones."""
    distinct = {label: rank for rank, label in enumerate(sorted(set(labels)))}  # code points sort as their bytes
    return np.array([distinct[label] for label in labels], dtype=np.int64)


@dataclass
class Cluster:
    """A cluster that may still grow: its patients, what they have become, where their pairs went, leaves gained."""

    patients: list[int]
    code: Numbers
    age: Numbers
    position: list[Numbers]
    gained: Integers


def require_possible(problem: Problem, diversity: Diversity) -> None:
    """Refuse sensitive values of which one is too frequent for any cluster of all."""
    counts = np.bincount(problem.value[problem.value >= 0])
    if counts.size and int(counts.max()) * diversity.l > problem.value.size:
        raise NoSafeRelease(
            f"A sensitive value of column {diversity.column!r} may be that of one in {diversity.l} patients at most, "
            "but one is more frequent in the data. Give a lower diversity."
        )


def merge_for_diversity(problem: Problem, clusters: FoundClusters, diversity: Diversity) -> FoundClusters:
    """Merge clusters until no sensitive value is that of more than one in l patients of a cluster.

    A cluster that does not hold is dissolved, and its patients join another one by one: of those with which it then
    holds, the one that is closest to its first patient by content; where there is none, the one with the most patients
    to spare. Clusters may then have 2 k patients or more.
    """
    value = problem.value
    parts = np.split(clusters.patient, np.cumsum(clusters.size)[:-1])
    short = [number for number, part in enumerate(parts) if _excess(value[part], diversity.l) > 0]
    if not short:
        return clusters
    pairs = np.split(clusters.position, problem.offsets[1:-1])
    codes, ages = (np.split(nodes, clusters.offsets[1:-1]) for nodes in (clusters.code, clusters.age))
    grown = {
        number: Cluster(
            part.tolist(), codes[number], ages[number], [pairs[one] for one in part.tolist()], clusters.gained[number]
        )
        for number, part in enumerate(parts)
    }
    place = np.argsort(problem.order)
    while short:
        number = min(short, key=lambda each: int(min(place[grown[each].patients])))
        other = _partner(problem, grown, number, diversity.l, place)
        for patient in sorted(grown[number].patients, key=lambda each: int(place[each])):
            _add(problem, grown[other], patient)
        del grown[number]
        short = [each for each, cluster in grown.items() if _excess(value[cluster.patients], diversity.l) > 0]
    return _closed(problem, list(grown.values()))


def suppress_for_diversity(problem: Problem, clusters: FoundClusters, diversity: Diversity) -> FoundClusters:
    """Suppress released codes until of the patients of a cluster at most one in l has a sensitive one behind them.

    All patients of a cluster get the same codes. So a code that is released tells of each of them, and one that covers
    sensitive codes only would tell them of all. Counted are the patients for whom a sensitive code of theirs is
    released, as it is or generalized; of the released codes behind which most of them stand, the first is suppressed
    for the whole cluster, as often as needed.
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


def _partner(problem: Problem, grown: dict[int, Cluster], number: int, diversity: int, place: NDArray[np.intp]) -> int:
    others = [each for each in grown if each != number]
    mine = grown[number].patients
    excess = np.array([_excess(problem.value[[*grown[each].patients, *mine]], diversity) for each in others])
    ranks = [int(min(place[grown[each].patients])) for each in others]
    if not (excess <= 0).any():
        return others[min(range(len(others)), key=lambda at: (int(excess[at]), ranks[at]))]
    able = np.flatnonzero(excess <= 0).tolist()
    chosen = [grown[others[at]] for at in able]
    start = np.concatenate([[0], np.cumsum([each.code.size for each in chosen])]).astype(np.int64)
    sizes = np.array([len(each.patients) if problem.domain.weighted else 1 for each in chosen], dtype=np.int64)
    sequences = start, np.concatenate([each.code for each in chosen]), np.concatenate([each.age for each in chosen])
    loss = distances(problem.domain, sequences, sizes, _ranks(problem, min(mine, key=lambda one: int(place[one]))))
    best = min(range(len(able)), key=lambda at: (int(loss[at]), ranks[able[at]]))
    return others[able[best]]


def _ranks(problem: Problem, patient: int) -> tuple[Numbers, Numbers]:
    symbols = problem.symbols[problem.offsets[patient] : problem.offsets[patient + 1]]
    return problem.code[symbols], problem.age[symbols]


def _add(problem: Problem, cluster: Cluster, patient: int) -> None:
    ranks = _ranks(problem, patient)
    weight = len(cluster.patients) if problem.domain.weighted else 1
    match = align(problem.domain, (cluster.code, cluster.age), weight, ranks)[2]
    kept = np.flatnonzero(match >= 0)
    place = np.full(match.size, -1, dtype=np.int32)
    place[kept] = np.arange(kept.size)
    cluster.position = [
        np.where(old >= 0, place[old], -1).astype(np.int32) if place.size else old for old in cluster.position
    ]
    own = np.full(ranks[0].size, -1, dtype=np.int32)
    own[match[kept]] = place[kept]
    cluster.position.append(own)
    cluster.patients.append(patient)
    nodes, gained = [], []
    trees = (problem.code_tree, problem.domain.code), (problem.age_tree, problem.domain.age)
    for (tree, branches), old, rank in zip(trees, (cluster.code, cluster.age), ranks, strict=True):
        leaves = branches.leaf[rank[match[kept]]].tolist()
        met = [tree.meet(node, leaf) for node, leaf in zip(old[kept].tolist(), leaves, strict=True)]
        nodes.append(np.array(met, dtype=np.int32))
        lonely = (match.size - kept.size) + (rank.size - kept.size)
        gained.append(2 * int(tree.leaves[met].sum()) - int(tree.leaves[old].sum()) + lonely * tree.n_values)
    cluster.code, cluster.age = nodes
    cluster.gained = cluster.gained + np.array(gained)


def _closed(problem: Problem, grown: list[Cluster]) -> FoundClusters:
    position = np.empty(problem.symbols.size, dtype=np.int32)
    for cluster in grown:
        for patient, own in zip(cluster.patients, cluster.position, strict=True):
            position[problem.offsets[patient] : problem.offsets[patient + 1]] = own
    return FoundClusters(
        np.concatenate([np.array(cluster.patients, dtype=np.int64) for cluster in grown]),
        np.array([len(cluster.patients) for cluster in grown], dtype=np.int64),
        np.concatenate([[0], np.cumsum([cluster.code.size for cluster in grown])]).astype(np.int64),
        np.concatenate([cluster.code for cluster in grown]),
        np.concatenate([cluster.age for cluster in grown]),
        position,
        np.stack([cluster.gained for cluster in grown]),
    )
