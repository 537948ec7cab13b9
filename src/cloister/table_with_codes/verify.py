"""Whether a table and its codes fit each other: recomputed with Polars, by other means than those that made them."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.verify import DisassociationSecret
from cloister.codesets.disassociation.verify import verify as verify_codes
from cloister.hierarchy import ROOT
from cloister.io import as_text
from cloister.results import Verdict

Integers = NDArray[np.int64]

SET, CLASS, CODE, COUNT = "set", "class", "code", "count"


def verify_both(
    table: Verdict,
    frame: pl.DataFrame,
    column: str,
    id_column: str | None,
    released: Disassociation,
    secret: DisassociationSecret | None = None,
) -> Verdict:
    """Return the verdict on a table with codes, given that on the table alone.

    The secret is the true codes of the rows that have any, in their order, and the cluster of each.
    """
    codes = verify_codes(released, secret)
    passed, failures = [*table.checks, *codes.checks], [*table.failures, *codes.failures]
    if not failures:
        for promise, holds in agreements(frame, column, id_column, released, secret):
            (passed if holds else failures).append(promise)
    return Verdict(not failures, f"{table.how}; {codes.how}", tuple(passed), tuple(failures))


def agreements(
    frame: pl.DataFrame,
    column: str,
    id_column: str | None,
    released: Disassociation,
    secret: DisassociationSecret | None = None,
) -> Iterator[tuple[str, bool]]:
    """Promises about table and codes together, each with whether it holds; the clusters must be sound.

    That classes have k records or more, and only records with codes or only without, is for the verifier of tables.
    """
    known = {*frame.columns} - {column, id_column}
    fits = len(released.class_columns) > 0 and known >= {*released.class_columns}
    yield "clusters are those of classes of the table", fits
    if not fits:
        return
    texts = pl.DataFrame([as_text(series) for series in frame])
    shown = pl.col(column).is_not_null() & (pl.col(column) != ROOT)
    rows = classes_of_rows(texts.filter(shown), column, released)
    yield "every class with codes has clusters of as many records, and no other has", sizes_agree(rows, released)
    words = rows[SET].str.split(" ")
    is_single = not rows[SET].str.contains(r"^ | $|  ").any()
    in_order = bool((words.list.unique().list.sort() == words).all()) and is_single
    yield "codes stand in order, each once in a cell", in_order
    yield "each class has its codes as often as its clusters allow", counts_agree(rows, released)
    others = [pl.col(name).fill_null("") for name in texts.columns if name not in (column, id_column)]
    same = texts.select(pl.struct(others).rle_id().alias("run"), pl.col(column).fill_null("").alias(SET))
    in_order = bool(same.equals(same.sort("run", SET, maintain_order=True)))
    yield "rows that are equal in all else stand in the order of their codes", in_order
    if secret is not None:
        own = released.class_of[secret.cluster_of]
        yield "every record is in a cluster of its class", np.array_equal(rows[CLASS].to_numpy(), own)


def classes_of_rows(rows: pl.DataFrame, column: str, released: Disassociation) -> pl.DataFrame:
    """Return the codes of each row, and the class whose labels it has; null where there is none."""
    names = [f"c{place}" for place in range(len(released.class_columns))]
    schema = dict.fromkeys(names, pl.String)
    classes = pl.DataFrame(list(released.classes), schema=schema, orient="row").with_row_index(CLASS)
    own = [rows[name].alias(place) for name, place in zip(released.class_columns, names, strict=True)]
    labels = pl.DataFrame([rows[column].alias(SET), *own])
    return labels.join(classes, on=names, how="left", nulls_equal=True, maintain_order="left").select(SET, CLASS)


def sizes_agree(rows: pl.DataFrame, released: Disassociation) -> bool:
    """Return whether each class has as many rows as its clusters have records."""
    if rows[CLASS].null_count():
        return False
    found = np.bincount(rows[CLASS].to_numpy(), minlength=len(released.classes))
    expected = np.zeros(len(released.classes), dtype=np.int64)
    np.add.at(expected, released.class_of, released.sizes)
    return np.array_equal(found, expected)


def counts_agree(rows: pl.DataFrame, released: Disassociation, *, is_drawn: bool = True) -> bool:
    """Return whether each code stands in rows of each class as often as some data set behind its clusters has it.

    In a reconstruction of ours (``is_drawn``) a code of an item chunk is given to one record, and otherwise to records
    that would have no code, so that it is alone.
    """
    cells = rows.select(CLASS, pl.col(SET).str.split(" ").alias(CODE)).explode(CODE)
    found = cells.group_by(CLASS, CODE).len(COUNT).with_columns(pl.col(CLASS).cast(pl.Int64))
    both = _allowed(released).join(found, on=[CLASS, CODE], how="full", coalesce=True)
    most = pl.col("most")
    if is_drawn:
        alone = rows.group_by(CLASS, pl.col(SET).alias(CODE)).len("alone").with_columns(pl.col(CLASS).cast(pl.Int64))
        both = both.join(alone, on=[CLASS, CODE], how="left")
        most = pl.min_horizontal(most, pl.col("least") + pl.col("alone").fill_null(0))
    fits = both.select(pl.col(COUNT).is_between(pl.col("least"), most).fill_null(value=False))
    return bool(fits.to_series().all())


def may_be_part(sets: pl.Series, released: Disassociation) -> bool:
    """Return whether records with these codes are as many as the clusters', and have each code as often at least."""
    held = sets.to_frame(CODE).select(pl.col(CODE).str.split(" ")).explode(CODE).group_by(CODE).len(COUNT)
    least = _allowed(released).group_by(CODE).agg(pl.col("least").sum())
    both = least.join(held, on=CODE, how="left")
    return bool(len(sets) >= released.n_records and (both[COUNT].fill_null(0) >= both["least"]).all())


def _allowed(released: Disassociation) -> pl.DataFrame:
    """How often each code may occur in each class: as chunks tell, and one to all records for each item chunk."""
    joints = np.zeros(released.n_joints, dtype=np.int64)
    for joint in range(released.n_joints):
        child = int(released.children[released.child_offsets[joint]])
        n = released.n_clusters
        joints[joint] = released.class_of[child] if child < n else joints[child - n]
    record, shared = released.record_chunks, released.shared_chunks
    in_record = released.class_of[record.owner].repeat(np.diff(record.item_offsets[record.subrecord_offsets]))
    in_shared = joints[shared.owner].repeat(np.diff(shared.item_offsets[shared.subrecord_offsets]))
    in_items = np.repeat(np.arange(released.n_clusters), np.diff(released.item_offsets))
    parts = [
        _part(in_record, record.items, np.ones(record.items.size, dtype=np.int64)),
        _part(in_shared, shared.items, np.ones(shared.items.size, dtype=np.int64)),
        _part(released.class_of[in_items], released.item_chunks, released.sizes[in_items]),
    ]
    names = pl.Series(CODE, released.vocabulary, dtype=pl.String)
    counted = pl.concat(parts).group_by(CLASS, "item").agg(pl.len().cast(pl.Int64).alias("least"), pl.col("most").sum())
    return counted.select(CLASS, names.gather(counted["item"]), "least", "most")


def _part(classes: NDArray[np.integer], items: NDArray[np.integer], most: Integers) -> pl.DataFrame:
    return pl.DataFrame({CLASS: classes.astype(np.int64), "item": items.astype(np.int64), "most": most})
