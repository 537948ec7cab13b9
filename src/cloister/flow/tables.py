"""The course of a table. The page to read first."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from cloister.errors import InternalError
from cloister.io import Source
from cloister.release import Custody, TableRelease
from cloister.results import Manifest, Verdict
from cloister.search.progress import Report
from cloister.search.warm import load_kernels
from cloister.search.warm import must_compile as must_compile
from cloister.stopwatch import Stopwatch
from cloister.tabular.codebook import codebook
from cloister.tabular.data import EncodedTable, Ids, ProtectedTable, TableRequest
from cloister.tabular.encode import encode
from cloister.tabular.manifest import describe, exact_figures, promise_of
from cloister.tabular.measure import class_sizes, measure_risk, public_utility
from cloister.tabular.protect import protect
from cloister.tabular.verification.promise import Promise
from cloister.tabular.verification.promised import as_stated, original_of, populations_of, promise_for
from cloister.tabular.verify import verify

from .stages import RISK_THRESHOLD, completed, passed


def protect_table(
    source: Source,
    request: TableRequest,
    *,
    seed: int = 0,
    report: Report | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
) -> TableRelease:
    """Take a table through the stages.

    Parameters
    ----------
    source : the table as read
    seed : written to the manifest; nothing that protects a table is random
    report : called now and then while searching
    watch : a stopwatch that already holds the time spent on starting and reading
    custody : what else only the custodian may see

    Raises
    ------
    InputError, NoSafeRelease, InternalError
    """
    watch = watch or Stopwatch()
    with watch.stage("start"):
        load_kernels()
    with watch.stage("encode"):
        table = encode(source.frame, request, source.name)
    with watch.stage("protect"):
        protected = protect(table, request, report)
    if protected.search is not None:
        watch.move("protect", "search", protected.search.seconds)
    with watch.stage("verify"):
        request = as_stated(request, protected.suppressed, table.frame.height)
        promise = promise_for(table, protected, request)
        check = partial(
            verify,
            promise=promise,
            original=replace(original_of(table, request), records=protected.originals),
            populations=populations_of(table, request),
            every_rule=True,
        )
        verdict = passed(check(protected.frame))
    with watch.stage("measure"):
        manifest = _described(table, protected, request, verdict)
        _confirm_promise(manifest, promise)
        book = codebook(protected.frame, table.roles, table.ladders, protected.levels, request)
    return TableRelease(
        data=protected.frame,
        frame=protected.frame,
        codebook=book,
        manifest=completed(manifest, source=source.name, seed=seed, watch=watch),
        format=source.format,
        delimiter=source.delimiter or ",",
        custody=Custody(
            exact_figures(protected, table.frame.height) | dict(custody or {}),
            _crosswalk(table, protected, request),
        ),
        _check=check,
    )


def _confirm_promise(manifest: Manifest, promise: Promise) -> None:
    """The manifest must promise what was verified."""
    stated = promise_of(manifest)
    public = replace(promise, limit=None, suppressed=promise.suppressed if stated.suppressed is not None else None)
    if stated != public:
        raise InternalError("The manifest does not state what was verified.")


def _described(table: EncodedTable, protected: ProtectedTable, request: TableRequest, verdict: Verdict) -> Manifest:
    released = protected.frame.filter(protected.originals.is_not_null())
    risk = measure_risk(class_sizes(released, list(table.ladders)), RISK_THRESHOLD)
    utility = public_utility(table, protected, request)
    return describe(table.roles, request, protected, verdict, risk, utility)


def _crosswalk(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> pl.DataFrame | None:
    """Original id of each released record."""
    if request.id is None or request.ids is Ids.DROP:
        return None
    released = protected.originals.is_not_null()
    new = protected.frame[request.id].filter(released).alias("released")
    old = table.frame[request.id].gather(protected.originals.drop_nulls()).alias("original")
    return pl.DataFrame([new, old])
