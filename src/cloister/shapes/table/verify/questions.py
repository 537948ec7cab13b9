"""Labels that resist downcoding, found again from the original: by a second program, on plain texts.

A release promises that questions led to its classes whose refusals settle nothing
(`docs/decisions/0025-simulatable-splits.md`). That cannot be seen in a release: it is about what was not asked. So the
questions are asked again here, of the original. Nothing is shared with the method: parts are lists of rows, and whether
an answer leaves a doubt is found by trying all numbers of rare records, where the method has a formula.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from cloister.hierarchy import BoundHierarchy
from cloister.shapes.table.format.guarantee import Questions

Text = str | None
Rows = list[tuple[tuple[Text, ...], int]]
SHARE_OF_DOUBT = 1000  # records of a part for each record more that is asked of a label


@dataclass(frozen=True)
class ColumnLabels:
    """The labels of one column by level: of each value, their order, what they lose; and the levels allowed."""

    of_value: Sequence[Mapping[Text, Text]]
    place: Sequence[Mapping[Text, int]]
    loss: Sequence[Mapping[Text, float]]
    lowest: int
    highest: int

    @classmethod
    def of(cls, hierarchy: BoundHierarchy, questions: Questions, column: str) -> "ColumnLabels":
        """Read them off a bound hierarchy."""
        lowest, highest = questions.bounds.get(column, (0, None))
        weight = questions.weights.get(column, 1.0) / sum(
            questions.weights.get(name, 1.0) for name in questions.columns
        )
        top = hierarchy.n_levels - 1
        losses = []
        for level, (labels, leaves) in enumerate(zip(hierarchy.labels, hierarchy.leaves.tolist(), strict=True)):
            lost = [level if questions.by_level else n - 1 for n in leaves]
            whole = max(1, top if questions.by_level else hierarchy.n_leaves - 1)
            losses.append({label: round(weight * n / whole, 12) for label, n in zip(labels, lost, strict=True)})
        return cls(
            [dict(zip(hierarchy.values, labels, strict=True)) for labels in hierarchy.labels],
            [{label: place for place, label in enumerate(dict.fromkeys(labels))} for labels in hierarchy.labels],
            losses,
            lowest,
            top if highest is None else highest,
        )


@dataclass
class HiddenRows:
    """What is hidden since a column was asked in vain: its frequent label, and how much of the rest is known."""

    frequent: tuple[Text] | None
    limit: int
    at_most: int
    records: int
    known: int = 1


@dataclass
class Vain:
    """A question asked in vain, and whether it was again within."""

    hidden: HiddenRows
    again: bool = False


@dataclass
class AskedRows:
    """Rows with the same label in each column."""

    rows: Rows
    levels: list[int]
    vain: dict[int, Vain] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)

    @cached_property
    def n(self) -> int:
        """Its records."""
        return sum(n for _, n in self.rows)

    def part(self, rows: Rows, finer: int | None) -> "AskedRows":
        """Return these of its rows, at the next finer level of a column if one is named."""
        vain = {column: one for column, one in self.vain.items() if column != finer}
        return AskedRows(rows, [level - (column == finer) for column, level in enumerate(self.levels)], vain)


def find_classes(
    records: Counter[tuple[Text, ...]], hierarchies: Mapping[str, BoundHierarchy], questions: Questions, k: int
) -> Counter[tuple[Text, ...]]:
    """Return the records of each class by its labels, in the order of ``questions.columns``.

    ``records``: of each combination of values in that order
    """
    names = sorted(questions.columns, key=str.encode)
    labels = [ColumnLabels.of(hierarchies[name], questions, name) for name in names]
    order = [questions.columns.index(name) for name in names]
    rows = [(tuple(values[place] for place in order), n) for values, n in records.items()]
    found: Counter[tuple[Text, ...]] = Counter()
    for group in split(rows, labels, k):
        shown = dict(zip(names, _labels_of(group.rows[0][0], group.levels, labels), strict=True))
        found[tuple(shown[name] for name in questions.columns)] += group.n
    return found


def _labels_of(values: tuple[Text, ...], levels: Sequence[int], labels: Sequence[ColumnLabels]) -> tuple[Text, ...]:
    return tuple(one.of_value[level][value] for value, level, one in zip(values, levels, labels, strict=True))


def split(rows: Rows, labels: Sequence[ColumnLabels], k: int) -> Iterator[AskedRows]:
    """Yield the final groups; the largest group is asked first, then the one that was there first."""
    number, highest = count(), [one.highest for one in labels]
    begin: dict[tuple[int, ...], Rows] = {}
    for values, n in rows:
        shown = _labels_of(values, highest, labels)
        places = tuple(one.place[one.highest][label] for one, label in zip(labels, shown, strict=True))
        begin.setdefault(places, []).append((values, n))
    groups = [AskedRows(begin[places], list(highest)) for places in sorted(begin)]
    waiting = [(-group.n, next(number), group) for group in groups if group.n >= k]
    heapq.heapify(waiting)
    while waiting:
        group = heapq.heappop(waiting)[2]
        parts = _ask(group, labels, k)
        if not parts:
            yield group
        for part in parts:
            heapq.heappush(waiting, (-part.n, next(number), part))


def _ask(group: AskedRows, labels: Sequence[ColumnLabels], k: int) -> list[AskedRows]:
    """Return the parts of a group; none if it stays as it is."""
    shown = _labels_of(group.rows[0][0], group.levels, labels)
    lost = [one.loss[level][label] for one, level, label in zip(labels, group.levels, shown, strict=True)]
    for column in sorted(range(len(labels)), key=lambda column: (-lost[column], column)):
        level = group.levels[column] - 1
        if level < labels[column].lowest or column in group.known:
            continue
        finer = labels[column].of_value[level]
        if column in group.vain:
            parts = _ask_again(group, column, finer)
        else:
            place = labels[column].place[level]
            parts = _ask_first(group, column, finer, place, k)
        if parts:
            return parts
    return []


def _ask_again(group: AskedRows, column: int, finer: Mapping[Text, Text]) -> list[AskedRows]:
    """Ask whether all records have the frequent label, unless an answer could settle how many have not."""
    vain, n = group.vain[column], group.n
    hidden = vain.hidden
    if hidden.known + vain.again >= hidden.at_most or hidden.records - n < hidden.limit:
        return []
    if all((finer[values[column]],) == hidden.frequent for values, _ in group.rows):
        hidden.records -= n
        part = group.part(group.rows, column)
        part.known = group.known - {column}
        return [part]
    hidden.known += vain.again
    vain.again = True
    group.vain[column] = Vain(hidden)
    group.known.add(column)
    return []


def _ask_first(
    group: AskedRows, column: int, finer: Mapping[Text, Text], place: Mapping[Text, int], k: int
) -> list[AskedRows]:
    """Ask which finer labels have enough records."""
    by_label: dict[Text, Rows] = {}
    for values, n in group.rows:
        by_label.setdefault(finer[values[column]], []).append((values, n))
    if len(by_label) == 1:
        part = group.part(group.rows, column)
        part.known = group.known - {column}
        return [part]
    limit = k + group.n // SHARE_OF_DOUBT
    counts = {label: sum(n for _, n in by_label[label]) for label in sorted(by_label, key=place.__getitem__)}
    together = find_together(counts, limit)
    apart = sorted((label for label in counts if label not in together), key=lambda label: -counts[label])
    parts = [group.part(by_label[label], column) for label in apart]
    if not together:
        return parts
    kept = [row for label in together for row in by_label[label]]
    frequent = max(together, key=lambda label: counts[label])
    n = sum(counts[label] for label in together)
    hidden = HiddenRows((frequent,) if counts[frequent] >= limit else None, limit, min(limit - 1, n - limit), n)
    rest = group if not parts else group.part(kept, None)
    rest.vain[column] = Vain(hidden)
    rest.known.add(column)
    return [*parts, rest] if parts else []


def find_together(counts: Mapping[Text, int], limit: int) -> list[Text]:
    """Return the labels that stay together, in their order: none, some or all.

    All do if the records of those with other labels would be known: by trying how many there may be.
    """
    together, extra = _put_together(counts, limit)
    rare = [label for label in counts if counts[label] < limit]
    n_rare = sum(counts[label] for label in rare)
    if not rare or len(together) == len(counts):
        return together
    if extra is None:
        return [*counts] if all(counts[label] == limit - 1 for label in rare) else together
    (label,) = extra
    others = [counts[one] for one in counts if one not in together]
    n = counts[label] + n_rare
    if n <= min(others):
        return together
    rest: dict[Text, int] = {f"1 {place:09}": one for place, one in enumerate(others)}
    numbers = range(1, min(limit - 1, n - limit) + 1)
    imagined: list[dict[Text, int]] = [{"0": n - number, **rest, "2": number} for number in numbers]
    possible = sum(_put_together(one, limit)[1] == ("0",) for one in imagined)
    return together if possible > 1 else [*counts]


def _put_together(counts: Mapping[Text, int], limit: int) -> tuple[list[Text], tuple[Text] | None]:
    """Return the labels that stay together, and the frequent one that stays with rare ones, if there is one."""
    frequent = [label for label in counts if counts[label] >= limit]
    rare = [label for label in counts if counts[label] < limit]
    n_rare = sum(counts[label] for label in rare)
    if not rare or n_rare >= limit:
        return (rare if frequent else [*counts]), None
    if len(frequent) < 2:
        return [*counts], None
    smallest = min(frequent, key=lambda label: counts[label])
    is_smaller = all(counts[smallest] + n_rare <= counts[label] for label in frequent if label != smallest)
    extra = smallest if is_smaller else frequent[0]
    return [label for label in counts if label in rare or label == extra], (extra,)
