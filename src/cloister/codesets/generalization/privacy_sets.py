"""Privacy policies as they are given: sets of codes as objects, in words or in files; nothing is reduced here.

The verifier reads them with this file too, so that it imports no kernels.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from cloister.codesets.data import CodeSets, encode
from cloister.codesets.policy import read_policy_file
from cloister.errors import InputError, setting
from cloister.io import Source, as_text, read_table
from cloister.io.codes import CodeColumns, code_lists
from cloister.io.columns import CODE_NAMES, CODES_NAMES, ID_NAMES
from cloister.reading import ReadingWords, how_read

from .data import ALL, RECORDS, VISITS, PrivacySets, Sets

DIGITS = 10
"""Digits of a number of codes that nobody knows."""


@dataclass(frozen=True)
class VisitsFile:
    """How a file of visits is read; what is None is found out.

    ``visit`` tells visits apart; ``codes`` or ``code``, with all codes of a visit or one, may be missing from the file.
    """

    visit: str | None = None
    codes: str | None = None
    code: str | None = None
    reading: ReadingWords = ReadingWords()  # noqa: RUF009  (frozen)


def size_in(words: str) -> int | None:
    """Return m of ``all:m``, which stands for all sets of up to m codes; None where words are of another policy."""
    kind, _, rest = words.partition(":")
    if kind != ALL or kind == words:
        return None
    if not (rest.isascii() and rest.isdigit() and 0 < len(rest) < DIGITS) or int(rest) < 1:
        raise InputError(f"The privacy policy {words!r} needs a whole number from 1 on after the colon, as in all:2.")
    return int(rest)


def sets_in(words: str, codes: CodeSets | None, read_as: VisitsFile | None = None) -> PrivacySets:
    """Return the sets of ``records``, ``visits:FILE`` or a JSON file."""
    kind, colon, rest = words.partition(":")
    if words != RECORDS:
        return sets_of_visits(rest, read_as) if colon and kind == VISITS else sets_of_json(words)
    if codes is None:
        raise InputError(
            "The privacy policy records is all codes of each patient, which only the original has. Give it with "
            f"{setting('original')}."
        )
    return sets_of_records(codes)


VISIT_NAMES = ("visit_id", "visit", "encounter_id", "visit_occurrence_id")
"""Names that a column telling visits apart is looked for by, the likeliest first."""

VISIT = "visit of each line"


def sets_of(given: Iterable[Iterable[str]], spec: str) -> PrivacySets:
    """Return sets of codes; codes that do not occur in the data are allowed."""
    sets = [set(codes) for codes in given]
    if not sets or not all(sets):
        empty = sum(not codes for codes in sets)
        raise InputError(
            f"A privacy policy needs sets of codes, but {empty} of {len(sets)} have none. Leave them out."
            if sets
            else "A privacy policy needs at least one set of codes."
        )
    vocabulary = tuple(sorted(set().union(*sets)))
    number = {code: place for place, code in enumerate(vocabulary)}
    return PrivacySets(vocabulary, Sets.of([number[code] for code in codes] for codes in sets), spec)


def sets_of_json(path: str | Path) -> PrivacySets:
    """Read a policy: a list of lists of codes."""
    path = Path(path)
    return sets_of(read_policy_file(path, "privacy"), path.name or str(path))


def sets_of_visits(path: str | Path, read_as: VisitsFile | None = None) -> PrivacySets:
    """Read codes that were recorded together: one visit a line, or one code a line.

    Patients' ids are not looked at where each visit is a line.
    """
    asked = read_as or VisitsFile()
    if str(path) in ("", "."):
        raise InputError("The privacy policy visits: names no file, as in visits:visits.csv.")
    source = read_table(path, **how_read(asked.reading))
    columns = _columns(source, asked)
    if columns.codes is not None:
        source = replace(source, frame=_lines(source, columns.codes, asked.visit))
    found = encode(code_lists(source, columns, asked.reading.missing), drop_empty=True).codes
    return PrivacySets(found.vocabulary, Sets(found.offsets, found.items), f"{VISITS}:{source.name}")


def sets_of_records(codes: CodeSets) -> PrivacySets:
    """All the codes of each patient."""
    return PrivacySets(codes.vocabulary, Sets(codes.offsets, codes.items), RECORDS)


def _lines(source: Source, codes: str, visit: str | None) -> pl.DataFrame:
    if visit is None or source.frame[codes].dtype.is_float():
        return source.frame.select(codes)
    ids = as_text(source.frame[visit])
    absent = int((ids.is_null() | (ids == "")).sum())
    if absent:
        lines = "line has" if absent == 1 else "lines have"
        raise InputError(
            f"{absent} {lines} no {visit!r} in {source.name}, so that it cannot be told which visit they are of. Write "
            "one on each.",
            file=source.name,
            column=visit,
        )
    frame = pl.DataFrame({VISIT: ids, codes: as_text(source.frame[codes])})
    return frame.group_by(VISIT, maintain_order=True).agg(pl.col(codes).str.join(" ")).select(codes)


def _columns(source: Source, asked: VisitsFile) -> CodeColumns:
    """Which column holds codes, and where each has a line which one tells visits apart."""
    present, name = source.frame.columns, source.name
    if asked.visit is not None and asked.visit not in present:
        message = f"Column {asked.visit!r} was asked for with {setting('visit')}, but {name} has no such column."
        raise InputError(message, file=name, column=asked.visit)
    named = [(asked.codes, True), (asked.code, False)]
    usual = [*((column, True) for column in CODES_NAMES), *((column, False) for column in CODE_NAMES)]
    column, is_wide = next(((column, wide) for column, wide in (*named, *usual) if column in present), (None, False))
    if column is None:
        raise InputError(
            f"{name} has no column of codes: none is called {', '.join((*CODES_NAMES, *CODE_NAMES))}, or as in the "
            "data. Rename it.",
            file=name,
        )
    if is_wide:
        return CodeColumns(codes=column)
    visit = asked.visit or next((one for one in (*VISIT_NAMES, *ID_NAMES) if one in present), None)
    if visit is None:
        raise InputError(
            f"{name} has one code a line, so a column must tell visits apart, but it has none of "
            f"{', '.join((*VISIT_NAMES, *ID_NAMES))}. Name it with {setting('visit')}.",
            file=name,
        )
    return CodeColumns(id=visit, code=column)
