"""The course of a table that is counted where it is: only its tally comes here, and the file is written from that."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from cloister.engines.relation import Engine, names_of
from cloister.engines.statements import count_ids, fetch_tally, unique_share
from cloister.errors import InputError, setting
from cloister.io import RECORDS
from cloister.io.foreign import interruptible
from cloister.release import Custody
from cloister.search import load_kernels
from cloister.search.problem import Report
from cloister.stopwatch import Stopwatch
from cloister.tabular.data import Ids, Role, TableRequest
from cloister.tabular.encode import check_ids, encoded
from cloister.tabular.release import TalliedRelease
from cloister.tabular.roles import resolve_roles

from .places import IN_MEMORY
from .stages import completed
from .tables import take_encoded

IN_WORDS = {
    "method": "the method {method}",
    "microaggregate": f"averages ({setting('microaggregate')})",
    "ids": f"keyed ids ({setting('ids', 'hmac')})",
    "merge_bound": "merged classes",
}
"""Settings that need rows, where their names do not say it."""


@dataclass(frozen=True)
class CountedTable:
    """A table as it was counted.

    Attributes
    ----------
    tally : of the released columns; those that were not counted stand in it as missing
    uncounted : released columns that were not counted: an id that becomes a number, and what stays where it is
    """

    tally: pl.DataFrame
    roles: Mapping[str, Role]
    uncounted: tuple[str, ...] = ()


def protect_counted_table(
    engine: Engine,
    request: TableRequest,
    *,
    format: str,  # noqa: A002  (as a source calls it)
    delimiter: str | None,
    seed: int = 0,
    progress: Report | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
) -> TalliedRelease:
    """Take a table that an engine counts through the stages.

    *Guarantee*: that of `cloister.pipeline.tables.protect_table`; the data file has the same bytes. Cost: one count of
    the table where it is; memory for the different combinations of released values, not for the records.
    """
    watch = watch or Stopwatch()
    refuse_what_needs_rows(request, engine.name)
    with watch.stage("start"):
        interruptible(partial(load_kernels, request.kernels))
    with watch.stage("read"):
        counted = count_table(engine, request)
    with watch.stage("encode"):
        table = encoded(counted.tally, counted.roles, request)
    course = take_encoded(table, request, engine.file, watch, progress=progress)
    return TalliedRelease(
        data=course.protected.frame,
        frame=course.protected.frame,
        codebook=course.codebook,
        manifest=completed(course.manifest.published(), source=engine.file, seed=seed, watch=watch),
        format=format,
        delimiter=delimiter or ",",
        custody=Custody(course.exact | dict(custody or {}), None),
        shown=partial(course.shown, None),
        id_column=request.numbered_id,
        _check=course.check,
        notes=course.notes,
    )


def refuse_what_needs_rows(request: TableRequest, engine: str) -> None:
    """Refuse what cannot be done where only counts of a table are known."""
    needing = request.needing_rows()
    needing += ["ids"] if request.id is not None and request.ids is Ids.HMAC else []
    needing += ["merge_bound"] if request.merge_bound is not None else []
    if needing:
        said = IN_WORDS.get(needing[0], needing[0].replace("_", " ")).replace("{method}", request.chosen_method)
        raise InputError(
            f"The engine {engine} knows counts of a table and not its rows, so that {said} cannot be done with it. "
            f"Give {IN_MEMORY}, or leave it out."
        )


def count_table(engine: Engine, request: TableRequest, *, released: bool = True) -> CountedTable:
    """Settle the roles of a table and count it.

    Parameters
    ----------
    released : whether all released columns are counted; else those alone that hierarchies or rules are about
    """
    roles = resolve_roles(names_of(engine.columns), request, engine.file, partial(unique_share, engine))
    if request.id is not None:
        found = count_ids(engine, request.id)
        check_ids(
            request.id,
            engine.file,
            records=found.records,
            missing=found.records - found.given,
            distinct=found.distinct,
        )
    judged = {getattr(rule, "column", None) for rule in request.rules}
    shown = [column for column, role in roles.items() if role is not Role.DROPPED]
    uncounted = tuple(
        column
        for column in shown
        if column == request.id
        or (roles[column] in (Role.SENSITIVE, Role.KEPT) and not released and column not in judged)
    )
    tally = fetch_tally(engine, [column for column in shown if column not in uncounted])
    nothing = [pl.lit(None, dtype=pl.Int64).alias(column) for column in uncounted]
    return CountedTable(tally.with_columns(nothing).select([*shown, RECORDS]), roles, uncounted)
