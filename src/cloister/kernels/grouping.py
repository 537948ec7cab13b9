"""Clusters of similar sequences: MDAV' around the alignment of two (Algorithms 3 and 4 of Tamersoy et al., 2012)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .alignment import Domain, _matches, _meet
from .nearest import Sequences, _closest, _farthest, _most_frequent, _take, make_scratch

CLUSTERS, MEMBERS, PAIRS, NODES, ALIVE, SINCE = 0, 1, 2, 3, 4, 5
"""What a cursor counts; SINCE is where the positions of the cluster that is being formed begin."""


class Groups(NamedTuple):
    """What was found, and how far.

    member : (n_patients,) int32, the sequence of each patient, cluster by cluster
    position : (n_pairs,) int32, place of each of their pairs in the cluster's sequence, -1: suppressed
    size, length : (n_clusters,) int64, patients of each cluster, and pairs of its sequence
    code, age : int32, nodes of the clusters' sequences
    gained : (n_clusters, 2) int64, leaves that codes and ages gained, as the paper counts them
    cursor : (6,) int64
    """

    member: NDArray[np.int32]
    position: NDArray[np.int32]
    size: NDArray[np.int64]
    length: NDArray[np.int64]
    code: NDArray[np.int32]
    age: NDArray[np.int32]
    gained: NDArray[np.int64]
    cursor: NDArray[np.int64]


@inner
def _sweep(data, scratch, groups):
    """Drop the sequences of which none is left."""
    kept = 0
    for i in range(groups.cursor[ALIVE]):
        if data.times[scratch.alive[i]] > 0:
            scratch.alive[kept] = scratch.alive[i]
            kept += 1
    groups.cursor[ALIVE] = kept


@inner
def _enter(data, scratch, groups, sequence):
    """Take one of a sequence out of what is left and put it into the cluster; return where its positions go."""
    data.times[sequence] -= 1
    if data.value[sequence] >= 0:
        scratch.held[data.value[sequence]] += 1
    groups.member[groups.cursor[MEMBERS]] = sequence
    groups.cursor[MEMBERS] += 1
    at = groups.cursor[PAIRS]
    groups.cursor[PAIRS] += data.start[sequence + 1] - data.start[sequence]
    return at


@inner
def _join(domain, data, scratch, groups, m, weight, sequence):
    """Align X with a sequence and put the patient into the cluster; return the length of what X has become."""
    begin = data.start[sequence]
    symbols = data.symbol[begin : data.start[sequence + 1]]
    codes = data.code[symbols]
    ages = data.age[symbols]
    n = symbols.shape[0]
    match = _matches(domain, scratch.code[:m], scratch.age[:m], weight, codes, ages)
    since = groups.cursor[PAIRS]
    place = np.full(m, -1, dtype=np.int32)
    at = _enter(data, scratch, groups, sequence)
    groups.position[at : at + n] = -1
    whole_code = domain.code.leaf.shape[0]
    whole_age = domain.age.leaf.shape[0]
    gained = groups.gained[groups.cursor[CLUSTERS]]
    kept = 0
    for h in range(m):
        of_code = domain.code.leaves[scratch.code[h]]
        of_age = domain.age.leaves[scratch.age[h]]
        if match[h] < 0:
            gained[0] += whole_code - of_code
            gained[1] += whole_age - of_age
            continue
        code = _meet(domain.code, scratch.code[h], codes[match[h]])
        age = _meet(domain.age, scratch.age[h], ages[match[h]])
        gained[0] += 2 * domain.code.leaves[code] - of_code
        gained[1] += 2 * domain.age.leaves[age] - of_age
        groups.position[at + match[h]] = kept
        place[h] = kept
        scratch.code[kept] = code
        scratch.age[kept] = age
        kept += 1
    gained[0] += (n - kept) * whole_code
    gained[1] += (n - kept) * whole_age
    _follow(groups, groups.cursor[SINCE], since, place)
    return kept


@inner
def _follow(groups, begin, end, place):
    """Move the pairs of the patients who were there before to where X has them now."""
    for at in range(begin, end):
        if groups.position[at] >= 0:
            groups.position[at] = place[groups.position[at]]


@inner
def _form(domain, data, scratch, groups, seed, size, cap):
    """Algorithm 4: a cluster of so many patients around one sequence."""
    groups.cursor[SINCE] = groups.cursor[PAIRS]
    scratch.held[:] = 0
    m = _take(domain, data, scratch, seed)
    at = _enter(data, scratch, groups, seed)
    for h in range(m):
        groups.position[at + h] = h
    for joined in range(1, size):
        weight = joined if domain.weighted else 1
        alive = groups.cursor[ALIVE]
        sequence = _closest(domain, data, scratch, alive, m, weight, cap)
        # Nobody left has another value: diversity gives way, and the caller looks.
        if sequence < 0:
            sequence = _closest(domain, data, scratch, alive, m, weight, size)
        m = _join(domain, data, scratch, groups, m, weight, sequence)
    begin = groups.cursor[NODES]
    groups.cursor[NODES] += m
    groups.code[begin : begin + m] = scratch.code[:m]
    groups.age[begin : begin + m] = scratch.age[:m]
    groups.size[groups.cursor[CLUSTERS]] = size
    groups.length[groups.cursor[CLUSTERS]] = m
    groups.cursor[CLUSTERS] += 1
    _sweep(data, scratch, groups)


@jit
def _group(domain, data, scratch, groups, k, diversity):
    """Algorithm 3: clusters of k around the farthest; what is left below 2 k is the last."""
    left = data.times.sum()
    while left >= 2 * k:
        frequent = _most_frequent(data, scratch, groups.cursor[ALIVE])
        far = _farthest(domain, data, scratch, groups.cursor[ALIVE], frequent)
        _form(domain, data, scratch, groups, far, k, k // diversity)
        if left >= 3 * k:
            opposite = _farthest(domain, data, scratch, groups.cursor[ALIVE], far)
            _form(domain, data, scratch, groups, opposite, k, k // diversity)
            left -= k
        left -= k
    rest = _most_frequent(data, scratch, groups.cursor[ALIVE])
    _form(domain, data, scratch, groups, rest, left, left // diversity)


def group(domain: Domain, data: Sequences, k: int, diversity: int = 1) -> Groups:
    """Put sequences into clusters of k to 2 k - 1 patients, each with one sequence of nodes.

    Parameters
    ----------
    data : at least one sequence; ``times`` is left as it is
    k : at least 1, at most as many as there are patients
    diversity : at most one in so many patients of a cluster shall have the same sensitive value; kept while others are
        left, so that the caller must look
    """
    n_patients = int(data.times.sum())
    if not 1 <= k <= n_patients:
        raise ValueError(f"k is {k}, but there are {n_patients} patients")
    scratch = make_scratch(domain, data)
    pairs = int((np.diff(data.start) * data.times).sum())
    clusters = n_patients // k
    narrow = [np.empty(size, dtype=np.int32) for size in (n_patients, pairs, pairs, pairs)]
    sizes = [np.zeros(size, dtype=np.int64) for size in (clusters, clusters, 6)]
    gained = np.zeros((clusters, 2), dtype=np.int64)
    groups = Groups(narrow[0], narrow[1], sizes[0], sizes[1], narrow[2], narrow[3], gained, sizes[2])
    groups.cursor[ALIVE] = data.times.size
    _group(domain, data._replace(times=data.times.copy()), scratch, groups, k, diversity)
    found, nodes = int(groups.cursor[CLUSTERS]), int(groups.length.sum())
    return groups._replace(
        size=groups.size[:found],
        length=groups.length[:found],
        code=groups.code[:nodes],
        age=groups.age[:nodes],
        gained=groups.gained[:found],
    )
