"""What became of sets of codes that should not be generalized with others."""

import numpy as np

from .data import Alignment, AnonymizedTrajectories, Constraint, ConstraintOutcome, Trajectories
from .losses import common_values
from .problem import crossing


def outcomes_of(
    original: Trajectories,
    released: AnonymizedTrajectories,
    alignment: Alignment,
    constraints: tuple[Constraint, ...],
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
