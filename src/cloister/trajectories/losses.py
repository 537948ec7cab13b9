"""What an anonymization lost: as the paper accumulates it, and pair by pair."""

import numpy as np
from numpy.typing import NDArray

from .data import Alignment, AnonymizedTrajectories, Integers, Losses, Numbers, Trajectories
from .tree import Tree

Values = NDArray[np.float64]


def measure(original: Trajectories, released: AnonymizedTrajectories, alignment: Alignment, gained: Integers) -> Losses:
    """Return the losses of codes and of ages.

    A pair of the original loses the share of the domain that its released value covers; nothing if it is released as
    it was, and all if it is suppressed.

    Parameters
    ----------
    gained : leaves that codes and ages gained along the way, as the paper counts them: a merged pair's further loss
        once, whoever suffers it

    References
    ----------
    Tamersoy et al. (2012), Definitions 4 and 6, Algorithm 3 step 20. Deviation: the exact losses are means over
    original pairs (micro) and over patients (macro), since Definition 8 forgets suppressed pairs.
    """
    lengths = np.diff(original.offsets)
    begin = np.repeat(released.offsets[:-1][alignment.cluster_of], lengths)
    there = alignment.position >= 0
    place = begin[there] + alignment.position[there]
    found = []
    for tree, nodes, leaves in (
        (released.code_tree, released.codes, original.codes),
        (released.age_tree, released.ages, original.ages),
    ):
        found.append(_pair_losses(tree, nodes[place], leaves, there))
    totals = np.asarray(gained, dtype=np.float64)
    n_pairs = original.n_pairs
    ilm, alm = (float(np.mean(each)) for each in found)
    ilm_macro, alm_macro = (float(np.mean(np.add.reduceat(each, original.offsets[:-1]) / lengths)) for each in found)
    return Losses(
        float(totals[0]) / (n_pairs * released.code_tree.n_values),
        float(totals[1]) / (n_pairs * released.age_tree.n_values),
        ilm,
        alm,
        ilm_macro,
        alm_macro,
        int(n_pairs - there.sum()),
    )


def _pair_losses(tree: Tree, nodes: Numbers, leaves: Numbers, there: NDArray[np.bool_]) -> Values:
    """The loss of each original pair: (n_pairs,), 1 where suppressed."""
    found = np.ones(leaves.size)
    found[there] = np.where(nodes == leaves[there], 0, tree.leaves[nodes]) / tree.n_values
    return found
