"""Protection of code sets on Spark: disassociated there by parts, combined and verified here."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
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
from cloister.shapes.codes.data import CodeSets, GivenCodes
from cloister.shapes.disassociation.format.data import DisassociationRequest, ProtectedCodes
from cloister.shapes.protocol import Original, Run

from .disassociation import ChunkedCodes, DisassociationProtection
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


class DisassociationOnSpark(DisassociationProtection):
    """Code sets that become chunks on Spark: by parts, which are combined and verified here."""

    doing = "disassociating code sets on Spark"
    _blocks: Blocks

    def __init__(
        self,
        source: CodesOnSpark,
        ask: Ask,
        engine: str,
        *,
        seed: int = 0,
        records_a_part: int = RECORDS_A_PART,
        before: Before | None = None,
    ) -> None:
        """Set ``ask``: the function from code sets of one record that contains every code to the request."""
        self.source, self.ask, self.engine, self.seed = source, ask, engine, seed
        self.records_a_part, self.before = records_a_part, before
        self.original, self._opened = Original(None), ExitStack()

    def check(self) -> None:
        """Do nothing: all checks that need no records were made before."""

    def encode(self) -> GivenCodes:
        """Let Spark read the code sets; one record that contains every code is all that is known here."""
        data, engine = self.source.data, self.engine
        with ExitStack() as stack:
            session = stack.enter_context(session_of(data) if is_spark_frame(data) else spark_session(engine))
            self.given, self._blocks = _read_codes(session, self.source)
            stack.callback(forget, self._blocks.frame)
            self.assumptions = self.given.notes
            self.request = _check_request(self.ask(self.given))
            self._opened = stack.pop_all()
        return self.given

    def close(self) -> None:
        """Forget what Spark has read, and end its session."""
        self._opened.close()

    def protect(self, given: GivenCodes, _run: Run) -> ChunkedCodes:
        """Disassociate the code sets, one partition at a time."""
        blocks = self._blocks
        parted = disassociate_blocks(
            blocks, self.request, repeats=given.codes.repeats, records_a_part=self.records_a_part, before=self.before
        )
        # What is left to do where all parts are here is without Spark.
        protected = ProtectedCodes(parted.released, parted.released.sizes[:0].astype("int32"), parted.figures)
        exact = {"records": blocks.n_records + blocks.n_empty, "parts": parted.parts}
        return ChunkedCodes(protected, None, parted.crosswalk, exact)


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
