"""A hierarchy as the user states it, its binding to the values of one column, and a base for builders."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting

ROOT = "*"  # the label of the top level when a builder makes it; also how a suppressed record is written
Leaves = NDArray[np.int64]


@dataclass(frozen=True)
class JoinedLabel:
    """A label that joins groups of one level, and lies below a single label of a higher one.

    ``base``: the level of these groups; ``level``: the lowest with one label for all of them; ``runs``: first and last
    place of each run of values that it covers, in the order of the hierarchy
    """

    label: str
    base: int
    level: int
    leaves: int
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class BoundHierarchy:
    """The levels of one column: the label of each value at each level, and the number of leaves that it covers.

    Attributes
    ----------
    values : (n_values,) the distinct values present, sorted by UTF-8 bytes, missing (None) last if it occurs
    labels : n_levels tuples of (n_values,) labels; level 0 is the value itself, or the open group of a bound that it
        lies beyond; the last level is one root for all.
        Missing is None (released as an empty cell) until the root. Equal labels at one level are one group.
    leaves : (n_levels, n_values) int64, leaves of the domain that the label covers; 1 for a value itself
    n_leaves : leaves of the whole domain, at least 1; missing is one of them only if it occurs
    """

    column: str
    values: tuple[str | None, ...] = field(repr=False)
    labels: tuple[tuple[str | None, ...], ...] = field(repr=False)
    leaves: Leaves = field(repr=False)
    n_leaves: int
    # labels between the levels, which a release may have as well as those of the levels; and the places of values that
    # are not missing, in the order in which labels are joined
    joined: tuple[JoinedLabel, ...] = ()
    order: Leaves = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    @property
    def n_levels(self) -> int:
        """The number of levels, including the original."""
        return len(self.labels)

    def places_of(self, one: JoinedLabel) -> NDArray[np.int64]:
        """Return the places of the values that a joined label covers."""
        return np.concatenate([self.order[first : last + 1] for first, last in one.runs])

    def sets(self, levels: Sequence[int]) -> pl.DataFrame:
        """Return the label, level and leaves of each set of values at these levels, and of joined labels among them."""
        kinds = {"label": pl.String, "level": pl.Int32, "leaves": pl.Int64}
        frames = [
            pl.DataFrame([self.labels[level], [level] * len(self.values), self.leaves[level]], schema=kinds).unique()
            for level in levels
        ]
        joined = [(one.label, one.level, one.leaves) for one in self.joined if one.level in levels]
        return pl.concat([*frames, pl.DataFrame(joined, schema=kinds, orient="row")])

    def list_covered(self, levels: Sequence[int]) -> dict[str | None, set[int]]:
        """Return the places of the values that each label of these levels may stand for.

        A joined label counts among those of its level.
        """
        found: dict[str | None, set[int]] = {}
        for level in levels:
            for place, label in enumerate(self.labels[level]):
                found.setdefault(label, set()).add(place)
        for one in self.joined:
            if one.level in levels:
                found.setdefault(one.label, set()).update(self.places_of(one).tolist())
        return found

    def pairs(self, values: pl.Series, labels: pl.Series, levels: Sequence[int]) -> pl.DataFrame:
        """Return ``value`` and ``label`` of all pairs of these levels; of joined labels, those among given pairs."""
        kinds = {"value": pl.String, "label": pl.String}
        of_levels = [pl.DataFrame([self.values, self.labels[level]], schema=kinds) for level in levels]
        rank = pl.DataFrame({"value": [self.values[place] for place in self.order]}, schema={"value": pl.String})
        ends = [(one.label, *run) for one in self.joined if one.level in levels for run in one.runs]
        ranges = pl.DataFrame(ends, schema={"label": pl.String, "first": pl.Int64, "last": pl.Int64}, orient="row")
        given = pl.DataFrame([values.alias("value"), labels.alias("label")]).cast(pl.String).unique()
        inside = given.join(ranges, on="label").join(rank.with_row_index("rank"), on="value")
        inside = inside.filter(pl.col("rank").is_between(pl.col("first"), pl.col("last")))
        return pl.concat([*of_levels, inside.select("value", "label")])


@runtime_checkable
class Hierarchy(Protocol):
    """A generalization hierarchy that is not yet bound to data."""

    @property
    def kind(self) -> str:
        """The kind of hierarchy, as the manifest names it: `file`, `interval`, `prefix` ..."""

    @property
    def spec(self) -> str:
        """The hierarchy as written on the command line; a file by its name, never by its path."""

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Return the distinct values that the hierarchy does not cover."""

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the hierarchy bound to these distinct values."""


def texts_in_order(values: Sequence[str | None]) -> tuple[list[str], bool]:
    """Return the distinct texts sorted by code point (the order of UTF-8 bytes), and whether a value is missing."""
    distinct = set(values)
    return sorted(value for value in distinct if value is not None), None in distinct


def require_cover(column: str, n_outside: int, n_values: int, problem: str, advice: str) -> None:
    """Refuse a column with values outside the hierarchy; the message counts them and says what to do."""
    if n_outside:
        raise InputError(
            f"{n_outside} of {n_values} distinct values of column '{column}' {problem}. ",
            advice,
            " ",
            setting("unmatched_values", "FILE"),
            " lists them.",
            column=column,
        )


def group_sizes(labels: Sequence[str]) -> Leaves:
    """Return the number of values that share the label of each value: (n_values,) int64."""
    sizes = Counter(labels)
    return np.fromiter((sizes[label] for label in labels), dtype=np.int64, count=len(labels))


def add_ends(
    column: str,
    texts: Sequence[str],
    missing: bool,
    labels: Sequence[Sequence[str]],
    leaves: Sequence[Leaves],
    n_leaves: int,
    is_beyond: Sequence[bool] | None = None,
) -> BoundHierarchy:
    """Add the original level, the root and the missing value to the intermediate levels.

    Missing values are a leaf of their own, apart from all others until the root; ``texts`` and ``n_leaves`` are without
    them.

    ``is_beyond``: whether a value lies beyond a bound, and is never released as recorded: its label at level 0 is that
    of level 1
    """
    total = max(n_leaves + missing, 1)
    extra: tuple[None, ...] = (None,) if missing else ()
    values = (*texts, *extra)
    between = tuple((*level, *extra) for level in labels)
    counts = np.ones((len(labels) + 2, len(values)), dtype=np.int64)
    for level, covered in enumerate(leaves, start=1):
        counts[level, : len(texts)] = covered
    counts[-1] = total
    recorded = values
    if is_beyond is not None and any(is_beyond):
        open_groups = between[0] if between else (ROOT,) * len(values)
        recorded = tuple(
            group if beyond else value
            for value, group, beyond in zip(values, open_groups, [*is_beyond, *(False for _ in extra)], strict=True)
        )
        beyond = np.flatnonzero(is_beyond)
        counts[0, beyond] = counts[1, beyond]
    counts.flags.writeable = False
    return BoundHierarchy(column, values, (recorded, *between, (ROOT,) * len(values)), counts, total)


Read = TypeVar("Read")
Levels = tuple[Sequence[Sequence[str]], Sequence[Leaves], int]
"""Labels and leaves of the levels between the original one and the root, and the leaves of the domain."""


class BuiltHierarchy(Generic[Read]):
    """The base of builders: each value is read by itself; unreadable values are outside."""

    def _read(self, text: str) -> Read | None:
        """Return the meaning of a value; None if the hierarchy does not cover it."""
        raise NotImplementedError

    def _refusal(self, texts: Sequence[str]) -> tuple[str, str]:
        """What is wrong with values outside, and what to do."""
        raise NotImplementedError

    def _refuse(self, column: str, texts: Sequence[str]) -> None:
        """Refuse values that are covered one by one, and mean something else together."""

    def _beyond(self, read: Sequence[Read]) -> Sequence[bool] | None:  # noqa: ARG002 - of subclasses
        """Whether each value lies beyond a bound; None where there is no bound."""
        return None

    @abstractmethod
    def _levels(self, texts: Sequence[str], read: Sequence[Read]) -> Levels:
        """The levels of these distinct values, all of them covered."""

    def read(self, texts: Sequence[str]) -> list[Read | None]:
        """Return how each value is read; None where the hierarchy does not cover it."""
        return [self._read(text) for text in texts]

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Return the distinct values that the hierarchy does not cover."""
        return [value for value in values if value is not None and self._read(value) is None]

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the hierarchy bound to these distinct values."""
        texts, missing = texts_in_order(values)
        read = [one for one in self.read(texts) if one is not None]
        if len(read) < len(texts):
            require_cover(column, len(texts) - len(read), len(texts), *self._refusal(texts))
        self._refuse(column, texts)
        return add_ends(column, texts, missing, *self._levels(texts, read), self._beyond(read))


class NamedValues(BuiltHierarchy[str]):
    """Hierarchies that label each value at each level; their domain is the distinct values present, all covered."""

    def _read(self, text: str) -> str | None:
        return text

    def _levels(self, texts: Sequence[str], read: Sequence[str]) -> Levels:  # noqa: ARG002 - of the base class
        return of_values_present(self._names(texts), len(texts))

    @abstractmethod
    def _names(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        """The labels of these values, level by level."""


def of_values_present(labels: Sequence[Sequence[str]], n_values: int) -> Levels:
    """Return levels with the distinct values present as their domain."""
    return labels, [group_sizes(level) for level in labels], n_values


class MadeOfRecords:
    """The base of hierarchies that depend on the records: `cut` creates them, and callers bind its result."""

    kind: ClassVar[str]
    stated: ClassVar[str]
    """What may be stated instead, in words."""

    @property
    def spec(self) -> str:
        """As on the command line."""
        raise NotImplementedError

    def outside(self, _: Sequence[str | None]) -> list[str]:
        """No value is outside."""
        return []

    def bind(self, column: str, _: Sequence[str | None]) -> BoundHierarchy:
        """Refuse to bind: the number of records with each value is not known here."""
        raise InputError(
            f"{self.spec} needs the records of column {column!r}, which are known where a table is protected in "
            "memory (",
            setting("engine", "memory"),
            f"). State {self.stated}.",
        )
