"""What an engine is asked of a table that stays where it is: counts, and the values that are counted."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cloister.errors import InputError
from cloister.io import RECORDS, plain_columns
from cloister.io.columns import check_years

from .relation import Engine
from .statements import id_counts, place, tally, unique_counts


@dataclass(frozen=True)
class Ids:
    """How many records a table has, how many of them an id, and how many different ids there are."""

    records: int
    given: int
    distinct: int


def count_ids(engine: Engine, column: str) -> Ids:
    """Return the counts of a column that identifies patients."""
    return Ids(*engine.fetch(id_counts(engine, column)).row(0))


def unique_share(engine: Engine, column: str) -> float:
    """Return the share of the records whose value in a column no other has."""
    records, alone = engine.fetch(unique_counts(engine, column)).row(0)
    return float((alone or 0) / max(1, records or 0))


def fetch_tally(engine: Engine, columns: Sequence[str]) -> pl.DataFrame:
    """Return how many records have each combination of values in these columns, as a tally.

    Raises
    ------
    InputError
        The table has no records, or cannot be counted.
    """
    frame = engine.fetch(tally(engine, columns))
    if not frame.height:
        raise InputError(f"{engine.file} has columns but no records.", file=engine.file)
    names = [one.name for one in engine.columns]
    own = {place(names.index(column)): column for column in columns}
    renamed = pl.DataFrame([frame[code].alias(column) for code, column in own.items()])
    for series in renamed.get_columns():
        check_years(series, engine.file)
    return plain_columns(renamed, engine.file).with_columns(frame["n"].cast(pl.Int64).alias(RECORDS))
