"""Find columns of two parts that describe the same fact of a patient, whatever their names, before any release.

The custodian knows which rows are of one patient: by ids, or where a part has none by the order of rows, if both parts
have as many. Two columns say the same if they are equal in some reading of `spelling`, or if one can be predicted from
the other by the test of `risk.determination`. They are refused if that leaves fewer than k patients for some value.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import lgamma, log

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io.attributes import AttributesTable
from cloister.risk.association import order_values
from cloister.risk.determination import DETERMINED, count_predicted

from .spelling import DAYS, FOLDED, read_spellings

LONGEST_NUMBER = 20
LOOKED_AT = 1_000  # rows by which most pairs of columns are known to differ
NUMBERS = re.compile("[0-9]+")
ORDERS = 1_000_000
"""In so many orders values must be able to stand, for columns that agree not to agree by chance."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RecordedValues:
    """The columns that a part releases as recorded, one row per patient."""

    frame: pl.DataFrame = field(repr=False)  # text, null where missing
    k: int
    ids: pl.Series | None = field(default=None, repr=False)

    @classmethod
    def of_attributes(
        cls, attributes: AttributesTable | None, ids: pl.Series | None, k: int
    ) -> "RecordedValues | None":
        """Return the auxiliary attributes of patients; None if there are none."""
        return None if attributes is None else cls(attributes.frame, k, ids)

    @cached_property
    def spellings(self) -> dict[str, list[pl.Series]]:
        """Each column in each reading."""
        return {name: read_spellings(self.frame[name]) for name in self.frame.columns}


def find_linked_columns(parts: Mapping[str, RecordedValues]) -> list[str]:
    """Return the columns of two parts that link one to the other, in sentences."""
    return [
        f"rows of {own} and {other} lead to each other: {column} of {own} and {named} of {other} say the same of a "
        f"patient, which leaves fewer than {max(one.k, two.k)} for {n:,} records"
        for (own, one), (other, two) in combinations(parts.items(), 2)
        for column, named, n in _find_links(one, two)
    ]


def _find_links(one: RecordedValues, two: RecordedValues) -> Iterator[tuple[str, str, int]]:
    """Yield pairs of linked columns of two parts, and the number of records for which they leave fewer than k."""
    rows = _same_patients(one, two)
    if rows is None or not rows[0].size:
        return
    k = max(one.k, two.k)
    sides = [
        {name: [read.gather(pl.Series(place)) for read in spellings] for name, spellings in part.spellings.items()}
        for part, place in zip((one, two), rows, strict=True)
    ]
    for column, own in sides[0].items():
        for named, other in sides[1].items():
            n = _count_equal(own, other, k)
            if n and column == named:
                continue  # what the release shows of columns of one name is compared there
            n = n or _count_following(own, other, k) or _count_following(other, own, k)
            if n:
                yield column, named, n


def _same_patients(one: RecordedValues, two: RecordedValues) -> tuple[Rows, Rows] | None:
    """Return matching rows of both parts, one pair per patient; None if the matching is not known."""
    if one.ids is None or two.ids is None:
        height = one.frame.height
        return (np.arange(height), np.arange(height)) if height == two.frame.height else None
    frames = [
        pl.DataFrame({"id": read_spellings(part.ids)[FOLDED], "row": np.arange(part.frame.height)}).drop_nulls()
        for part in (one, two)
        if part.ids is not None
    ]
    both = frames[0].unique("id", keep="none").join(frames[1].unique("id", keep="none"), on="id", suffix=" of two")
    return both["row"].to_numpy(), both["row of two"].to_numpy()


def _count_equal(one: list[pl.Series], two: list[pl.Series], k: int) -> int:
    """Return the number of equal rows, in some reading, with a value of fewer than k records; 0 for unequal columns."""
    step = 1 + len(one[0]) // LOOKED_AT
    for own, other in zip(one, two, strict=True):
        if own.gather_every(step).ne_missing(other.gather_every(step)).mean() > 2 * (1 - DETERMINED):  # type: ignore[operator]
            continue
        is_equal = own.eq_missing(other)
        n_alike = other.to_frame("value").select(pl.len().over("value")).to_series()
        n_odd = len(other) - int(n_alike.max() or 0)  # type: ignore[arg-type]
        n = int((is_equal & (n_alike < k) & other.is_not_null()).sum())
        if n and (~is_equal).sum() <= (1 - DETERMINED) * n_odd and _is_no_chance(other):
            return n
    return 0


def _count_following(one: list[pl.Series], two: list[pl.Series], k: int) -> int:
    """Return the number of records for which one column predicts the other with fewer than k left; 0 if it does not."""
    fewest = two[DAYS].drop_nulls().value_counts()["count"].min()
    if fewest is None or fewest >= k or not _is_no_chance(two[DAYS]):  # type: ignore[operator]
        return 0
    return count_predicted(_in_order(two), _in_order(one), k)


def _is_no_chance(values: pl.Series) -> bool:
    """Return whether an agreement of two columns is unlikely to be chance, by the number of orders of the values."""
    sizes = values.value_counts(name="size")["size"].value_counts().iter_rows()
    same: float = sum(times * lgamma(size + 1) for size, times in sizes)
    return lgamma(len(values) + 1) - same >= log(ORDERS)


def _in_order(spellings: list[pl.Series]) -> pl.Series:
    """Return numbers and days as numbers, and mostly unique texts as ranks."""
    values = order_values(spellings[DAYS])
    if values.dtype == pl.String and 2 * values.n_unique() > len(values):
        return spellings[FOLDED].map_elements(_in_natural_order, pl.String).rank("dense").cast(pl.Float64)
    return values


def _in_natural_order(text: str) -> str:
    """Return a text that sorts by its numbers' size."""
    return NUMBERS.sub(lambda found: found[0].zfill(LONGEST_NUMBER), text)
