"""Lists of codes -> numbered sets: a vocabulary in order, and the items of each record."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.io import CodeSource

Keys = NDArray[np.int64]

MARK = "#"
"""Stands between a code and the number of its occurrence where diagnoses repeat."""

NUMBERED = re.compile(rf"(.+){MARK}([1-9][0-9]{{0,8}})", re.DOTALL)  # A code with the number of its occurrence
RECORDS_AT_ONCE = 1 << 20  # Records that are split into codes at a time, so that the text of all is never held twice


def plain_code(code: str, *, repeats: bool) -> str:
    """Return a code as users name it: where diagnoses repeat, without the number of the occurrence.

    Examples
    --------
    >>> plain_code("250.01#2", repeats=True), plain_code("250.01", repeats=False)
    ('250.01', '250.01')
    """
    return code.rpartition(MARK)[0] if repeats else code


def occurrence(code: str) -> tuple[str, int] | None:
    """Return a numbered code and which occurrence of it is meant, from 1; None where none is numbered.

    Examples
    --------
    >>> occurrence("250.01#2"), occurrence("250.01"), occurrence("250.01#02")
    (('250.01', 2), None, None)
    """
    found = NUMBERED.fullmatch(code)
    return None if found is None else (found[1], int(found[2]))


def occurrences(vocabulary: Sequence[str]) -> tuple[Keys, Keys]:
    """Return where the first occurrence of each numbered code stands, and which one it is; 0 where none is numbered.

    Examples
    --------
    >>> [numbers.tolist() for numbers in occurrences(["250.01#1", "250.01#2", "401.9#1"])]
    [[0, 0, 2], [1, 2, 1]]
    """
    found = [occurrence(code) or (code, 0) for code in vocabulary]
    first: dict[str, int] = {}
    unit = [first.setdefault(code, place) for place, (code, _) in enumerate(found)]
    return np.array(unit, dtype=np.int64), np.array([number for _, number in found], dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class CodesByRecord:
    """Codes by record, with repetitions."""

    names: list[str]  # the codes, in the order of their UTF-8 bytes
    keys: Keys  # record * number of codes + code, ascending
    n_records: int  # how many records were read, those without codes among them
    ids: pl.Series | None
    notes: tuple[str, ...] = ()


def codes_by_record(source: CodeSource) -> CodesByRecord:
    """Return the codes of each record as they were read; whether they can be written is for `check_writable`."""
    if source.layout == "wide":
        names = _in_order(pl.concat([words.unique() for _, words in _slices(source)]).unique())
        kind, width = pl.Enum(names), max(1, len(names))
        parts = [
            np.sort(part * RECORDS_AT_ONCE * width + _keys(record, words, kind, width))
            for part, (record, words) in enumerate(_slices(source))
        ]
        keys = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return CodesByRecord(names, keys, len(source.cells), source.ids)
    if source.ids is None:
        raise ValueError("one code a line needs ids")
    cells = source.cells.str.strip_chars()
    present = cells.is_not_null() & (cells != "") & ~cells.is_in(source.missing)
    ids = source.ids.unique().sort()
    record = (source.ids.rank("dense") - 1).filter(present)
    codes = cells.filter(present)
    names = _in_order(codes.unique())
    keys = np.sort(_keys(record, codes, pl.Enum(names), max(1, len(names))))
    n_without = len(cells) - len(codes)  # not published: it bounds how many patients have no code
    notes = (f"lines of {source.name} without a code were passed over",) if n_without else ()
    return CodesByRecord(names, keys, len(ids), ids, notes)


def counted_once(names: list[str], keys: Keys, *, repeats: bool) -> tuple[list[str], Keys]:
    """Return names and keys without repetitions: each code once a record, or its n-th occurrence an item of its own."""
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    if not repeats:
        return names, keys[is_first]
    first = np.flatnonzero(is_first)
    occurrence = np.arange(len(keys)) - np.repeat(first, np.diff(first, append=len(keys)))
    record, code = np.divmod(keys, max(1, len(names)))
    most = int(occurrence.max(initial=0)) + 1
    pairs, item = np.unique(code * most + occurrence, return_inverse=True)
    spelled = [f"{names[pair // most]}{MARK}{pair % most + 1}" for pair in pairs.tolist()]
    order = sorted(range(len(spelled)), key=lambda number: spelled[number].encode())
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [spelled[number] for number in order], np.sort(record * len(order) + rank[item])


def _slices(source: CodeSource) -> Iterator[tuple[pl.Series, pl.Series]]:
    """For some records at a time, the record of each code and the code."""
    for start in range(0, len(source.cells), RECORDS_AT_ONCE):
        cells = source.cells.slice(start, RECORDS_AT_ONCE)
        # Where single spaces separate codes, as in most files, splitting is faster.
        odd = cells.str.contains(r"[^\S ]|  |^ | $").any()
        words = cells.str.extract_all(r"\S+") if odd else cells.str.split(" ")
        record = pl.Series(np.arange(len(words))).repeat_by(words.list.len().fill_null(0))
        codes = words.explode(empty_as_null=False, keep_nulls=False)
        record = record.explode(empty_as_null=False, keep_nulls=False)
        absent = codes.is_in(source.missing)
        yield (record.filter(~absent), codes.filter(~absent)) if absent.any() else (record, codes)


def _keys(record: pl.Series, words: pl.Series, kind: pl.Enum, width: int) -> Keys:
    keys: Keys = record.to_numpy().astype(np.int64) * width + words.cast(kind).to_physical().to_numpy()
    return keys


def _in_order(distinct: pl.Series) -> list[str]:
    return [str(name) for name in distinct.drop_nulls().sort()]


def check_writable(names: list[str], source: CodeSource, *, repeats: bool) -> None:
    """Refuse codes that could not be told apart in the released file."""
    column = source.columns.codes or source.columns.code
    codes = pl.Series(names, dtype=pl.String)
    if codes.str.contains("\0", literal=True).any():
        message = f"Column {column!r} holds a NUL character, which CSV cannot. Remove it."
        raise InputError(message, file=source.name, column=column)
    spaced = int(codes.str.contains(r"\s").sum())
    if spaced:
        raise InputError(
            f"{spaced} of {len(names)} distinct codes of column {column!r} have white space inside, which separates "
            "codes in a release. Write codes without it.",
            file=source.name,
            column=column,
        )
    marked = int(codes.str.contains(MARK + r"\d+$").sum()) if repeats else 0
    if marked:
        raise InputError(
            f"{marked} of {len(names)} distinct codes of column {column!r} end in {MARK} and a number, which is "
            f"how repeated codes are written. Rename them, or protect without {setting('repeats')}.",
            file=source.name,
            column=column,
        )
