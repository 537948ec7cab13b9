"""The choice of a method: released records and their labels; and merging of classes to preserve codes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, NoSafeRelease, name_few
from cloister.hierarchy import BoundHierarchy, parse_hierarchy
from cloister.io.columns import as_held, pack_text
from cloister.kernels.shared_labels import MergedClasses, merge_prices
from cloister.privacy import KAnonymity
from cloister.results import SearchResult
from cloister.search import search
from cloister.search.problem import Report, SearchProblem
from cloister.search.search_run import no_safe_transformation
from cloister.shapes.table.format.options import CLUSTER, FULL_DOMAIN, LOCAL_RECODING, MDAV, MODE, MONDRIAN
from cloister.shapes.table.method.data import EncodedTable, QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.utility import AttributeLoss

from .clustering import cluster, recode_locally
from .joined import join_labels
from .mdav import mdav
from .mondrian import MORE_RELEVANT, Regions, explore_parts, mondrian, relevance
from .simulatable import partition_simulatably
from .specialization import specialize
from .table_recoding import SUPPRESSED, Partition, TableRecoding, recoding_of

Integers = NDArray[np.int64]
Counts = Counter[int]

NEAREST = 32  # classes, nearest by the loss of merging, among which the one is chosen whose codes gain most
TINY = 1e-12  # losses that differ by less are equal


@dataclass(frozen=True, eq=False, repr=False)
class RecordCodes:
    """Codes of the records of a table: the codes ``items[offsets[i]:offsets[i + 1]]`` are those of record ``i``."""

    offsets: Integers
    items: NDArray[np.int32]


@dataclass(frozen=True)
class Merge:
    """Two classes merged into one, named after the first, with its levels."""

    kept: int
    gone: int
    levels: tuple[int, ...]


def merge_classes(recoding: TableRecoding, partition: Partition, codes: RecordCodes, bound: float, k: int) -> Partition:
    """Return the partition with classes merged to preserve codes, while the loss of the table stays within the bound.

    An occurrence of a code is *hidden* where fewer than k records of its class have the code: it can not be counted
    there. The class with the most hidden occurrences is merged with that of its nearest classes (by the loss of
    merging) that uncovers most for what it loses; until no merge is left that uncovers anything within the bound.

    *Guarantee*: classes only grow, and no label is at a level that is not allowed. Not promised: the fewest hidden
    occurrences for the loss. Cost: for each merge one pass over all classes.

    The loss must be a mean of losses of columns; nothing is merged where it passes the bound already.

    Source: Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos (2013), "Anonymizing data with relational and transaction
    attributes", ECML PKDD 2013: RTmerger. There the partner is the one next by both losses; what is lost of codes is
    measured here by what disassociation can not count.
    """
    merger = _Merger(recoding, partition, codes, k)
    merges = list(merger.merges(bound))
    low, high = 0, len(merges)
    while low < high:  # labels that became equal can cost more than the merger estimated
        middle = (low + high + 1) // 2
        if recoding.measure(merger.after(merges[:middle])) <= bound + TINY:
            low = middle
        else:
            high = middle - 1
    return merger.after(merges[:low])


class _Merger:
    """The classes of a partition, their labels, losses and codes; those merged into others are gone."""

    def __init__(self, recoding: TableRecoding, partition: Partition, codes: RecordCodes, k: int) -> None:
        self.recoding = recoding
        self.k = k
        released = recoding.released(partition)
        in_order = released.rows[np.argsort(recoding.place[released.rows])]
        class_of = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
        class_of[released.rows] = released.classes
        _, first, place = np.unique(class_of[in_order], return_index=True, return_inverse=True)
        by_first = np.argsort(first)
        number = np.argsort(by_first)
        self.class_of_row = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
        self.class_of_row[in_order] = number[place]
        row = in_order[first[by_first]]
        self.n = row.size
        levels = partition.levels[partition.class_of_row[row]].T.copy()
        self.at_first = levels.T.copy()
        sizes = recoding.checker.records(in_order, number[place], self.n)
        self.classes = MergedClasses(*self._by_level(row), levels, sizes, np.ones(self.n, dtype=np.bool_))
        self.weights = recoding.weights / recoding.weights.sum()
        # How many records of each class have each code.
        owner = np.repeat(self.class_of_row[recoding.problem.row_of_record], np.diff(codes.offsets))
        known, width = owner != SUPPRESSED, int(codes.items.max(initial=0)) + 1
        keys, counts = np.unique(owner[known] * width + codes.items[known], return_counts=True)
        self.held: list[Counts] = [Counter() for _ in range(self.n)]
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            self.held[key // width][key % width] = count
        self.hidden = np.array([self._hidden(held) for held in self.held], dtype=np.int64)

    def _by_level(self, row: Integers) -> tuple[Integers, NDArray[np.float64]]:
        """Label of each class's first row, and its loss, at each level of each attribute; the top repeated."""
        recoding, loss = self.recoding, self.recoding.loss
        heights = recoding.problem.task.maps.heights.tolist()
        by_level = isinstance(loss, AttributeLoss) and loss.by_level
        codes = np.empty((len(heights), max(heights), row.size), dtype=np.int64)
        costs = np.empty(codes.shape)
        for j, height in enumerate(heights):
            labels, domain = recoding.labels[j], max(1, int(recoding.problem.task.costs.domain[j]))
            for level in range(max(heights)):
                lower = min(level, height - 1)
                codes[j, level] = recoding.at(j, lower, row)
                texts = labels.of_code[lower][codes[j, level]]
                costs[j, level] = (lower if by_level else labels.leaves[lower][texts] - 1) / domain
        return codes, costs

    def _cost(self, one: int) -> NDArray[np.float64]:
        """Loss of all records of a class, by attribute."""
        levels = self.classes.levels[:, one]
        cost: NDArray[np.float64] = self.classes.costs[np.arange(levels.size), levels, one] * self.classes.sizes[one]
        return cost

    def _hidden(self, held: Counts) -> int:
        return sum(count for count in held.values() if count < self.k)

    def merges(self, bound: float) -> Iterable[Merge]:
        """Carry merges out, one after the other, as long as one is left that uncovers codes within the bound."""
        problem, classes = self.recoding.problem, self.classes
        records = problem.task.threshold.n_records
        totals = sum((self._cost(one) for one in range(self.n)), np.zeros(self.weights.size))
        totals += records - classes.sizes.sum()
        is_open = self.hidden > 0
        while is_open.any():
            one = int(np.argmax(np.where(is_open, self.hidden, -1)))
            other = self._partner(one)
            if other < 0:
                is_open[one] = False
                continue
            # The lowest levels, not below those of either class, at which both share their labels.
            differ = (classes.codes[:, :, one] != classes.codes[:, :, other]).sum(axis=1)
            levels = np.maximum(np.maximum(classes.levels[:, one], classes.levels[:, other]), differ)
            after = classes.costs[np.arange(levels.size), levels, one] * (classes.sizes[one] + classes.sizes[other])
            merged = totals + (after - self._cost(one) - self._cost(other))
            if problem.aggregate(tuple((merged / records).tolist())) > bound + TINY:
                is_open[one] = False
                continue
            totals = merged
            self.held[one].update(self.held[other])
            self.hidden[one], self.hidden[other] = self._hidden(self.held[one]), 0
            classes.sizes[one] += classes.sizes[other]
            classes.levels[:, one] = levels
            classes.is_there[other] = is_open[other] = False
            is_open[one] = self.hidden[one] > 0
            yield Merge(one, other, tuple(levels.tolist()))

    def _partner(self, one: int) -> int:
        """The class among the nearest that uncovers most for what merging loses; -1 if none uncovers anything."""
        prices = merge_prices(self.classes, one, self.weights, self.recoding.problem.highest)
        among = np.flatnonzero(np.isfinite(prices))
        if among.size > NEAREST:
            among = among[prices[among] <= np.partition(prices[among], NEAREST - 1)[NEAREST - 1]]
        nearest = among[np.argsort(prices[among], kind="stable")][:NEAREST]
        gains = np.array([self._gain(one, int(other)) for other in nearest])
        if not gains.size or gains.max() <= 0:
            return -1
        return int(nearest[np.argmax(gains / (prices[nearest] + TINY))])

    def _gain(self, one: int, other: int) -> int:
        """Occurrences that are no longer hidden once two classes are one."""
        few, many = sorted((self.held[one], self.held[other]), key=len)
        gain = 0
        for code, count in few.items():
            more = many.get(code, 0)
            if more and count + more >= self.k:
                gain += (count if count < self.k else 0) + (more if more < self.k else 0)
        return gain

    def after(self, merges: list[Merge]) -> Partition:
        number, levels = np.arange(self.n), self.at_first.copy()
        for merge in reversed(merges):
            number[merge.gone] = merge.kept
        for merge in merges:
            levels[merge.kept] = merge.levels
        while not np.array_equal(number[number], number):  # up to the last class that each was merged into
            number = number[number]
        kept, place = np.unique(number, return_inverse=True)
        released = self.class_of_row != SUPPRESSED
        class_of_row = np.full(self.class_of_row.size, SUPPRESSED, dtype=np.int64)
        class_of_row[released] = place[self.class_of_row[released]]
        return Partition(class_of_row, levels[kept])


@dataclass(frozen=True)
class Choice:
    """The choice of a method."""

    search: SearchResult | None
    is_released: NDArray[np.bool_]  # (n_records,) whether each record is released, or each row of a tally
    # label of each quasi-identifier of all records, in the file's order; of suppressed ones it means nothing; of
    # MDAV the number of the class, in place of which an average is released
    labels: pl.DataFrame
    levels: Mapping[str, tuple[int, ...]]
    loss: float | None  # None where averages are all that is released: they are measured
    suppressed: int


def choose(
    table: EncodedTable, request: TableRequest, report: Report | None = None, codes: RecordCodes | None = None
) -> Choice:
    """Choose released records and labels by the requested method.

    Full-domain generalization takes one level for each column, the least lossy choice where the search says so. Local
    recoding (`recode_locally`) takes several. Mondrian (`mondrian`), clusters (`cluster`), top-down
    specialization (`specialize`) and MDAV (`mdav`) search no lattice.
    Whatever the method, classes may then be merged for the sake of codes (`merge_classes`).

    Source: Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, section "Preliminaries
    and formalism": full-domain generalization, and suppression of the classes that violate the rules.
    """
    if request.method == MDAV:
        number = pl.Series(mdav(table, request)).cast(pl.String)
        numbers = pl.DataFrame([number.alias(column) for column in table.hierarchies])
        every = np.ones(numbers.height, dtype=np.bool_)
        return Choice(None, every, numbers, dict.fromkeys(table.hierarchies, (1,)), None, 0)
    if request.method != FULL_DOMAIN:
        recoding = recoding_of(table, request)
        if request.resist_downcoding:
            partition = partition_simulatably(recoding)
            _refuse_violations(recoding, partition)
        elif request.method == MONDRIAN:
            partition = _split(recoding, table, request)
        else:
            strata = [place for place, name in enumerate(table.problem.names) if name in request.strata]
            partition = (
                cluster(recoding, strata, request.threads) if request.method == CLUSTER else specialize(recoding)
            )
        partition = _merge_classes(recoding, _within_limit(recoding, recoding.settle(partition)), request, codes)
        return _recode_table(table, recoding, partition, None)
    problem = table.problem
    chosen = partial(search, request.search_name, store=request.store, threads=request.threads, report=report)
    if request.levels is not None:
        result = _fixed_transformation(problem, request.levels)
    else:
        result = chosen(problem, time_limit=request.time_limit)
    levels = [result.levels[name] for name in problem.names]
    if request.has_one_transformation:
        labels = [
            at_level(table.frame[column], hierarchy, result.levels[column])
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
    return _recode_table(table, recoding, _merge_classes(recoding, partition, request, codes), result)


def _split(recoding: TableRecoding, table: EncodedTable, request: TableRequest) -> Partition:
    """Run Mondrian; while this leaves fewer columns suppressed, rerun it and split suppressed columns first."""
    relevant, problem, explored = np.ones(len(table.problem.names)), recoding.problem, None
    if request.target is not None:
        explored = explore_parts(recoding)
        relevant = _relevance_in(explored, recoding, table.frame[request.target])
    top = problem.task.maps.heights - 1
    best, fewest = None, len(relevant) + 1
    while True:
        partition = mondrian(recoding, relevant, explored)
        is_empty = (partition.levels == top).all(axis=0) & (problem.lowest < top)
        if is_empty.sum() < fewest:
            best, fewest = partition, is_empty.sum()
        elif best is not None:
            return best
        if not fewest:
            return partition
        relevant = np.where(is_empty, MORE_RELEVANT * relevant, relevant)


def _relevance_in(explored: Regions, recoding: TableRecoding, target: pl.Series) -> NDArray[np.float64]:
    """Return what the labels that columns have in some parts say of the target of their records."""
    part = np.full(recoding.n_rows, -1)
    part[explored.rows] = np.repeat(np.arange(explored.sizes.size), explored.sizes)
    row_of_record = recoding.problem.row_of_record
    records = np.flatnonzero(part[row_of_record] >= 0)
    rows = row_of_record[records]
    columns = []
    for attribute, levels in enumerate(explored.levels.T):
        level = levels[part[rows]]
        codes = recoding.at(np.full(rows.size, attribute), level, rows)
        columns.append(pl.Series(level * (int(codes.max(initial=0)) + 1) + codes))
    return relevance(columns, target.gather(records))


def _merge_classes(
    recoding: TableRecoding, partition: Partition, request: TableRequest, codes: RecordCodes | None
) -> Partition:
    if request.merge_bound is None or codes is None:
        return partition
    merged = merge_classes(recoding, partition, codes, request.merge_bound, request.class_size)
    return _within_limit(recoding, recoding.settle(merged))


def _recode_table(
    table: EncodedTable, recoding: TableRecoding, partition: Partition, result: SearchResult | None
) -> Choice:
    recoding.check(partition)
    recoding = join_labels(recoding, partition)
    names, released = recoding.problem.names, recoding.released(partition)
    place = np.full(recoding.n_rows, SUPPRESSED)
    place[released.rows] = np.arange(released.rows.size)
    of_record = place[recoding.problem.row_of_record]
    shown = {
        name: pl.Series(name, [*labels.texts, None], dtype=pl.String).gather(
            np.append(texts, len(labels.texts))[of_record]  # the last, missing, is that of suppressed records
        )
        for name, labels, texts in zip(names, recoding.labels, released.texts, strict=True)
    }
    levels = dict(zip(names, recoding.levels_in_use(partition), strict=True))
    texts = pl.DataFrame([shown[column] for column in table.hierarchies])
    used = {column: levels[column] for column in table.hierarchies}
    loss = recoding.measure(partition)
    return Choice(result, of_record != SUPPRESSED, texts, used, loss, recoding.suppressed(partition))


def _refuse_violations(recoding: TableRecoding, partition: Partition) -> None:
    """Refuse a partition with a class that violates a rule: which classes are suppressed would show what they have."""
    released = recoding.released(partition)
    holds = recoding.checker.holds(released.rows, released.classes, released.n_classes)
    if not holds.all():
        raise NoSafeRelease(
            f"Asked for was: {recoding.problem.requirement}. But {np.count_nonzero(~holds)} of {holds.size} classes "
            "fall short of that, and labels that resist downcoding do not depend on sensitive columns. Ask for a "
            "larger k or a weaker rule."
        )


def _within_limit(recoding: TableRecoding, partition: Partition) -> Partition:
    suppressed, problem = recoding.suppressed(partition), recoding.problem
    if not partition.is_released.any():
        n, k = problem.task.threshold.n_records, problem.task.threshold.k
        if problem.limit < n or n < k:
            raise no_safe_transformation(problem, complete=True)
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
    """Return the class number of each record, by equal quasi-identifiers, shape (n_records,).

    ``shown``: quasi-identifiers, whatever they are called; missing is a value of its own.
    """
    keys = pl.DataFrame([column.alias(f"c{j}") for j, column in enumerate(shown)])
    return keys.select(pl.struct(pl.all()).rank("dense") - 1).to_series().to_numpy().astype(np.int64)


def is_safe(table: EncodedTable, shown: pl.DataFrame, originals: pl.Series) -> bool:
    """Return whether the rules hold for the released form of the records.

    ``shown``: quasi-identifiers of released records; records with the same recorded values are shown alike.
    """
    checker = table.checker
    rows, first = np.unique(table.problem.row_of_record[originals.to_numpy()], return_index=True)
    classes = alike(shown)[first]
    n_classes = int(classes.max()) + 1
    sizes = np.sort(checker.records(rows, classes, n_classes))
    return bool(checker.holds(rows, classes, n_classes).all()) and checker.count_suppressed(sizes) == 0


def check_levels(problem: SearchProblem, levels: Mapping[str, int]) -> None:
    """Reject a transformation that is not in the lattice."""
    unknown = sorted(set(levels) - set(problem.names))
    absent = sorted(set(problem.names) - set(levels))
    if unknown or absent:
        raise InputError(
            "Fixed levels must name every quasi-identifier and nothing else. "
            f"Not named: {name_few(absent) or 'none'}; not a quasi-identifier: {name_few(unknown) or 'none'}."
        )
    heights = dict(zip(problem.names, problem.task.maps.heights.tolist(), strict=True))
    for column, level in levels.items():
        if not 0 <= level < heights[column]:
            raise InputError(
                f"Level {level} of column {column!r} was asked for, but its hierarchy has levels 0 to "
                f"{heights[column] - 1}.",
                column=column,
            )


def _fixed_transformation(problem: SearchProblem, levels: Mapping[str, int]) -> SearchResult:
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


def at_level(column: pl.Series, hierarchy: BoundHierarchy, level: int) -> pl.Series:
    """Return the label of each value at a level, packed."""
    labels = dict(zip(hierarchy.values, hierarchy.labels[level], strict=True))
    present = [value for value in hierarchy.values if value is not None]
    named = pack_text(
        pl.Series([*(labels[value] for value in present), labels.get(None)], dtype=pl.String), always=True
    )
    position = as_held(column).cast(pl.Enum(present)).to_physical().cast(pl.UInt32).fill_null(len(present))
    return named.gather(position).alias(column.name)


def load_kernels(method: str = CLUSTER) -> None:
    """Run every kernel of clusters or MDAV once, on thirteen records; the last is left, and joins a cluster."""
    frame = pl.DataFrame({"a": [*"aabbccddeeffg"], "b": [*"aabbaabbaabbc"]})
    quasi = {column: QuasiIdentifier(parse_hierarchy("suppress")) for column in frame.columns}
    averages = dict.fromkeys(quasi, MODE)
    request = TableRequest(quasi, (KAnonymity(2),), method=method, strata=("a",), microaggregate=averages)
    choose(encode(frame, request), request)
