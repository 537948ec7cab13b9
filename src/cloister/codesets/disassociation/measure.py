"""What disassociation lost: figures that the release tells by itself, and exact ones for the custodian.

A recipient may know what follows from the chunks. How far reconstructions are from the original does not: whoever makes
them anew from ``clusters.json`` could test a guess about the original against it. It is told to the custodian alone.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
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
    utility: dict[str, int] = {}
    if constraints is not None:
        utility["constraints"] = len(constraints)
        utility["satisfied"] = sum(bool(counted[list(each)].all()) for each in constraints)
        utility["preserved"] = int(constraints_counted_exactly(Places.of(released), constraints).sum())
    return CodesUtility(
        occurrences_told=told,
        item_chunk_codes=int(released.item_chunks.size),
        occurrences_in_item_chunks=most / max(1, told + most),
        codes=len(counted),
        counted_exactly=int(counted.sum()),
        **utility,
    )


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


def utility_of(utility: CodesUtility) -> dict[str, Any]:
    """Return what was lost, as far as the chunks tell it. The error of a workload is the custodian's: it is null."""
    return {
        "suppressed_codes": 0,
        "codes": utility.codes,
        "codes_counted_exactly": utility.counted_exactly,
        "occurrences_told": utility.occurrences_told,
        "occurrences_in_item_chunks": utility.occurrences_in_item_chunks,
        "constraints": utility.constraints,
        "constraints_satisfied": utility.satisfied,
        "constraints_preserved": utility.preserved,
        "are": None,
    }


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
