"""The pipeline of code sets on Spark: disassociated there by parts, combined and verified here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cloister.engines.choice import is_spark_frame
from cloister.engines.spark.code_blocks import Blocks, blocks_of, open_codes, read_opened
from cloister.engines.spark.disassociation import RECORDS_A_PART, Before, disassociate_blocks
from cloister.engines.spark.session import session_of, spark_session
from cloister.engines.spark.tasks import forget
from cloister.errors import InputError, setting
from cloister.io import CodeColumns
from cloister.results import Stopwatch
from cloister.shapes.codes.data import CodeSets, GivenCodes
from cloister.shapes.disassociation.format.data import DisassociationRequest, ProtectedCodes
from cloister.shapes.disassociation.method.release import CodesRelease

from .codes import verified_codes
from .output_paths import IN_MEMORY

Ask = Callable[[GivenCodes], DisassociationRequest]


@dataclass(frozen=True)
class CodesOnSpark:
    """Code sets that Spark can read."""

    data: Any  # a `cloister.engines.spark.tables.SparkFiles`, a Spark frame, or code sets in memory
    columns: CodeColumns = CodeColumns()  # noqa: RUF009  (frozen)
    repeats: bool = False
    drop_empty: bool = False
    missing: Sequence[str] = ()
    with_ids: bool = True  # whether ids are kept for a crosswalk


def protect_codes_on_spark(
    source: CodesOnSpark,
    ask: Ask,
    engine: str,
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
    records_a_part: int = RECORDS_A_PART,
    before: Before | None = None,
) -> CodesRelease:
    """Protect code sets on Spark by disassociation, and return the verified release.

    ``ask``: from code sets of one record that holds every code, which is all that is known here, to what is asked
    """
    watch = watch or Stopwatch()
    with session_of(source.data) if is_spark_frame(source.data) else spark_session(engine) as session:
        with watch.stage("read"):
            given, blocks = _read_codes(session, source)
        try:
            with watch.stage("encode"):
                request = _check_request(ask(given))
            with watch.stage("protect"):
                parted = disassociate_blocks(
                    blocks, request, repeats=given.codes.repeats, records_a_part=records_a_part, before=before
                )
        finally:
            forget(blocks.frame)
    # What is left to do where all parts are here is without Spark.
    protected = ProtectedCodes(parted.released, parted.released.sizes[:0].astype("int32"), parted.figures)
    known = {"records": blocks.n_records + blocks.n_empty, "parts": parted.parts} | dict(custody or {})
    return verified_codes(given, request, protected, None, parted.crosswalk, seed, watch, known)


def _read_codes(session: Any, source: CodesOnSpark) -> tuple[GivenCodes, Blocks]:
    if isinstance(source.data, CodeSets):
        codes = source.data
        with_ids = codes.ids is not None
        blocks = blocks_of(session, codes, with_ids=source.with_ids and with_ids)
        return GivenCodes(_vocabulary(codes.vocabulary, codes.repeats, with_ids)), blocks
    opened = open_codes(session, source.data, source.columns, source.missing)
    form = opened.form
    has_ids = form.columns.id is not None
    blocks = read_opened(opened, repeats=source.repeats, with_ids=source.with_ids and has_ids)
    if blocks.n_empty and not source.drop_empty:
        n_read = blocks.n_records + blocks.n_empty
        forget(blocks.frame)
        raise InputError(
            f"{blocks.n_empty} of {n_read} patients in {form.name} have no code. Leave them out with ",
            setting("drop_empty"),
            file=form.name,
            column=form.columns.codes or form.columns.code,
        )
    skipped = (f"lines of {form.name} without a code were passed over",) if blocks.skipped else ()
    return GivenCodes(
        codes=_vocabulary(blocks.vocabulary, source.repeats, has_ids),
        name=form.name,
        columns=form.columns,
        not_released=form.not_released,
        delimiter=form.delimiter or ",",
        format=form.format,
        n_empty=blocks.n_empty,
        notes=(*form.notes, *skipped),
    ), blocks


def _vocabulary(vocabulary: tuple[str, ...], repeats: bool, has_ids: bool) -> CodeSets:
    """Return one record that contains every code; it represents all records, which stay on Spark."""
    return replace(CodeSets.of_all(vocabulary, repeats=repeats), ids=pl.Series(["1"]) if has_ids else None)


def _check_request(request: DisassociationRequest) -> DisassociationRequest:
    """Reject settings that need all records in one place."""
    if request.policy is not None and request.policy.support is not None:
        raise InputError("Frequent sets (sup:) are not counted on Spark. Take another policy, or ", IN_MEMORY)
    if request.workload is not None:
        raise InputError("Workloads are not answered on Spark. Leave the workload out, or take ", IN_MEMORY)
    return replace(request, accuracy=False)
