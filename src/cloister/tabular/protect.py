"""What a method chose, carried out: labels and averages in, the rest as recorded, ordered by its values."""

import hashlib
import hmac
from collections.abc import Mapping

import numpy as np
import polars as pl

from cloister.errors import InputError, NoSafeRelease
from cloister.hierarchy import ROOT
from cloister.io import RECORDS, as_text, is_tally, records_of, table_columns, with_records_of
from cloister.search.problem import Report

from .data import EncodedTable, Ids, ProtectedTable, Role, TableRequest
from .recoding.choice import Choice, alike, choose, is_safe
from .recoding.merging import RecordCodes
from .recoding.microaggregation import check_numbers, microaggregated

SHORTEST_KEY = 32


def protect(
    table: EncodedTable, request: TableRequest, report: Report | None = None, codes: RecordCodes | None = None
) -> ProtectedTable:
    """Return a safe release of a table by the method asked for.

    *Guarantee*: every class of released records with equal quasi-identifiers satisfies every rule, and so does the
    release as a whole, against anybody who knows the quasi-identifiers of a patient. No more than the limit is
    suppressed. What each method promises of the loss stands with it (`choose`). Not promised: what no rule speaks of.
    Cost: the method, then one pass over the records.

    Parameters
    ----------
    codes : of all records, where classes are to be merged for their sake
    """
    for column in request.microaggregate:
        check_numbers(as_text(table.frame[column]))
    choice = choose(table, request, report, codes)
    if request.keep_suppressed and 0 < choice.suppressed < request.k:
        raise NoSafeRelease(
            f"Suppressed records were to be kept as rows of *, but they are fewer than {request.k}, a number that must "
            "not be told. Leave them out, or change the suppression limit."
        )
    labels = with_records_of(choice.labels, table.frame).filter(choice.is_released)
    originals = pl.Series("record", np.flatnonzero(choice.is_released), dtype=pl.Int64)
    records = table.frame[originals]
    shown = labels.select(table_columns(labels)).with_columns(averaged(records, labels, request.microaggregate))
    if request.microaggregate and not is_safe(table, shown, originals):
        raise NoSafeRelease(
            "Classes came to look alike because their averages are the same, and together they violate the rules. "
            "Average fewer columns, or take other rules."
        )
    return _finished(_columns(table, records, shown, request), labels, originals, choice, request)


def averaged(records: pl.DataFrame, labels: pl.DataFrame, aggregates: Mapping[str, str]) -> list[pl.Series]:
    """Return the columns to be averaged, with the average of the class of each record.

    Parameters
    ----------
    records : as read
    labels : quasi-identifiers of the same records; equal ones are a class
    """
    if not aggregates:
        return []
    classes = alike(labels)
    return [microaggregated(as_text(records[column]), classes, how) for column, how in aggregates.items()]


def _columns(table: EncodedTable, records: pl.DataFrame, shown: pl.DataFrame, request: TableRequest) -> pl.DataFrame:
    """Released columns of released records: quasi-identifiers as they are shown, others as recorded."""
    columns = []
    for column, role in table.roles.items():
        if role is Role.QUASI_IDENTIFIER:
            columns.append(shown[column])
        elif role in (Role.SENSITIVE, Role.KEPT) or (role is Role.IDENTIFIER and request.ids is not Ids.DROP):
            columns.append(records[column])
    return with_records_of(pl.DataFrame(columns), records)


def _finished(
    frame: pl.DataFrame, labels: pl.DataFrame, originals: pl.Series, choice: Choice, request: TableRequest
) -> ProtectedTable:
    """Add suppressed rows where wanted, renew the ids, and sort by released values."""
    place = pl.Series(np.arange(len(originals)), dtype=pl.Int64)
    if request.keep_suppressed and choice.suppressed:
        stars = _stars(frame, choice.suppressed)
        texts = [as_text(series) if series.name != RECORDS else series for series in frame]
        frame = pl.concat([pl.DataFrame(texts), stars])
        originals = originals.extend_constant(None, stars.height)
        place = place.extend_constant(None, stars.height)
    has_id = request.id in frame.columns
    if has_id and request.ids is Ids.HMAC:
        frame = _with(frame, _keyed(frame[str(request.id)], request.id_key or b"", originals.is_not_null()))
    order = _order(frame, request.id)
    frame, originals, place = frame[order], originals.gather(order), place.gather(order)
    if has_id and request.ids is Ids.NUMBER:
        frame = _with(frame, _numbers(frame, str(request.id), originals.is_not_null()))
    labels = labels[place.drop_nulls()]
    return ProtectedTable(
        _compact(frame), choice.search, choice.suppressed, originals, labels, choice.levels, choice.loss
    )


def _stars(frame: pl.DataFrame, n: int) -> pl.DataFrame:
    """So many records of ``*`` with the columns of a frame; a tally if that is one."""
    row = pl.DataFrame({column: [ROOT] for column in table_columns(frame)})
    return row.with_columns(pl.lit(n, dtype=pl.Int64).alias(RECORDS)) if is_tally(frame) else pl.concat([row] * n)


def _with(frame: pl.DataFrame, column: pl.Series) -> pl.DataFrame:
    """Put a column in the place of the one of its name."""
    return pl.DataFrame([column if series.name == column.name else series for series in frame])


def _order(frame: pl.DataFrame, id_column: str | None) -> pl.Series:
    """Positions of the records by the UTF-8 bytes of their released values, column by column, missing first.

    Keyed ids decide among records that are equal in all else, so that the order of the input never does; ids that
    are to become numbers are all numbered alike.
    """
    last = [series for series in frame if series.name == id_column]
    series = [column for column in frame if column.name not in (id_column, RECORDS)] + last
    texts = pl.DataFrame([as_text(column).fill_null("").alias(f"c{j}") for j, column in enumerate(series)])
    return texts.select(pl.arg_sort_by(*texts.columns)).to_series()


def _numbers(frame: pl.DataFrame, name: str, released: pl.Series) -> pl.Series:
    """Numbers in released order, of a row of a tally the first of its records; suppressed rows have ``*``."""
    records = records_of(frame) * released.cast(pl.Int64)
    number = (records.cum_sum() - records + 1).alias(name)
    return number if released.all() else _or_star(number.cast(pl.String), released)


def _keyed(ids: pl.Series, key: bytes, released: pl.Series) -> pl.Series:
    """Keyed hashes of the original ids; suppressed rows have ``*``."""
    if len(key) < SHORTEST_KEY:
        raise InputError(f"Keyed ids need a key of at least {SHORTEST_KEY} bytes, but this one has {len(key)}.")
    hashes = [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in as_text(ids).to_list()]
    return _or_star(pl.Series(ids.name, hashes, dtype=pl.String), released)


def _or_star(ids: pl.Series, released: pl.Series) -> pl.Series:
    return ids.zip_with(released, pl.Series([ROOT], dtype=pl.String).new_from_index(0, len(ids)))


def _compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy text so that nothing else comes along: a view of the input's text would take suppressed values with it."""
    copied = pl.concat_str(pl.col("c"), pl.lit(""))
    return pl.DataFrame(
        [
            series.to_frame("c").select(copied).to_series().alias(series.name) if series.dtype == pl.String else series
            for series in frame
        ]
    )
