"""The states of disassociation: the request, chunks, the released form, and the custodian's information.

Joint clusters can be laid out in a row, in which the clusters of each stand next to each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.ragged import owners, postings, take_runs
from cloister.settings.constraints import Interval, check_value
from cloister.shapes.codes.data import LARGEST, Codes, Integers
from cloister.shapes.codes.request import CodesRequest


class Refine(StrEnum):
    """How item chunks of several clusters are joined: along the split tree, between neighbours, or not."""

    TREE = "tree"
    PAPER = "paper"
    OFF = "off"


class InferenceCheck(StrEnum):
    """What becomes of codes that give another code away (the cover problem)."""

    OFF = "off"
    REPORT = "report"
    ENFORCE = "enforce"


@dataclass(frozen=True)
class DisassociationRequest(CodesRequest):
    """What is asked of a disassociation: k candidates for anyone who knows up to m codes of a patient."""

    m: int = 2
    max_cluster_size: int | None = None  # clusters of fewer records are not split; at least k + 1, 2k by default
    refine: Refine = Refine.TREE
    inference_check: InferenceCheck = InferenceCheck.REPORT  # whether codes may give others away
    inference_threshold: float = 1.0  # from which confidence on, in (0, 1]
    sensitive: tuple[str, ...] = ()  # codes that nobody outside knows, to be kept apart from all others
    diversity: int = 2  # l; a sensitive code is in at most one of l records of a cluster

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("m", 1), ("diversity", 1), ("max_cluster_size", self.k + 1)):
            if name != "max_cluster_size" or self.max_cluster_size is not None:
                check_value(name, getattr(self, name), Interval(int, least, LARGEST))
        check_value("inference_threshold", self.inference_threshold, Interval(float, 0, 1, closed="right"))

    @property
    def cluster_limit(self) -> int:
        """Clusters of fewer records are not split further."""
        return max(2 * self.k, self.k + 1) if self.max_cluster_size is None else self.max_cluster_size


@dataclass(frozen=True, eq=False, repr=False)
class RecordClasses:
    """Records distinguished by other things than codes; what is published of their codes is so class by class."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str | None, ...], ...]  # of each class, in the order of their UTF-8 bytes, missing first
    class_of: Integers  # (n_records,) int64, class of each record; every class has records


@dataclass(frozen=True, eq=False, repr=False)
class Chunks:
    """Record chunks or shared chunks, in sequence.

    Chunk ``c`` belongs to ``owner[c]``, has the codes ``domain[domain_offsets[c]:domain_offsets[c + 1]]`` and the
    subrecords ``subrecord_offsets[c]`` to ``subrecord_offsets[c + 1]``; subrecord ``s`` holds the codes
    ``items[item_offsets[s]:item_offsets[s + 1]]``. No subrecord is empty, and those of a chunk are in the order of
    their codes, so the order reveals nothing.
    """

    owner: Codes  # (n_chunks,) int32, number of the cluster (record chunks) or joint cluster (shared chunks), ascending
    domain_offsets: Integers  # (n_chunks + 1,) int64
    domain: Codes  # int32, ascending within a chunk
    subrecord_offsets: Integers  # (n_chunks + 1,) int64
    item_offsets: Integers  # (n_subrecords + 1,) int64
    items: Codes  # int32, ascending within a subrecord

    def __len__(self) -> int:
        return self.owner.size

    def domain_of(self, chunk: int) -> list[int]:
        """Item numbers of one chunk's codes."""
        return list(self.domain[self.domain_offsets[chunk] : self.domain_offsets[chunk + 1]].tolist())

    def subrecords_of(self, chunk: int) -> list[list[int]]:
        """Item numbers of each subrecord of one chunk."""
        first, last = self.subrecord_offsets[chunk], self.subrecord_offsets[chunk + 1]
        bounds = self.item_offsets[first : last + 1].tolist()
        return [self.items[begin:end].tolist() for begin, end in pairwise(bounds)]


@dataclass(frozen=True, eq=False, repr=False)
class Disassociation:
    """Code sets in their released form: nothing here is confidential."""

    # k, m: what is promised
    k: int
    m: int
    vocabulary: tuple[str, ...]  # as in `CodeSets`
    sizes: Integers  # (n_clusters,) int64, records of each cluster
    record_chunks: Chunks  # ``owner`` is the number of the cluster
    item_offsets: Integers  # (n_clusters + 1,) int64, where each cluster's item chunk begins in ``item_chunks``
    item_chunks: Codes  # int32, codes whose count in the cluster is not released, ascending within a cluster
    child_offsets: Integers  # (n_joints + 1,) int64, where each joint cluster's children begin in ``children``
    # int64; below n_clusters the number of a cluster, else n_clusters + the number of an earlier joint cluster
    children: Integers
    joint_sizes: Integers  # (n_joints,) int64, records of each joint cluster
    shared_chunks: Chunks  # ``owner`` is the number of the joint cluster
    repeats: bool = False  # whether the codes are numbered occurrences
    # int32, item numbers of codes that are in item chunks only
    sensitive: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    # class_columns, classes: where quasi-identifiers divided the records into classes first, the names of these columns
    # and the labels of each class, in the order of their UTF-8 bytes, missing first; empty if all records are one class
    class_columns: tuple[str, ...] = ()
    classes: tuple[tuple[str | None, ...], ...] = ()
    # (n_clusters,) int32, the class of each cluster, ascending; empty where there are no classes
    class_of: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def __repr__(self) -> str:
        return f"Disassociation({self.n_records} records, {self.n_clusters} clusters, {self.n_joints} joint clusters)"

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.sizes.size

    @property
    def n_joints(self) -> int:
        """The number of joint clusters."""
        return self.joint_sizes.size

    @property
    def n_records(self) -> int:
        """The number of patients in the release."""
        return int(self.sizes.sum())

    def item_chunk_of(self, cluster: int) -> list[int]:
        """Item numbers of one cluster's item chunk."""
        return list(self.item_chunks[self.item_offsets[cluster] : self.item_offsets[cluster + 1]].tolist())

    def children_of(self, joint: int) -> list[int]:
        """Direct children of one joint cluster, numbered as in ``children``."""
        return list(self.children[self.child_offsets[joint] : self.child_offsets[joint + 1]].tolist())


@dataclass(frozen=True)
class DisassociationFigures:
    """Confidential figures of a disassociation, for the custodian only; counts of occurrences may be below k.

    ``repaired`` counts the clusters from which a code was moved so that the omitted condition holds.
    """

    occurrences: int
    in_item_chunks: int
    repaired: int


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedCodes:
    """Disassociated code sets, with the custodian's ``cluster_of``: the cluster of each record."""

    released: Disassociation
    cluster_of: Codes
    figures: DisassociationFigures


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """Where clusters and joint clusters stand: (n_clusters,) the place of each cluster.

    ``low`` and ``high`` (n_joints,) are the first place of each joint cluster, and the one behind its last; ``sizes``
    its records, added up from the clusters.
    """

    position: Integers
    low: Integers
    high: Integers
    sizes: Integers


def is_forest(released: Disassociation) -> bool:
    """Whether each joint cluster has two children or more, all made before it, and nothing has two parents."""
    joints = np.arange(released.n_joints)
    if np.any(np.diff(released.child_offsets) < 2):
        return False
    owner = np.repeat(joints, np.diff(released.child_offsets))
    earlier = (released.children >= 0) & (released.children < released.n_clusters + owner)
    ascending = np.diff(released.children) > 0
    ascending[released.child_offsets[1:-1] - 1] = True
    once = np.unique(released.children).size == released.children.size
    return bool(once and earlier.all() and ascending.all())


def lay_out(released: Disassociation) -> Layout:
    """Lay a forest out, its trees one after the other."""
    n, joints = released.n_clusters, released.n_joints
    parent = np.full(n + joints, -1, dtype=np.int64)
    parent[released.children] = n + owners(released.child_offsets)
    levels = _levels(released, parent)
    clusters = np.concatenate([np.ones(n, dtype=np.int64), np.zeros(joints, dtype=np.int64)])
    records = np.concatenate([released.sizes, np.zeros(joints, dtype=np.int64)])
    for level in reversed(levels):
        inside = level[parent[level] >= 0]
        np.add.at(clusters, parent[inside], clusters[inside])
        np.add.at(records, parent[inside], records[inside])
    start = np.zeros(n + joints, dtype=np.int64)
    for level in levels:
        before = np.cumsum(clusters[level]) - clusters[level]
        first = np.flatnonzero(np.diff(parent[level], prepend=-2))
        if parent[level[0]] >= 0:
            lengths = np.diff(np.append(first, level.size))
            before += np.repeat(start[parent[level[first]]] - before[first], lengths)
        start[level] = before
    return Layout(start[:n], start[n:], start[n:] + clusters[n:], records[n:])


def _levels(released: Disassociation, parent: Integers) -> list[Integers]:
    """Clusters and joint clusters by how many joint clusters are around them; siblings stand together."""
    n = released.n_clusters
    level = np.flatnonzero(parent < 0)
    levels: list[NDArray[np.int64]] = []
    while level.size:
        levels.append(level)
        joints = level[level >= n] - n
        level = released.children[take_runs(released.child_offsets, joints)[1]]
    return levels


class ChunkIndex:
    """Where the codes of chunks stand: of record chunks or of shared chunks."""

    def __init__(self, chunks: Chunks, n_codes: int) -> None:
        self.chunk_of = owners(chunks.subrecord_offsets)  # the chunk of each subrecord
        # For each code the chunks whose domain has it, and the subrecords that hold it.
        self.by_code = postings(chunks.domain, owners(chunks.domain_offsets), n_codes)
        self.subrecords = postings(chunks.items, owners(chunks.item_offsets), n_codes)

    def candidates(self, codes: Sequence[int]) -> tuple[Integers, Integers, Integers]:
        """The chunks that have some of these codes, of how many, and how many subrecords hold all that they have."""
        involved, needed = np.unique(np.concatenate([self.by_code[code] for code in codes]), return_counts=True)
        subrecords, held = np.unique(np.concatenate([self.subrecords[code] for code in codes]), return_counts=True)
        place = np.searchsorted(involved, self.chunk_of[subrecords])
        whole = held == needed[place] if involved.size else np.zeros(0, dtype=np.bool_)
        return involved, needed, np.bincount(place[whole], minlength=involved.size).astype(np.int64)


class Pools:
    """Subrecords of shared chunks that may fill records, apart from some chunks: the pool of each chunk, and counts.

    Chunks of several codes at one joint cluster form one pool, because none of their codes occurs elsewhere below it.
    ``unit``: for each code the number of the first that stays together with it.
    """

    def __init__(self, released: Disassociation, unit: Integers, apart: Sequence[Integers]) -> None:
        shared = released.shared_chunks
        units, starts = unit[shared.domain], shared.domain_offsets[:-1]
        is_single = np.zeros(starts.size, dtype=np.bool_)
        if starts.size:
            is_single = np.minimum.reduceat(units, starts) == np.maximum.reduceat(units, starts)
        count = np.diff(shared.subrecord_offsets)
        count[np.concatenate(apart).astype(np.int64)] = 0
        self.first, self.unit = units[starts], unit
        self.pool = np.where(is_single, released.n_joints + np.arange(starts.size), shared.owner)
        self.counts = np.bincount(self.pool, weights=count, minlength=released.n_joints + starts.size).astype(np.int64)

    def pools_reached(self, chunks: Integers, held: Integers) -> list[int]:
        """Return the pools of some chunks, in their order, that a cluster with these codes of its own may use."""
        free = ~np.isin(self.first[chunks], self.unit[held])
        return [pool for pool in dict.fromkeys(self.pool[chunks[free]].tolist()) if self.counts[pool]]
