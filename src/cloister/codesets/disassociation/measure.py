"""What disassociation lost, for the custodian alone.

How far reconstructions are from the original is not published: whoever makes them anew from ``clusters.json`` could
test a guess about the original against it. What follows from the chunks is in `facts`.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.request import CodesRequest, CodesWorkload, GivenCodes, counted
from cloister.utility import (
    QueryErrors,
    error_histogram,
    lost_top_itemsets,
    matching_errors,
    pair_errors,
    query_errors,
    share_within,
)

from .data import Disassociation, DisassociationRequest, ProtectedCodes
from .facts import count_sets, supports_told

RECONSTRUCTIONS = 10
"""Reconstructions whose mean answers a query."""

CLOSE = 0.05
"""A constraint whose matching error is within this is well supported (section 6.5)."""

Reconstruct = Callable[[int], CodeSets]
Query = tuple[int, ...]
"""Item numbers, each once."""


@dataclass(frozen=True)
class Accuracy:
    """How far reconstructions are from the original; for the custodian.

    Attributes
    ----------
    queries : errors of the answers to a workload
    matching : interval of the matching error -> constraints of the utility policy
    within : share of the constraints whose matching error is in [-5 %, 5 %)
    tlost : share of the codes held by at least k patients that no record or shared chunk has, in [0, 1]
    pairs : mean relative error of the supports of pairs of codes
    tkd : share of the most frequent sets of codes that a reconstruction does not have among its own, in [0, 1]
    """

    queries: QueryErrors | None = None
    matching: dict[str, int] = field(default_factory=dict)
    within: float | None = None
    tlost: float = 0.0
    pairs: float | None = None
    tkd: float | None = None


def measure_accuracy(
    codes: CodeSets,
    released: Disassociation,
    reconstruct: Reconstruct,
    *,
    workload: CodesWorkload | None = None,
    constraints: list[Query] | None = None,
    itemsets: bool = False,
    seed: int = 0,
) -> Accuracy:
    """Compare ten reconstructions with the original.

    Parameters
    ----------
    reconstruct : from a seed to a reconstruction with the vocabulary of ``codes``
    itemsets : also compare the most frequent sets and pairs of codes
    """
    original = counted(codes)
    rebuilt = [counted(reconstruct(seed + number)) for number in range(RECONSTRUCTIONS)]
    queries = None
    if workload is not None:
        answers = [sets.counts(workload.queries) for sets in rebuilt]
        queries = query_errors(original.counts(workload.queries), answers, workload.queries)
    errors = np.zeros(0)
    if constraints:
        errors = matching_errors(original.matches(constraints), [sets.matches(constraints) for sets in rebuilt])
    return Accuracy(
        queries=queries,
        matching=error_histogram(errors) if constraints else {},
        within=share_within(errors, CLOSE) if constraints else None,
        tlost=lost_codes(codes, released),
        pairs=pair_errors(original, rebuilt) if itemsets else None,
        tkd=lost_top_itemsets(original, rebuilt[0]) if itemsets else None,
    )


def lost_codes(codes: CodeSets, released: Disassociation) -> float:
    """Return tlost: the share of the codes held by at least k patients that stand in item chunks only."""
    common = codes.supports() >= released.k
    lost = common & (supports_told(released) == 0)
    return float(lost.sum() / max(1, common.sum()))


Rebuild = Callable[[Disassociation, int], CodeSets]


def exact_figures(
    given: GivenCodes,
    request: CodesRequest[DisassociationRequest],
    protected: ProtectedCodes,
    rebuild: Rebuild,
    seed: int,
) -> dict[str, Any]:
    """Return figures for the custodian alone.

    Parameters
    ----------
    rebuild : from a release and a seed to a reconstruction
    seed : of the first reconstruction
    """
    released, found, policy = protected.released, protected.figures, request.policy
    constraints = None if policy is None else policy.item_numbers(given.codes)
    exact = {"records": given.codes.n_records + given.n_empty, "suppressed": given.n_empty} | asdict(found)
    exact["share_in_item_chunks"] = found.in_item_chunks / max(1, found.occurrences)
    if constraints is not None:
        exact["constraints"] = dict(
            zip(("sets", "satisfied", "preserved"), count_sets(released, constraints).counts(), strict=True)
        )
    if request.accuracy:
        accuracy = measure_accuracy(
            given.codes,
            released,
            lambda number: rebuild(released, number),
            workload=request.workload,
            constraints=constraints,
            seed=seed,
        )
        exact["accuracy"] = asdict(accuracy)
    return exact


def crosswalk(given: GivenCodes, protected: ProtectedCodes) -> pl.DataFrame:
    """Return the secret map: the id of each patient, or the number of the record in the file, and its cluster."""
    codes = given.codes
    lines = np.arange(codes.n_records) if given.lines is None else given.lines
    original = pl.Series(lines + 1) if codes.ids is None else codes.ids
    return pl.DataFrame([original.alias("original"), pl.Series("cluster", protected.cluster_of)])
