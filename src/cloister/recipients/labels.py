"""Which released labels surely, possibly or never stand for what is asked for.

A condition is a value (or anything below it in the hierarchy), several values as a list, or a range of numbers or days
``(low, high)`` with both ends, ``None`` for an open one. Of labels that may stand for more than is asked for, a share
of what they stand for is taken, as if all of that were equally likely: by width for intervals, by values for
hierarchies, and a half where a label does not say how much it covers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy import ROOT, Hierarchy

Shares = NDArray[np.float64]
End: TypeAlias = float | int | str | date | None
Wanted: TypeAlias = object
"""A value, a list of values, or a pair of ends."""

UNSAID = 0.5  # The share of a label that does not say how much it covers


@dataclass(frozen=True, repr=False)
class LabelledColumn:
    """The labels of a released column, with what the codebook says of them.

    ``is_coarse``: whether a label may be that of a group; ``ends`` are numbers or days, None where open or not known.
    """

    name: str
    labels: tuple[str | None, ...]
    kind: str  # number, date, boolean or text
    is_coarse: tuple[bool, ...]
    ends: tuple[tuple[str | None, str | None], ...]
    hierarchy: Hierarchy | None = None

    @classmethod
    def of(cls, series: pl.Series, rows: pl.DataFrame, hierarchy: Hierarchy | None = None) -> "LabelledColumn":
        """Take the labels of a column as text, and its rows of the codebook; without labels it is as recorded."""
        labels = tuple(series.unique().sort().to_list())
        known = {row["label"]: row for row in rows.iter_rows(named=True) if row["label"] is not None}
        found = [known.get(label) for label in labels]
        return cls(
            series.name,
            labels,
            str(rows["type"][0]) if rows.height else "text",
            tuple(row is not None and row["level"] != "0" for row in found),
            tuple(
                (label, label) if row is None else (row["lower"], row["upper"])
                for label, row in zip(labels, found, strict=True)
            ),
            hierarchy,
        )

    def shares(self, wanted: Wanted) -> Shares:
        """Return the share of each label that meets a condition: 1 surely, 0 never, (n_labels,)."""
        if isinstance(wanted, tuple):
            if len(wanted) != 2 or self.kind not in ("number", "date"):
                raise InputError(f"{self.name!r} is {self.kind}: a pair of ends is for numbers and dates.")
            return np.array([self._within(place, wanted) for place in range(len(self.labels))])
        values = list(wanted) if isinstance(wanted, list | set | frozenset) else [wanted]
        if not values:
            raise InputError(f"No value of {self.name!r} is asked for. Give one, or leave the column out.")
        every = [self._of_value(value) for value in values]
        found: Shares = np.minimum(1.0, np.sum(every, axis=0))
        return found

    def _of_value(self, value: object) -> Shares:
        if value is None:
            return np.array([float(label is None) or UNSAID * (label == ROOT) for label in self.labels])
        if self.kind in ("number", "date") and isinstance(value, int | float | date) and not isinstance(value, bool):
            return np.array([self._within(place, (value, value)) for place in range(len(self.labels))])
        text = str(value).lower() if isinstance(value, bool) else str(value)
        above = self._path(text)
        return np.array([self._named(place, text, above) for place in range(len(self.labels))])

    def _path(self, text: str) -> dict[str | None, float]:
        """The labels above a value, each with the share of it that the value is."""
        if self.hierarchy is None or self.hierarchy.outside([text]):
            return {}
        bound = self.hierarchy.bind(self.name, [text])
        own = 1.0
        found: dict[str | None, float] = {}
        for labels, leaves in zip(bound.labels, bound.leaves, strict=True):
            if labels[0] == text:
                own = float(leaves[0])
            else:
                # Some hierarchies count only values that are there: of one value alone, a label says no share.
                found.setdefault(labels[0], min(UNSAID, own / float(leaves[0])))
        return found

    def _named(self, place: int, text: str, above: dict[str | None, float]) -> float:
        label = self.labels[place]
        if label == text or (label is not None and text in self._path(label)):
            return 1.0
        if label in above:
            return above[label]
        if label is None or not self.is_coarse[place] or above:
            return UNSAID if label == ROOT else 0.0
        # Where the place of the value in the hierarchy is not known, any group may hold it.
        known = self.hierarchy is not None and not self.hierarchy.outside([label])
        return 0.0 if known else UNSAID

    def _within(self, place: int, wanted: tuple[End, End]) -> float:
        label, ends = self.labels[place], self.ends[place]
        if label is None:
            return 0.0
        if ends == (None, None):
            return UNSAID
        (low, high), (least, most) = ([self._number(end) for end in each] for each in (ends, wanted))
        least, most = -np.inf if least is None else least, np.inf if most is None else most
        is_open = label.endswith(")")
        # A closed label of whole ends holds the decimals of its last number, and so does a condition.
        step = 0.0 if is_open or self.kind == "date" else 1.0
        if low is not None and high is not None and least <= low and high <= most:
            return 1.0
        if (low is not None and high is None and least <= low and most == np.inf) or (
            high is not None and low is None and least == -np.inf and high <= most
        ):
            return 1.0
        if (high is not None and (high < least or (is_open and high == least))) or (low is not None and low > most):
            return 0.0
        if low is None or high is None:
            return UNSAID
        step = 1.0 if self.kind == "date" else step
        width, common = high - low + step, min(high, most) - max(low, least) + step
        return float(min(1.0, max(common / width, 0.0))) if width > 0 else UNSAID

    def _number(self, end: End) -> float | None:
        if end is None:
            return None
        try:
            if self.kind == "date":
                day = end if isinstance(end, date) else datetime.fromisoformat(str(end)).date()
                return float(day.toordinal())
            return float(str(end))
        except ValueError:
            raise InputError(f"{self.name!r} is {self.kind}, and an end that is asked for is not.") from None


def by_row(series: pl.Series, labels: Sequence[str | None], shares: Shares) -> Shares:
    """Return the share of each row by its label: (n_rows,)."""
    place = pl.DataFrame({"label": pl.Series(labels, dtype=pl.String), "share": shares})
    joined = (
        series.alias("label").to_frame().join(place, on="label", how="left", nulls_equal=True, maintain_order="left")
    )
    found: Shares = joined["share"].to_numpy()
    return found
