"""The codes and ages of a data set with their hierarchies, fitted to each other, as trees."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Generic, TypeVar

import numpy as np

from cloister.errors import InputError, Message, setting
from cloister.hierarchy import ROOT, BoundHierarchy, FileHierarchy, Hierarchy, IntervalHierarchy, icd9, icd10
from cloister.kernels.ragged import starts_of

from .data import Integers, Numbers, Trajectories, Unknown, age_text, is_code

# Ages by one, five, ten and twenty years; 90 and over together, as the Safe Harbor rule of HIPAA asks
USUAL_AGES = IntervalHierarchy((1, 5, 10, 20), top=90)
H = TypeVar("H", bound=Hierarchy)
Other = tuple[str, list[int]]  # A label that is not a node of the tree, and the leaves that it covers


@dataclass(frozen=True, eq=False, repr=False)
class ValueTree:
    """The values of an attribute as leaves, with every node in which some of them meet.

    Nodes are numbered: leaves first, in the order of the values; then what covers two leaves or more, from few leaves
    to many; the root is last. A node of the hierarchy with a single value below is omitted: values never meet in it.
    If labels of several levels cover the same values, the node has the finest one. Values that only the root of the
    hierarchy covers together have the label `*`.

    **One label for a recorded value and for a group.** A recorded value that is also the label of other values, such as
    `401` of `401.1`, is a leaf of its own under that label. Alignment distinguishes the two nodes. A reader cannot:
    `401` in a release means "401 or any code below it", never "exactly 401". So all nodes with one label are *released
    as* the lowest node that covers them all (``released``). They count as that node in exact losses, in answers to
    queries and in verification. So a reader never mistakes a group for an exact value. The same is true of labels of
    the hierarchy that are not nodes of this tree, because they cover a single node.

    Examples
    --------
    >>> from cloister.hierarchy import intervals
    >>> tree = ValueTree.of(intervals(2, 4).bind("age", ["33", "34", "35"]), ["33", "34", "35"])
    >>> tree.labels, tree.leaves.tolist(), tree.parent.tolist()
    (('33', '34', '35', '[34-35]', '[32-35]'), [0, 0, 0, 2, 3], [4, 3, 3, 4, -1])
    """

    labels: tuple[str, ...] = field(repr=False)
    parent: Numbers  # (n_nodes,) int32, the node above; -1 for the root
    leaves: Integers  # (n_nodes,) int64, leaves below; 0 for a leaf, as the loss metric wants it
    n_values: int
    # low, high: (n_nodes,) int32; node x covers leaf y where ``low[x] <= low[y] < high[x]``
    low: Numbers
    high: Numbers
    released: Numbers  # (n_nodes,) int32, the node that each one is released as; itself unless another has its label

    @classmethod
    def of(cls, hierarchy: BoundHierarchy, values: Sequence[str]) -> "ValueTree":
        """Return the tree of a bound hierarchy."""
        levels = [dict(zip(hierarchy.values, level, strict=True)) for level in hierarchy.labels[1:-1]]
        return cls.from_levels(values, [[labels[value] for value in values] for labels in levels])

    @classmethod
    def from_levels(cls, leaf_labels: Sequence[str], levels: Sequence[Sequence[str | None]]) -> "ValueTree":
        """Return the tree of labels by level, fine to coarse; values with the same label at a level meet there.

        A label of None (a gap in a hierarchy) brings no values together. All meet in the root.
        """
        n = len(leaf_labels)
        labels, parent = list(leaf_labels), [-1] * n
        top, others = list(range(n)), [(ROOT, list(range(n)))]
        for level in levels:
            others += _join(level, top, labels, parent)
        if len(set(top)) != 1 or top[0] < n:
            _join([ROOT] * n, top, labels, parent, force=True)
        size, least = [1] * n + [0] * len(labels[n:]), [*range(n), *(n for _ in labels[n:])]
        for node, above in enumerate(parent):  # those above were made later
            if above >= 0:
                size[above] += size[node]
                least[above] = min(least[above], least[node])
        order = [*range(n), *sorted(range(n, len(labels)), key=lambda node: (size[node], least[node], node))]
        number = {node: at for at, node in enumerate(order)}
        over = np.array([number.get(parent[node], -1) for node in order], dtype=np.int32)
        leaves = np.array([0] * n + [size[node] for node in order[n:]], dtype=np.int64)
        # First and last leaf rank of each node, from the root down: a node takes what is free of the one above.
        width, low, free = np.maximum(leaves, 1), np.zeros(over.size, dtype=np.int32), np.zeros(over.size, np.int64)
        for node in range(over.size - 2, -1, -1):
            low[node] = free[over[node]]
            free[node] = low[node]
            free[over[node]] += width[node]
        high = (low + width).astype(np.int32)
        names = tuple(labels[node] for node in order)
        plain = ValueTree(names, over, leaves, n, low, high, np.arange(len(order), dtype=np.int32))
        return replace(plain, released=_distinguish_labels(plain, others))

    @property
    def n_nodes(self) -> int:
        """Leaves and all nodes above."""
        return len(self.labels)

    @property
    def root(self) -> int:
        """The node above all others; called `*`, unless something finer than the hierarchy's root covers all values."""
        return self.n_nodes - 1

    def covers(self, node: int, other: int) -> bool:
        """Return whether a node equals another or is its ancestor."""
        return bool(self.low[node] <= self.low[other] and self.high[other] <= self.high[node])

    def meet(self, node: int, other: int) -> int:
        """Return the lowest node that covers both (Definition 5)."""
        while not self.covers(node, other):
            node = int(self.parent[node])
        return node

    def leaves_below(self, node: int) -> list[int]:
        """Return the leaves below a node, ascending; a leaf covers itself."""
        low = self.low[: self.n_values]
        return np.flatnonzero((low >= self.low[node]) & (low < self.high[node])).tolist()


def _join(
    level: Sequence[str | None], top: list[int], labels: list[str], parent: list[int], *, force: bool = False
) -> list[Other]:
    """Put a node above those that have one label at a level, unless there is one only (``force``: even then).

    Returns the labels that got no node, with the leaves that they stand for.
    """
    others: list[Other] = []
    groups: dict[str, list[int]] = {}
    for leaf, label in enumerate(level):
        if label is not None:
            groups.setdefault(label, []).append(leaf)
    for label, members in groups.items():
        joined = sorted({top[leaf] for leaf in members})
        if len(joined) < 2 and not force:
            others.append((label, members))
            continue
        for node in joined:
            parent[node] = len(labels)
        for leaf in members:
            top[leaf] = len(labels)
        labels.append(label)
        parent.append(-1)
    return others


def _distinguish_labels(tree: ValueTree, others: Sequence[Other]) -> Numbers:
    """The node that each is released as, so that no two released nodes share a label, nor one with what got no node."""
    named = frozenset(tree.labels)
    # The lowest node that a label may be released as. It is kept from round to round: a label whose leaf was moved up
    # still represents a recorded value.
    lowest: dict[str, int] = {}
    for label, leaves in others:
        if label in named:
            ranks = tree.low[leaves]
            node = tree.meet(leaves[int(ranks.argmin())], leaves[int(ranks.argmax())])
            lowest[label] = tree.meet(lowest.get(label, node), node)
    released = np.arange(tree.n_nodes, dtype=np.int32)
    while True:
        for node in released.tolist():
            label = tree.labels[node]
            lowest[label] = tree.meet(lowest.get(label, node), node)
        coarser = np.array([lowest[tree.labels[node]] for node in released.tolist()], dtype=np.int32)
        if np.array_equal(coarser, released):
            return released
        released = coarser


NO_DETAILS = ValueTree.from_levels([ROOT], [])
"""The tree of the one detail that all pairs have where none is given."""


@dataclass(frozen=True)
class _Fitted(Generic[H]):
    """A hierarchy that was fitted to data, and is reported as the user requested it."""

    inner: H

    @property
    def kind(self) -> str:
        """As of the hierarchy that was asked for."""
        return self.inner.kind

    @property
    def spec(self) -> str:
        """As of the hierarchy that was asked for."""
        return self.inner.spec


@dataclass(frozen=True)
class CodesUnderRoot(_Fitted[Hierarchy]):
    """A hierarchy with unknown codes directly below the root."""

    def outside(self, _values: Sequence[str | None]) -> list[str]:
        """None: the root covers all."""
        return []

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Bind the known codes, and the others without labels between."""
        beyond = tuple(sorted(set(self.inner.outside(values))))
        inside = self.inner.bind(column, [value for value in values if value not in beyond])
        between = [(*level, *(None for _ in beyond)) for level in inside.labels[1:-1]]
        labels = ((*inside.values, *beyond), *between, (ROOT,) * (len(inside.values) + len(beyond)))
        counts = np.concatenate([inside.leaves, np.ones((inside.n_levels, len(beyond)), dtype=np.int64)], axis=1)
        counts[-1] = inside.n_leaves + len(beyond)
        return BoundHierarchy(column, labels[0], labels, counts, inside.n_leaves + len(beyond))


@dataclass(frozen=True)
class GroupedAges(_Fitted[IntervalHierarchy]):
    """Intervals with a single age beyond a bound: `>=90` covers every age from 90 on."""

    def text_of(self, age: str) -> str:
        """Return the text of an age: beyond a bound, that of its group."""
        top, bottom = self.inner.top, self.inner.bottom
        if age in self._groups:
            return age
        if top is not None and Decimal(age) >= top:
            return f">={top}"
        return f"<{bottom}" if bottom is not None and Decimal(age) < bottom else age

    @property
    def _groups(self) -> dict[str, str]:
        """The texts of the groups, each with a number in it."""
        top, bottom = self.inner.top, self.inner.bottom
        found = {} if top is None else {f">={top}": str(top)}
        return found if bottom is None else found | {f"<{bottom}": str(bottom - 1)}

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that are neither numbers nor groups."""
        return self.inner.outside([value for value in values if value not in self._groups])

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Bind the hierarchy to these distinct values."""
        groups = self._groups
        numbers = {groups.get(value, value) if value is not None else None: value for value in values}
        hierarchy = self.inner.bind(column, list(numbers))
        texts = tuple(numbers[value] for value in hierarchy.values)
        return BoundHierarchy(column, texts, (texts, *hierarchy.labels[1:]), hierarchy.leaves, hierarchy.n_leaves)


@dataclass(frozen=True, eq=False, repr=False)
class FittedTrajectories:
    """Trajectories and hierarchies that fit each other."""

    trajectories: Trajectories
    codes: Hierarchy
    ages: Hierarchy
    dropped: int = 0
    details: Hierarchy | None = None

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """Those of codes, ages, and details if there are any."""
        return (self.codes, self.ages) if self.details is None else (self.codes, self.ages, self.details)


def usual_codes(trajectories: Trajectories) -> Hierarchy:
    """Return ICD-9-CM or ICD-10-CM, whichever knows more of the codes."""
    n_codes = len(trajectories.vocabulary)
    known = [(n_codes - len(each.outside(trajectories.vocabulary)), each) for each in (icd9(), icd10())]
    most, best = max(known, key=lambda found: found[0])
    if most == 0:
        raise InputError(
            f"Neither ICD-9-CM nor ICD-10-CM has any of the {n_codes} distinct codes. Name a hierarchy file with ",
            setting("code_hierarchy"),
            ": one row a code, from the code to the root.",
        )
    return best


def fit_hierarchies(
    trajectories: Trajectories, codes: Hierarchy, ages: Hierarchy, unknown: Unknown, details: Hierarchy | None = None
) -> FittedTrajectories:
    """Return trajectories and hierarchies that fit each other.

    The domain, in shares of which losses are measured, is the leaves of a hierarchy file, as Definition 4 has it; of
    other hierarchies, which list none, the values that occur.
    """
    outside = set(codes.outside(trajectories.vocabulary))
    dropped = 0
    if outside and unknown is Unknown.ERROR:
        found = f"{len(outside)} of {len(trajectories.vocabulary)} {describe_unknown_codes(codes)}. "
        raise InputError(found, OTHER_CODES)
    if outside and unknown is Unknown.ROOT:
        codes = CodesUnderRoot(codes)
    elif outside:
        before = trajectories.n_pairs
        trajectories = _without(trajectories, outside)
        dropped = before - trajectories.n_pairs
    if isinstance(ages, IntervalHierarchy) and (ages.top is not None or ages.bottom is not None):
        ages = GroupedAges(ages)
        trajectories = _group_ages(trajectories, ages)
    strange = len(ages.outside(trajectories.age_values))
    if strange:
        raise InputError(
            f"{strange} of {len(trajectories.age_values)} distinct ages are not in the hierarchy {ages.spec}. Add "
            "a row for each to the file, or use intervals: ",
            setting("age_hierarchy", "interval:5,10,20/top=90"),
        )
    _check_details(trajectories, details)
    over = _details_over_leaves(_over_leaves(trajectories, codes, ages), details)
    return FittedTrajectories(over, codes, ages, dropped, details)


def _check_details(trajectories: Trajectories, details: Hierarchy | None) -> None:
    """Reject details without a hierarchy, a hierarchy without details, and details that it does not have."""
    if (trajectories.details is None) is not (details is None):
        raise InputError(
            "A further attribute of pairs needs its values and a hierarchy. Give both: ",
            setting("detail"),
            " and ",
            setting("detail_hierarchy"),
        )
    strange = [] if details is None else details.outside(trajectories.detail_values)
    if details is not None and strange:
        raise InputError(
            f"{len(strange)} of {len(trajectories.detail_values)} distinct details are not in the hierarchy "
            f"{details.spec}. Correct them, or add a row for each to the hierarchy: ",
            setting("detail_hierarchy"),
        )


def _details_over_leaves(trajectories: Trajectories, details: Hierarchy | None) -> Trajectories:
    """The same over a domain with all details that a hierarchy file lists."""
    if not isinstance(details, FileHierarchy) or trajectories.details is None:
        return trajectories
    values = sorted({*trajectories.detail_values, *filter(is_code, details.values)})
    place = np.searchsorted(values, trajectories.detail_values).astype(np.int32)
    return replace(trajectories, detail_values=tuple(values), details=place[trajectories.details])


def _over_leaves(trajectories: Trajectories, codes: Hierarchy, ages: Hierarchy) -> Trajectories:
    """The same over a domain with all codes and ages that hierarchy files list."""
    inner = [one.inner if isinstance(one, CodesUnderRoot) else one for one in (codes, ages)]
    listed = [one.values if isinstance(one, FileHierarchy) else () for one in inner]
    if not any(listed):
        return trajectories
    vocabulary = sorted({*trajectories.vocabulary, *filter(is_code, listed[0])})
    age_values = list(trajectories.age_values)
    if listed[1]:  # else some may be groups, as >=90
        age_values = sorted({*age_values, *filter(_is_age, listed[1])}, key=Decimal)
    code_at, age_at = ({text: place for place, text in enumerate(texts)} for texts in (vocabulary, age_values))
    return replace(
        trajectories,
        vocabulary=tuple(vocabulary),
        age_values=tuple(age_values),
        codes=np.array([code_at[code] for code in trajectories.vocabulary], dtype=np.int32)[trajectories.codes],
        ages=np.array([age_at[age] for age in trajectories.age_values], dtype=np.int32)[trajectories.ages],
    )


def _is_age(text: str) -> bool:
    """Whether a text is an age as it is written."""
    try:
        return age_text(text) == text
    except InputError:
        return False


def describe_unknown_codes(hierarchy: Hierarchy) -> str:
    """Return what codes are that a hierarchy does not have."""
    return f"distinct codes are not in the hierarchy {hierarchy.spec}"


OTHER_CODES = Message(
    "Correct them or name another with ",
    setting("code_hierarchy"),
    "; or say with ",
    setting("on_unknown_code", "root"),
    " that they become * where they cannot stay, or with ",
    setting("on_unknown_code", "drop"),
    " that their lines are left out.",
)


def _without(trajectories: Trajectories, outside: set[str]) -> Trajectories:
    kept = np.array([code not in outside for code in trajectories.vocabulary], dtype=np.bool_)
    stays = kept[trajectories.codes]
    sizes = np.bincount(trajectories.owner[stays], minlength=trajectories.n_patients)
    empty = int(np.sum(sizes == 0))
    if empty:
        raise InputError(
            f"{empty} of {trajectories.n_patients} patients have only codes that are not in the hierarchy, and "
            "would be left without any. Keep such codes with ",
            setting("on_unknown_code", "root"),
            ", or leave these patients out.",
        )
    number = (np.cumsum(kept) - 1).astype(np.int32)
    present, ages = np.unique(trajectories.ages[stays], return_inverse=True)
    return replace(
        trajectories.at(stays),
        vocabulary=tuple(code for code in trajectories.vocabulary if code not in outside),
        age_values=tuple(trajectories.age_values[age] for age in present.tolist()),
        offsets=starts_of(sizes),
        codes=number[trajectories.codes[stays]],
        ages=ages.astype(np.int32),
    )


def _group_ages(trajectories: Trajectories, ages: GroupedAges) -> Trajectories:
    """The same with one age for all beyond a bound; pairs put in order again."""
    texts = [ages.text_of(age) for age in trajectories.age_values]
    values = list(dict.fromkeys(texts))  # ages ascend, and groups are at the ends
    if values == list(trajectories.age_values):
        return trajectories
    place = {text: number for number, text in enumerate(values)}
    found = np.array([place[text] for text in texts], dtype=np.int32)[trajectories.ages]
    last = () if trajectories.details is None else (trajectories.details,)
    order = np.lexsort((*last, trajectories.codes, found, trajectories.owner))
    return replace(trajectories.at(order), age_values=tuple(values), ages=found[order])
