"""What a release of trajectories says of the original: losses for the recipient, all figures for the custodian."""

from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from .answers import average_relative_error, frequent_pairs
from .data import ProtectedTrajectories
from .domain import Domain
from .manifest import DECIMALS, PairCounts, TrajectoriesUtility
from .request import GivenTrajectories, ReleaseSettings, is_made_of_data, percent_of
from .written import Integers


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
    given: GivenTrajectories, settings: ReleaseSettings, domain: Domain, protected: ProtectedTrajectories
) -> dict[str, Any]:
    """Return figures for the custodian alone."""
    exact: dict[str, Any] = {
        "patients": given.trajectories.n_patients,
        "pairs": given.trajectories.n_pairs,
        "pairs_dropped": domain.dropped,
        "clusters": protected.released.n_clusters,
        **asdict(protected.losses),
        "constraints": [asdict(outcome) for outcome in protected.outcomes],
    }
    if settings.workload is not None:
        asked = frequent_pairs(domain.trajectories, percent_of(settings.workload))
        error = average_relative_error(protected.released, asked)
        exact["accuracy"] = {"workload": settings.workload, "queries": len(asked.queries), "are": error}
    return exact


def crosswalk(given: GivenTrajectories, order: Integers) -> pl.DataFrame:
    """Return the secret map: the number of each released patient, and the id, or the place in what was given."""
    ids = given.trajectories.ids
    original = pl.Series(np.arange(1, order.size + 1)) if ids is None else ids
    return pl.DataFrame([pl.Series("released", np.arange(1, order.size + 1)), original.gather(order).alias("original")])
