"""The figures of a release of code sets: those for the recipient, and those for the custodian alone."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from ..data import CodeSets
from ..request import CodesRequest, GivenCodes
from .data import Disassociation, DisassociationRequest, ProtectedCodes
from .manifest import utility_of
from .measure import Accuracy, measure_accuracy, measure_utility
from .places import Query

Rebuild = Callable[[Disassociation, int], CodeSets]


@dataclass(frozen=True)
class CodesFigures:
    """Numbers about a release.

    Attributes
    ----------
    utility, risk : for the manifest
    exact : for the custodian alone
    """

    utility: dict[str, Any]
    risk: dict[str, Any]
    exact: dict[str, Any]

    def __repr__(self) -> str:
        return "CodesFigures()"


def work_out(
    given: GivenCodes,
    request: CodesRequest[DisassociationRequest],
    protected: ProtectedCodes,
    rebuild: Rebuild,
    seed: int,
) -> CodesFigures:
    """Return the figures of a release.

    Which sets of codes are frequent does not follow from the chunks, so that nothing is told of a policy of frequent
    sets, and nothing of the answers to a workload.

    Parameters
    ----------
    rebuild : from a release and a seed to a reconstruction
    seed : of the first reconstruction
    """
    released, found = protected.released, protected.figures
    policy = request.policy
    constraints = None if policy is None else policy.item_numbers(given.codes)
    is_told = policy is not None and policy.support is None
    measured = measure_utility(released, constraints)
    utility = utility_of(measured if is_told else measured.without_constraints())
    exact = {"records": given.codes.n_records + given.n_empty, "suppressed": given.n_empty} | asdict(found)
    exact["share_in_item_chunks"] = found.in_item_chunks / max(1, found.occurrences)
    if policy is not None:
        exact["constraints"] = {
            "sets": measured.constraints,
            "satisfied": measured.satisfied,
            "preserved": measured.preserved,
        }
    if request.accuracy:
        exact["accuracy"] = asdict(_accuracy(given, request, released, rebuild, constraints, seed))
    return CodesFigures(utility, {"tied_pairs": found.ties, "tied_codes": found.tied_codes}, exact)


def _accuracy(
    given: GivenCodes,
    request: CodesRequest[DisassociationRequest],
    released: Disassociation,
    rebuild: Rebuild,
    constraints: list[Query] | None,
    seed: int,
) -> Accuracy:
    return measure_accuracy(
        given.codes,
        released,
        lambda number: rebuild(released, number),
        workload=request.workload,
        constraints=constraints,
        seed=seed,
    )


def crosswalk(given: GivenCodes, protected: ProtectedCodes) -> pl.DataFrame:
    """Return the secret map: the id of each patient, or the number of the record in the file, and its cluster."""
    codes = given.codes
    lines = np.arange(codes.n_records) if given.lines is None else given.lines
    original = pl.Series(lines + 1) if codes.ids is None else codes.ids
    return pl.DataFrame([original.alias("original"), pl.Series("cluster", protected.cluster_of)])
