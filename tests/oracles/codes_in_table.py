"""What a table and the clusters of its codes promise together, checked without SQL: codes of each class by rows."""

import polars as pl

from cloister.hierarchy import ROOT
from cloister.io import as_text
from cloister.shapes.disassociation.verify.original import CLASS, CODE, COUNT, SET, counts_allowed
from cloister.shapes.table_with_codes.verify.verify import classes_of_rows, counts_agree, sizes_agree


def broken(frame, promised, column, released):
    """The promises about table and codes together that are broken; the clusters must be sound."""
    if released.class_columns != tuple(name for name in promised.levels if name != column):
        return ["columns of classes"]
    texts = pl.DataFrame([as_text(series) for series in frame])
    shown = pl.col(column).is_not_null() & (pl.col(column) != ROOT)
    rows = classes_of_rows(texts.filter(shown), column, released)
    if not sizes_agree(rows, released):
        return ["sizes of classes"]
    words = rows[SET].str.split(" ")
    others = [pl.col(name).fill_null("") for name in texts.columns if name not in (column, promised.id)]
    alike = texts.select(pl.struct(others).rle_id().alias("run"), pl.col(column).fill_null("").alias(SET))
    found = {
        "codes in order, each once": any([*code] != sorted({*code} - {""}) for code in words.to_list()),
        "counts": not counts_agree(rows, released) or _are_overdrawn(rows, released),
        "order of rows": not alike.equals(alike.sort("run", SET, maintain_order=True)),
    }
    return [promise for promise, is_broken in found.items() if is_broken]


def _are_overdrawn(rows, released):
    """Whether a code that is only listed stands in more rows of a class than one and those that have no other."""
    cells = rows.select(pl.col(CLASS).cast(pl.Int64), pl.col(SET).str.split(" ").alias(CODE))
    held, alone = (
        frame.explode(CODE).group_by(CLASS, CODE) for frame in (cells, cells.filter(pl.col(CODE).list.len() == 1))
    )
    both = held.len(COUNT).join(alone.len("alone"), on=[CLASS, CODE], how="left")
    both = both.join(counts_allowed(released), on=[CLASS, CODE])
    return bool((both[COUNT] > both["least"] + both["alone"].fill_null(0)).any())
