"""Full-domain generalization with record suppression: choose a policy, apply it, order the result by its values.

Source: Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, section "Preliminaries and
formalism"; k-anonymity by suppression of violating classes.
"""

import hashlib
import hmac
from collections.abc import Mapping

import numpy as np
import polars as pl

from cloister.errors import InputError, NoSafeRelease
from cloister.hierarchy import ROOT, Ladder
from cloister.io import as_text
from cloister.kernels.classes import class_sizes
from cloister.results import SearchResult
from cloister.search import search
from cloister.search.problem import Problem
from cloister.search.progress import Report

from .data import EncodedTable, Ids, ProtectedTable, Role, TableRequest

SHORTEST_KEY = 32


def protect(table: EncodedTable, request: TableRequest, report: Report | None = None) -> ProtectedTable:
    """Return the least lossy safe release of a table by full-domain generalization and suppression.

    *Guarantee*: every released combination of quasi-identifiers is shared by at least k released records, against
    anybody who knows the quasi-identifiers of a patient. No more than the limit is suppressed; the loss is the least
    of all policies where the search says so. Not promised: anything about sensitive and kept columns. Cost: the
    search, then one pass over the records.

    Raises
    ------
    NoSafeRelease
        No allowed policy satisfies the rules within the suppression limit, or rows of ``*`` would tell a small number.
    """
    result = choose_policy(table.problem, request, report)
    if request.keep_suppressed and 0 < result.suppressed < request.k:
        raise NoSafeRelease(
            f"Suppressed records were to be kept as rows of *, but they are fewer than {request.k}, a number that must "
            "not be told. Leave them out, or change the suppression limit."
        )
    released = _is_released(table.problem, result)
    frame = _recoded(table, result, request).filter(released)
    originals = pl.Series("record", np.flatnonzero(released), dtype=pl.Int64)
    return _finished(frame, originals, result, request)


def choose_policy(problem: Problem, request: TableRequest, report: Report | None = None) -> SearchResult:
    """Search the lattice, or measure the one policy that was fixed."""
    if request.levels is not None:
        return _fixed(problem, request.levels)
    return search(request.search, problem, threads=request.threads, time_limit=request.time_limit, report=report)


def _fixed(problem: Problem, levels: Mapping[str, int]) -> SearchResult:
    unknown = sorted(set(levels) - set(problem.names))
    absent = sorted(set(problem.names) - set(levels))
    if unknown or absent:
        raise InputError(
            "Fixed levels must name every quasi-identifier and nothing else. "
            f"Not named: {', '.join(absent) or 'none'}; not a quasi-identifier: {', '.join(unknown) or 'none'}."
        )
    heights = dict(zip(problem.names, problem.task.ladders.heights.tolist(), strict=True))
    for column, level in levels.items():
        if not 0 <= level < heights[column]:
            raise InputError(
                f"Level {level} of column {column!r} was asked for, but its hierarchy has levels 0 to "
                f"{heights[column] - 1}.",
                column=column,
            )
    candidate = problem.measure([levels[name] for name in problem.names])
    if not problem.is_safe(candidate):
        k, n = problem.task.threshold.k, problem.task.threshold.n_records
        raise NoSafeRelease(
            f"The fixed levels leave {candidate.suppressed} of {n} records in classes smaller than {k}, but at most "
            f"{problem.limit} may be suppressed. Fix coarser levels or raise the suppression limit."
        )
    return SearchResult(
        levels=problem.by_name(candidate.levels),
        loss=candidate.loss,
        suppressed=candidate.suppressed,
        bound=0.0,
        optimal=False,
        lattice=problem.lattice,
        checked=1,
        seconds=0.0,
    )


def _is_released(problem: Problem, result: SearchResult) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each record is in a class that satisfies the rule."""
    task = problem.task
    levels = np.array([result.levels[name] for name in problem.names], dtype=np.int64)
    kept = class_sizes(task.rows, task.ladders, levels) >= task.threshold.k
    return kept[problem.row_of_record]


def _recoded(table: EncodedTable, result: SearchResult, request: TableRequest) -> pl.DataFrame:
    """Released columns of all records, quasi-identifiers at their level, as text."""
    columns = []
    for column, role in table.roles.items():
        series = table.frame[column]
        if role is Role.QUASI_IDENTIFIER:
            columns.append(at_level(as_text(series), table.ladders[column], result.levels[column]))
        elif role in (Role.SENSITIVE, Role.KEPT) or (role is Role.IDENTIFIER and request.ids is not Ids.DROP):
            columns.append(series)
    return pl.DataFrame(columns)


def at_level(text: pl.Series, ladder: Ladder, level: int) -> pl.Series:
    """Return the label of each value at a level."""
    labels = dict(zip(ladder.values, ladder.labels[level], strict=True))
    present = [value for value in ladder.values if value is not None]
    named = pl.Series([*(labels[value] for value in present), labels.get(None)], dtype=pl.String)
    position = text.cast(pl.Enum(present)).to_physical().fill_null(len(present))
    return named.gather(position).alias(text.name)


def _finished(frame: pl.DataFrame, originals: pl.Series, result: SearchResult, request: TableRequest) -> ProtectedTable:
    """Add suppressed rows where wanted, renew the ids, and sort by released values."""
    if request.keep_suppressed and result.suppressed:
        stars = pl.Series([ROOT] * result.suppressed, dtype=pl.String)
        frame = pl.DataFrame([pl.concat([as_text(series), stars.alias(series.name)]) for series in frame])
        originals = originals.extend_constant(None, result.suppressed)
    has_id = request.id in frame.columns
    if has_id and request.ids is Ids.HMAC:
        frame = _with(frame, _keyed(frame[str(request.id)], request.id_key or b"", originals.is_not_null()))
    order = _order(frame, request.id)
    frame, originals = frame[order], originals.gather(order)
    if has_id and request.ids is Ids.NUMBER:
        frame = _with(frame, _numbers(str(request.id), originals.is_not_null()))
    return ProtectedTable(_compact(frame), result, result.suppressed, originals)


def _with(frame: pl.DataFrame, column: pl.Series) -> pl.DataFrame:
    """Put a column in the place of the one of its name."""
    return pl.DataFrame([column if series.name == column.name else series for series in frame])


def _order(frame: pl.DataFrame, id_column: str | None) -> pl.Series:
    """Positions of the records by the UTF-8 bytes of their released values, column by column, missing first.

    Keyed ids decide among records that are equal in all else, so that the order of the input never does; ids that
    are to become numbers are all numbered alike.
    """
    last = [series for series in frame if series.name == id_column]
    series = [column for column in frame if column.name != id_column] + last
    texts = pl.DataFrame([as_text(column).fill_null("").alias(f"c{j}") for j, column in enumerate(series)])
    return texts.select(pl.arg_sort_by(*texts.columns)).to_series()


def _numbers(name: str, released: pl.Series) -> pl.Series:
    """Numbers in released order; suppressed rows have ``*``."""
    number = released.cast(pl.Int64).cum_sum().alias(name)
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
    return pl.DataFrame([_copied(series) if series.dtype == pl.String else series for series in frame])


def _copied(text: pl.Series) -> pl.Series:
    copied = text.to_frame("c").select(pl.concat_str(pl.col("c"), pl.lit(""))).to_series()
    return copied.alias(text.name)
