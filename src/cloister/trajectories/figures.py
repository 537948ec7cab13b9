"""What an anonymization of trajectories lost: for the recipient, and exactly, pair by pair, for the custodian.

The paper accumulates losses; here they are also measured, and those of the sets of the utility policy.

Queries of (code, age) pairs are counted in the original and estimated from a release as of Tamersoy et al. (2012),
Appendix B. A generalized pair may stand for any code below its code at any age below its age, all equally likely. Made
precise here: pairs of a trajectory are independent, and several pairs that are asked for are answered by inclusion and
exclusion; a pair that is released once may be only one of those asked for.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.utility import frequent_itemsets

from .data import (
    Alignment,
    AnonymizedTrajectories,
    Constraint,
    ConstraintOutcome,
    Integers,
    Losses,
    Numbers,
    ProtectedTrajectories,
    Trajectories,
    percent_of,
)
from .domain import FittedTrajectories
from .manifest import DECIMALS, PairCounts, TrajectoriesUtility
from .problem import crossing
from .request import GivenTrajectories, is_made_of_data


def utility_of(counts: PairCounts, protected: ProtectedTrajectories, policy: str | None) -> TrajectoriesUtility:
    """Return what was lost, beside what the released files say.

    Losses are over values that k patients or more have, so that no other one shows in them. How many sets of codes
    there are, and how many no released code reaches beyond, is not published of sets that are made of the codes of the
    data, rare ones among them.
    """
    losses = protected.losses
    sets = None if policy is None or is_made_of_data(policy) else protected.outcomes
    return TrajectoriesUtility(
        **counts.model_dump(),
        ilm=round(losses.ilm, DECIMALS) if losses.all_common else None,
        alm=round(losses.alm, DECIMALS) if losses.all_common else None,
        ilm_exact=round(losses.ilm_common, DECIMALS),
        alm_exact=round(losses.alm_common, DECIMALS),
        constraints=None if sets is None else len(sets),
        constraints_kept=None if sets is None else sum(outcome.kept_common for outcome in sets),
    )


def exact_figures(
    given: GivenTrajectories, workload: str | None, domain: FittedTrajectories, protected: ProtectedTrajectories
) -> dict[str, object]:
    """Return figures for the custodian alone."""
    exact: dict[str, object] = {
        "patients": given.trajectories.n_patients,
        "pairs": given.trajectories.n_pairs,
        "pairs_dropped": domain.dropped,
        "clusters": protected.released.n_clusters,
        **asdict(protected.losses),
        "constraints": [asdict(outcome) for outcome in protected.outcomes],
    }
    if workload is not None:
        asked = frequent_pairs(domain.trajectories, percent_of(workload))
        error = average_relative_error(protected.released, asked)
        exact["accuracy"] = {"workload": workload, "queries": len(asked.queries), "are": error}
    return exact


def crosswalk(given: GivenTrajectories, order: Integers) -> pl.DataFrame:
    """Return the secret map: the number of each released patient, and the id, or the place in what was given."""
    ids = given.trajectories.ids
    original = pl.Series(np.arange(1, order.size + 1)) if ids is None else ids
    return pl.DataFrame([pl.Series("released", np.arange(1, order.size + 1)), original.gather(order).alias("original")])


Query = tuple[tuple[int, int], ...]  # Distinct (code, age) pairs, as positions in the vocabulary and the ages
MOST_PAIRS = 12  # Pairs of a query, at most: the work doubles with each


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """Queries and their true answers; secret, as it tells of the original."""

    queries: tuple[Query, ...]
    counts: Integers  # (n_queries,) int64, patients of the original who have all pairs of each


def frequent_pairs(original: Trajectories, percent: float, largest: int = MOST_PAIRS) -> Workload:
    """Return every pair and set of pairs that at least this percentage of the patients have.

    ``percent``: above 0, at most 100; the paper asks for 1
    """
    if not 0 < percent <= 100:
        raise InputError(f"A workload is a percentage of the patients above 0 and up to 100, not {percent:g}.")
    n_ages = len(original.age_values)
    owner = np.repeat(np.arange(original.n_patients), np.diff(original.offsets))
    present, pair = np.unique(original.codes.astype(np.int64) * n_ages + original.ages, return_inverse=True)
    keys = np.unique(owner * present.size + pair)
    record, items = np.divmod(keys, max(1, present.size))
    offsets = np.searchsorted(record, np.arange(original.n_patients + 1)).astype(np.int64)
    least = max(1, -int(-round(percent * original.n_patients / 100, 9) // 1))
    found = frequent_itemsets(offsets, items.astype(np.int32), least, largest=largest)
    queries = tuple(
        tuple((int(present[item]) // n_ages, int(present[item]) % n_ages) for item in each.items) for each in found
    )
    return Workload(queries, np.array([each.support for each in found], dtype=np.int64))


def estimate(released: AnonymizedTrajectories, queries: Sequence[Query]) -> NDArray[np.float64]:
    """Return how many patients a release says have all pairs of each query: (n_queries,), at least 0.

    Examples
    --------
    >>> from cloister.hierarchy import suppress
    >>> from cloister.trajectories.data import TrajectoriesRequest
    >>> from cloister.trajectories.protect import anonymize
    >>> original = Trajectories.from_records([[("401.1", 39)], [("401.1", 40)]])
    >>> found = anonymize(original, TrajectoriesRequest(2, suppress(), suppress()))
    >>> found.released.rows_of(0), estimate(found.released, [((0, 0),)]).tolist()
    ([('401.1', '*')], [1.0])
    """
    if any(len(query) > MOST_PAIRS for query in queries):
        raise InputError(f"A query may have {MOST_PAIRS} pairs at most.")
    cluster_of = np.repeat(np.arange(released.n_clusters), np.diff(released.offsets))
    leaves = np.maximum(released.code_tree.leaves, 1)[released.codes].astype(np.float64)
    leaves *= np.maximum(released.age_tree.leaves, 1)[released.ages]
    places = {pair: _places(released, pair) for pair in sorted({pair for query in queries for pair in query})}
    found = np.empty(len(queries))
    for number, query in enumerate(queries):
        held = np.zeros(released.n_clusters)
        for size in range(len(query) + 1):
            for chosen in combinations(query, size):
                none = _none_held([places[pair] for pair in chosen], leaves, cluster_of, released.n_clusters)
                held += none if size % 2 == 0 else -none
        found[number] = float(np.maximum(held, 0) @ released.sizes)
    return found


def average_relative_error(released: AnonymizedTrajectories, workload: Workload) -> float | None:
    """Return the mean of |a(Q) - e(Q)| / a(Q) over a workload; None if it has no queries."""
    if not workload.queries:
        return None
    answers = estimate(released, workload.queries)
    return float(np.mean(np.abs(workload.counts - answers) / workload.counts))


def _places(released: AnonymizedTrajectories, pair: tuple[int, int]) -> Integers:
    code, age = pair
    fits = _covering(released.code_tree.low, released.code_tree.high, code)[released.codes]
    fits &= _covering(released.age_tree.low, released.age_tree.high, age)[released.ages]
    return np.flatnonzero(fits)


def _covering(low: NDArray[np.int32], high: NDArray[np.int32], leaf: int) -> NDArray[np.bool_]:
    covering: NDArray[np.bool_] = (low <= low[leaf]) & (low[leaf] < high)
    return covering


def _none_held(
    places: list[Integers], leaves: NDArray[np.float64], cluster_of: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    """How probable it is, for each cluster, that its patients have none of some pairs."""
    none = np.ones(n_clusters)
    if places:
        place, hits = np.unique(np.concatenate(places), return_counts=True)
        np.multiply.at(none, cluster_of[place], 1 - hits / leaves[place])
    return none


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
