"""The values that each cell of a released column may stand for, as a range of positions.

Positions number the possible values of a column: numbers and days in equal steps, names in the order of their
hierarchy, in which the values below a label are adjacent. So each label admits the positions from a first to a last
one, whatever the hierarchy; a list admits some of these. All follows from the released files
(`cloister.recipients.labels`):

* A range admits the numbers and days inside it, with as many decimals as the column has. An open range ends where the
  widest closed range of the column would.
* A group admits the values that its hierarchy file lists below it; of other hierarchies the finest labels that the
  release contains below it. If none is known, it admits itself alone, and stays a label.
* ``*`` admits all values of the column: of numbers its range, or its single values if it has no ranges.
* An empty cell is a missing value. ``*`` admits missing values if the codebook states that the column has some.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

import numpy as np
import polars as pl

from cloister.hierarchy import ROOT
from cloister.hierarchy.interval import ABOVE, BELOW, Intervals
from cloister.io.other_files import typed_texts
from cloister.kernels.ragged import starts_of, take_runs

from .labels import Label, LabelledColumn, Mask, Places, RangeLabels

MOST_STEPS = 2.0**52  # positions that a number of 64 bits distinguishes
FIRST_DAY = 719_163  # of 1970 as an ordinal


@dataclass(frozen=True, eq=False, repr=False)
class Lists:
    """The positions that labels list.

    Attributes
    ----------
    starts : (n_lists + 1,) where the positions of each list begin, and end
    positions : those of all lists, ascending in each
    """

    starts: Places = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    positions: Places = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, each: Sequence[Places]) -> "Lists":
        """Put lists one behind the other."""
        return cls(starts_of([*map(len, each)]), np.concatenate(each)) if each else cls()

    def take(self, which: Places) -> "Lists":
        """Return these lists."""
        starts, rows = take_runs(self.starts, which)
        return Lists(starts, self.positions[rows])

    def draw(self, rng: np.random.Generator) -> Places:
        """Draw a position of each list, all equally likely: (n_lists,)."""
        return self.positions[uniform(self.starts[:-1], self.starts[1:] - 1, rng)]


@dataclass(frozen=True, eq=False, repr=False)
class AdmittedColumn:
    """The positions that each cell admits, and the value at each position.

    Attributes
    ----------
    first, last : (n_rows,) the cell admits the positions between, both included; equal if its value is known
    missing : the position of a missing value, after all others
    named : the value at each position, null at ``missing``; None if positions are numbers or days in steps
    scale : steps in a number
    lists : the positions that each list admits
    list_of : (n_rows,) place of the list of each cell, -1 for other labels; empty if there are no lists
    until, since : (n_rows,) the last position of the first interval that a closed range joins, and the first of its
        last one; None if no range joins intervals
    """

    name: str
    first: Places
    last: Places
    missing: int
    named: pl.Series | None = None
    is_date: bool = False
    scale: int = 1
    lists: Lists = field(default_factory=Lists)
    list_of: Places = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    until: Places | None = None
    since: Places | None = None

    def take(self, rows: Places) -> "AdmittedColumn":
        """Return the column with these rows."""
        until, since = (None if ends is None else ends[rows] for ends in (self.until, self.since))
        list_of = self.list_of[rows] if self.list_of.size else self.list_of
        return replace(self, first=self.first[rows], last=self.last[rows], list_of=list_of, until=until, since=since)

    def complete_lists(self, at: Places, classes: Places, rng: np.random.Generator) -> Places:
        """Return positions in which each class has each value that its label lists, as the release states: (n_rows,).

        Where a value is lacking in a class, a random cell takes it whose own value another cell has as well.
        """
        found, cells = at.copy(), np.flatnonzero(self.is_listed)
        lists = self.lists.take(self.list_of[cells])
        for turn in range(int(np.diff(lists.starts).max(initial=0))):
            # One value of each list at a time, since it matters which cells have a value that another has as well.
            at_turn = lists.starts[:-1] + turn
            own, wanted = cells[at_turn < lists.starts[1:]], lists.positions[at_turn[at_turn < lists.starts[1:]]]
            has_it = np.zeros(int(classes.max(initial=0)) + 1, dtype=np.bool_)
            has_it[classes[own[found[own] == wanted]]] = True
            key = classes[own] * (self.missing + 1) + found[own]
            _, number, times = np.unique(key, return_inverse=True, return_counts=True)
            free = rng.permutation(np.flatnonzero((times[number] > 1) & ~has_it[classes[own]]))
            chosen = free[np.unique(classes[own[free]], return_index=True)[1]]
            found[own[chosen]] = wanted[chosen]
        return found

    @property
    def is_listed(self) -> Mask:
        """Whether the label of a cell lists its values: (n_rows,)."""
        found: Mask = self.list_of >= 0 if self.list_of.size else np.zeros(self.first.size, dtype=np.bool_)
        return found

    @property
    def is_open(self) -> Mask:
        """Whether a cell admits several values: (n_rows,)."""
        return self.first < self.last

    @cached_property
    def is_any(self) -> Mask:
        """Whether a cell admits all that any other does, so that its label limits nothing: (n_rows,)."""
        is_widest = (self.first == self.first.min(initial=self.missing)) & (self.last == self.last.max(initial=0))
        found: Mask = is_widest & self.is_open & ~self.is_listed
        return found

    @property
    def is_nominal(self) -> bool:
        """Whether the order of the positions means nothing."""
        return self.named is not None and isinstance(self.named.dtype, pl.Enum)

    def values(self, at: Places) -> pl.Series:
        """Return the values at positions (n_rows,): numbers as numbers, dates as dates, names as an Enum."""
        if self.named is not None:
            return self.named.gather(at).alias(self.name)
        gone = pl.Series(at == self.missing)
        if self.is_date:
            return pl.Series(self.name, at - FIRST_DAY).cast(pl.Int32).cast(pl.Date).set(gone, None)
        return pl.Series(self.name, at if self.scale == 1 else at / self.scale).set(gone, None)

    def start(self, rng: np.random.Generator) -> Places:
        """Draw a first position for each cell, the narrower labels first: (n_rows,).

        The cells of a label count as evenly spread in it, next to the cells of narrower labels inside.
        """
        at = uniform(self.first, self.last, rng)
        listed = np.flatnonzero(self.is_listed)
        at[listed] = self.lists.take(self.list_of[listed]).draw(rng)
        width = self.last - self.first
        tier = np.ceil(np.log2(width + 1.0))
        _, label, sizes = np.unique(
            np.column_stack([self.first, self.last]), axis=0, return_inverse=True, return_counts=True
        )
        is_range = (width > 0) & ~self.is_listed
        for one in np.unique(tier[is_range]):
            cells, placed = np.flatnonzero(is_range & (tier == one)), np.sort(at[tier < one])
            begin = np.searchsorted(placed, self.first[cells])
            inside = np.searchsorted(placed, self.last[cells], "right") - begin
            is_drawn = rng.random(cells.size) * (inside + sizes[label[cells]]) < inside
            chosen = (begin + (rng.random(cells.size) * inside).astype(np.int64))[is_drawn]
            at[cells[is_drawn]] = placed[chosen]
        return at


def uniform(first: Places, last: Places, rng: np.random.Generator) -> Places:
    """Draw a position evenly between two, both included."""
    return first + (rng.random(first.size) * (last - first + 1)).astype(np.int64)


def admit(column: LabelledColumn, joined_at: int | None = None) -> AdmittedColumn:
    """Return what the cells of a released column admit; ``joined_at`` is the level of which labels join intervals."""
    known = column.without_lists
    named = [(label, low, high) for label, (low, high) in zip(known.labels, known.ends, strict=True) if label != ROOT]
    ranges = [low != high or label != low for label, low, high in named if label is not None]  # [5-5] is one, too
    return _in_steps(column, joined_at) if column.is_measured and any(ranges) else _by_name(column)


def _in_steps(column: LabelledColumn, joined_at: int | None) -> AdmittedColumn:
    """Return the positions of numbers or days in ranges."""
    known = RangeLabels.of(column)
    single = np.array([low is not None and low == high for low, high in column.ends], dtype=np.bool_)
    recorded = np.array([column._number(low) or 0.0 for low, _ in column.ends])  # with decimals
    is_below = known.is_half_open & ~single
    low, high = (np.where(single, recorded, ends) for ends in (known.low, known.high))
    reach = max(float((high - low)[np.isfinite(low) & np.isfinite(high)].max(initial=0)), 1.0)
    is_any, gone = np.isinf(low) & np.isinf(high), np.isnan(low)
    low, high = np.where(np.isinf(low), high - reach, low), np.where(np.isinf(high), low + reach, high)
    ends = [end for pair in column.ends for end in pair if end is not None and column.kind == "number"]
    scale = _scale(ends, float(np.abs([low[~gone & ~is_any], high[~gone & ~is_any]]).max()))
    first = np.ceil(np.round(np.where(is_any | gone, 0, low) * scale, 3)).astype(np.int64)
    last = np.floor(np.round(np.where(is_any | gone, 0, high) * scale, 3)).astype(np.int64) - is_below
    last = np.maximum(first, last)
    missing = int(last[~is_any & ~gone].max()) + 1
    first[is_any], last[is_any] = first[~is_any & ~gone].min(), missing - (not gone.any())
    first[gone] = last[gone] = missing
    found = AdmittedColumn(column.name, first, last, missing, None, column.kind == "date", scale)
    if joined_at is not None and isinstance(column.hierarchy, Intervals):
        found = _with_outer_intervals(found, column, column.hierarchy, joined_at)
    return found.take(column.place)


def _with_outer_intervals(
    found: AdmittedColumn, column: LabelledColumn, hierarchy: Intervals, level: int
) -> AdmittedColumn:
    """Return what labels (n_labels,) admit, with the first and the last interval of a level in each.

    Without, if no label joins intervals: they may be those of levels then, which need not have a record at both ends.
    """
    read = [hierarchy.scale.read_label(label or "") or (BELOW, ABOVE) for label in column.labels]
    closed = [n for n, (begin, end) in enumerate(read) if begin != BELOW and end != ABOVE]
    lows = [hierarchy.scale.written(read[n][0]) for n in closed]
    highs = [hierarchy.scale.written(read[n][1] - 1) for n in closed]
    first, last = (hierarchy.cells(texts, level) for texts in (lows, highs))
    bound = hierarchy.bind(column.name, sorted({*lows, *highs}))
    if first is None or last is None or not hierarchy.join(bound, column.labels, level).joined:
        return found
    until, since, units = found.last.copy(), found.first.copy(), 10**hierarchy.scale.places
    until[closed] = -(-first[1] * found.scale // units) - 1
    since[closed] = -(-last[0] * found.scale // units)
    return replace(found, until=until, since=since)


def _scale(texts: Iterable[str], most: float) -> int:
    """Return the steps in a number that the decimals of all texts need, as far as positions distinguish them."""
    decimals = max((-int(Decimal(text).as_tuple().exponent) for text in texts), default=0)
    while decimals > 0 and most * 10.0**decimals > MOST_STEPS:
        decimals -= 1
    return int(10 ** max(decimals, 0))


def _by_name(column: LabelledColumn) -> AdmittedColumn:
    """Return the positions of single values and of names."""
    labels = {label for label in column.without_lists.labels if label is not None} - {ROOT}
    found = labels | {*column.paths.leaves} - {column.paths.as_listed(None)} if not column.is_measured else labels
    above = {one: () if column.is_measured else tuple(column.paths.above(one)) for one in found}
    groups = {group for each in above.values() for group in each}
    finest = sorted((one for one in found if one not in groups), key=lambda one: (*reversed(above[one]), one))
    if column.is_measured:
        finest.sort(key=lambda one: column._number(one) or 0.0)
    runs: dict[Label, list[int]] = {}
    for place, value in enumerate(finest):
        for label in {value, *above[value]}:
            run = runs.setdefault(label, [place, place])
            run[1] = place if run[1] >= place - 1 else run[1]
    missing = len(finest)
    runs[None] = [missing, missing]
    runs[ROOT] = [0, missing if None in column.labels else max(missing - 1, 0)]
    place_of = {value: place for place, value in enumerate(finest)}
    lists = {label: np.array(sorted(place_of[one] for one in values)) for label, values in column.lists.items()}
    runs |= {label: [int(own[0]), int(own[-1])] for label, own in lists.items()}
    number = {label: place for place, label in enumerate(lists)}
    list_of = np.array([number.get(label, -1) for label in column.labels], dtype=np.int64)[column.place]
    ends = np.array([runs[label] for label in column.labels], dtype=np.int64).reshape(-1, 2)
    values = typed_texts(pl.Series(column.name, finest, pl.String)) if column.is_measured and finest else None
    if values is None or values.dtype == pl.String:
        values = pl.Series(column.name, finest, pl.Enum(finest))
    named = values.extend_constant(None, 1)
    first, last = ends[column.place].T
    return AdmittedColumn(column.name, first, last, missing, named, lists=Lists.of([*lists.values()]), list_of=list_of)
