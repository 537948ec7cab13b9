"""Code sets as read and numbered: the input of every method."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.io import CodeColumns, CodeSource, Query, Source, code_lists, from_native, read_table
from cloister.io.attributes import AttributesTable, join_attributes
from cloister.io.codes import split_at
from cloister.kernels.ragged import starts_of
from cloister.settings.reading import HowRead
from cloister.sources import read_code_lists

Keys = NDArray[np.int64]

MARK = "#"
"""Stands between a code and the number of its occurrence where diagnoses repeat."""

NUMBERED = re.compile(rf"(.+){MARK}([1-9][0-9]{{0,8}})", re.DOTALL)  # A code with the number of its occurrence
RECORDS_AT_ONCE = 1 << 20  # Records that are split into codes at a time, so that the text of all is never held twice
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]  # Item numbers: positions of codes in the vocabulary
LARGEST = 2**31 - 1  # The largest number that a request may state
ID, CODES = "id", "codes"


def plain_code(code: str, *, repeats: bool) -> str:
    """Return a code as users name it: without the number of its occurrence if diagnoses repeat.

    Examples
    --------
    >>> plain_code("250.01#2", repeats=True), plain_code("250.01", repeats=False)
    ('250.01', '250.01')
    """
    return code.rpartition(MARK)[0] if repeats else code


def occurrence(code: str) -> tuple[str, int] | None:
    """Return a numbered code and the number of its occurrence, from 1; None for codes without a number.

    Examples
    --------
    >>> occurrence("250.01#2"), occurrence("250.01"), occurrence("250.01#02")
    (('250.01', 2), None, None)
    """
    found = NUMBERED.fullmatch(code)
    return None if found is None else (found[1], int(found[2]))


def occurrences(vocabulary: Sequence[str]) -> tuple[Keys, Keys]:
    """Return the place of the first occurrence of each numbered code, and the occurrence; 0 for codes without a number.

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
    """Return the codes of each record as read; `check_writable` checks whether they can be written."""
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
    """Return names and keys without repetitions: each code once per record, or each occurrence as a separate item."""
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
    """Reject codes that would be indistinguishable in the released file."""
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
            "how repeated codes are written. Rename them, or protect without ",
            setting("repeats"),
            file=source.name,
            column=column,
        )


@dataclass(frozen=True, eq=False, repr=False)
class CodeSets:
    """Nonempty sets of codes, one per patient.

    Attributes
    ----------
    vocabulary : the codes that occur or may occur, without repetition, in the order of their UTF-8 bytes
    offsets : (n_records + 1,) int64, where each record's codes begin in ``items``
    items : (n_occurrences,) int32, positions in the vocabulary, ascending within a record
    ids : (n_records,) the patients' ids, if there are any; never released
    repeats : whether the codes are numbered occurrences, ``250.01#1``, ``250.01#2`` (Loukides et al. 2014, section 7.1)

    Examples
    --------
    >>> codes = CodeSets.from_records([["250.00", "401.9"], ["401.9"]])
    >>> codes.n_records, codes.n_codes, codes.supports().tolist()
    (2, 2, [1, 2])
    """

    vocabulary: tuple[str, ...]
    offsets: Integers
    items: Codes
    ids: pl.Series | None = None
    repeats: bool = False

    def __repr__(self) -> str:
        return f"CodeSets({self.n_records} records, {self.n_codes} codes, {self.items.size} occurrences)"

    @classmethod
    def from_records(
        cls,
        records: Iterable[Iterable[str]] | Mapping[str, Iterable[str]],
        ids: pl.Series | None = None,
        *,
        repeats: bool = False,
    ) -> "CodeSets":
        """Make code sets from lists of codes; repeated codes count once, or are numbered if ``repeats``.

        A text is several codes, separated as in a file: by spaces, commas, semicolons or bars. A mapping is from ids to
        the codes of each patient.
        """
        if isinstance(records, Mapping):
            ids, records = pl.Series([str(key) for key in records]), list(records.values())
        records = [_of_text(record) if isinstance(record, str) else record for record in records]
        counts = [Counter(record) for record in records]
        sets = [
            {f"{code}{MARK}{n}" for code in found for n in range(1, found[code] + 1)} if repeats else {*found}
            for found in counts
        ]
        for row, codes in enumerate(sets, start=1):
            if not codes:
                raise InputError(f"Record {row} has no codes. Leave such patients out.", row=row)
        if ids is not None and len(ids) != len(sets):
            raise InputError(f"There are {len(ids)} ids for {len(sets)} records. Give one a record.")
        vocabulary = tuple(sorted(set().union(*sets)))
        position = {code: number for number, code in enumerate(vocabulary)}
        offsets = starts_of([len(codes) for codes in sets])
        items = [number for codes in sets for number in sorted(position[code] for code in codes)]
        return cls(vocabulary, offsets, np.array(items, dtype=np.int32), ids, repeats)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        id: str | None = None,  # noqa: A002  (as the option is called)
        codes: str | None = None,
        code: str | None = None,
        separator: str | None = None,
        repeats: bool = False,
        drop_empty: bool = False,
    ) -> "CodeSets":
        """Make code sets from a dataframe: one row per patient (``codes``), or one code per row (``id`` and ``code``).

        Examples
        --------
        >>> import polars as pl
        >>> visits = pl.DataFrame({"patient": [7, 7, 8], "icd": ["I10", "E11.9", "I10"]})
        >>> CodeSets.from_frame(visits, id="patient", code="icd").supports().tolist()
        [1, 2]
        """
        table = Source(from_native(frame).frame, "csv", ",", None, "a dataframe")
        source = code_lists(table, CodeColumns(id, codes, code, separator))
        return encode(source, repeats=repeats, drop_empty=drop_empty).codes

    @classmethod
    def of_all(cls, vocabulary: tuple[str, ...], *, repeats: bool) -> "CodeSets":
        """Return a single record with every code of a release, for making a policy again."""
        n_codes = len(vocabulary)
        items = np.arange(n_codes, dtype=np.int32)
        return cls(vocabulary, np.array([0, n_codes], dtype=np.int64), items, None, repeats)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        id: str | None = None,  # noqa: A002  (as the option is called)
        codes: str | None = None,
        code: str | None = None,
        separator: str | None = None,
        repeats: bool = False,
        drop_empty: bool = False,
        **how: Unpack[HowRead],
    ) -> "CodeSets":
        """Read code sets from CSV (also gzip'd) or Parquet; codes are always text.

        One patient a line, codes separated by spaces (``id,codes`` or ``codes``), or one code a line (``id,code``). If
        a column is not named, the first column with a usual name is used. Commas, semicolons and bars separate codes as
        well, unless ``separator`` names something else. ``repeats`` numbers the occurrences of a code
        in a record; ``drop_empty`` leaves patients without codes out; ``how`` is as of
        `cloister.settings.reading.ReadingWords`.
        """
        columns = CodeColumns(id, codes, code, separator)
        source = read_code_lists(path, columns=columns, **how)
        return encode(source, repeats=repeats, drop_empty=drop_empty).codes

    @property
    def n_records(self) -> int:
        """The number of patients."""
        return self.offsets.size - 1

    @property
    def n_codes(self) -> int:
        """The number of codes in the vocabulary."""
        return len(self.vocabulary)

    def supports(self) -> Integers:
        """The number of records that contain each code, shape (n_codes,) int64."""
        return np.bincount(self.items, minlength=self.n_codes).astype(np.int64, copy=False)

    def items_by_code(self) -> dict[str, list[int]]:
        """The positions in the vocabulary of each code as users name it; all its occurrences if diagnoses repeat."""
        found: dict[str, list[int]] = {}
        for item, code in enumerate(self.vocabulary):
            found.setdefault(plain_code(code, repeats=self.repeats), []).append(item)
        return found


def _of_text(text: str) -> list[str]:
    """The codes in a text."""
    cell: str = split_at(pl.Series([text]), None)[0]
    return cell.split()


@dataclass(frozen=True)
class GivenCodes:
    """Code sets from a file, or from objects, for which messages use a generic name and no line numbers."""

    codes: CodeSets
    name: str = "code sets"
    # which column of the file is what
    columns: CodeColumns = CodeColumns()  # noqa: RUF009  (frozen)
    not_released: tuple[str, ...] = ()  # other columns of the file
    delimiter: str = ","
    format: Literal["csv", "parquet"] = "csv"
    n_empty: int = 0  # patients without codes that were omitted
    # (n_records,) position of each record in the file, from 0; of a long file, position of its patient among the sorted
    # ids; never released
    lines: Integers | None = None
    notes: tuple[str, ...] = ()  # what a user should know about how they were read
    attributes: AttributesTable | None = None  # auxiliary ones, a row a record

    def original_ids(self) -> pl.Series:
        """Return the original name of each patient in a crosswalk: the id, or the record number in the file."""
        lines = np.arange(self.codes.n_records) if self.lines is None else self.lines
        return pl.Series(lines + 1) if self.codes.ids is None else self.codes.ids


def encode(
    source: CodeSource, *, repeats: bool = False, drop_empty: bool = False, attributes: Source | None = None
) -> GivenCodes:
    """Number the codes of every record; ``attributes``: one row for each patient, also for those without codes.

    If ``repeats``, the n-th occurrence of a code in a record is an item of its own, ``CODE#n``; else it counts once.

    Examples
    --------
    >>> import polars as pl
    >>> from cloister.io import Source, CodeColumns, code_lists
    >>> frame = pl.DataFrame({"codes": ["V51 001 001", "001"]})
    >>> source = code_lists(Source(frame, "csv", ",", "utf-8", "codes.csv"), CodeColumns())
    >>> encode(source).codes.vocabulary, encode(source, repeats=True).codes.vocabulary
    (('001', 'V51'), ('001#1', '001#2', 'V51#1'))
    """
    found = codes_by_record(source)
    check_writable(found.names, source, repeats=repeats)
    names, keys = counted_once(found.names, found.keys, repeats=repeats)
    record, item = np.divmod(keys, max(1, len(names)))
    sizes = np.bincount(record, minlength=found.n_records)
    kept = np.flatnonzero(sizes)
    n_empty = found.n_records - len(kept)
    if (n_empty and not drop_empty) or not len(kept):
        first = int(np.argmin(sizes > 0)) + 1 if source.layout == "wide" else None
        where = "" if first is None else f" (the first is record {first})"
        some = f"{n_empty} of {found.n_records} patients in {source.name} have no code{where}. Leave them out with "
        raise InputError(
            *(
                [some, setting("drop_empty"), "."]
                if len(kept)
                else [f"No patient in {source.name} has a code: there is nothing to release."]
            ),
            file=source.name,
            row=first,
            column=source.columns.codes or source.columns.code,
        )
    joined = None
    if attributes is not None:
        joined = join_attributes(attributes.frame, found.ids, attributes.name, source.columns.id, source.name).of(kept)
    ids = found.ids.gather(kept) if found.ids is not None and n_empty else found.ids
    return GivenCodes(
        codes=CodeSets(tuple(names), starts_of(sizes[kept]), item.astype(np.int32), ids, repeats),
        name=source.name,
        columns=source.columns,
        not_released=source.not_released,
        delimiter=source.delimiter or ",",
        format=source.format,
        n_empty=n_empty,
        lines=kept,
        notes=(*source.notes, *found.notes),
        attributes=joined,
    )


def read_given(
    path: str | Path | Query,
    columns: CodeColumns,
    *,
    repeats: bool = False,
    drop_empty: bool = False,
    attributes: str | Path | None = None,
    usual_delimiter: str | None = None,
    **how: Unpack[HowRead],
) -> GivenCodes:
    """Read code sets with their source; ``usual_delimiter`` is used if none can be detected."""
    source, table = read_code_lists(path, columns=columns, usual_delimiter=usual_delimiter, **how), None
    if attributes is not None:
        table = read_table(attributes, usual_delimiter=source.delimiter or ",", **how | {"delimiter": None})
    return encode(source, repeats=repeats, drop_empty=drop_empty, attributes=table)
