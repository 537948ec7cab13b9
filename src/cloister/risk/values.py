"""The distinct values of columns, and how many records have values of some form: of many columns together.

A call of Polars takes longer than to look at a few hundred values: what is asked of each of a thousand columns is asked
of the values of all of them at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import numpy as np
import polars as pl

TEXT = pl.col("text")
AT_ONCE = 100_000  # values of several columns that are looked at together, about

_NOT_A_NUMBER = r"[^0-9.+\- ]"


@dataclass(frozen=True)
class Values:
    """The distinct values of a column, without missing, and the number of records with each."""

    texts: pl.Series
    records: pl.Series
    sums: dict[str, int] = field(default_factory=dict, repr=False, compare=False)  # that were asked for, by name

    @classmethod
    def of(cls, text: pl.Series, records: pl.Series | None = None) -> "Values":
        """Return the distinct values of a column of text, or of the rows of a tally with so many ``records`` each."""
        if records is None:
            counted = text.alias("text").drop_nulls().value_counts(name="n")
        else:
            every = pl.DataFrame([text.alias("text"), records.alias("n")]).drop_nulls("text")
            counted = every.group_by("text").agg(pl.col("n").sum())
        return cls(counted["text"].cast(pl.String), counted["n"].cast(pl.Int64))

    def in_order(self) -> "Values":
        """Return the same, sorted by value."""
        ordered = pl.DataFrame([self.texts.alias("text"), self.records.alias("n")]).sort("text")
        return Values(ordered["text"], ordered["n"])

    @cached_property
    def n_records(self) -> int:
        """The number of records with a value."""
        return int(self.records.sum())

    @property
    def are_numbers(self) -> bool:
        """Whether all values consist of digits and separators only."""
        return self.count_like(_NOT_A_NUMBER) == (0,)

    def count_like(self, *regexes: str) -> tuple[int, ...]:
        """Count for each form the records whose value has it."""
        return self.sum_up(forms(*regexes))

    def sum_up(self, asked: Mapping[str, pl.Expr]) -> tuple[int, ...]:
        """Return the sum over records of each expression, by a name of its own, of the value."""
        sum_up_together([self], {name: one for name, one in asked.items() if name not in self.sums})
        return tuple(self.sums.get(name, 0) for name in asked)

    def n_where(self, chosen: pl.Series) -> int:
        """Count the records whose value is selected; null does not count."""
        return int(self.records.filter(chosen).sum())


ARE_NUMBERS = (_NOT_A_NUMBER,)
"""What decides whether values are numbers, as `sum_up_together` may be asked before."""


def forms(*regexes: str) -> dict[str, pl.Expr]:
    """Return whether a value has each of these forms, as `Values.sum_up` is asked for."""
    return {regex: TEXT.str.contains(regex) for regex in regexes}


def sum_up_together(columns: Iterable[Values], asked: Mapping[str, pl.Expr]) -> None:
    """Sum up for each of several columns what `Values.sum_up` returns, so that it is there when it is asked for."""
    some = [one for one in columns if len(one.texts)] if asked else []
    ends = np.cumsum([len(one.texts) for one in some])
    for _, batch in groupby(range(len(some)), lambda place: (ends[place] - 1) // AT_ONCE):
        together = [some[place] for place in batch]
        start = np.cumsum([0, *(len(one.texts) for one in together[:-1])])
        records = np.concatenate([one.records.to_numpy() for one in together])
        texts = pl.concat([one.texts.rename("text") for one in together])
        found = texts.to_frame().select(one.alias(str(place)) for place, one in enumerate(asked.values()))
        for name, each in zip(asked, found, strict=True):
            sums = np.add.reduceat(each.to_numpy().astype(np.int64) * records, start)
            for one, total in zip(together, sums.tolist(), strict=True):
                one.sums[name] = total
