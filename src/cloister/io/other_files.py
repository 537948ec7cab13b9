"""Read and write tables of Excel, Stata, SPSS and SAS, with libraries that the extra ``files`` installs.

Values that all have a label in the file are read as their labels; numbers that are all whole, and times that are all
midnight, are read as whole numbers and days, which these programs do not distinguish. What is written has a fixed time
in its head, so that equal tables are equal files.
"""

import itertools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path
from types import ModuleType

import polars as pl
from polars import selectors as cs

from cloister.errors import InputError, name_few
from cloister.io.columns import as_text, check_names, plain_columns
from cloister.io.csv import Source, load_bytes
from cloister.io.foreign import interruptible, translate_errors
from cloister.io.statistics import StatisticsFile, read_apart
from cloister.io.write import write_private

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
_WRITERS = {".dta": "write_dta", ".sav": "write_sav", ".xlsx": None}
_EXACT = 2.0**53
_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-][0-9]{1,2})?$"  # 12E3 may be a code, 1e+05 is a number of R
_SHORT = 15  # Characters before the point of a number that is never rounded to another whole number
_FIRST_DAY = date(1901, 1, 1)  # Excel has no day before 1900, and a 29th of February in it
_LONGEST_NAME = 32
_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{_LONGEST_NAME - 1}}}")
_RESERVED = re.compile(
    "(?i)all|and|by|byte|double|eq|float|ge|gt|if|in|int|le|long|lt|ne|not|or|str(l|[0-9]+)|to|using|with"
)
"""Words of Stata and SPSS."""

_LONGEST_ABOUT = 80  # Characters that Stata keeps of the label of a column
_LONGEST_LABEL = 120  # Bytes that SPSS keeps of the label of a value
_CREATED = (
    (re.compile(rb"(<timestamp>\x11).{17}(?=</timestamp>)"), b"01 Jan 2000 00:00"),
    (re.compile(rb"(?s)(\A\$FL2.{88}).{17}"), b"01 Jan 0000:00:00"),
)  # The time of writing in .dta and .sav files, and its replacement


def program_of(path: Path) -> str | None:
    """Return the program of a file, by the file's name; None for text and Parquet."""
    return KINDS.get(path.suffix.lower())


def read_other(path: Path, encoding: str | None) -> Source:
    """Return the table in a file of Excel, Stata, SPSS or SAS."""
    program, content = KINDS[path.suffix.lower()], load_bytes(path)  # which says what is wrong with the file itself
    if program == "R":
        raise InputError(
            f"{path.name} is a file of R, which is not read. Write the table in R with write.csv(x, "
            f'"{path.stem}.csv", row.names = FALSE), and give that.',
            file=path.name,
        )
    refusal = InputError(f"{path.name} cannot be read as a file of {program}. Save it as CSV.", file=path.name)
    reader = _library("fastexcel" if program == EXCEL else "pyreadstat", path)
    if program == EXCEL:
        frame, notes, labels = translate_errors(lambda: _of_excel(reader, content, path.name), refusal)
    else:
        kind = _READERS[path.suffix.lower()]
        read = translate_errors(lambda: interruptible(lambda: read_apart(kind, str(path), encoding)), refusal)
        frame, notes, labels = _of_statistics(read)
    check_names(frame.columns, path.name)
    if not frame.height:
        raise InputError(f"{path.name} has columns but no records.", file=path.name)
    plain = plain_columns(frame, path.name)
    return Source(plain.with_columns(map(_simpler, plain)), "csv", None, None, path.name, notes, labels=labels)


def _library(name: str, path: Path) -> ModuleType:
    library: ModuleType
    with suppress(ImportError):
        if name == "fastexcel":
            import fastexcel

            library = fastexcel
        elif name == "xlsxwriter":
            import xlsxwriter

            library = xlsxwriter
        else:
            import pyreadstat

            library = pyreadstat
        return library
    raise InputError(
        f"{path.name} is a file of {program_of(path)}, for which the extra files is needed: "
        'pip install "cloister[files]". Or use CSV.',
        file=path.name,
    )


WITHOUT_NAME = "__UNNAMED__"  # how fastexcel calls a column whose header is empty
MOST_TITLES = 20  # rows of a sheet in which the header is looked for

Read = tuple[pl.DataFrame, tuple[str, ...], Mapping[str, str]]
"""A table, notes on how it was read, and labels of its columns."""


def _of_excel(fastexcel: ModuleType, content: bytes, file: str) -> Read:
    """The first sheet of a workbook; all its rows decide what a column holds. Titles above its header are omitted."""
    book = fastexcel.read_excel(content)
    frame = book.load_sheet(0, schema_sample_rows=None).to_polars()
    n_sheets = len(book.sheet_names)
    notes = (f"of the {n_sheets} sheets of {file} the first was read",) if n_sheets > 1 else ()
    if any(name.startswith(WITHOUT_NAME) for name in frame.columns):
        first = book.load_sheet(0, header_row=None, n_rows=MOST_TITLES, dtype_coercion="coerce").to_polars()
        cells = [sum(cell is not None for cell in row) for row in first.iter_rows()]
        at = cells.index(max(cells))
        if at:
            frame = book.load_sheet(0, header_row=at, schema_sample_rows=None).to_polars()
            notes = (*notes, f"{at} rows above the header of {file} were left out")
    labels: dict[str, str] = {}
    return frame, notes, labels


def _of_statistics(read: StatisticsFile) -> Read:
    frame, labelled, left = read.frame, {}, []
    for name, labels in read.value_labels.items():
        text = as_text(frame[name])
        known = {as_text(pl.Series([value]))[0]: label for value, label in labels.items()}
        if len(set(known.values())) < len(known) or not text.drop_nulls().is_in(list(known)).all():
            left.append(name)
            continue
        labelled[name] = text.replace(known).alias(name)
    notes = []
    if labelled:
        notes.append(f"values were read as their labels in {name_few(labelled)}")
    if left:
        notes.append(f"values were read as they are, since not all have a label of their own, in {name_few(left)}")
    return frame.with_columns(*labelled.values()), tuple(notes), read.labels


def _simpler(column: pl.Series) -> pl.Series:
    """A column of whole numbers or of days as such."""
    if column.dtype.is_float() and column.null_count() < column.len():
        is_whole = ((column == column.floor()) & (column.abs() < _EXACT)).drop_nulls().all()
        return column.cast(pl.Int64) if is_whole else column
    if isinstance(column.dtype, pl.Datetime) and (column.dt.time().drop_nulls() == time(0)).all():
        return column.cast(pl.Date)
    return column


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written."""
    if path.suffix.lower() not in _WRITERS:
        raise InputError(f"{path.name} must end in one of {', '.join(_WRITERS)}.", file=path.name)
    _library("xlsxwriter" if program_of(path) == EXCEL else "pyreadstat", path)


def names_there(path: Path, names: Sequence[str]) -> dict[str, str]:
    """Return what columns are called in a file: a name that its program does not allow is spelled as one that it does.

    Examples
    --------
    >>> names_there(Path("x.dta"), ["age", "yrs.since.phd", "int", "AGE", "2nd visit"])
    {'age': 'age', 'yrs.since.phd': 'yrs_since_phd', 'int': 'int_', 'AGE': 'AGE_2', '2nd visit': 'v2nd_visit'}
    """
    if program_of(path) == EXCEL:
        return dict(zip(names, names, strict=True))
    found, used = dict[str, str](), set[str]()
    # Names that are allowed stay, and others give way to them.
    for name in sorted(names, key=lambda name: _NAME.fullmatch(name) is None or _RESERVED.fullmatch(name) is not None):
        plain = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
        word = re.sub(r"[^A-Za-z0-9_]", "_", plain)
        word = (word if word[:1].isalpha() else f"v{word}")[:_LONGEST_NAME]
        word = f"{word}_" if _RESERVED.fullmatch(word) else word
        ends = itertools.chain([""], (f"_{number}" for number in itertools.count(2)))
        spelled = (word[: _LONGEST_NAME - len(end)] + end for end in ends)
        found[name] = next(one for one in spelled if one.lower() not in used)
        used.add(found[name].lower())
    return {name: found[name] for name in names}


def write_other(
    frame: pl.DataFrame, path: Path, labels: Mapping[str, Sequence[str]], about: Mapping[str, str]
) -> dict[str, str]:
    """Write a new file of another program, readable by its owner only; read it back and compare.

    Parameters
    ----------
    frame : columns whose texts are numbers or days are written as such, if that keeps them apart
    labels : by column its texts in their order; Stata and SPSS have them as labels of numbers from 1 on
    about : labels of columns, which workbooks have not

    Returns
    -------
    dict
        The columns that have another name there, and that name.
    """
    check_writable(path)
    program, named = program_of(path), names_there(path, frame.columns)
    changed = {name: other for name, other in named.items() if name != other}
    about = {named[name]: f"{name}: {text}" if name in changed else text for name, text in about.items()}
    about = {name: text[:_LONGEST_ABOUT] for name, text in about.items()}
    labels = {named[name]: texts for name, texts in labels.items()}
    table = pl.DataFrame([typed_texts(as_text(column)) for column in frame.rename(named)])
    refusal = InputError(f"{path.name} cannot be written as a file of {program}. Use CSV.", file=path.name)
    if program == EXCEL:
        as_kept = [pl.Series(one.name, [None if x is None else float(f"{x:.15g}") for x in one], pl.Float64)
                   for one in table.select(cs.float())]  # fmt: skip
        table = table.with_columns(as_kept)
        translate_errors(lambda: _write_workbook(table, path), refusal)
    else:
        values = {
            name: {place: text for place, text in enumerate(texts, 1) if text is not None}
            for name, texts in labels.items()
            if table[name].dtype == pl.String and all(len(text.encode()) <= _LONGEST_LABEL for text in texts)
        }
        coded = table.with_columns(
            pl.col(name).replace_strict({text: place for place, text in known.items()}, return_dtype=pl.Int32)
            for name, known in values.items()
        )
        write = getattr(_library("pyreadstat", path), str(_WRITERS[path.suffix.lower()]))
        translate_errors(
            lambda: write(coded, str(path), column_labels=dict(about), variable_value_labels=values), refusal
        )
    content = path.read_bytes()
    for pattern, moment in _CREATED:
        content = pattern.sub(rb"\g<1>" + moment, content, count=1)
    path.unlink()
    write_private(path, content)
    found = read_other(path, None).frame
    for column in table:
        if column.name not in found.columns or not as_text(found[column.name]).equals(as_text(column)):
            raise InputError(
                f"Column {column.name!r} does not come back as it is from a file of {program}: some of its texts are "
                "too long, or end in spaces. Use CSV.",
                file=path.name,
                column=column.name,
            )
    return changed


def typed_texts(text: pl.Series) -> pl.Series:
    """Convert text to numbers and days; never where two texts would become equal, or a code would lose its zeros."""
    present = text.drop_nulls()
    if present.str.contains(_NUMBER).all():
        numbers = text.cast(pl.Float64)
        # with as many decimals, or none that says nothing: 250.1 and 250.10 may be two codes
        are_alike = present.str.replace(r"^[^.]*", "").str.len_chars().n_unique() <= 1
        are_alike |= not present.str.contains(r"\.[0-9]*0$").any()
        are_short = (present.str.extract("^(-?[0-9]+)").str.len_chars() <= _SHORT).all()
        are_kept = are_alike and numbers.n_unique() == text.n_unique() and are_short
        return _simpler(numbers) if are_kept or as_text(numbers).equals(text) else text
    days = text.str.to_date("%Y-%m-%d", strict=False)
    is_day = as_text(days).equals(text) and (present >= _FIRST_DAY.isoformat()).all()
    return days if is_day else text


def _write_workbook(table: pl.DataFrame, path: Path) -> None:
    """One sheet, in which no text is run as a formula or becomes a link."""
    kept = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
    book = _library("xlsxwriter", path).Workbook(str(path), kept | {"default_date_format": "yyyy-mm-dd"})
    book.set_properties({"created": datetime(2000, 1, 1)})
    sheet = book.add_worksheet("data")
    for place, column in enumerate(table):
        sheet.write_column(0, place, [column.name, *column])
    book.close()
