"""Local recoding into classes of low loss: cheapest classes, and greedy k-member clustering."""

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.kernels.classes import classes_of, group, number_by_first
from cloister.kernels.layout import TOLERANCE, Rows
from cloister.kernels.regroup import regroup_classes
from cloister.kernels.shared_labels import Clusters, Prices, furthest, grow, join, nearest, single_clusters
from cloister.results import SearchResult
from cloister.search.problem import SearchProblem, distinct_levels
from cloister.shapes.table.format.options import MOST_TRANSFORMATIONS

from .joined import find_bits, find_reach, join_labels
from .mondrian import blocks, divide_rows, mondrian
from .strata import find_strata, within_strata
from .table_recoding import SUPPRESSED, Partition, TableRecoding

WORK = 1_600_000_000  # visits of values; where a lattice needs more, some ways from bottom to top are tried
FEWEST_VISITED = (1_000, 16)  # rows and attributes: with fewer, another transformation costs no less
POWER = 1.3  # of an attribute's loss: one that is lost whole weighs more than two by halves (1 to 2 tried)


def recode_locally(recoding: TableRecoding, first: SearchResult) -> Partition:
    """Return the release of a transformation, or a release of less loss with levels that differ between classes.

    Try the transformations of the lattice, or many of a large lattice, in the order of their mean loss, least first.
    Release the classes of remaining records that satisfy the rules under a transformation; other records wait for the
    next one. In the end each class gets the lowest levels at which its records agree.

    *Guarantee*: every class of released records with equal labels satisfies all rules about classes, and the release
    those about the table, against anybody who knows the quasi-identifiers of a patient. The loss is never more than
    that of the transformation. Not promised: the least loss of all such releases; that labels of different classes
    exclude each other (ages of [40-49] and [40-44] both occur). Labels of numbers are then joined (`join_labels`).
    Cost: a count of the records left for each transformation tried.

    ``first``: what a search found.

    Source: After the local recoding of ARX (Prasser, Eicher, Spengler, Bild, Kuhn 2020, Software: Practice and
    Experience 50(7)), which searches the lattice again for the records left; here no search is needed.
    """
    problem = recoding.problem
    levels = [first.levels[name] for name in problem.names]
    whole = recoding.full_domain(levels, problem.kept_rows(levels))
    most, rows = recoding.suppressed(whole), np.flatnonzero(whole.is_released)
    groups, _ = cheapest_classes(recoding, problem.task.threshold.k)
    of_whole = divide_rows(rows, whole.class_of_row[rows]) if rows.size else []
    found = [_at_lowest_levels(recoding, of) for of in (of_whole, groups) if of]
    # Labels of one text at two levels may bring classes together that violate a rule.
    fitting = [one for one in found if one.is_released.any() and recoding.suppressed(one) <= most]
    return min([*fitting, whole], key=lambda one: join_labels(recoding, one).measure(one))


def _at_lowest_levels(recoding: TableRecoding, groups: list[NDArray[np.int64]]) -> Partition:
    """Classes of the rows of each group, at the lowest levels at which these agree, as far as the rules hold."""
    class_of_row = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
    for number, rows in enumerate(groups):
        class_of_row[rows] = number
    sizes = np.array([rows.size for rows in groups])
    return recoding.settle(Partition(class_of_row, recoding.common_levels(np.concatenate(groups), sizes)))


def cheapest_classes(
    recoding: TableRecoding, least: int, rows: NDArray[np.int64] | None = None
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return classes that satisfy the rules, each at the cheapest transformation for the rows left; and other rows.

    ``least``: records of a class at least; ``rows``: those of the table that are divided, all by default.
    """
    rest, groups = recoding.canonical if rows is None else rows, list[NDArray[np.int64]]()
    for tried in by_cost(recoding.problem):
        if rest.size:
            fitting, rest = _classes_at(recoding, rest, tried, least)
            groups += fitting
    return groups, rest


def _classes_at(
    recoding: TableRecoding, rest: NDArray[np.int64], levels: NDArray[np.int64], least: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The classes of the rows left that satisfy the rules at a transformation, and the rows that are in none."""
    task = recoding.problem.task
    own = Rows(np.ascontiguousarray(task.rows.codes[:, rest]), task.rows.records[rest])
    found = group(own, task.maps, levels)
    is_large = found.sizes >= least
    if not is_large.any():
        return [], rest
    is_in = is_large[found.labels]
    holds = np.zeros(is_large.size, dtype=np.bool_)
    labels = (np.cumsum(is_large) - 1)[found.labels[is_in]]
    holds[is_large] = recoding.checker.holds(rest[is_in], labels, int(is_large.sum()))
    is_in = holds[found.labels]
    return divide_rows(rest[is_in], found.labels[is_in]) if is_in.any() else [], rest[~is_in]


def n_transformations(problem: SearchProblem) -> int:
    """Return the number of transformations that merge different values."""
    return math.prod(map(len, distinct_levels(problem)))


def by_cost(problem: SearchProblem) -> Iterator[NDArray[np.int64]]:
    """Yield transformations by mean loss, the coarsest last; for a large lattice, only those on some paths upwards."""
    worth, is_small = distinct_levels(problem), n_transformations(problem) <= MOST_TRANSFORMATIONS
    places = np.array(list(product(*map(range, map(len, worth)))) if is_small else _ways(problem, worth))
    levels = np.stack([np.array(own)[place] for own, place in zip(worth, places.T, strict=True)], axis=1)
    costs = problem.task.costs
    # Added up in one order for all, so that no transformation costs less than a finer one.
    terms = (costs.mean**POWER * costs.weight[:, np.newaxis])[np.arange(len(worth)), levels].sum(axis=1)
    # Rounded, so that equal costs are equal however they were added up; then by rank, then by levels.
    yield from levels[np.lexsort([*levels.T[::-1], levels.sum(axis=1), np.round(terms, 12)])]


def _ways(problem: SearchProblem, worth: list[list[int]]) -> NDArray[np.int64]:
    """Transformations on ways from the bottom to the top, each step of which is cheap by a draw of its own."""
    costs, draw = problem.task.costs, np.random.default_rng(0)
    heights, n = np.array([len(own) - 1 for own in worth]), len(worth)
    mean = np.full((n, int(heights.max()) + 2), np.inf)
    for j, own in enumerate(worth):
        mean[j, : len(own)] = costs.weight[j] * costs.mean[j, own]
    rank, visits = int(heights.sum()), math.prod(map(max, FEWEST_VISITED, (problem.task.rows.records.size, n)))
    ways = max(1, WORK // (max(rank, 1) * visits))
    at, found = np.zeros((ways, n), dtype=np.int64), [np.zeros((1, n), dtype=np.int64)]
    for _ in range(rank):
        step = mean[np.arange(n), at + 1] - mean[np.arange(n), at] + TOLERANCE
        at = at.copy()
        at[np.arange(ways), np.argmin(step * draw.exponential(size=at.shape), axis=1)] += 1
        found.append(at)
    return np.unique(np.concatenate(found), axis=0)


BLOCK = 500  # distinct rows that are clustered together: the work grows with it, and larger blocks lose no less
FREE = -1  # owner of a row that is in no cluster yet


def cluster(
    recoding: TableRecoding,
    strata: Sequence[int] = (),
    threads: int = 1,
    block: int = BLOCK,
    most: int = MOST_TRANSFORMATIONS,
) -> Partition:
    """Return a partition into classes of low loss, each of which satisfies the rules.

    Return the partition with the least loss of several: the classes of local recoding (`cheapest_classes`), those
    of Mondrian and, where not all transformations can be tried, clusters that grow. The first of a block begins with
    its first row in the order of values, each further one with the row furthest from where the last one began. A
    cluster takes the row whose labels shared with the cluster lose least, with all records that have these values,
    until the rules about classes hold. Rows that are left join the cluster where they add least to the loss. Clusters
    that still violate a rule are joined with their nearest ones, as are the smallest ones where a rule about the table
    asks for larger classes. Then neighbouring classes are regrouped, or dissolved, as long as that loses less
    (`regroup_classes`).

    *Guarantee*: every class satisfies all rules about classes, and the table those about the table, against anybody
    who knows the quasi-identifiers of a patient. Only what may be joined with nothing within the highest levels
    allowed is suppressed. The clusters do not depend on the order of the records. No class has records of two strata,
    and without strata the loss is never more than that of Mondrian. Not promised: the least loss; that labels of
    different classes exclude each other (ages of [40-44] and [40-49] both occur). Cost: local recoding, Mondrian, and
    rows x rows of a block x attributes.

    At most ``block`` distinct rows are clustered together, of which the parts of Mondrian are; of a lattice of at most
    ``most`` transformations all are tried. ``strata``: attributes, the strata of whose labels classes do not cross;
    ``threads``: never change the answer.

    Source: Byun, Kamra, Bertino, Li (2007), "Efficient k-anonymization using clustering techniques". Deviations:
    records with the same values are one row and stay together; the loss is that of the hierarchies, weighted by
    attribute; the start is the first row instead of a random one; large tables are clustered in blocks; any rules are
    allowed; classes are improved afterwards; strata are ours.
    """
    within = within_strata(recoding, find_strata(recoding, strata)) if strata else recoding
    prices, least = prices_of(within), _least_size(within)
    found = [_complete_clusters(within, prices, *cheapest_classes(within, least))]
    with suppress(NoSafeRelease):
        found.append(mondrian(within))
    if n_transformations(within.problem) > most:
        pieces = [one for rows in blocks(within, block) for one in _grown(within, prices, rows, least)]
        left = np.concatenate([within.canonical[:0], *(rows for rows, is_complete in pieces if not is_complete)])
        found.append(_complete_clusters(within, prices, [rows for rows, is_complete in pieces if is_complete], left))

    def loss(partition: Partition) -> tuple[bool, float]:
        settled = recoding.settle(_without_strata(recoding, partition))
        is_safe = settled.is_released.any() and recoding.suppressed(settled) <= recoding.problem.limit
        if not is_safe:
            return True, recoding.suppressed(settled)
        return False, join_labels(recoding, settled).measure(settled)

    best = min(found, key=loss)
    return _without_strata(recoding, min(best, _improved(within, prices, best, least, threads), key=loss))


def _without_strata(recoding: TableRecoding, partition: Partition) -> Partition:
    """The partition with the levels of the attributes of the table alone."""
    return Partition(partition.class_of_row, partition.levels[:, : len(recoding.coded)])


LARGE = 2_000  # distinct rows of a stratum whose classes are improved together: the work grows with their square
IMPROVED = 1_000  # distinct rows of larger strata that are improved together, about: fewer lose more


def _improved(recoding: TableRecoding, prices: Prices, partition: Partition, least: int, threads: int) -> Partition:
    """The partition after local search in blocks of similar classes; where a rule is then violated, as it was."""
    task, class_of = recoding.problem.task, partition.class_of_row.copy()

    def improve(rows: NDArray[np.int64]) -> None:
        own = Rows(np.ascontiguousarray(task.rows.codes[:, rows]), task.rows.records[rows])
        before = np.unique(class_of[rows], return_inverse=True)[1].astype(np.int64)
        if np.bincount(before, own.records).min() < least:
            return
        after = regroup_classes(own, task.maps, prices, before, least)
        if recoding.checker.holds(rows, after, int(after.max()) + 1).all():
            # A class is called after one of its rows: no two classes of the table get the same number.
            class_of[rows] = rows[np.unique(after, return_index=True)[1]][after]

    released = recoding.canonical[class_of[recoding.canonical] != SUPPRESSED]
    _, first, place = np.unique(class_of[released], return_index=True, return_inverse=True)
    class_of[released] = released[first][place]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(improve, list(_blocks_of_classes(recoding, released, class_of))))
    numbers, number = np.unique(class_of[released], return_inverse=True)
    class_of[released] = number
    order = released[np.argsort(number, kind="stable")]
    return Partition(class_of, recoding.common_levels(order, np.bincount(number, minlength=numbers.size)))


def _blocks_of_classes(
    recoding: TableRecoding, released: NDArray[np.int64], class_of: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Rows of whole classes of one stratum, in blocks of classes with similar values."""
    codes = recoding.problem.task.rows.codes
    strata = [released]
    if codes.shape[0] > len(recoding.coded):
        strata = divide_rows(released, codes[-1, released].astype(np.int64))
    for rows in strata:
        number = number_by_first(class_of[rows])[0]
        in_order = rows[np.argsort(number, kind="stable")]
        ends = np.cumsum(np.bincount(number))
        block = rows.size if rows.size <= LARGE else IMPROVED
        yield from (
            part for part in np.split(in_order, ends[np.flatnonzero(np.diff((ends - 1) // block))]) if part.size
        )


def _complete_clusters(
    recoding: TableRecoding, prices: Prices, complete: list[NDArray[np.int64]], left: NDArray[np.int64]
) -> Partition:
    """Join the rows left with the clusters there are, and those that violate a rule with others."""
    whole = _Clustering(recoding, prices, complete)
    for row in left.tolist():
        whole.place(row)
    whole.mend()
    return whole.partition()


def prices_of(recoding: TableRecoding) -> Prices:
    """Return the weighted loss of every label, and the allowed levels."""
    problem, costs = recoding.problem, recoding.problem.task.costs
    price = np.zeros(costs.leaves.size, dtype=np.float64)
    for j, height in enumerate(problem.task.maps.heights.tolist()):
        for level in range(height):
            own = slice(int(costs.start[j, level]), int(costs.start[j, level] + problem.task.maps.sizes[j, level]))
            price[own] = costs.weight[j] * (costs.leaves[own] / costs.domain[j])
    sizes = problem.task.maps.sizes[:, 0]
    low, high = np.concatenate([find_reach(recoding, j, size) for j, size in enumerate(sizes.tolist())], axis=1)
    place = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
    bits, listed = zip(*(find_bits(recoding, j, size) for j, size in enumerate(sizes.tolist())), strict=True)
    return Prices(
        price, costs.start, problem.lowest, problem.highest, low, high, place, costs.weight / costs.domain,
        np.concatenate(bits), np.array(listed, dtype=np.int64),
    )  # fmt: skip


def _least_size(recoding: TableRecoding) -> int:
    """The least size that satisfies the rules about the table if all classes have it: joining them later costs more.

    Found as if larger were never worse; what the rules say of the clusters as they come out is what counts.
    """
    k, n = recoding.problem.task.threshold.k, recoding.problem.task.threshold.n_records

    def is_enough(size: int) -> bool:
        return not recoding.checker.count_suppressed(np.full(max(n // size, 1), size))

    return k + bisect_left(range(k, max(k, n)), True, key=is_enough)


def _grown(
    recoding: TableRecoding, prices: Prices, rows: NDArray[np.int64], least: int
) -> list[tuple[NDArray[np.int64], bool]]:
    """Clusters of all rows of a block, and whether each is complete: rows did not run out before the rules held."""
    task, slot, found, seed = recoding.problem.task, rows.size, [], 0
    own = Rows(np.ascontiguousarray(task.rows.codes[:, rows]), task.rows.records[rows])
    pool = single_clusters(own, task.maps, prices, spare=1)
    owner = np.full(rows.size, FREE, dtype=np.int64)
    while seed >= 0:
        for field in pool:
            field[slot] = field[seed]
        owner[seed], asked = slot, least
        while True:
            before = int(pool.sizes[slot])
            grow(task.maps, prices, pool, owner, slot, asked)
            places = np.flatnonzero(owner == slot)
            size = int(pool.sizes[slot])
            is_complete = size >= asked and recoding.checker.accepts(rows[places])
            if is_complete or (size == before and size < asked):
                break
            asked = size + 1
        owner[places] = slot + 1
        found.append((rows[places], is_complete))
        seed = furthest(task.maps, prices, pool, owner, seed)
    return found


class _Clustering:
    def __init__(self, recoding: TableRecoding, prices: Prices, complete: list[NDArray[np.int64]]) -> None:
        task = recoding.problem.task
        self._recoding = recoding
        self._prices = prices
        self._maps = task.maps
        self._singles = single_clusters(task.rows, task.maps, prices)
        self._members = [rows.tolist() for rows in complete]
        self._clusters = self._label_clusters(complete)
        # Rows of two classes at the highest levels may never be joined.
        every, highest = np.arange(recoding.n_rows), recoding.problem.highest.tolist()
        self._reach = classes_of([recoding.at(j, level, every) for j, level in enumerate(highest)])[0]
        firsts = np.array([members[0] for members in self._members], dtype=np.int64)
        self._n_within = np.bincount(self._reach[firsts], minlength=recoding.n_rows)

    def _label_clusters(self, groups: list[NDArray[np.int64]]) -> Clusters:
        """Clusters by their labels, one for each group of rows, and room for one for each row that was left."""
        size_of = np.array([group.size for group in groups], dtype=np.int64)
        room = self._recoding.n_rows - int(size_of.sum())
        first = np.array([group[0] for group in groups], dtype=np.int64)
        none = np.zeros((room, self._maps.heights.size), dtype=np.int64)
        levels = self._recoding.common_levels(np.concatenate([first[:0], *groups]), size_of)
        codes = levels.copy()
        for j in range(levels.shape[1]):
            for level in np.unique(levels[:, j]).tolist():
                mine = levels[:, j] == level
                codes[mine, j] = self._recoding.at(j, level, first[mine])
        records = self._recoding.problem.task.rows.records
        sizes = np.array([int(records[group].sum()) for group in groups] + [0] * room, dtype=np.int64)
        members, start = np.concatenate([first[:0], *groups]), np.cumsum([0, *size_of[:-1]])
        single = self._singles
        covers = ((np.minimum, single.low), (np.maximum, single.high), (np.bitwise_or, single.bits))
        low, high, bits = (
            np.concatenate([cover.reduceat(own[members], start) if groups else own[:0], none.astype(own.dtype)])
            for cover, own in covers
        )
        return Clusters(np.concatenate([levels, none]), np.concatenate([codes, none]), low, high, bits, sizes)

    def place(self, row: int) -> None:
        """Put a row into the cluster where it adds least to the loss; where it fits none, it is one by itself."""
        one = len(self._members)
        for field, single in zip(self._clusters, self._singles, strict=True):
            field[one] = single[row]
        self._members.append([row])
        self._n_within[self._reach[row]] += 1
        if self._join_nearest(one) >= 0:
            self._members.pop()  # its place is for the next, so that no place of none is looked at

    def _join_nearest(self, one: int) -> int:
        """Join a cluster with its nearest; return that, or -1 where there is none within the levels allowed."""
        reach = self._reach[self._members[one][0]]
        if self._n_within[reach] == 1:
            return -1
        other = nearest(self._maps, self._prices, self._clusters, one)
        if other >= 0:
            self._n_within[reach] -= 1
            join(self._maps, self._clusters, other, one)
            self._members[other] += self._members[one]
            self._members[one] = []
            self._clusters.sizes[one] = 0
        return other

    def mend(self) -> None:
        """Join clusters that violate a rule with others, smallest first, until all hold or nothing more fits."""
        stuck: set[int] = set()
        waiting = [(int(self._clusters.sizes[place]), place) for place in self._violating()]
        heapq.heapify(waiting)
        while waiting:
            size, one = heapq.heappop(waiting)
            if size != self._clusters.sizes[one]:  # it was joined with another since
                continue
            other = self._join_nearest(one)
            if other < 0:
                stuck.add(one)
            elif not self._recoding.checker.accepts(np.array(self._members[other], dtype=np.int64)):
                heapq.heappush(waiting, (int(self._clusters.sizes[other]), other))
        self._mend_table(stuck)

    def _mend_table(self, stuck: set[int]) -> None:
        """Join the smallest clusters with others until the rules about the table hold."""
        unmoved = set(stuck)
        while True:
            sizes = self._clusters.sizes
            kept = [place for place in np.flatnonzero(sizes).tolist() if place not in stuck]
            asked = self._recoding.checker.count_suppressed(np.sort(sizes[kept]))
            movable = sorted(
                (place for place in kept if place not in unmoved), key=lambda place: (int(sizes[place]), place)
            )
            if not asked or not movable:
                return
            for one in movable[: max(1, asked // 4)]:
                if self._members[one] and self._join_nearest(one) < 0:
                    unmoved.add(one)

    def _violating(self) -> set[int]:
        places = np.flatnonzero(self._clusters.sizes)
        rows = [np.array(self._members[place], dtype=np.int64) for place in places.tolist()]
        labels = np.repeat(np.arange(places.size), [group.size for group in rows])
        holds = self._recoding.checker.holds(np.concatenate(rows), labels, places.size)
        return set(places[~holds].tolist())

    def partition(self) -> Partition:
        """Return what was found; classes that violate a rule about classes are suppressed."""
        class_of_row = np.full(self._recoding.n_rows, SUPPRESSED, dtype=np.int64)
        violating = self._violating()
        places = [place for place in np.flatnonzero(self._clusters.sizes).tolist() if place not in violating]
        for number, place in enumerate(places):
            class_of_row[self._members[place]] = number
        return Partition(class_of_row, self._clusters.levels[places])
