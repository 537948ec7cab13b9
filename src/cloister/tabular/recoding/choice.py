"""Which records are released, and with which labels: what each method decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, NoSafeRelease
from cloister.hierarchy import BoundHierarchy
from cloister.io import as_text
from cloister.results import SearchResult
from cloister.search import search
from cloister.search.problem import Report, SearchProblem

from ..data import EncodedTable, TableRequest
from ..options import CLUSTER, FULL_DOMAIN, LOCAL_RECODING
from .clustering import cluster, recode_locally
from .merging import RecordCodes, merge_classes
from .mondrian import MORE_RELEVANT, mondrian, relevance
from .table_recoding import Partition, TableRecoding, recoding_of


@dataclass(frozen=True)
class Choice:
    """What a method decided.

    Attributes
    ----------
    is_released : (n_records,) whether each record is released, or each row of a tally
    labels : label of each quasi-identifier of all records, in the file's order; of suppressed ones it means nothing
    """

    search: SearchResult | None
    is_released: NDArray[np.bool_]
    labels: pl.DataFrame
    levels: Mapping[str, tuple[int, ...]]
    loss: float
    suppressed: int


def choose(
    table: EncodedTable, request: TableRequest, report: Report | None = None, codes: RecordCodes | None = None
) -> Choice:
    """Decide by the method asked for.

    Full-domain generalization takes one level for each column, the least lossy choice where the search says so. Local
    recoding (`recode_locally`) takes several. Mondrian (`mondrian`) and clusters (`cluster`) search no lattice.
    Whatever the method, classes may then be merged for the sake of codes (`merge_classes`).

    Source: Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, section "Preliminaries
    and formalism": full-domain generalization, and suppression of the classes that violate the rules.
    """
    if request.method != FULL_DOMAIN:
        recoding = recoding_of(table, request)
        partition = cluster(recoding) if request.method == CLUSTER else _split(recoding, table, request)
        partition = _merged(recoding, _within_limit(recoding, recoding.settled(partition)), request, codes)
        return _recoded(table, recoding, partition, None)
    problem = table.problem
    chosen = partial(search, request.search_name, threads=request.threads, report=report)
    if request.levels is not None:
        result = _fixed(problem, request.levels)
    else:
        result = chosen(problem, time_limit=request.time_limit)
    levels = [result.levels[name] for name in problem.names]
    if request.has_one_transformation:
        labels = [
            at_level(as_text(table.frame[column]), hierarchy, result.levels[column])
            for column, hierarchy in table.hierarchies.items()
        ]
        kept = problem.kept_rows(levels)[problem.row_of_record]
        used = {column: (result.levels[column],) for column in table.hierarchies}
        return Choice(result, kept, pl.DataFrame(labels), used, result.loss, result.suppressed)
    recoding = recoding_of(table, request)
    if request.published_method == LOCAL_RECODING:
        partition = recode_locally(recoding, result)
    else:
        partition = recoding.full_domain(levels, problem.kept_rows(levels))
    return _recoded(table, recoding, _merged(recoding, partition, request, codes), result)


def _split(recoding: TableRecoding, table: EncodedTable, request: TableRequest) -> Partition:
    """Mondrian, once more with splits of the columns that said nothing coming first, as long as fewer then do."""
    relevant, problem = np.ones(len(table.problem.names)), recoding.problem
    if request.target is not None:
        columns = [as_text(table.frame[name]) for name in problem.names]
        relevant = relevance(columns, table.frame[request.target])
    top = problem.task.maps.heights - 1
    best, fewest = None, len(relevant) + 1
    while True:
        partition = mondrian(recoding, relevant)
        is_empty = (partition.levels == top).all(axis=0) & (problem.lowest < top)
        if is_empty.sum() < fewest:
            best, fewest = partition, is_empty.sum()
        elif best is not None:
            return best
        if not fewest:
            return partition
        relevant = np.where(is_empty, MORE_RELEVANT * relevant, relevant)


def _merged(
    recoding: TableRecoding, partition: Partition, request: TableRequest, codes: RecordCodes | None
) -> Partition:
    if request.merge_bound is None or codes is None:
        return partition
    merged = merge_classes(recoding, partition, codes, request.merge_bound, request.class_size)
    return _within_limit(recoding, recoding.settled(merged))


def _recoded(table: EncodedTable, recoding: TableRecoding, partition: Partition, result: SearchResult | None) -> Choice:
    recoding.check(partition)
    names, row_of_record = recoding.problem.names, recoding.problem.row_of_record
    labels = dict(zip(names, recoding.labels_of_rows(partition), strict=True))
    levels = dict(zip(names, recoding.levels_in_use(partition), strict=True))
    texts = [pl.Series(column, labels[column], dtype=pl.String).gather(row_of_record) for column in table.hierarchies]
    used = {column: levels[column] for column in table.hierarchies}
    kept = partition.is_released[row_of_record]
    loss = recoding.measure(partition)
    return Choice(result, kept, pl.DataFrame(texts), used, loss, recoding.suppressed(partition))


def _within_limit(recoding: TableRecoding, partition: Partition) -> Partition:
    suppressed, problem = recoding.suppressed(partition), recoding.problem
    if not partition.is_released.any():
        raise NoSafeRelease(
            f"Asked for was: {problem.requirement}. No class was found that satisfies that, so that nothing is left"
            " to release. Allow coarser levels or ask for less."
        )
    if suppressed > problem.limit:
        raise NoSafeRelease(
            f"Asked for was: {problem.requirement}. But {suppressed} of {problem.task.threshold.n_records} records "
            f"stay in classes that violate that, and at most {problem.limit} may be suppressed. Allow coarser levels, "
            "raise the suppression limit or ask for less."
        )
    return partition


def alike(shown: pl.DataFrame) -> NDArray[np.int64]:
    """Return the number of the class of each record, by equal quasi-identifiers, shape (n_records,).

    ``shown``: quasi-identifiers, whatever they are called; missing is a value of its own.
    """
    keys = pl.DataFrame([column.alias(f"c{j}") for j, column in enumerate(shown)])
    return keys.select(pl.struct(pl.all()).rank("dense") - 1).to_series().to_numpy().astype(np.int64)


def is_safe(table: EncodedTable, shown: pl.DataFrame, originals: pl.Series) -> bool:
    """Return whether the rules hold on records as they are shown.

    ``shown``: quasi-identifiers of released records; records with the same recorded values are shown alike.
    """
    checker = table.checker
    rows, first = np.unique(table.problem.row_of_record[originals.to_numpy()], return_index=True)
    classes = alike(shown)[first]
    n_classes = int(classes.max()) + 1
    sizes = np.sort(checker.records(rows, classes, n_classes))
    return bool(checker.holds(rows, classes, n_classes).all()) and checker.n_left_out(sizes) == 0


def check_levels(problem: SearchProblem, levels: Mapping[str, int]) -> None:
    """Refuse a transformation that is none of the lattice."""
    unknown = sorted(set(levels) - set(problem.names))
    absent = sorted(set(problem.names) - set(levels))
    if unknown or absent:
        raise InputError(
            "Fixed levels must name every quasi-identifier and nothing else. "
            f"Not named: {', '.join(absent) or 'none'}; not a quasi-identifier: {', '.join(unknown) or 'none'}."
        )
    heights = dict(zip(problem.names, problem.task.maps.heights.tolist(), strict=True))
    for column, level in levels.items():
        if not 0 <= level < heights[column]:
            raise InputError(
                f"Level {level} of column {column!r} was asked for, but its hierarchy has levels 0 to "
                f"{heights[column] - 1}.",
                column=column,
            )


def _fixed(problem: SearchProblem, levels: Mapping[str, int]) -> SearchResult:
    check_levels(problem, levels)
    candidate = problem.measure([levels[name] for name in problem.names])
    if not problem.is_safe(candidate):
        raise NoSafeRelease(
            f"The fixed levels leave {candidate.suppressed} of {problem.task.threshold.n_records} records in classes "
            f"that violate the rules ({problem.requirement}), but at most {problem.limit} may be suppressed. "
            "Fix coarser levels or raise the suppression limit."
        )
    return SearchResult(
        levels=problem.by_name(candidate.levels),
        loss=candidate.loss,
        suppressed=candidate.suppressed,
        bound=0.0,
        optimal=False,
        lattice=problem.lattice,
        checked=1,
        seconds=0.0,
    )


def at_level(text: pl.Series, hierarchy: BoundHierarchy, level: int) -> pl.Series:
    """Return the label of each value at a level."""
    labels = dict(zip(hierarchy.values, hierarchy.labels[level], strict=True))
    present = [value for value in hierarchy.values if value is not None]
    named = pl.Series([*(labels[value] for value in present), labels.get(None)], dtype=pl.String)
    position = text.cast(pl.Enum(present)).to_physical().fill_null(len(present))
    return named.gather(position).alias(text.name)
