"""What the report shows of claims beside their manifest: labels of both files, and classes of patients."""

import polars as pl

from cloister.report_figures import Counted, Shown, label_counts

from .data_file import CLAIMS, IDENTIFIER, PATIENTS, QUASI, ClaimsForm, WrittenClaims


def shown_of(files: WrittenClaims, form: ClaimsForm, k: int) -> Shown:
    """Return what is shown of patients and claims.

    Classes are those of patients with the same quasi-identifiers of their own; claims make patients stand out further.
    """
    known = form.names(PATIENTS, QUASI)
    alike = files.patients.group_by(known).len()["len"] if known else pl.Series([files.patients.height])
    return Shown(
        k=k,
        sizes=alike,
        of="patients",
        by="the size of their class, by quasi-identifiers of patients alone",
        columns=tuple(
            Counted(table, column, table, label_counts(files.of(table)[column]))
            for table in (PATIENTS, CLAIMS)
            for column in form.names(table, QUASI)
        ),
        files={table: files.of(table).drop(form.names(table, IDENTIFIER)) for table in (PATIENTS, CLAIMS)},
    )
