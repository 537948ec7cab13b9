"""Anonymized trajectories as they are written: one row a pair, patients numbered in the order of what they hold."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data import Alignment, AnonymizedTrajectories
from .data_file import AGE, CODE, ID, WrittenTrajectories
from .side import SideTable, ranks

Integers = NDArray[np.int64]


def order_of(released: AnonymizedTrajectories, alignment: Alignment, side: SideTable | None) -> Integers:
    """Return the patients of the original in the order in which they are released: (n_patients,).

    By the released sequence, code before age, pair by pair, in the order of UTF-8 bytes; then by what rides along.
    Patients who are alike in both are interchangeable.
    """
    texts = [tuple(released.rows_of(cluster)) for cluster in range(released.n_clusters)]
    place = {rows: number for number, rows in enumerate(sorted(set(texts)))}
    rank = np.array([place[rows] for rows in texts], dtype=np.int64)[alignment.cluster_of]
    beside = np.zeros(rank.size, dtype=np.int64) if side is None else ranks(side.frame)
    order: Integers = np.lexsort((beside, rank)).astype(np.int64)
    return order


def written(
    released: AnonymizedTrajectories, alignment: Alignment, side: SideTable | None, order: Integers
) -> WrittenTrajectories:
    """Return what is written of the patients in this order."""
    rows = [released.rows_of(cluster) for cluster in range(released.n_clusters)]
    sizes = np.array([len(each) for each in rows], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    cluster = alignment.cluster_of[order]
    lengths = sizes[cluster]
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = np.repeat(starts[cluster], lengths) + np.arange(before.size) - before
    codes = pl.Series(CODE, [code for each in rows for code, _ in each], dtype=pl.String)
    ages = pl.Series(AGE, [age for each in rows for _, age in each], dtype=pl.String)
    ids = np.repeat(np.arange(1, order.size + 1), lengths)
    frame = pl.DataFrame([pl.Series(ID, ids), codes.gather(at), ages.gather(at)])
    beside = None
    if side is not None:
        number = pl.Series(ID, np.arange(1, order.size + 1))
        beside = pl.DataFrame([number, *side.frame[order].get_columns()])
    return WrittenTrajectories(frame, beside)
