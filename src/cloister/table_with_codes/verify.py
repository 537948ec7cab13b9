"""Whether a table and its codes fit each other: recomputed with Polars, by other means than those that made them."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.verify import DisassociationSecret
from cloister.codesets.disassociation.verify import verify as verify_codes
from cloister.codesets.disassociation.verify_original import CLASS, CODE, COUNT, SET, counts_allowed, miscounted
from cloister.hierarchy import ROOT
from cloister.io import as_text
from cloister.results import Verdict


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
    """Return whether each code stands in rows of each class as often as some data set behind its clusters has it."""
    return not miscounted(rows.select(CLASS, pl.col(SET).str.split(" ")), released, is_drawn=is_drawn)


def may_be_part(sets: pl.Series, released: Disassociation) -> bool:
    """Return whether records with these codes are as many as the clusters', and have each code as often at least."""
    held = sets.to_frame(CODE).select(pl.col(CODE).str.split(" ")).explode(CODE).group_by(CODE).len(COUNT)
    least = counts_allowed(released).group_by(CODE).agg(pl.col("least").sum())
    both = least.join(held, on=CODE, how="left")
    return bool(len(sets) >= released.n_records and (both[COUNT].fill_null(0) >= both["least"]).all())
