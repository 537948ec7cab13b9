"""Whether pseudonyms keep the company that the original ids keep, and no other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from .verify_matching import n_matched

SHOWN, ID, ROWS, KEY = "\0number", "\0id", "\0rows", "\0key"

Pair = tuple[pl.DataFrame, pl.DataFrame]
"""Released rows with their keys and numbers, and rows of the original with theirs and ids."""

AT_ONCE = 4_000_000
"""Pairs of a number and an id that are compared together: where many rows look alike, each number could have many."""


def keep_company(pairs: Iterable[Pair]) -> bool:
    """Whether released numbers can stand for original ids, one for one.

    A released row can be any row of the original with the same key: the patient and what is shown of the row. Each
    number must have one id that all of its rows can have, each so often as the number; two numbers never have the same.

    Parameters
    ----------
    pairs : released rows with the columns key and number, and the original's rows with key and id; one pair for each
        way of showing rows
    """
    frames: list[pl.DataFrame] = []
    counts: dict[str, int] = defaultdict(int)
    for own, other in pairs:
        if own[SHOWN].null_count() and not _missing_fit(own, other):
            return False
        groups = own.drop_nulls(SHOWN).group_by(KEY, SHOWN).len("often")
        ids = other.drop_nulls(ID).group_by(KEY, ID).len("there")
        n_parts = 1 + _n_pairs(groups, ids) // AT_ONCE
        for part in range(n_parts):
            some = [frame.filter(pl.col(KEY).hash(0) % n_parts == part) for frame in (groups, ids)]
            frames = [_added_up([*frames, _fitting(*some)])]
        for number, n_groups in groups.group_by(SHOWN).len().rows():
            counts[number] += n_groups
    if not counts:
        return True
    found = _added_up(frames)
    able: dict[str, set[str]] = {number: set() for number in counts}
    for number, original, rows in found.rows():
        if rows == counts[number]:
            able[number].add(original)
    return _are_apart(able)


def _n_pairs(groups: pl.DataFrame, ids: pl.DataFrame) -> int:
    """How many numbers stand beside an id with the same key."""
    sizes = groups.group_by(KEY).len().join(ids.group_by(KEY).len("there"), on=KEY)
    return int(sizes.select((pl.col("len").cast(pl.Int64) * pl.col("there")).sum()).item())


def _fitting(groups: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """In how many groups of rows each number can have each id."""
    fits = groups.join(ids, on=KEY, how="inner").filter(pl.col("often") <= pl.col("there"))
    return fits.group_by(SHOWN, ID).len(ROWS)


def _added_up(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).group_by(SHOWN, ID).agg(pl.col(ROWS).sum())


def _missing_fit(own: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Rows without a number are rows without an id."""
    here = own.filter(pl.col(SHOWN).is_null()).group_by(KEY).len("often")
    there = other.filter(pl.col(ID).is_null()).group_by(KEY).len("there")
    fits = here.join(there, on=KEY, how="left").select((pl.col("often") <= pl.col("there")).fill_null(False).all())
    return bool(fits.item())


def _are_apart(able: Mapping[str, set[str]]) -> bool:
    """Whether each number can have an id of its own."""
    places = {original: place for place, original in enumerate(sorted(set().union(*able.values())))}
    edges = [(row, places[original]) for row, ids in enumerate(able.values()) for original in ids]
    numbers, ids_of = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return n_matched(numbers, ids_of) == len(able)
