"""Privacy policies as they are stated: sets of codes in a file, or of each patient; nothing is reduced here.

The verifier reads policies with this file, so that it imports no kernels.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import encode
from cloister.errors import InputError
from cloister.io import as_text
from cloister.io.code_lists import CodeColumns, code_lists
from cloister.io.columns import CODE_NAMES, CODES_NAMES, ID_NAMES
from cloister.io.read import Source, read_table

from .data import Sets, VisitsFile

VISIT_NAMES = ("visit_id", "visit", "encounter_id", "visit_occurrence_id")
"""Names that a column telling visits apart is looked for by, the likeliest first."""

VISIT = "visit of each line"

RECORDS, VISITS, ALL = "records", "visits", "all"
"""Words that a policy begins with where it is no JSON file."""


@dataclass(frozen=True, eq=False, repr=False)
class StatedSets:
    """Sets of codes as a policy states them.

    Attributes
    ----------
    vocabulary : the codes that are named, in the order of their UTF-8 bytes
    sets : positions in the vocabulary, in the order in which the policy has them
    spec : where they came from, as on the command line
    m : None; sets of all m codes are not stated one by one
    """

    vocabulary: tuple[str, ...]
    sets: Sets
    spec: str
    m: int | None = None

    def __repr__(self) -> str:
        return f"StatedSets({self.spec!r}, {len(self.sets)} sets)"


def sets_of(given: Iterable[Iterable[str]], spec: str) -> StatedSets:
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
    return StatedSets(vocabulary, Sets.of([number[code] for code in codes] for codes in sets), spec)


def sets_of_json(path: str | Path) -> StatedSets:
    """Read a policy: a list of lists of codes."""
    path = Path(path)
    name = path.name or str(path)
    content = _content(path, name)
    problem = None
    if not isinstance(content, list) or not all(isinstance(codes, list) for codes in content):
        problem = "is not a list of lists of codes"
    elif not all(isinstance(code, str) for codes in content for code in codes):
        problem = "has codes that are not text; write them in quotes"
    if problem is not None:
        message = f'The privacy policy {name} {problem}, as in [["401.0", "480.1"], ["296.00"]].'
        raise InputError(message, file=name)
    return sets_of(content, name)


def sets_of_visits(path: str | Path, read_as: VisitsFile | None = None) -> StatedSets:
    """Read codes that were recorded together: one visit a line, or one code a line."""
    asked = read_as or VisitsFile()
    if str(path) in ("", "."):
        raise InputError("The privacy policy visits: names no file, as in visits:visits.csv.")
    source = read_table(path, encoding=asked.encoding, delimiter=asked.delimiter, missing=asked.missing)
    return _visits(source, asked)


def sets_of_records(codes: CodeSets) -> StatedSets:
    """All the codes of each patient."""
    return StatedSets(codes.vocabulary, Sets(codes.offsets, codes.items), RECORDS)


def _visits(source: Source, asked: VisitsFile) -> StatedSets:
    """Visits of a file; patients' ids are not looked at where each visit is a line."""
    columns = _columns(source, asked)
    if columns.codes is not None:
        source = replace(source, frame=_lines(source, columns.codes, asked.visit))
    found = encode(code_lists(source, columns, asked.missing), drop_empty=True)
    return StatedSets(found.vocabulary, Sets(found.offsets, found.items), f"{VISITS}:{source.name}")


def _lines(source: Source, codes: str, visit: str | None) -> pl.DataFrame:
    """The codes of each line, or of all lines of a visit where a column tells visits apart."""
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
        message = f"Column {asked.visit!r} was asked for with --visit, but {name} has no such column."
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
            f"{', '.join((*VISIT_NAMES, *ID_NAMES))}. Name it with --visit.",
            file=name,
        )
    return CodeColumns(id=visit, code=column)


def _content(path: Path, name: str) -> Any:
    reason = "cannot be read"
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        reason = "is not there; a policy is a JSON file, all:2, visits:FILE or records"
    except IsADirectoryError:
        reason = "is a folder; a policy is a JSON file, all:2, visits:FILE or records"
    except OSError:
        pass
    except (ValueError, RecursionError):
        reason = "is not JSON"
    raise InputError(f"The privacy policy {name} {reason}.", file=name)
