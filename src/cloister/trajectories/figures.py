"""The figures of a release of trajectories: those for the recipient, and those for the custodian alone."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy.ladder import ROOT

from .answers import average_relative_error, frequent_pairs
from .data import AnonymizedTrajectories, Losses, Numbers, ProtectedTrajectories
from .data_file import WrittenTrajectories
from .domain import Domain
from .manifest import DECIMALS, records_of
from .request import GivenTrajectories, ReleaseSettings, is_made_of_data, percent_of
from .tree import Tree
from .written import Integers

RISK_THRESHOLD = 0.2
"""Risk above which a patient counts as at high risk."""


@dataclass(frozen=True)
class TrajectoriesFigures:
    """Numbers about a release.

    Attributes
    ----------
    told : ``records``, ``utility``, ``risk`` and ``clustering``, for the manifest
    exact : for the custodian alone
    """

    told: dict[str, dict[str, Any]]
    exact: dict[str, Any]

    def __repr__(self) -> str:
        return "TrajectoriesFigures()"


def work_out(
    given: GivenTrajectories,
    settings: ReleaseSettings,
    domain: Domain,
    protected: ProtectedTrajectories,
    written: WrittenTrajectories,
) -> TrajectoriesFigures:
    """Return the figures of a release.

    Parameters
    ----------
    domain : what was protected
    """
    released = protected.released
    told = {
        "records": records_of(released.n_patients),
        "utility": _utility(released, written, protected.losses) | _constraints(protected, settings),
        "risk": _risk(released),
        "clustering": {"blocks": protected.blocks},
    }
    exact: dict[str, Any] = {
        "patients": given.trajectories.n_patients,
        "pairs": given.trajectories.n_pairs,
        "pairs_dropped": domain.dropped,
        "clusters": released.n_clusters,
        **asdict(protected.losses),
        "constraints": [asdict(outcome) for outcome in protected.outcomes],
    }
    if settings.workload is not None:
        exact["accuracy"] = _accuracy(domain, released, settings.workload)
    return TrajectoriesFigures(told, exact)


def _accuracy(domain: Domain, released: AnonymizedTrajectories, workload: str) -> dict[str, Any]:
    """How far counts of patients by frequent pairs are off, if they are answered from the release."""
    asked = frequent_pairs(domain.trajectories, percent_of(workload))
    return {"workload": workload, "queries": len(asked.queries), "are": average_relative_error(released, asked)}


def _utility(released: AnonymizedTrajectories, written: WrittenTrajectories, losses: Losses) -> dict[str, Any]:
    """What the released rows tell, and how much was lost to three decimals."""
    lengths = np.diff(released.offsets)
    of_row = np.repeat(released.sizes, lengths)
    empty = int(released.sizes[lengths == 0].sum())
    no_code, no_age = _untold(released.code_tree, released.codes), _untold(released.age_tree, released.ages)
    alone = np.repeat(lengths == 1, lengths)
    return {
        "pairs": written.frame.height - int(of_row[no_code & no_age].sum()) - empty,
        "codes_untold": int(of_row[no_code].sum()) + empty,
        "ages_untold": int(of_row[no_age].sum()) + empty,
        "patients_untold": int(of_row[no_code & no_age & alone].sum()) + empty,
        "trajectories": len(_sizes(released)),
        **_losses(losses),
        "are": None,
    }


def _losses(losses: Losses) -> dict[str, float | None]:
    """What is told of losses: over values that k patients or more have, so that no other one shows in it."""
    return {
        "ilm": round(losses.ilm, DECIMALS) if losses.all_common else None,
        "alm": round(losses.alm, DECIMALS) if losses.all_common else None,
        "ilm_exact": round(losses.ilm_common, DECIMALS),
        "alm_exact": round(losses.alm_common, DECIMALS),
    }


def _constraints(protected: ProtectedTrajectories, settings: ReleaseSettings) -> dict[str, Any]:
    """How many sets of codes there are, and how many no released code reaches beyond.

    Nothing of sets that are made of the codes of the data, rare ones among them.
    """
    outcomes = None if settings.policy is None or is_made_of_data(settings.policy) else protected.outcomes
    return {
        "constraints": None if outcomes is None else len(outcomes),
        "constraints_kept": None if outcomes is None else sum(outcome.kept_common for outcome in outcomes),
    }


def _untold(tree: Tree, nodes: Numbers) -> NDArray[np.bool_]:
    """Whether nodes are written as ``*``; the root has another label where the hierarchy has one for all values."""
    return np.array([label == ROOT for label in tree.labels], dtype=np.bool_)[nodes]


def _sizes(released: AnonymizedTrajectories) -> list[int]:
    """Patients of each distinct trajectory."""
    found: dict[tuple[tuple[str, str], ...], int] = {}
    for cluster, size in enumerate(released.sizes.tolist()):
        rows = tuple(released.rows_of(cluster))
        found[rows] = found.get(rows, 0) + size
    return list(found.values())


def _risk(released: AnonymizedTrajectories) -> dict[str, Any]:
    """How many patients share a trajectory, and the risk of a patient to be found by it."""
    sizes = np.array(_sizes(released), dtype=np.int64)
    return {
        "highest": float(1 / sizes.min()),
        "average": float(sizes.size / sizes.sum()),
        "share_above_threshold": float(sizes[1 / sizes > RISK_THRESHOLD].sum() / sizes.sum()),
        "threshold": RISK_THRESHOLD,
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }


def crosswalk(given: GivenTrajectories, order: Integers) -> pl.DataFrame:
    """Return the secret map: the number of each released patient, and the id, or the place in what was given."""
    ids = given.trajectories.ids
    original = pl.Series(np.arange(1, order.size + 1)) if ids is None else ids
    return pl.DataFrame([pl.Series("released", np.arange(1, order.size + 1)), original.gather(order).alias("original")])
