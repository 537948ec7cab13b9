"""The six stages in order: read, encode, protect, verify, measure, release. The page to read first.

`protect_table` and `protect_codes` are what the command line and the verbs call. Each stage hands a frozen record to
the next; verification never trusts protection, and nothing becomes a `Release` that did not pass it.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import polars as pl

from cloister.codesets.data_file import data_frame
from cloister.codesets.disassociation.codebook import codebook as codebook_of_codes
from cloister.codesets.disassociation.figures import crosswalk, work_out
from cloister.codesets.disassociation.manifest import describe as describe_codes
from cloister.codesets.disassociation.protect import disassociate
from cloister.codesets.disassociation.reconstruct import reconstruct
from cloister.codesets.disassociation.release import CodesRelease
from cloister.codesets.disassociation.verify import Secret
from cloister.codesets.disassociation.verify import verify as verify_codes
from cloister.codesets.disassociation.warm import load_kernels as load_code_kernels
from cloister.codesets.request import CodesRequest, GivenCodes, check_codes
from cloister.errors import InternalError
from cloister.io import Source
from cloister.release import SCHEMA, Custody, TableRelease
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

RISK_THRESHOLD = 0.2


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
        verdict = check(protected.frame)
        if not verdict.holds:
            raise InternalError(f"The release did not pass verification: {'; '.join(verdict.failures)}.")
    with watch.stage("measure"):
        manifest = _described(table, protected, request, verdict)
        _confirm_promise(manifest, promise)
        book = codebook(protected.frame, table.roles, table.ladders, protected.levels, request)
    manifest = _header(source, seed) | manifest | {"seconds": watch.table(), "files": {}}
    manifest["settings"] = {"source": source.name} | manifest["settings"]
    return TableRelease(
        data=protected.frame,
        frame=protected.frame,
        codebook=book,
        manifest=manifest,
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


def _header(source: Source | GivenCodes, seed: int) -> Manifest:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    packages = {name: version(name) for name in ("numpy", "numba", "polars")}
    return {
        "schema": SCHEMA,
        "cloister": version("cloister"),
        "shape": "table",
        "method": "full-domain",
        "settings": {"source": source.name},
        "seed": seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cores": cores, "system": platform.system(), "python": platform.python_version(), **packages},
    }


def protect_codes(
    given: GivenCodes,
    request: CodesRequest,
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
) -> CodesRelease:
    """Take code sets through the stages, by disassociation.

    Parameters
    ----------
    given : the code sets as read and numbered
    seed : of the reconstruction in ``data.csv``; nothing that protects code sets is random
    watch, custody : as of `protect_table`

    Raises
    ------
    InputError, NoSafeRelease, InternalError
    """
    watch = watch or Stopwatch()
    with watch.stage("start"):
        load_code_kernels()
    with watch.stage("protect"):
        protected = disassociate(check_codes(given.codes), request.method)
    released, secret = protected.released, Secret(given.codes, protected.cluster_of, request.method.diversity)
    with watch.stage("verify"):
        verdict = _passed(verify_codes(released, secret))
    with watch.stage("measure"):
        figures = work_out(given, request, protected, reconstruct, seed)
        manifest = describe_codes(given, request, released, verdict, figures.utility, figures.risk)
        frame = data_frame(reconstruct(released, seed), numbered=request.numbered)
    return CodesRelease(
        codebook=codebook_of_codes(released, numbered=request.numbered),
        manifest=_header(given, seed) | manifest | {"seconds": watch.table(), "files": {}},
        custody=Custody(figures.exact | dict(custody or {}), crosswalk(given, protected)),
        clusters=released,
        frame=frame,
        delimiter=given.delimiter,
        _check=lambda found: verify_codes(found, secret),
    )


def _passed(verdict: Verdict) -> Verdict:
    """Return the verdict on our own output, if it holds."""
    if not verdict.holds:
        raise InternalError(f"The release did not pass verification: {'; '.join(verdict.failures)}.")
    return verdict
