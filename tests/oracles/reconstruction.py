"""What reconstructed records must keep, checked without SQL: as many records and codes as the clusters allow."""

import polars as pl

from cloister.errors import InputError
from cloister.release.folder import read_tables
from cloister.shapes.codes.data import CODES, ID
from cloister.shapes.disassociation.verify.original import CLASS, CODE, COUNT, SET, count_miscounted, counts_allowed


def broken(folder, manifest, released):
    """What of the data file cannot be a reconstruction of the clusters."""
    try:
        (frame,) = read_tables(folder, manifest).values()
    except InputError as error:
        return [str(error)]
    text, numbers = frame[CODES], [str(number) for number in range(1, frame.height + 1)]
    cells = text.drop_nulls().str.split(" ").alias(SET).to_frame()
    found = {
        "number": frame.height != released.n_records,
        "order": bool(text.null_count()) or not text.is_sorted(),
        "ids": ID in frame.columns and frame[ID].to_list() != numbers,
        "codes": count_miscounted(cells.with_columns(pl.lit(0).alias(CLASS)), released) > 0,
        "listed codes": _are_overdrawn(cells, released),
    }
    return [promise for promise, is_broken in found.items() if is_broken]


def _are_overdrawn(cells, released):
    """Whether a code that is only listed stands in more records than one and those that have no other."""
    held, alone = (
        frame.explode(SET).group_by(pl.col(SET).alias(CODE))
        for frame in (cells, cells.filter(pl.col(SET).list.len() == 1))
    )
    both = held.len(COUNT).join(alone.len("alone"), on=CODE, how="left").join(counts_allowed(released), on=CODE)
    return bool((both[COUNT] > both["least"] + both["alone"].fill_null(0)).any())
