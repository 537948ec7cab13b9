"""How often codes may stand in a data set that clusters stand for, class by class where records are told apart."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.encode import plain_code

from .data import Disassociation

SET, CLASS, CODE, COUNT = "set", "class", "code", "count"


def miscounted(rows: pl.DataFrame, released: Disassociation, *, is_drawn: bool = True) -> int:
    """Return how many codes stand in rows of a class more or less often than the clusters allow.

    In a reconstruction of ours (``is_drawn``) a code of an item chunk is given to one record, and otherwise to records
    that would have no code, so that it is alone.

    ``rows``: the class of each record, 0 where there are none, and its codes, those that repeat not numbered
    """
    # A count outside these bounds is that of no data set behind the clusters, so the file is not one of ours.
    kind = pl.col(CLASS).cast(pl.Int64)
    found = rows.explode(SET).group_by(kind, pl.col(SET).alias(CODE)).len(COUNT)
    both = counts_allowed(released).join(found, on=[CLASS, CODE], how="full", coalesce=True)
    most = pl.col("most")
    if is_drawn:
        single = rows.filter(pl.col(SET).list.len() == 1)
        alone = single.group_by(kind, pl.col(SET).list.first().alias(CODE)).len("alone")
        both = both.join(alone, on=[CLASS, CODE], how="left")
        most = pl.min_horizontal(most, pl.col("least") + pl.col("alone").fill_null(0))
    fits = both.select(pl.col(COUNT).is_between(pl.col("least"), most).fill_null(value=False)).to_series()
    return int((~fits).sum())


def counts_allowed(released: Disassociation) -> pl.DataFrame:
    """Return the least and the most of each code in each class: as chunks say, and one to all records an item chunk."""
    n = released.n_clusters
    class_of = released.class_of if released.class_of.size else np.zeros(n, dtype=np.int32)
    joints = np.zeros(released.n_joints, dtype=np.int64)
    for joint in range(released.n_joints):
        child = int(released.children[released.child_offsets[joint]])
        joints[joint] = class_of[child] if child < n else joints[child - n]
    record, shared = released.record_chunks, released.shared_chunks
    in_record = class_of[record.owner].repeat(np.diff(record.item_offsets[record.subrecord_offsets]))
    in_shared = joints[shared.owner].repeat(np.diff(shared.item_offsets[shared.subrecord_offsets]))
    in_items = np.repeat(np.arange(n), np.diff(released.item_offsets))
    parts = [
        _part(in_record, record.items, np.ones(record.items.size, dtype=np.int64)),
        _part(in_shared, shared.items, np.ones(shared.items.size, dtype=np.int64)),
        _part(class_of[in_items], released.item_chunks, released.sizes[in_items]),
    ]
    plain = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    counted = pl.concat(parts).group_by(CLASS, "item").agg(pl.len().cast(pl.Int64).alias("least"), pl.col("most").sum())
    named = counted.with_columns(pl.Series(CODE, plain, dtype=pl.String).gather(counted["item"]))
    return named.group_by(CLASS, CODE).agg(pl.col("least").sum(), pl.col("most").sum())


def _part(classes: NDArray[np.integer], items: NDArray[np.integer], most: NDArray[np.int64]) -> pl.DataFrame:
    return pl.DataFrame({CLASS: classes.astype(np.int64), "item": items.astype(np.int64), "most": most})
