"""The pipeline of a table with a column of code sets: protect the table, then the codes inside its classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import polars as pl

from cloister.errors import InputError
from cloister.io import Source, Tally, as_text
from cloister.io.foreign import interruptible
from cloister.release.head import WITH_CODES
from cloister.results import Stopwatch, Verdict
from cloister.search.problem import Report
from cloister.shapes.codes.data import CodeSets, GivenCodes
from cloister.shapes.disassociation.format.data import Disassociation
from cloister.shapes.disassociation.format.facts import count_sets
from cloister.shapes.disassociation.format.manifest import NO_SETS, MethodSettings, method_settings
from cloister.shapes.disassociation.method.protect import load_kernels
from cloister.shapes.disassociation.method.release import exact_figures
from cloister.shapes.disassociation.verify.verify import DisassociationSecret
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.method.data import TableRequest
from cloister.shapes.table_with_codes.format.data import (
    CodesRequested,
    derive_with_codes,
    describe_codes,
    read_codes,
    with_presence,
)
from cloister.shapes.table_with_codes.method.protect import TableWithCodesRelease, protect_codes_of, record_codes
from cloister.shapes.table_with_codes.method.request import asking_presence, check_column, k_of
from cloister.shapes.table_with_codes.verify.verify import verify_both

from .provenance import require_verified
from .tables import take_table


@dataclass(frozen=True, repr=False)
class CheckOfBoth:
    """Check a protected table with its codes: the table with codes reduced to their presence, and then the codes."""

    of_table: Callable[[Tally], Verdict]
    promised: Guarantee
    column: str
    secret: DisassociationSecret

    def __call__(self, frame: pl.DataFrame, released: Disassociation) -> Verdict:
        """Return the verdict on a table with codes."""
        of_table = self.of_table(Tally(with_presence(frame, self.column)))
        return verify_both(of_table, frame, self.promised, self.column, released, self.secret)


def protect_table_with_codes(
    source: Source,
    request: TableRequest,
    asked: CodesRequested,
    *,
    seed: int = 0,
    progress: Report | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
) -> TableWithCodesRelease:
    """Protect a table with codes, and return the verified release."""
    watch = watch or Stopwatch()
    asked.request(k_of(request))
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("encode"):
        check_column(source.frame, request, asked, source.name)
        read = read_codes(source.frame, asked, source.name)
        reduced = replace(source, frame=with_presence(source.frame, asked.column, asked.missing))
    table_run = take_table(
        reduced,
        asking_presence(request, asked.column),
        watch,
        progress=progress,
        codes=record_codes(read, source.frame.height),
    )
    with watch.stage("protect"):
        both = interruptible(lambda: protect_codes_of(table_run.protected, table_run.request, read, asked, seed))
    released = both.protected.released
    secret = DisassociationSecret(both.codes, both.protected.cluster_of)
    with watch.stage("verify"):
        check = CheckOfBoth(table_run.check, guarantee_of(table_run.derived.stated), asked.column, secret)
        require_verified(check(both.frame, released))
    with watch.stage("measure"):
        method = asked.request(released.k, both.policy)
        exact = exact_figures(GivenCodes(both.codes), method, both.protected, seed)
        settings = MethodSettings.model_validate(
            method_settings(method, None if both.policy is None else both.policy.spec)
        )
        sets = NO_SETS if both.policy is None else count_sets(released, both.policy.item_numbers(both.codes))
        derived = derive_with_codes(table_run.derived, asked.column, released, settings, sets)
    return table_run.release(
        TableWithCodesRelease,
        source.name,
        seed=seed,
        watch=watch,
        custody={WITH_CODES: exact, **(custody or {})},
        format=source.format,
        delimiter=source.delimiter,
        derived=derived,
        also={WITH_CODES: describe_codes(asked, settings)},
        data=both.frame,
        frame=both.frame,
        clusters=released,
        _check_both=check,
    )


def with_codes(table: Source, identifier: str | None, codes: CodeSets, name: str, file: str) -> Source:
    """Return a table with a column of codes, separated by spaces; empty for patients without codes.

    ``identifier`` is the column of the table that tells patients apart; the codes of another file have ids of patients.
    """
    if identifier is None or codes.ids is None:
        lacking = table.name if identifier is None else file
        raise InputError(f"Codes are joined to a table by the ids of patients, but {lacking} has none. Name its id.")
    if identifier not in table.frame.columns:
        raise InputError(f"The id column {identifier!r} is not in {table.name}.", file=table.name, column=identifier)
    if name in table.frame.columns:
        raise InputError(
            f"{table.name} has a column {name!r}, and there is a source of that name. Rename one of them.",
            file=table.name,
            column=name,
        )
    ids = as_text(table.frame[identifier])
    own = as_text(codes.ids)
    strangers = int((~own.is_in(ids.drop_nulls().unique().implode())).sum())
    if strangers:
        raise InputError(
            f"{strangers:,} of {len(own):,} patients of {file} are not in {table.name}. Leave them out, or add them.",
            file=file,
        )
    cells = pl.DataFrame({"id": own, name: texts_of(codes)})
    joined = pl.DataFrame({"id": ids}).join(cells, on="id", how="left", maintain_order="left")
    return replace(table, frame=table.frame.with_columns(joined[name]))


def texts_of(codes: CodeSets) -> pl.Series:
    """Return the codes of each patient, separated by spaces."""
    vocabulary, starts = codes.vocabulary, codes.offsets.tolist()
    items = codes.items.tolist()
    rows = (items[start:end] for start, end in pairwise(starts))
    return pl.Series("codes", [" ".join(vocabulary[item] for item in row) for row in rows], dtype=pl.String)
