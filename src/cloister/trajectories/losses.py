"""What an anonymization lost: as the paper accumulates it, pair by pair, and of the sets of the utility policy."""

import numpy as np
from numpy.typing import NDArray

from .data import (
    Alignment,
    AnonymizedTrajectories,
    Constraint,
    ConstraintOutcome,
    Integers,
    Losses,
    Numbers,
    Trajectories,
)
from .problem import crossing

Values = NDArray[np.float64]


def measure(original: Trajectories, released: AnonymizedTrajectories, alignment: Alignment, gained: Integers) -> Losses:
    """Return the losses of codes and of ages.

    A pair of the original loses the share of the domain that its released value covers; nothing if it is released as
    it was, and all if it is suppressed. Of the domain there are two readings: all values, and those that k patients or
    more have, so that a loss does not say how many others there are; there a generalized value covers one at least.

    ``gained``: leaves that codes and ages gained along the way, as the paper counts them: a merged pair's further loss
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
    common, usual_losses = common_values(original, released.k), []
    for tree, nodes, leaves, usual in (
        (released.code_tree, released.codes, original.codes, common[0]),
        (released.age_tree, released.ages, original.ages, common[1]),
    ):
        found.append(_pair_losses(tree.leaves, tree.n_values, nodes[place], leaves, there))
        n_usual = max(1, int(usual.sum()))
        # How many common leaves each node covers: (n_nodes,); a leaf covers itself.
        by_rank = np.zeros(tree.n_values + 1, dtype=np.int64)
        by_rank[tree.low[: tree.n_values] + 1] = usual
        before = np.cumsum(by_rank)
        below: Integers = before[tree.high] - before[tree.low]
        usual_losses.append(_pair_losses(np.maximum(1, below), n_usual, nodes[place], leaves, there).mean())
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
        float(usual_losses[0]),
        float(usual_losses[1]),
        bool(common[0].all() and common[1].all()),
    )


def common_values(original: Trajectories, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which codes and which ages k patients or more have."""
    owner = np.repeat(np.arange(original.n_patients), np.diff(original.offsets))
    return (
        _is_common(owner, original.codes, len(original.vocabulary), k),
        _is_common(owner, original.ages, len(original.age_values), k),
    )


def _is_common(owner: NDArray[np.intp], values: Numbers, n_values: int, k: int) -> NDArray[np.bool_]:
    held = np.unique(owner.astype(np.int64) * n_values + values) % n_values
    common: NDArray[np.bool_] = np.bincount(held, minlength=n_values) >= k
    return common


def _pair_losses(covered: Integers, n_values: int, nodes: Numbers, leaves: Numbers, there: NDArray[np.bool_]) -> Values:
    """The loss of each original pair: (n_pairs,), 1 where suppressed; ``covered`` by node."""
    found = np.ones(leaves.size)
    found[there] = np.where(nodes == leaves[there], 0, covered[nodes]) / n_values
    return found


def outcomes_of(
    original: Trajectories, released: AnonymizedTrajectories, alignment: Alignment, constraints: tuple[Constraint, ...]
) -> tuple[ConstraintOutcome, ...]:
    """Return, for each set, how many pairs of the original have its codes, how many of them are suppressed, and whether
    no released code reaches beyond it.

    Methods never generalize across a set; a code may still be written like a coarser one (see
    `cloister.trajectories.tree.Tree`), which is what is looked for here.
    """
    found = []
    present = np.unique(released.codes)
    common = common_values(original, released.k)[0]
    below = [[leaf for leaf in released.code_tree.leaves_below(node) if common[leaf]] for node in present.tolist()]
    for constraint in constraints:
        inside = np.array([code in constraint.codes for code in original.vocabulary])
        of_set = inside[original.codes]
        reaching = crossing(released.code_tree, (constraint,))[present] if inside.any() else np.zeros(1)
        mixed = any(inside[leaves].any() and not inside[leaves].all() for leaves in below)
        found.append(
            ConstraintOutcome(
                constraint.name,
                int(of_set.sum()),
                int((of_set & (alignment.position < 0)).sum()),
                not bool(reaching.any()),
                not mixed,
            )
        )
    return tuple(found)
