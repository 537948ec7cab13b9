"""Anonymizing trajectories: clusters of patients, each released with one sequence of generalized pairs."""

import os
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cloister.errors import InputError, InternalError, NoSafeRelease, setting
from cloister.hierarchy import suppress
from cloister.kernels.alignment import Domain
from cloister.kernels.clusters import Groups, Sequences, group

from .clusters import gather, merge_for_diversity, release, require_possible, suppress_for_diversity
from .data import Attributes, Cost, Integers, Method, ProtectedTrajectories, Trajectories, TrajectoriesRequest
from .figures import measure, outcomes_of
from .problem import Problem, cut, pose, side_by_side
from .tree import ValueTree

MOST_PRICES = 2**30  # What an alignment may keep of pairs of a trajectory and different pairs, of eight bytes each


ClusterBlocks = Callable[[Domain, Sequence[Callable[[], Sequences]], int, int], list[Groups]]
"""From domain, what makes the sequences of each block, k and l to the clusters of each block, as `group` finds them."""


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
    pairs, however large, matches k patients or none. It holds against somebody who knows everything of a patient's
    trajectory, which patients are in the data, and the release. Not promised: that nothing is learned of the patients
    of a cluster together (a code that a cluster's sequence tells, all its patients have; ask for a diversity); anything
    against somebody who knows the auxiliary attributes, who knows many other patients of the cluster, or who has
    several releases of changing data; how much is lost. Cost: quadratic in the number of distinct trajectories, or in
    the size of a block.

    The result does not depend on the order of the patients, nor on the number of threads. Deviations from the paper,
    which leaves them open: where several trajectories are the most frequent, farthest or closest, the shortest is
    taken, then the first by its pairs (age before code); the last cluster grows around the most frequent one that is
    left, not a random one. Patients with equal trajectories are told apart by auxiliary attributes, then not at all.

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
    trees = bind(trajectories, request)
    return anonymize_under(trajectories, request, trees, attributes, threads=threads, cluster=cluster)


def bind(trajectories: Trajectories, request: TrajectoriesRequest) -> tuple[ValueTree, ValueTree]:
    """Return the trees of codes and ages."""
    codes = request.code_hierarchy.bind("code", trajectories.vocabulary)
    ages = request.age_hierarchy.bind("age", trajectories.age_values)
    return ValueTree.of(codes, trajectories.vocabulary), ValueTree.of(ages, trajectories.age_values)


def anonymize_under(
    trajectories: Trajectories,
    request: TrajectoriesRequest,
    trees: tuple[ValueTree, ValueTree],
    attributes: Attributes | None = None,
    *,
    threads: int | None = None,
    cluster: ClusterBlocks | None = None,
) -> ProtectedTrajectories:
    """Anonymize under trees that are bound already."""
    problem = pose(trajectories, trees, request, attributes)
    k, share, diversity = request.k, 1, request.diversity
    if diversity is not None and diversity.column is not None:
        require_possible(problem, diversity)
        k, share = min(max(k, diversity.l), problem.order.size), diversity.l  # a cluster needs l patients
    blocks = cut(problem, request.block, k)
    _check_lengths(problem, blocks)
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
    losses = measure(trajectories, released, alignment, clusters.gained.sum(axis=0))
    outcomes = outcomes_of(trajectories, released, alignment, request.constraints)
    return ProtectedTrajectories(released, alignment, losses, len(blocks), outcomes)


def _check_lengths(problem: Problem, blocks: list[Integers]) -> None:
    """Refuse trajectories of which aligning one would take too much memory: each pair with each different pair."""
    lengths = np.diff(problem.offsets)
    longest = int(lengths.max())
    if longest * problem.code.size <= MOST_PRICES:
        return
    for block in blocks:
        longest = int(lengths[problem.order[problem.first[block]]].max())
        different = problem.sequences(block).code.size
        if longest * different > MOST_PRICES:
            raise InputError(
                f"The longest trajectory has {longest:,} pairs; aligning it with {different:,} different ones would "
                f"need {8 * longest * different // 10**9:,} GB of memory. Leave such patients out, or make their pairs "
                f"fewer (ages in years, each code once a year), or give a smaller {setting('block')} where many have "
                "long "
                "ones."
            )


def check_groups(sequences: Sequences, found: Groups, k: int) -> None:
    """See that every patient of a block is in one cluster of k or more, and every pair has a place or none."""
    lengths = np.diff(sequences.start)[found.member]
    most = np.repeat(np.repeat(found.length, found.size), lengths)
    sound = (
        np.array_equal(np.bincount(found.member, minlength=sequences.times.size), sequences.times)
        and bool(np.all(found.size >= k))
        and int(found.size.sum()) == found.member.size
        and found.position.size == most.size
        and bool(np.all((found.position >= -1) & (found.position < most)))
        and found.code.size == found.age.size == int(found.length.sum())
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
