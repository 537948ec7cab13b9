"""Write the records of a tally to a file, and read the records of a file as a tally, in batches.

A *run* is a sequence of records of a file that follow each other and are equal in all columns but a numbered id, which
counts on from one to the next. A file is read as the tally of its runs in their order, each with the first id of its
records: whether records are sorted, and ids are the numbers of the records, can be told from runs as from records.

``delimiter`` is that of a CSV file, and None for Parquet.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from cloister.errors import InputError
from cloister.io.batches import ROWS_AT_ONCE, frames_of
from cloister.io.columns import as_text, check_names, plain_columns
from cloister.io.csv import check_delimiter, detect_delimiter, head_of
from cloister.io.read import is_parquet, without_texts
from cloister.io.tally import Tally, concat_tallies
from cloister.io.write import csv_pieces, private_file, write_parquet_of, write_pieces


def write_runs(tally: Tally, path: Path, delimiter: str | None, id_column: str | None = None) -> None:
    """Write the records of a tally, in its order; the bytes are the same as for the table itself."""
    check_names(tally.frame.columns)
    if delimiter is not None:
        write_pieces(csv_pieces(_record_frames(tally, id_column), tally.frame.columns, delimiter), path)
        return
    refusal = InputError("The table cannot be written as Parquet.", file=path.name)
    schema = plain_columns(tally.frame.clear()).schema
    frames = register_io_source(
        lambda *_: (plain_columns(frame) for frame in _record_frames(tally, id_column)), schema=schema
    )
    with private_file(path) as file:
        write_parquet_of(frames, file, refusal)


def _record_frames(tally: Tally, id_column: str | None) -> Iterator[pl.DataFrame]:
    records = tally.weights
    ends = records.cum_sum()
    total, start = int(records.sum()), 0
    while start < total:
        end = min(start + ROWS_AT_ONCE, total)
        first, last = int(ends.search_sorted(start, "right")), int(ends.search_sorted(end, "left"))
        until = ends.slice(first, last - first + 1).clip(upper_bound=end)
        times = until - until.shift(1, fill_value=start)
        place = pl.int_range(first, last + 1, eager=True).repeat_by(times).explode(empty_as_null=False)
        frame = tally.frame[place]
        if id_column is not None:
            within = pl.int_range(start, end, eager=True) - (ends - records).gather(place)
            ids = frame[id_column]
            number = ids.cast(pl.Int64, strict=False) + within  # what is no number stays
            frame = frame.with_columns(number.cast(ids.dtype).zip_with(number.is_not_null(), ids))
        yield frame
        start = end


def read_runs(path: Path, delimiter: str | None, id_column: str | None = None) -> Tally:
    """Return the runs of a released file, in its order, as a tally."""
    parts: list[Tally] = []
    for frame in frames_of(path, delimiter):
        runs = _runs(frame, id_column)
        parts[-1:] = _join_parts(parts[-1], runs, id_column) if parts else [runs]
    if not parts:
        raise InputError(f"{path.name} has columns but no records.", file=path.name)
    return concat_tallies(parts)


def _runs(frame: pl.DataFrame, id_column: str | None) -> Tally:
    values = [as_text(frame[column]) for column in frame.columns if column != id_column]
    changed = [text.ne_missing(text.shift(1)) for text in values]
    if id_column in frame.columns:
        text = as_text(frame[str(id_column)])
        number = text.cast(pl.Int64, strict=False)
        changed.append(
            ((number - number.shift(1)) != 1).fill_null(True) & (number.is_not_null() | text.ne_missing(text.shift(1)))
        )
    begins = pl.DataFrame([one.alias(f"b{j}") for j, one in enumerate(changed)]).select(pl.any_horizontal(pl.all()))
    is_first = begins.to_series().fill_null(True)
    is_first[0] = True
    at = is_first.arg_true().cast(pl.Int64)
    until = at.shift(-1, fill_value=frame.height)
    return Tally(frame[at], until - at)


def _join_parts(before: Tally, after: Tally, id_column: str | None) -> list[Tally]:
    """Two parts that follow each other, the last run of the first and the first of the second put together."""
    before_counts, counts = before.weights, after.weights
    n_last, last = before_counts[-1], before.frame.tail(1)
    both = pl.concat([last, after.frame.head(1)])
    texts = {column: as_text(both[column]) for column in both.columns}
    ids = None if id_column is None else texts.pop(id_column, None)
    numbers = [0, n_last] if ids is None else ids.cast(pl.Int64, strict=False).to_list()
    follows = None not in numbers and numbers[1] == numbers[0] + n_last
    if not (follows and all(text.n_unique() == 1 for text in texts.values())):
        return [before, after]
    joined = pl.concat([last, after.frame.slice(1)])
    return [
        Tally(before.frame.head(-1), before_counts.head(-1)),
        Tally(joined, pl.concat([counts.head(1) + n_last, counts.slice(1)])),
    ]


def read_tally(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    missing: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Tally:
    """Read a file of many records as a tally, in batches."""
    if not is_parquet(path):
        head = head_of(path, encoding)
        delimiter = check_delimiter(delimiter or detect_delimiter(head, path.name))
    parts: list[Tally] = []
    for frame in frames_of(path, delimiter):
        own = frame if columns is None else frame.select(column for column in columns if column in frame.columns)
        parts.append(Tally(without_texts(own, missing)).merge())
        if sum(part.frame.height for part in parts) > ROWS_AT_ONCE and len(parts) > 1:
            parts = [concat_tallies(parts).merge()]
    return concat_tallies(parts).merge() if parts else Tally(pl.DataFrame())
