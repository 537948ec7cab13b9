"""A hierarchy that is edited by hand: users group items, and name or split groups; levels always nest."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cloister.errors import InputError
from cloister.hierarchy.bound import ROOT

Row = tuple[str, ...]


@dataclass(frozen=True)
class DraftGroup:
    """A group of a level: its label, its items (labels of the level below, values at level 1) and its records."""

    label: str
    items: tuple[tuple[str, int], ...]  # each item with its records

    @property
    def records(self) -> int:
        """The number of records of the group."""
        return sum(count for _, count in self.items)


@dataclass(frozen=True)
class HierarchyDraft:
    """Rows of a hierarchy: for each value its labels from fine to coarse; the last one is the root.

    Every change returns a draft in which levels nest: the values of a label share their next label.

    Examples
    --------
    >>> draft = HierarchyDraft.of([["a", "*"], ["b", "*"], ["c", "*"]])
    >>> draft.add_level().put_together(1, ["a", "b"], "first").rows
    (('a', 'first', '*'), ('b', 'first', '*'), ('c', 'c', '*'))
    """

    rows: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]]) -> "HierarchyDraft":
        """Return the draft of a legal hierarchy."""
        return cls(tuple(tuple(row) for row in rows))

    @cached_property
    def fingerprint(self) -> str:
        """What identifies the state of the draft."""
        return hashlib.sha256(repr(self.rows).encode()).hexdigest()[:16]

    @property
    def n_levels(self) -> int:
        """The number of levels between the values and the root."""
        return len(self.rows[0]) - 2 if self.rows else 0

    def groups(self, level: int, records: Mapping[str, int]) -> list[DraftGroup]:
        """Return the groups of a level, from 1, in the order of the rows; ``records``: of each value."""
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for row in self.rows:
            items, item = found[row[level]], row[level - 1]
            items[item] = items.get(item, 0) + records.get(row[0], 0)
        return [DraftGroup(label, tuple(items.items())) for label, items in found.items()]

    def put_together(self, level: int, items: Collection[str], name: str) -> "HierarchyDraft":
        """Group items of a level under a name; a group of that name is joined."""
        self._require(level)
        wanted = frozenset(items)
        chosen = [row for row in self.rows if row[level - 1] in wanted]
        if not chosen:
            raise InputError("No value is selected. Select the values or groups that belong together.")
        if not name.strip():
            raise InputError("The group has no name. Give it the label that is released.")
        # the group takes the coarser labels of one of its rows: else they would no longer be shared
        named = next((row for row in self.rows if row[level] == name), chosen[0])
        moved = {row: (*row[:level], name, *named[level + 1 :]) for row in chosen}
        return HierarchyDraft(tuple(moved.get(row, row) for row in self.rows))

    def take_apart(self, level: int, items: Collection[str]) -> "HierarchyDraft":
        """Make a group of its own of each item."""
        self._require(level)
        items = frozenset(items)
        named = {row[level] for row in self.rows if row[level] in items and row[level - 1] != row[level]}
        if named:
            raise InputError(f"{len(named)} of the groups are called like one of their values. Rename them first.")
        apart = {row: (*row[:level], row[level - 1], *row[level + 1 :]) for row in self.rows if row[level - 1] in items}
        return HierarchyDraft(tuple(apart.get(row, row) for row in self.rows))

    def order(self, level: int) -> list[str]:
        """Return the items of a level as its groups list them."""
        return [item for group in self.groups(level, {}) for item, _ in group.items]

    def move(self, level: int, items: Collection[str], place: int) -> "HierarchyDraft":
        """Move items of a level, in their order, so that the first of them has this place, counted from 1."""
        self._require(level)
        order, wanted = self.order(level), frozenset(items)
        moved, others = [one for one in order if one in wanted], [one for one in order if one not in wanted]
        if not moved or place < 1:
            raise InputError("Select values, and give the place that they move to, counted from 1.")
        rank = {item: n for n, item in enumerate([*others[: place - 1], *moved, *others[place - 1 :]])}
        return HierarchyDraft(tuple(sorted(self.rows, key=lambda row: rank[row[level - 1]])))

    def join_neighbours(self, level: int, size: int) -> "HierarchyDraft":
        """Make groups of so many items of a level that follow each other, named by their ends; missing stays apart."""
        self._require(level)
        order = [item for item in self.order(level) if item]
        if not 2 <= size < len(order):
            raise InputError(f"Groups of neighbours have 2 to {max(2, len(order) - 1):,} values. Give their number.")
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        names = [part[0] if len(part) == 1 else f"{part[0]} - {part[-1]}" for part in parts]
        named = {item: name for part, name in zip(parts, names, strict=True) for item in part} | {"": ""}
        above: dict[str, Row] = {}
        for row in self.rows:
            above.setdefault(named[row[level - 1]], (named[row[level - 1]], *row[level + 1 :]))
        return HierarchyDraft(tuple((*row[:level], *above[named[row[level - 1]]]) for row in self.rows))

    def add_level(self) -> "HierarchyDraft":
        """Add a level below the root, with the groups of the level before."""
        return HierarchyDraft(tuple((*row[:-1], row[-2], row[-1]) for row in self.rows))

    def remove_level(self, level: int) -> "HierarchyDraft":
        """Remove a level between the values and the root."""
        self._require(level)
        return HierarchyDraft(tuple((*row[:level], *row[level + 1 :]) for row in self.rows))

    def _require(self, level: int) -> None:
        if not 1 <= level <= self.n_levels:
            raise InputError(f"The hierarchy has no level {level} between the values and {ROOT}. Add one first.")
