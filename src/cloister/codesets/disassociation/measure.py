"""What disassociation lost: figures that the release tells by itself, and exact ones for the custodian.

A recipient may know what follows from the chunks. How far reconstructions are from the original does not: whoever makes
them anew from ``clusters.json`` could test a guess about the original against it. It is told to the custodian alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cloister.utility import (
    QueryErrors,
    error_histogram,
    lost_top_itemsets,
    matching_errors,
    pair_errors,
    query_errors,
    share_within,
)

from ..data import CodeSets
from ..measure import counted
from ..workload import Workload
from .data import Disassociation
from .places import Places, Query, codes_counted_exactly, constraints_counted_exactly, supports_told

RECONSTRUCTIONS = 10
"""Reconstructions whose mean answers a query."""

CLOSE = 0.05
"""A constraint whose matching error is within this is well supported (section 6.5)."""

Reconstruct = Callable[[int], CodeSets]


@dataclass(frozen=True)
class CodesUtility:
    """What the chunks of a release tell of what was lost; nothing here comes from the original.

    Attributes
    ----------
    occurrences_told : occurrences of codes in record and shared chunks
    item_chunk_codes : codes of item chunks, each counted once a cluster
    occurrences_in_item_chunks : upper bound of the share of all occurrences that are in item chunks, in [0, 1]: the
        share if all records of each cluster had all codes of its item chunk
    codes, counted_exactly : distinct codes, and those whose number the chunks tell exactly
    constraints : of the utility policy; None without one
    satisfied : constraints all of whose codes are counted exactly
    preserved : those of them of which the records with any of their codes are counted exactly, too
    """

    occurrences_told: int
    item_chunk_codes: int
    occurrences_in_item_chunks: float
    codes: int
    counted_exactly: int
    constraints: int | None = None
    satisfied: int | None = None
    preserved: int | None = None

    def without_constraints(self) -> "CodesUtility":
        """Return the same as if there were no utility policy."""
        return replace(self, constraints=None, satisfied=None, preserved=None)


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


def measure_utility(released: Disassociation, constraints: list[Query] | None = None) -> CodesUtility:
    """Return what a recipient may know of what was lost: a function of the chunks and of nothing else.

    How many occurrences item chunks hide is bounded by the records of their clusters. The true number, or any bound
    that depends on it, would exclude data sets that could have led to the release, and with them candidates.

    Parameters
    ----------
    constraints : of the utility policy, as item numbers
    """
    told = int(supports_told(released).sum())
    most = int((released.sizes * np.diff(released.item_offsets)).sum())
    counted = codes_counted_exactly(released)
    utility = {} if constraints is None else _constraint_figures(released, constraints, counted)
    return CodesUtility(
        occurrences_told=told,
        item_chunk_codes=int(released.item_chunks.size),
        occurrences_in_item_chunks=most / max(1, told + most),
        codes=len(counted),
        counted_exactly=int(counted.sum()),
        **utility,
    )


def _constraint_figures(
    released: Disassociation, constraints: list[Query], counted: NDArray[np.bool_]
) -> dict[str, int]:
    satisfied = sum(bool(counted[list(each)].all()) for each in constraints)
    preserved = int(constraints_counted_exactly(Places.of(released), constraints).sum())
    return {"constraints": len(constraints), "satisfied": satisfied, "preserved": preserved}


def measure_accuracy(
    codes: CodeSets,
    released: Disassociation,
    reconstruct: Reconstruct,
    *,
    workload: Workload | None = None,
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
