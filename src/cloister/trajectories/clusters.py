"""From what the compiled search found to the release and the secret beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.hierarchy.ladder import ROOT
from cloister.kernels.grouping import Groups

from .data import Alignment, AnonymizedTrajectories, Integers, Numbers
from .problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    """Clusters of patients, and their sequences of nodes.

    Attributes
    ----------
    patient : (n_patients,) int64, patients cluster by cluster
    size : (n_clusters,) int64
    offsets : (n_clusters + 1,) int64, where each cluster's sequence begins
    code, age : int32, nodes
    position : (n_pairs,) int32, where each pair of the original went, -1: suppressed
    gained : (n_clusters, 2) int64, leaves that codes and ages gained, as the paper counts them
    """

    patient: Integers
    size: Integers
    offsets: Integers
    code: Numbers
    age: Numbers
    position: Numbers
    gained: Integers

    def __repr__(self) -> str:
        return f"Clusters({self.size.size})"

    def cluster_of(self) -> Numbers:
        """Return the cluster of each patient, (n_patients,) int32."""
        found = np.empty(self.patient.size, dtype=np.int32)
        found[self.patient] = np.repeat(np.arange(self.size.size), self.size)
        return found

    def without(self, dropped: NDArray[np.bool_], problem: Problem) -> "Clusters":
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
            self,
            offsets=kept_before[self.offsets],
            code=self.code[~dropped],
            age=self.age[~dropped],
            position=position,
        )


def gather(problem: Problem, chosen: Sequence[Integers], groups: Sequence[Groups]) -> Clusters:
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
    return Clusters(
        patient,
        size,
        np.concatenate([[0], np.cumsum(length)]).astype(np.int64),
        np.concatenate([found.code for found in groups]),
        np.concatenate([found.age for found in groups]),
        position,
        np.concatenate([found.gained for found in groups]),
    )


def release(
    problem: Problem, clusters: Clusters, k: int, *, drop_empty: bool
) -> tuple[AnonymizedTrajectories, Alignment]:
    """Return the clusters in the order of their released rows, as the nodes that labels stand for."""
    clusters = _without_empty(problem, clusters) if drop_empty else clusters
    code = problem.code_tree.released[clusters.code]
    age = problem.age_tree.released[clusters.age]
    order = _in_order(problem, clusters, code, age)
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


def _in_order(problem: Problem, clusters: Clusters, code: Numbers, age: Numbers) -> Integers:
    """Clusters by their rows as text, larger ones first where these are equal."""
    code_rank, age_rank = (_label_ranks([*tree.labels, ROOT]) for tree in (problem.code_tree, problem.age_tree))
    pairs = list(zip(code_rank[code].tolist(), age_rank[age].tolist(), strict=True))
    bounds = zip(clusters.offsets[:-1].tolist(), clusters.offsets[1:].tolist(), strict=True)
    nothing = [(int(code_rank[-1]), int(age_rank[-1]))]
    rows = [pairs[begin:end] or nothing for begin, end in bounds]
    sizes = clusters.size.tolist()
    least = _least_patients(problem, clusters)
    return np.array(sorted(range(len(rows)), key=lambda at: (rows[at], -sizes[at], least[at])), dtype=np.int64)


def _least_patients(problem: Problem, clusters: Clusters) -> list[int]:
    """The smallest place of a patient of each cluster in the order by content, so that input order tells nothing."""
    place = np.empty(problem.order.size, dtype=np.int64)
    place[problem.order] = np.arange(problem.order.size)
    starts = np.cumsum(clusters.size) - clusters.size
    return list(np.minimum.reduceat(place[clusters.patient], starts).tolist())


def _label_ranks(labels: Sequence[str]) -> NDArray[np.int64]:
    """Rank of each label by UTF-8 bytes, equal for equal ones."""
    distinct = {label: rank for rank, label in enumerate(sorted(set(labels)))}  # code points sort as their bytes
    return np.array([distinct[label] for label in labels], dtype=np.int64)


def _without_empty(problem: Problem, clusters: Clusters) -> Clusters:
    """Leave out pairs of which neither code nor age is told."""
    nothing = [np.array([label == ROOT for label in tree.labels]) for tree in (problem.code_tree, problem.age_tree)]
    empty = nothing[0][problem.code_tree.released[clusters.code]] & nothing[1][problem.age_tree.released[clusters.age]]
    return clusters.without(empty, problem)
