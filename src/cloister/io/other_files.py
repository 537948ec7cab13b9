"""Tables in files of Excel, Stata, SPSS and SAS, by readers that the extra ``files`` installs.

Values that all have a label in the file are read as their labels; numbers that are all whole, and times that are all
midnight, are read as whole numbers and days, which these programs do not tell apart.
"""

from datetime import time
from pathlib import Path
from typing import Any

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import as_text, check_names, plain_columns
from cloister.io.csv import Source
from cloister.io.foreign import call_foreign
from cloister.io.text import load_bytes

EXCEL = "Excel"
KINDS = {
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), EXCEL),
    ".dta": "Stata",
    **dict.fromkeys((".sav", ".zsav", ".por"), "SPSS"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "SAS"),
    **dict.fromkeys((".rds", ".rdata", ".rda"), "R"),
}
"""Programs, by how the names of their files end."""

_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_EXACT = 2.0**53


def program_of(path: Path) -> str | None:
    """Return the program whose file this is, by its name; None for text and Parquet."""
    return KINDS.get(path.suffix.lower())


def read_other(path: Path, encoding: str | None) -> Source:
    """The table in a file of another program."""
    program, content = program_of(path), load_bytes(path)  # which says what is wrong with the file itself
    if program == "R":
        raise InputError(
            f"{path.name} is a file of R, which is not read. Write the table in R with write.csv(x, "
            f'"{path.stem}.csv", row.names = FALSE), and give that.',
            file=path.name,
        )
    refusal = InputError(f"{path.name} cannot be read as a file of {program}. Save it as CSV.", file=path.name)
    try:
        reader = _reader(program)
    except ImportError:
        raise InputError(
            f'{path.name} is a file of {program}, for which the extra files is needed: pip install "cloister[files]". '
            "Or save it as CSV.",
            file=path.name,
        ) from None
    if program == EXCEL:
        frame, notes = call_foreign(lambda: _of_excel(reader, content, path.name), refusal)
    else:
        read = getattr(reader, _READERS[path.suffix.lower()])
        frame, notes = call_foreign(lambda: _of_statistics(read, path, encoding), refusal)
    check_names(frame.columns, path.name)
    if not frame.height:
        raise InputError(f"{path.name} has columns but no records.", file=path.name)
    plain = plain_columns(frame, path.name)
    return Source(plain.with_columns(map(_simpler, plain)), "csv", None, None, path.name, notes)


def _reader(program: str | None) -> Any:
    if program == EXCEL:
        import fastexcel

        return fastexcel
    import pyreadstat

    return pyreadstat


def _of_excel(fastexcel: Any, content: bytes, file: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The first sheet of a workbook; all its rows decide what a column holds."""
    book = fastexcel.read_excel(content)
    frame = book.load_sheet(0, schema_sample_rows=None).to_polars()
    n_sheets = len(book.sheet_names)
    return frame, (f"of the {n_sheets} sheets of {file} the first was read",) if n_sheets > 1 else ()


def _of_statistics(read: Any, path: Path, encoding: str | None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    frame, facts = read(str(path), output_format="polars", **({} if encoding is None else {"encoding": encoding}))
    labelled, left = {}, []
    for name, labels in facts.variable_value_labels.items():
        text = as_text(frame[name])
        known = {as_text(pl.Series([value]))[0]: str(label) for value, label in labels.items()}
        if len(set(known.values())) < len(known) or not text.drop_nulls().is_in(list(known)).all():
            left.append(name)
            continue
        labelled[name] = text.replace(known).alias(name)
    notes = []
    if labelled:
        notes.append(f"values were read as their labels in {', '.join(labelled)}")
    if left:
        notes.append(f"values were read as they are, since not all have a label of their own, in {', '.join(left)}")
    return frame.with_columns(*labelled.values()), tuple(notes)


def _simpler(column: pl.Series) -> pl.Series:
    """A column of whole numbers or of days as such."""
    if column.dtype.is_float() and column.null_count() < column.len():
        is_whole = ((column == column.floor()) & (column.abs() < _EXACT)).drop_nulls().all()
        return column.cast(pl.Int64) if is_whole else column
    if isinstance(column.dtype, pl.Datetime) and (column.dt.time().drop_nulls() == time(0)).all():
        return column.cast(pl.Date)
    return column
