"""Code sets as read and numbered, the form that every method starts from."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.io import CodeColumns, CodeSource, Query
from cloister.reading import HowRead
from cloister.sources import read_code_lists

from .encode import MARK, check_writable, codes_by_record, counted_once, plain_code

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]  # Item numbers: positions of codes in the vocabulary
LARGEST = 2**31 - 1  # The largest number that a request may state
ID, CODES = "id", "codes"


def starts_of(lengths: Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]) -> Integers:
    """Return where each of some things of these lengths begins, one after the other, and the end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def spread(starts: Integers, lengths: Integers) -> Integers:
    """Return the places of runs that begin at ``starts``, one run after the other.

    Examples
    --------
    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before: Integers = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def owners(offsets: Integers) -> Integers:
    """Return the number of the run that each value is in, of runs that begin at these places."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def are_runs(offsets: Integers, end: int) -> bool:
    """Return whether offsets say where runs begin, from 0 to the end."""
    return bool(offsets.size and offsets[0] == 0 and offsets[-1] == end and np.all(np.diff(offsets) >= 0))


def ascend(values: Codes, offsets: Integers) -> bool:
    """Return whether values rise strictly within each run."""
    inside = np.ones(values.size, dtype=np.bool_)
    inside[offsets[:-1][np.diff(offsets) > 0]] = False
    return bool(np.all(np.diff(values, prepend=np.int32(-1))[inside] > 0))


@dataclass(frozen=True, eq=False, repr=False)
class CodeSets:
    """One non-empty set of codes a patient.

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
        cls, records: Sequence[Iterable[str]], ids: pl.Series | None = None, *, repeats: bool = False
    ) -> "CodeSets":
        """Make code sets of lists of codes; a code that is repeated counts once, or is numbered if ``repeats``."""
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
    def of_all(cls, vocabulary: tuple[str, ...], *, repeats: bool) -> "CodeSets":
        """Return one record that holds every code: of a release, to make a policy anew."""
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
        repeats: bool = False,
        drop_empty: bool = False,
        **how: Unpack[HowRead],
    ) -> "CodeSets":
        """Read code sets from CSV (also gzip'd) or Parquet; codes are text always.

        One patient a line, codes separated by spaces (``id,codes`` or ``codes``), or one code a line (``id,code``): of
        columns that are not named, the first of the usual names is taken. ``repeats`` numbers the occurrences of a code
        in a record; ``drop_empty`` leaves patients without codes out; ``how`` is as of `cloister.reading.ReadingWords`.
        """
        columns = CodeColumns(id, codes, code)
        source = read_code_lists(path, columns=columns, **how)
        return encode(source, repeats=repeats, drop_empty=drop_empty).codes

    @property
    def n_records(self) -> int:
        """How many patients there are."""
        return self.offsets.size - 1

    @property
    def n_codes(self) -> int:
        """How many codes the vocabulary has."""
        return len(self.vocabulary)

    def supports(self) -> Integers:
        """Records that hold each code, shape (n_codes,) int64."""
        return np.bincount(self.items, minlength=self.n_codes).astype(np.int64, copy=False)

    def items_by_code(self) -> dict[str, list[int]]:
        """Positions in the vocabulary of each code as users name it: all its occurrences where diagnoses repeat."""
        found: dict[str, list[int]] = {}
        for item, code in enumerate(self.vocabulary):
            found.setdefault(plain_code(code, repeats=self.repeats), []).append(item)
        return found


@dataclass(frozen=True)
class GivenCodes:
    """Code sets as they were given: by a file, or as objects, which are called so and have no lines."""

    codes: CodeSets
    name: str = "code sets"
    # which column of the file is what
    columns: CodeColumns = CodeColumns()  # noqa: RUF009  (frozen)
    not_released: tuple[str, ...] = ()  # other columns of the file
    delimiter: str = ","
    format: Literal["csv", "parquet"] = "csv"
    n_empty: int = 0  # patients without codes that were left out
    # (n_records,) position of each record in the file, from 0; of a long file, position of its patient among the sorted
    # ids; never released
    lines: Integers | None = None
    notes: tuple[str, ...] = ()  # what a user should know about how they were read

    def original_ids(self) -> pl.Series:
        """Return what a crosswalk calls each patient: the id, or the number of the record in the file."""
        lines = np.arange(self.codes.n_records) if self.lines is None else self.lines
        return pl.Series(lines + 1) if self.codes.ids is None else self.codes.ids


def encode(source: CodeSource, *, repeats: bool = False, drop_empty: bool = False) -> GivenCodes:
    """Number the codes of every record.

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
        raise InputError(
            f"{n_empty} of {found.n_records} patients in {source.name} have no code{where}. "
            f"Leave them out with {setting('drop_empty')}."
            if len(kept)
            else f"No patient in {source.name} has a code: there is nothing to release.",
            file=source.name,
            row=first,
            column=source.columns.codes or source.columns.code,
        )
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
    )


def read_given(
    path: str | Path | Query,
    columns: CodeColumns,
    *,
    repeats: bool = False,
    drop_empty: bool = False,
    usual_delimiter: str | None = None,
    **how: Unpack[HowRead],
) -> GivenCodes:
    """Read code sets with where they came from; ``usual_delimiter`` is taken where none can be detected."""
    source = read_code_lists(path, columns=columns, usual_delimiter=usual_delimiter, **how)
    return encode(source, repeats=repeats, drop_empty=drop_empty)
