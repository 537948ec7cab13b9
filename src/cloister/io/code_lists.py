"""A file -> lists of codes: one record a line (wide), or one code a line (long)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import polars as pl

from cloister.errors import InputError, setting
from cloister.io.columns import (
    CODE_NAMES,
    CODES_NAMES,
    ID_NAMES,
    Header,
    as_text,
    not_released,
    taken_as,
    text_of_codes,
)
from cloister.io.csv import Source
from cloister.io.query import Query
from cloister.io.read import read_table
from cloister.reading import HowRead


@dataclass(frozen=True)
class CodeColumns:
    """Columns of a file of codes; None: the first of the usual names is taken."""

    id: str | None = None
    codes: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class CodeSource:
    """Codes as they were read."""

    # text; wide: all codes of a record, separated by white space; long: one code; null where there is none
    cells: pl.Series
    ids: pl.Series | None  # text; wide: one a record; long: whose code it is; None where the file names no patients
    layout: Literal["wide", "long"]
    columns: CodeColumns
    not_released: tuple[str, ...]
    missing: tuple[str, ...]  # texts that stand for a missing code
    format: Literal["csv", "parquet"]
    delimiter: str | None
    name: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"CodeSource({self.name!r}, {self.layout}, {len(self.cells)} lines)"


def read_code_lists(
    path: str | Path | Query,
    *,
    columns: CodeColumns | None = None,
    usual_delimiter: str | None = None,
    **how: Unpack[HowRead],
) -> CodeSource:
    """The codes in a CSV file (gzip'd or not) or a Parquet file.

    Parameters
    ----------
    path : wide, one record a line: ``id,codes`` or ``codes`` alone, codes separated by spaces;
        long, one code a line: ``id,code``; codes are text always
    columns : which column is what; None, or None within, for the usual names

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "codes.csv")
    ...     _ = path.write_text("id,codes\\n1,001 250.10\\n2,V51\\n")
    ...     source = read_code_lists(path)
    >>> source.layout, source.cells.to_list()
    ('wide', ['001 250.10', 'V51'])
    """
    source = read_table(path, usual_delimiter=usual_delimiter, **how)
    return code_lists(source, columns or CodeColumns(), how.get("missing", ()))


def code_lists(source: Source, wanted: CodeColumns, missing: Sequence[str] = ()) -> CodeSource:
    """The codes of a table that was read."""
    frame, file = source.frame, source.name
    found = _columns(frame.columns, wanted, file)
    taken = [column for column in (found.id, found.codes, found.code) if column is not None]
    rest = tuple(column for column in frame.columns if column not in taken)
    codes = str(found.code or found.codes)
    cells, ids = text_of_codes(frame[codes], file), None if found.id is None else as_text(frame[found.id])
    if ids is not None:
        _check_ids(ids, str(found.id), file, wide=found.code is None)
    if ids is None and rest and not cells.str.contains(r"\S\s+\S").any():
        raise InputError(
            f"Each row of {file} has one code, and no column says whose it is: each would be another patient. Name the "
            f"column that tells patients apart, as {setting('id', rest[0])}, and {setting('code', codes)}. If each row "
            "is a patient, give the column of codes alone.",
            file=file,
        )
    roles = (("id", found.id, wanted.id), ("codes", found.codes, wanted.codes), ("code", found.code, wanted.code))
    notes = taken_as(roles)
    if found.id is None:
        notes.append("there is no id: every line is assumed to be another patient")
    return CodeSource(
        cells=cells,
        ids=ids,
        layout="wide" if found.code is None else "long",
        columns=found,
        not_released=rest,
        missing=tuple(missing),
        format=source.format,
        delimiter=source.delimiter,
        name=file,
        notes=(*source.notes, *notes, *not_released(rest)),
    )


def _columns(present: Sequence[str], wanted: CodeColumns, file: str) -> CodeColumns:
    """Return which column is what; one of ``codes`` and ``code`` is None."""
    header = Header(file, present, (*ID_NAMES, *CODES_NAMES, *CODE_NAMES), "id,codes")
    header.check(wanted.id, wanted.codes, wanted.code)
    if wanted.codes is not None and wanted.code is not None:
        raise InputError(
            f"{setting('codes')} names a column with all codes of a patient, {setting('code')} one with one code. "
            "Give one."
        )
    codes, code = wanted.codes, wanted.code
    if codes is None and code is None:
        codes, code = _first(CODES_NAMES, present), _first(CODE_NAMES, present)
        if codes is not None and code is not None:
            raise InputError(
                f"{file} has a column {codes!r} and a column {code!r}. Name the one to use with {setting('codes')} "
                "(all "
                f"codes of a patient) or {setting('code')} (one code a line).",
                file=file,
            )
    if codes is None and code is None:
        usual = ", ".join((*CODES_NAMES, *CODE_NAMES))
        raise InputError(
            f"{file} has no column of codes: none is called {usual}. Name it with {setting('codes')} or "
            f"{setting('code')}. {header.listed()}",
            file=file,
        )
    identifier = wanted.id or _first(ID_NAMES, present)
    if code is not None and identifier is None:
        raise InputError(
            f"{file} has one code a line, so a column must tell patients apart, but it has none of "
            f"{', '.join(ID_NAMES)}. Name it with {setting('id')}. {header.listed()}",
            file=file,
        )
    if identifier is not None and identifier in (codes, code):
        raise InputError(f"Column {identifier!r} cannot be both the id and the codes.", file=file, column=identifier)
    return CodeColumns(identifier, codes, code)


def _first(names: Sequence[str], present: Sequence[str]) -> str | None:
    return next((name for name in names if name in present), None)


def _check_ids(ids: pl.Series, column: str, file: str, *, wide: bool) -> None:
    if ids.null_count():
        have = "has" if ids.null_count() == 1 else "have"
        first = int(ids.is_null().arg_true()[0]) + 1
        raise InputError(
            f"Column {column!r} of {file} is to tell patients apart, but {ids.null_count()} of {len(ids)} lines "
            f"{have} none (the first is record {first}). Give every patient an id.",
            file=file,
            row=first,
            column=column,
        )
    if wide and (distinct := ids.n_unique()) != len(ids):
        raise InputError(
            f"Every patient has one line of codes, but {file} has {len(ids)} lines and {distinct} distinct values of "
            f"{column!r}. Put all codes of a patient into one line, or give one code a line.",
            file=file,
            column=column,
        )
