"""What labels reveal to somebody who knows the method that chose them.

Local recoding, clusters and Mondrian give a class the lowest levels at which its records agree. Who knows this knows
more than a label says: below each label of a class that is not at the lowest level, at least two finer labels occur.
In a class of two records whose label has two finer ones, each record has another of them: a `*` for sex is one woman
and one man. Where intervals are joined, the first and the last interval of a label occur: of two records one is in
each. Where values are listed, each occurs. `refine` counts where finer counts follow exactly, and how many bits the
rules give away.

Two methods give away more, if class size alone decided: why a class is not finer.

*Local recoding* tries transformations by cost, so each one after all finer ones. Let a class have the levels L, one of
them above the lowest, and let L' be L with the next lower level there. If all transformations are tried, L' was, and
before the class appeared: its records were all left, and none of them made a class at L'. So each finer label has at
most k - 1 records of the class (its records with this label were in one cell of L'). This holds of classes that appear
one by one, not of the cells of one transformation, at the lowest levels at which they agree, which are released where
they lose less. The files distinguish the two: cells differ at the highest levels in use, since those of their
transformation are not lower. If two classes do not differ there, they appeared one by one.

*Mondrian* asks of every class of 2k records or more, for each column, whether it can be split. It can, unless no finer
label has k records, or only one has and all others have at most k - 1 together. So a class either has at most k - 1
records of each finer label, or 1 to k - 1 that are not of the most frequent one.

*Clusters* are regrouped for the sake of loss, which does not ask what is below their labels: nothing more follows.

Nothing more than the first rule follows for a class with a label that covers other values at another level, since two
classes may look like one. Each rule is about one column of one class. As a record may have any finer labels of two
columns, each assignment of one column goes with each of the other: all columns together exclude nothing that one alone
does not, and no program over all of them is needed (`tests/properties/test_refinement.py` solves it).

Rules between classes are not counted: who repeats the whole method on every possible original can learn more
(`tests/oracles/refinement.py` does, for tiny tables), so the figures are what an attacker learns at least. The k
candidates remain: refinement reveals what the records of a class have, not whose each record is.

Source: Cohen (2022), "Attacks on Deidentification's Defenses", USENIX Security 2022 (downcoding: a method that
generalizes no more than it must can be turned back); "Exposing Privacy Risks in Anonymizing Clinical Data:
Combinatorial Refinement Attacks on k-Anonymity Without Auxiliary Information" (2025), arXiv:2509.03350.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cloister.hierarchy import BoundHierarchy
from cloister.shapes.table.format.options import CLUSTER, LOCAL_RECODING, MONDRIAN, MOST_TRANSFORMATIONS

from .adversary import Integers, Refinement

LOWEST_LEVELS = (CLUSTER, LOCAL_RECODING, MONDRIAN)
"""Methods whose classes have the lowest levels at which their records agree."""

NOTHING = (False, False, 0.0)
"""That nothing follows for a label."""

Logarithms = NDArray[np.float64]


@dataclass(frozen=True)
class FinerLabels:
    """The labels directly below a label that occur in the table.

    Attributes
    ----------
    cells : of each, the intervals that can be joined inside of it, or the listed values below it; 1 elsewhere
    occurring : which of the cells have a record: the first and the last one, each one, or two, whichever
    """

    cells: tuple[int, ...]
    occurring: Literal["ends", "all", "two"]

    @property
    def least(self) -> int:
        """The records of a class at least."""
        return sum(self.cells) if self.occurring == "all" else 2


@dataclass(frozen=True)
class CoveredValues:
    """The values that a label of a release covers, where these are the same at each level that has it.

    Attributes
    ----------
    highest : their label at the highest level in use
    finer : the labels directly below; None if nothing follows of them
    """

    highest: str | None
    finer: FinerLabels | None


Covered = Mapping[str, Sequence[CoveredValues | None]]
"""By column, what each label covers; None where a label covers other values at another level."""


@dataclass(frozen=True, eq=False)
class ShownClasses:
    """The classes of a release as a recipient sees them.

    Attributes
    ----------
    sizes : (n_classes,) records of each class
    labels : by column, (n_classes,) number of the label
    texts : by column, the label of each number
    hierarchies : by column, bound to the values that occur: which do is assumed to be known
    levels : by column, the levels in use; of the lowest one nothing follows, since it may be the lowest allowed
    """

    sizes: Integers
    labels: Mapping[str, Integers]
    texts: Mapping[str, Sequence[str | None]]
    hierarchies: Mapping[str, BoundHierarchy]
    levels: Mapping[str, Sequence[int]]


def refine(classes: ShownClasses, method: str, k: int | None = None, patients: Integers | None = None) -> Refinement:
    """Return what follows for classes from the rules of a method.

    ``k``: records that a class had to have, if all columns are given and nothing else decided about classes
    ``patients``: (n_classes,) whose records they are; several classes may be of the same patients

    Examples
    --------
    >>> import numpy as np
    >>> from cloister.hierarchy import suppress
    >>> sex = {"sex": suppress().bind("sex", ["F", "M"])}
    >>> stars = ShownClasses(np.array([2, 3]), {"sex": np.array([0, 0])}, {"sex": ["*"]}, sex, {"sex": [0, 1]})
    >>> found = refine(stars, "cluster")
    >>> found.labels, found.determined, found.records, round(found.bits, 3)
    (2, 1, 2, 0.708)
    """
    found, sizes = list(refine_columns(classes, method, k).values()), classes.sizes
    n_labels = sum(int(one.is_coarser.sum()) for one in found)
    is_concerned = np.logical_or.reduce([np.zeros(sizes.size, dtype=np.bool_), *(one.is_determined for one in found)])
    concerned = np.flatnonzero(is_concerned)
    if patients is not None:
        concerned = concerned[np.unique(patients[concerned], return_index=True)[1]]
    return Refinement(
        labels=n_labels,
        determined=sum(int(one.is_determined.sum()) for one in found),
        records=int(sizes[concerned].sum()),
        bits=sum(float(one.bits.sum()) for one in found) / max(1, n_labels),
    )


@dataclass(frozen=True, eq=False)
class RefinedColumn:
    """What follows for the label of each class in a column, shape (n_classes,) each.

    Attributes
    ----------
    is_coarser : whether anything follows for it
    is_determined : whether the counts of the labels directly below follow exactly
    bits : what the rules give away
    """

    is_coarser: NDArray[np.bool_]
    is_determined: NDArray[np.bool_]
    bits: NDArray[np.float64]


def refine_columns(classes: ShownClasses, method: str, k: int | None = None) -> dict[str, RefinedColumn]:
    """Return what follows for each class, by column."""
    sizes, labels = classes.sizes, classes.labels
    covered: Covered = {
        column: _list_covered(texts, classes.hierarchies[column], classes.levels[column])
        for column, texts in classes.texts.items()
    }
    is_clear = np.ones(sizes.size, dtype=np.bool_)
    for column, numbers in labels.items():
        is_clear &= np.array([one is not None for one in covered[column]])[numbers]
    if method == LOCAL_RECODING and not (k and _appeared_one_by_one(classes, covered, is_clear, k)):
        k = None
    most, found = int(sizes.max(initial=0)), {}
    for column, numbers in labels.items():
        # As one for all classes with the same label and number of records.
        kinds, place = np.unique(np.stack([numbers, sizes, is_clear]), axis=1, return_inverse=True)
        of_kind = []
        for number, n, clear in kinds.T.tolist():
            finer = (one := covered[column][number]) and one.finer
            of_kind.append(
                (True, *_follow(finer, n, k if clear else None, method, most))
                if finer and n >= finer.least
                else NOTHING
            )
        is_coarser, is_determined, share = np.array(of_kind, dtype=np.float64).reshape(-1, 3)[place.reshape(-1)].T
        found[column] = RefinedColumn(is_coarser > 0, is_determined > 0, -share / math.log(2))
    return found


def _appeared_one_by_one(classes: ShownClasses, covered: Covered, is_clear: NDArray[np.bool_], k: int) -> bool:
    """Return whether classes of local recoding can only have appeared one by one, as all levels were tried.

    Levels with as many labels as the one below were not. No class may have more records than its finer labels allow:
    such a file is not of this method.
    """
    n_levels = [len({len(set(names)) for names in one.labels}) for one in classes.hierarchies.values()]
    if math.prod(n_levels) > MOST_TRANSFORMATIONS:
        return False
    highest = []
    for column, numbers in classes.labels.items():
        number = {label: place for place, label in enumerate({one.highest: None for one in covered[column] if one})}
        highest.append(np.array([number[one.highest] if one else -1 for one in covered[column]])[numbers[is_clear]])
        room = [len(one.finer.cells) * (k - 1) if one and one.finer else np.inf for one in covered[column]]
        if np.any(classes.sizes[is_clear] > np.array(room)[numbers[is_clear]]):
            return False
    cells = np.stack(highest, axis=1)
    return len(np.unique(cells, axis=0)) < len(cells)


def _list_covered(
    texts: Sequence[str | None], hierarchy: BoundHierarchy, levels: Sequence[int]
) -> list[CoveredValues | None]:
    """Return for each label what it covers."""
    places: dict[tuple[str | None, int], list[int]] = {}
    for level in levels:
        for place, label in enumerate(hierarchy.labels[level]):
            places.setdefault((label, level), []).append(place)
    for one in hierarchy.joined:
        if one.level in levels:
            places[one.label, one.level] = hierarchy.places_of(one).tolist()
    sets: dict[str | None, dict[frozenset[int], int]] = {}
    for (label, level), own in sorted(places.items(), key=lambda one: one[0][1]):
        sets.setdefault(label, {}).setdefault(frozenset(own), level)
    found: list[CoveredValues | None] = []
    for text in texts:
        if len(sets.get(text, ())) != 1:
            found.append(None)
            continue
        ((covers, level),) = sets[text].items()
        finer, joins_intervals = None, bool(hierarchy.joined) and hierarchy.joined[0].base > 0
        # The root also covers missing values, so that no interval need occur. Both ends of other labels do.
        if joins_intervals and text not in hierarchy.labels[-1]:
            finer = _joined_below(hierarchy, covers, level)
        elif level > min(levels):
            directly = hierarchy.labels[level - 1]  # where a gap, None, brings no values together
            below = Counter(place if directly[place] is None else directly[place] for place in covers)
            is_list = text not in hierarchy.labels[level]
            finer = FinerLabels(tuple(below.values()), "all") if is_list else FinerLabels((1,) * len(below), "two")
            finer = finer if len(below) > 1 else None
        found.append(CoveredValues(hierarchy.labels[max(levels)][min(covers)], finer))
    return found


def _joined_below(hierarchy: BoundHierarchy, covers: frozenset[int], level: int) -> FinerLabels | None:
    """Return the labels below where intervals are joined; None of a single interval."""
    base = hierarchy.joined[0].base
    in_order = [place for place in hierarchy.order.tolist() if place in covers]
    for lower in range(level - 1, base - 1, -1):
        cells: dict[str | None, set[str | None]] = {}
        for place in in_order:
            cells.setdefault(hierarchy.labels[lower][place], set()).add(hierarchy.labels[base][place])
        if len(cells) > 1:
            return FinerLabels(tuple(map(len, cells.values())), "ends")
    return None


def _follow(finer: FinerLabels, n: int, k: int | None, method: str, most: int) -> tuple[bool, float]:
    """Return whether all counts of a class follow exactly, and the logarithm of a share.

    The share is that of assignments of records to finer labels, or to intervals, which the rules leave. Without rules
    all m^n are possible. By the lowest levels excluded are the m with one label for all, or all without an end, or
    without one of the listed values.

    ``most``: records of the largest class
    """
    m = float(sum(finer.cells))
    if k is None or method == CLUSTER or (method == MONDRIAN and n < 2 * k):
        if finer.occurring == "all":
            return n == finer.least, _count_onto(int(m), n) - n * math.log(m)
        has_ends = finer.occurring == "ends"
        excluded = 2 * (1 - 1 / m) ** n - (1 - 2 / m) ** n if has_ends else m ** (1 - n)
        return n == 2 and (has_ends or m == n), math.log1p(-excluded)
    if method == MONDRIAN:
        return False, _count_undivided(finer, n, k, most) + math.lgamma(n + 1) - n * math.log(m)
    ways = float(_multiply_all(_count_kinds(finer), k, most)[n])
    # One vector of counts is possible if all counts are the least or all are the greatest.
    is_determined = n == len(finer.cells) * (k - 1) or (finer.occurring != "two" and n == finer.least)
    return is_determined, ways + math.lgamma(n + 1) - n * math.log(m)


def _count_undivided(finer: FinerLabels, n: int, k: int, most: int) -> float:
    """Return the ways if Mondrian could not split 2k records or more, of which no vector of counts is the only one.

    That a list has at most half of k values leaves several, too.
    """
    kinds = _count_kinds(finer)
    rare = _multiply_all(kinds, k, most)
    found = float(rare[n]) if n < rare.size else -math.inf
    for kind, times in kinds:  # of the most frequent label
        others = tuple((one, count - (one == kind)) for one, count in kinds)
        left = _multiply_all(others, k, k - 1)
        for n_left in range(1, min(k, left.size)):
            ways = _count_ways(kind, n - n_left) + float(left[n_left]) + math.log(times)
            found = float(np.logaddexp(found, ways))
    return found


Kind = tuple[int, int]
"""Of a finer label: how many cells are inside of it, and how many of these must occur: none, an end of all, or each."""


def _count_kinds(finer: FinerLabels) -> tuple[tuple[Kind, int], ...]:
    ends = (0, len(finer.cells) - 1) if finer.occurring == "ends" else ()
    kinds = Counter((n, n if finer.occurring == "all" else int(place in ends)) for place, n in enumerate(finer.cells))
    return tuple(sorted(kinds.items()))


def _count_ways(kind: Kind, n: int) -> float:
    """Return in how many ways n records fall into the intervals of a finer label, divided by n!, as a logarithm.

    So divided, ways of disjoint sets of records and labels can be multiplied and added up: a generating function.
    """
    m, n_needed = kind
    if n < n_needed:
        return -math.inf
    if n_needed == m:
        return _count_onto(m, n) - math.lgamma(n + 1)
    without_end = math.log1p(-((1 - 1 / m) ** n)) if n_needed else 0.0
    return n * math.log(m) + without_end - math.lgamma(n + 1)


@cache
def _count_onto(m: int, n: int) -> float:
    """Return the logarithm of the ways in which n records have m values, each at least once."""
    return math.log(sum((-1) ** i * math.comb(m, i) * (m - i) ** n for i in range(m)) or math.nan)


@cache
def _multiply_all(kinds: tuple[tuple[Kind, int], ...], k: int, most: int) -> Logarithms:
    """Return the ways of 0, 1, ... records for all these labels, each with at most k - 1; up to ``most`` records."""
    found = np.zeros(1)
    for kind, times in kinds:
        power, left = np.array([_count_ways(kind, n) for n in range(k)]), times
        while left:  # the power of a polynomial, by squares
            if left % 2:
                found = _multiply(found, power, most)
            left //= 2
            if left:
                power = _multiply(power, power, most)
    return found


def _multiply(one: Logarithms, other: Logarithms, most: int) -> Logarithms:
    """Return the product of two polynomials, all coefficients as logarithms, without powers above ``most``."""
    found = np.full(min(one.size + other.size - 1, most + 1), -np.inf)
    short, long = sorted((one, other), key=len)
    for power, factor in enumerate(short[: found.size].tolist()):
        part = found[power : power + long.size]
        np.logaddexp(part, factor + long[: part.size], out=part)
    return found
