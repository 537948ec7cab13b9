"""What is asked of sensitive values: clusters are merged, or codes suppressed, until no cluster gives one away."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.kernels.alignment import align, distances

from .clusters import Clusters
from .data import Diversity, Integers, Numbers
from .problem import Problem


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


def merge_for_diversity(problem: Problem, clusters: Clusters, diversity: Diversity) -> Clusters:
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
    grown = _opened(problem, clusters, parts)
    place = np.argsort(problem.order)
    while short:
        number = min(short, key=lambda each: int(min(place[grown[each].patients])))
        other = _partner(problem, grown, number, diversity.l, place)
        for patient in sorted(grown[number].patients, key=lambda each: int(place[each])):
            _add(problem, grown[other], patient)
        del grown[number]
        short = [each for each, cluster in grown.items() if _excess(value[cluster.patients], diversity.l) > 0]
    return _closed(problem, list(grown.values()))


def suppress_for_diversity(problem: Problem, clusters: Clusters, diversity: Diversity) -> Clusters:
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


def _opened(problem: Problem, clusters: Clusters, parts: list[Integers]) -> dict[int, Cluster]:
    pairs = np.split(clusters.position, problem.offsets[1:-1])
    codes, ages = (np.split(nodes, clusters.offsets[1:-1]) for nodes in (clusters.code, clusters.age))
    return {
        number: Cluster(
            part.tolist(), codes[number], ages[number], [pairs[one] for one in part.tolist()], clusters.gained[number]
        )
        for number, part in enumerate(parts)
    }


def _partner(problem: Problem, grown: dict[int, Cluster], number: int, diversity: int, place: NDArray[np.intp]) -> int:
    """The cluster that another joins."""
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
    """Codes and ages of a patient, as ranks of leaves."""
    symbols = problem.symbols[problem.offsets[patient] : problem.offsets[patient + 1]]
    return problem.code[symbols], problem.age[symbols]


def _add(problem: Problem, cluster: Cluster, patient: int) -> None:
    """Align a cluster with one more patient."""
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


def _closed(problem: Problem, grown: list[Cluster]) -> Clusters:
    position = np.empty(problem.symbols.size, dtype=np.int32)
    for cluster in grown:
        for patient, own in zip(cluster.patients, cluster.position, strict=True):
            position[problem.offsets[patient] : problem.offsets[patient + 1]] = own
    return Clusters(
        np.concatenate([np.array(cluster.patients, dtype=np.int64) for cluster in grown]),
        np.array([len(cluster.patients) for cluster in grown], dtype=np.int64),
        np.concatenate([[0], np.cumsum([cluster.code.size for cluster in grown])]).astype(np.int64),
        np.concatenate([cluster.code for cluster in grown]),
        np.concatenate([cluster.age for cluster in grown]),
        position,
        np.stack([cluster.gained for cluster in grown]),
    )


def kept_apart(problem: Problem, clusters: Clusters, diversity: Diversity | None) -> Clusters:
    """Return the clusters changed so that they are as diverse as asked."""
    if diversity is None:
        return clusters
    change = suppress_for_diversity if diversity.codes else merge_for_diversity
    return change(problem, clusters, diversity)
