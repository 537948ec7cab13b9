"""Verification of a table whose codes are generalized inside its classes, in memory; of its folder see `recheck`.

What the release shows is checked by SQL (`statements`). Here it is compared with the original, record by record.
"""

from dataclasses import dataclass, replace

import polars as pl

from cloister.kernels.ragged import owners
from cloister.results import Checks, Verdict
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table_with_codes.format.terms import CLASS, CODE, NO_TERM, ROW, TERM, ReleasedTerms
from cloister.verification.script import note

from .statements import find_broken_terms

HOW = "sets of terms were counted again by SQL in every class"


@dataclass(frozen=True, eq=False, repr=False)
class PromisedTerms:
    """What is promised of the codes of a table: their column, k and m, and whether some may be suppressed."""

    column: str
    k: int
    m: int
    may_suppress: bool


def verify_terms(
    table: Verdict, frame: pl.DataFrame, promised: Guarantee, asked: PromisedTerms, secret: CodeSets
) -> Verdict:
    """Return the verdict on a table with terms in memory, given the verdict on the table.

    The secret is the true codes of the rows that have any, in their order.
    """
    checks = Checks()
    checks.done += table.checks
    checks.failures += table.failures
    if not checks.failures and note(checks, find_broken_terms(frame, promised, asked.column, asked.k, asked.m)):
        released = terms_in(frame, asked.column, promised)
        same = released.rows.height == secret.n_records
        if same:
            names = pl.Series(CODE, secret.vocabulary, dtype=pl.String).gather(secret.items)
            codes = pl.DataFrame([pl.Series(ROW, owners(secret.offsets)), names])
            own = released.rows.select(CLASS).with_row_index(ROW).with_columns(pl.col(ROW).cast(pl.Int64))
            expected = derive_cells(own, codes, released)
            is_complete = asked.may_suppress or bool(expected["is_complete"].all())
            of_class = codes.join(own, on=ROW).select(CLASS, CODE).unique()
            strange = released.members.join(of_class, on=[CLASS, CODE], how="anti").height
            same = expected["cell"].equals(released.rows["cell"]) and is_complete and not strange
        checks.require(same, "every record has the terms of its codes, and no term names a code of nobody in its class")
    return replace(checks.verdict(f"{table.how}; {HOW}"), unchecked=table.unchecked)


def terms_in(frame: pl.DataFrame, column: str, promised: Guarantee) -> ReleasedTerms:
    """Return the terms of a table, by classes of its quasi-identifiers."""
    return ReleasedTerms.of(frame, column, [name for name in promised.levels if name != column])


def derive_cells(records: pl.DataFrame, codes: pl.DataFrame, released: ReleasedTerms) -> pl.DataFrame:
    """Return what the terms make of records, in their order: the cell, and whether all codes are in its terms.

    ``records``: number and class of each; ``codes``: number of the record and code, one a row
    """
    known = codes.join(records, on=ROW).join(released.members, on=[CLASS, CODE], how="left")
    first = released.members.group_by(CLASS, TERM).agg(pl.col(CODE).min().alias("first"))
    terms = known.drop_nulls(TERM).unique([ROW, TERM]).join(first, on=[CLASS, TERM]).sort(ROW, "first")
    cells = terms.group_by(ROW, maintain_order=True).agg(pl.col(TERM).str.join(" ").alias("cell"))
    lost = known.filter(pl.col(TERM).is_null())[ROW].unique()
    joined = records.join(cells, on=ROW, how="left", maintain_order="left")
    return joined.select(pl.col("cell").fill_null(NO_TERM), ~pl.col(ROW).is_in(lost.implode()).alias("is_complete"))
