"""Information losses of anonymized trajectories: for the recipient, and exact, pair by pair, for the custodian.

The paper accumulates losses; here they are also measured, and those of the sets of the utility policy.

Queries of (code, age) pairs are counted in the original here, and answered from a release by
`cloister.recipients.pairs`, as recipients have them answered.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, NoSafeRelease, setting
from cloister.kernels.ragged import starts_of
from cloister.shapes.trajectories.format.data import CodeSetConstraint, Integers, Numbers, Trajectories
from cloister.shapes.trajectories.format.domain import FittedTrajectories, ValueTree
from cloister.shapes.trajectories.format.manifest import DECIMALS, PairCounts, TrajectoriesUtility
from cloister.shapes.trajectories.format.request import GivenTrajectories, is_made_of_data
from cloister.utility import frequent_itemsets

from .problem import Alignment, AnonymizedTrajectories, ConstraintOutcome, Losses, ProtectedTrajectories, crossing

Query = tuple[tuple[int, int], ...]  # Distinct (code, age) pairs, as positions in the vocabulary and the ages
LOSSES = ("ilm", "alm", "dlm")  # Of codes, ages and details
MOST_PAIRS = 12  # Pairs of a query, at most: the work doubles with each


def utility_of(counts: PairCounts, protected: ProtectedTrajectories, policy: str | None) -> TrajectoriesUtility:
    """Return the losses beyond the facts of the released files.

    Losses are over values that k patients or more have, so that no other one shows in them. How many sets of codes
    there are, and how many no released code reaches beyond, is not published of sets that are made of the codes of the
    data, rare ones among them.
    """
    losses = protected.losses
    sets = None if policy is None or is_made_of_data(policy) else protected.outcomes
    dlm, dlm_exact = (None if one is None else round(one, DECIMALS) for one in (losses.dlm, losses.dlm_common))
    return TrajectoriesUtility.of_known(
        **counts.as_json(),
        ilm=round(losses.ilm, DECIMALS) if losses.all_common else None,
        alm=round(losses.alm, DECIMALS) if losses.all_common else None,
        ilm_exact=round(losses.ilm_common, DECIMALS),
        alm_exact=round(losses.alm_common, DECIMALS),
        counted_over="values of the hierarchy file, else of the release",
        constraints=None if sets is None else len(sets),
        constraints_kept=None if sets is None else sum(outcome.kept_common for outcome in sets),
        dlm=dlm if losses.all_common else None,
        dlm_exact=dlm_exact,
    )


def exact_figures(
    given: GivenTrajectories, domain: FittedTrajectories, protected: ProtectedTrajectories
) -> dict[str, object]:
    """Return figures for the custodian only."""
    return {
        "patients": given.trajectories.n_patients,
        "pairs": given.trajectories.n_pairs,
        "pairs_dropped": domain.dropped,
        "clusters": protected.released.n_clusters,
        **asdict(protected.losses),
        "constraints": [asdict(outcome) for outcome in protected.outcomes],
    }


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """Queries and their true answers; confidential, as they describe the original."""

    queries: tuple[Query, ...]
    counts: Integers  # (n_queries,) int64, patients of the original who have all pairs of each


def frequent_pairs(original: Trajectories, percent: float, largest: int = MOST_PAIRS) -> Workload:
    """Return every pair and set of pairs that at least this percentage of the patients have."""
    if not 0 < percent <= 100:
        raise InputError(f"A workload is a percentage of the patients above 0 and up to 100, not {percent:g}.")
    n_ages = len(original.age_values)
    present, pair = np.unique(original.codes.astype(np.int64) * n_ages + original.ages, return_inverse=True)
    keys = np.unique(original.owner * present.size + pair)
    record, items = np.divmod(keys, max(1, present.size))
    offsets = np.searchsorted(record, np.arange(original.n_patients + 1)).astype(np.int64)
    least = max(1, -int(-round(percent * original.n_patients / 100, 9) // 1))
    found = frequent_itemsets(offsets, items.astype(np.int32), least, largest=largest)
    queries = tuple(
        tuple((int(present[item]) // n_ages, int(present[item]) % n_ages) for item in each.items) for each in found
    )
    return Workload(queries, np.array([each.support for each in found], dtype=np.int64))


def measure(original: Trajectories, released: AnonymizedTrajectories, alignment: Alignment, gained: Integers) -> Losses:
    """Return the losses of codes and of ages.

    ``gained``: leaves that codes and ages gained along the way, as the paper counts them: a merged pair's further loss
    once, anyone who suffers it

    References
    ----------
    Tamersoy et al. (2012), Definitions 4 and 6, Algorithm 3 step 20. Deviation: the exact losses are means over
    original pairs (micro) and over patients (macro), since Definition 8 forgets suppressed pairs.
    """
    lengths, values = np.diff(original.offsets), common_values(original, released.k)
    exact, common = lost(original, released, alignment), lost(original, released, alignment, values)
    found: dict[str, float] = {}
    for name, (tree, _), gain, each, shared in zip(LOSSES, released.columns, gained, exact, common, strict=False):
        found[name] = float(gain) / (original.n_pairs * tree.n_values)
        found[f"{name}_exact"] = float(each.mean())
        found[f"{name}_macro"] = float(np.mean(np.add.reduceat(each, original.offsets[:-1]) / lengths))
        found[f"{name}_common"] = float(shared.mean())
    held = (places for _, _, places in original.columns)
    all_common = all(bool(is_common[own].all()) for is_common, own in zip(values, held, strict=True))
    return Losses(suppressed=int((alignment.position < 0).sum()), all_common=all_common, **found)


def lost(
    original: Trajectories,
    released: AnonymizedTrajectories,
    alignment: Alignment,
    domain: Sequence[NDArray[np.bool_]] | None = None,
) -> tuple[NDArray[np.float64], ...]:
    """Return the loss of code, age and perhaps detail for each original pair: (n_pairs,), from 0 to 1.

    That is the share of the domain that its released value covers; nothing if it is released as it was, and all if it
    is suppressed. Of the domain there are two readings: all values, and those that k patients or more have, so that a
    loss does not say how many others there are; there a generalized value covers one at least.

    ``domain``: which values of each attribute make it up; None: all
    """
    there = alignment.position >= 0
    begin = np.repeat(released.offsets[:-1][alignment.cluster_of], np.diff(original.offsets))
    place = (begin + alignment.position)[there]

    def of(tree: ValueTree, nodes: Numbers, values: Numbers, counted: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        by_rank = np.ones(tree.n_values, dtype=np.int64)
        if counted is not None:
            by_rank[tree.low[: tree.n_values]] = counted
        before = starts_of(by_rank)
        covered = np.maximum(1, before[tree.high] - before[tree.low])
        found = np.ones(original.n_pairs)  # 1 where suppressed
        found[there] = np.where(nodes == values, 0, covered[nodes]) / max(1, int(by_rank.sum()))
        return found

    counted = [None] * len(original.columns) if domain is None else domain
    columns = zip(released.columns, original.columns, counted, strict=True)
    return tuple(of(tree, nodes[place], held[there], some) for (tree, nodes), (_, _, held), some in columns)


def within(
    most: float,
    weights: tuple[Fraction, ...],
    original: Trajectories,
    released: AnonymizedTrajectories,
    alignment: Alignment,
) -> Integers:
    """Return the patients of the clusters whose pairs have at most this mean loss, ascending.

    Clusters stay or go as a whole: every released trajectory keeps its k patients, and k or more are omitted.
    """
    cluster = np.repeat(alignment.cluster_of, np.diff(original.offsets))
    sums = [np.bincount(cluster, each) for each in lost(original, released, alignment)]
    mean = sum(float(weight) * each for weight, each in zip(weights, sums, strict=True)) / np.bincount(cluster)
    # Rounded, so that the order in which losses are summed up decides nothing.
    kept = np.flatnonzero((np.round(mean, 9) <= most)[alignment.cluster_of])
    if not kept.size:
        raise NoSafeRelease(
            "Every cluster loses more than ",
            setting("max_loss", most),
            " allows, so that all would be left out; the least loses "
            f"{ceil(1000 * float(mean.min())) / 1000:g}. Allow so much, or a smaller k.",
        )
    return kept


def common_values(original: Trajectories, k: int) -> tuple[NDArray[np.bool_], ...]:
    """Return which codes, ages and perhaps details at least k patients have."""

    def of(values: NDArray[np.int32], n_values: int) -> NDArray[np.bool_]:
        held = np.unique(original.owner * n_values + values) % n_values
        return np.bincount(held, minlength=n_values) >= k

    return tuple(of(places, len(values)) for _, values, places in original.columns)


def outcomes_of(
    original: Trajectories,
    released: AnonymizedTrajectories,
    alignment: Alignment,
    constraints: tuple[CodeSetConstraint, ...],
) -> tuple[ConstraintOutcome, ...]:
    """Return, for each set, how many pairs of the original have its codes, how many of them are suppressed, and whether
    no released code reaches beyond it.

    Methods never generalize across a set; a code may still be written like a coarser one (see `ValueTree`), which is
    what is looked for here.
    """
    if not constraints:
        return ()
    found, present = [], np.unique(released.codes)
    common = common_values(original, released.k)[0]
    below = [[leaf for leaf in released.code_tree.leaves_below(node) if common[leaf]] for node in present.tolist()]
    for constraint in constraints:
        inside = np.array([code in constraint.codes for code in original.vocabulary])
        of_set = inside[original.codes]
        reaching = crossing(released.code_tree, (constraint,))[present] if inside.any() else np.zeros(1)
        mixed = any(inside[leaves].any() and not inside[leaves].all() for leaves in below)
        counts = int(of_set.sum()), int((of_set & (alignment.position < 0)).sum())
        found.append(ConstraintOutcome(constraint.name, *counts, not bool(reaching.any()), not mixed))
    return tuple(found)
