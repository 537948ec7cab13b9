"""One block of trajectories, clustered and looked at by itself, as a worker elsewhere does it."""

import numpy as np

from cloister.errors import InternalError
from cloister.kernels.alignment import Domain as Domain
from cloister.kernels.grouping import Groups as Groups
from cloister.kernels.grouping import group
from cloister.kernels.nearest import Sequences as Sequences


def cluster_block(domain: Domain, sequences: Sequences, k: int, diversity: int) -> Groups:
    """Return the clusters of a block, as `cloister.kernels.grouping.group` finds them, after `check_groups`."""
    found = group(domain, sequences, k, diversity)
    check_groups(sequences, found, k)
    return found


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
