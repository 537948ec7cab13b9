"""Whether patients have codes at all: a quasi-identifier of two values, which is never generalized.

Classes then hold patients with codes only or without codes only, k at least. So whoever knows that a patient has none
is left with k candidates as well, and no record that has codes is taken for an empty one.
"""

from dataclasses import replace

import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import encode
from cloister.errors import InputError
from cloister.hierarchy import ROOT, suppress
from cloister.io import CodeColumns, as_text
from cloister.io.code_lists import CodeSource
from cloister.tabular.data import QuasiIdentifier, TableRequest
from cloister.tabular.roles import check_columns

from .data import CodesAsked, ReadCodes

PRESENT = "codes"
"""What stands for any set of codes while the table is protected and verified."""


def presence(cells: pl.Series) -> pl.Series:
    """Return whether each cell holds codes: one word where it does, null where it does not.

    Parameters
    ----------
    cells : text; ``*`` for suppressed records
    """
    shown = pl.when(pl.col("c") == ROOT).then(pl.lit(ROOT)).when(has_codes("c")).then(pl.lit(PRESENT))
    return cells.to_frame("c").select(shown).to_series().alias(cells.name)


def has_codes(column: str) -> pl.Expr:
    """Whether a cell of text holds anything but white space."""
    return pl.col(column).str.contains(r"\S").fill_null(value=False)


def with_presence(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return a table in which the codes are reduced to whether there are any."""
    found = presence(as_text(frame.get_column(column)))
    return pl.DataFrame([found if series.name == column else series for series in frame])


def asking_presence(request: TableRequest, column: str) -> TableRequest:
    """Return the request with the presence of codes as a quasi-identifier that stays as it is and weighs nothing."""
    weights = dict(request.weights) | ({column: 0.0} if request.loss.takes_weights else {})
    return replace(
        request,
        quasi_identifiers={**request.quasi_identifiers, column: QuasiIdentifier(suppress(), 0, 0)},
        weights=weights,
        levels=None if request.levels is None else {**request.levels, column: 0},
    )


def check_column(frame: pl.DataFrame, request: TableRequest, asked: CodesAsked, file: str) -> None:
    """Refuse a column of codes that is not there, or is something else as well.

    Raises
    ------
    InputError
        It is.
    """
    column = asked.column
    check_columns([column], frame.columns, file)
    others = [*request.quasi_identifiers, *request.sensitive, *request.keep, *request.drop]
    others += [*request.microaggregate, *([request.id] if request.id is not None else [])]
    if column in others:
        raise InputError(
            f"Column {column!r} holds the codes and is asked to be something else as well. Give it one role.",
            column=column,
        )


def read_codes(frame: pl.DataFrame, column: str, file: str) -> ReadCodes:
    """Return the codes of the patients that have any.

    Raises
    ------
    InputError
        Nobody has codes, or a code reads as a suppressed record.
    """
    cells = as_text(frame.get_column(column))
    alike = int((cells.str.strip_chars() == ROOT).sum())
    if alike:
        raise InputError(
            f"{alike} cells of column {column!r} of {file} are {ROOT!r}, which stands for suppressed records in a "
            "release. Write the code in another way.",
            file=file,
            column=column,
        )
    source = CodeSource(
        cells=cells,
        ids=None,
        layout="wide",
        columns=CodeColumns(codes=column),
        not_released=(),
        missing=(),
        format="csv",
        delimiter=",",
        name=file,
    )
    encoded = encode(source, drop_empty=True)
    return ReadCodes(CodeSets.of(encoded), encoded.lines, encoded.n_empty)
