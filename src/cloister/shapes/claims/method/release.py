"""A release of patients and their claims: two files joined by one id, laid out, ordered and written.

Labels, flags, and numbers for ids are in them, in an order that follows from what is released, and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io import as_text, write_csv, write_parquet
from cloister.io.batches import PIECE, frames_of
from cloister.io.columns import code_texts, pack_text
from cloister.release.release import Release
from cloister.results import Checks, Verdict
from cloister.shapes.claims.format.data import Claims, numbers_by_content, rank, rank_pairs, sort_numbers
from cloister.shapes.claims.format.released_columns import (
    CLAIMS,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    SUPPRESSED,
    TABLES,
    TRUNCATED,
    ClaimsForm,
    WrittenClaims,
    form_of,
    kept_columns,
)

from .encode import EncodedColumn, Encoding
from .matching import ReleasedClaims
from .prepare import number_pseudonyms

Numbers = NDArray[np.int64]

ROUNDS = 3
"""After so many rounds, ids that are still equal are assumed to be interchangeable."""


@dataclass(frozen=True, eq=False, repr=False)
class FileRows:
    """Rows of one file; ``ids``: columns to be numbered, by name, with the group whose numbers they share."""

    content: pl.DataFrame
    ids: Mapping[str, tuple[str, pl.Series]]


def released_order(
    patients: FileRows, claims: FileRows, owners: Numbers, hashes: pl.Series | None = None
) -> tuple[Numbers, Numbers]:
    """Return the rows of patients, and those of claims, in released order.

    Patients are sorted by their columns, then by the sequence of their sorted claims; claims by patient, then by their
    columns. Missing comes first, texts are in the order of UTF-8 bytes. Rows that are still equal are ordered by the
    claims and patients that share their pseudonyms. So the order of the input never matters. The original ids matter
    only among pseudonyms with the same claims and patients, where the files are the same in any order. If ids are
    released as keyed hashes, these order patients who differ in nothing but pseudonyms.
    """
    own, events = numbers_by_content(patients.content), numbers_by_content(claims.content)
    n = own.size
    people = rank_pairs(own, sort_numbers(owners, events, n))
    if hashes is not None:
        people = rank_pairs(people, hashes.cast(pl.Binary))
    if groups := _pseudonyms(patients, claims):
        for last in (*[False] * ROUNDS, True):
            with_patient = numbers_by_content(pl.DataFrame({"patient": people[owners], "claim": events}))
            colours = [group.colour_ids((people, with_patient), is_last=last) for group in groups]
            events = _refine_numbers(events, 1, groups, colours, people[owners])
            mine = _refine_numbers(people, 0, groups, colours, np.zeros(n, dtype=np.int64))
            people = rank_pairs(mine, sort_numbers(owners, events, n))
    order = np.argsort(people, kind="stable").astype(np.int64)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return order, np.lexsort((events, place[owners])).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _Pseudonyms:
    """The ids that share numbers.

    columns : of each column with such ids 0 for patients or 1 for claims, its place among those of its file, and the
        place of each row's id among the sorted ids, -1 where it is missing; in the order of their names
    """

    n_ids: int
    columns: tuple[tuple[int, int, NDArray[np.int32]], ...]

    def colour_ids(self, kinds: tuple[Numbers, Numbers], *, is_last: bool) -> Numbers:
        """A number from 1 for each id: the same for ids in the same company, but not at last; 0 for a missing one.

        kinds : number of each row of patients and of claims, the same for rows that are alike
        """
        owners, met = [], []
        width = 1 + max(int(own.max(initial=0)) for own in kinds)
        as_written = _as_written(width)
        for place, (table, _, ids) in enumerate(self.columns):
            there = ids >= 0
            owners.append(ids[there].astype(np.int64))
            met.append(as_written[kinds[table][there]] + place * width)
        company = rank(sort_numbers(np.concatenate(owners), np.concatenate(met), self.n_ids))
        last = pl.Series(np.arange(self.n_ids) if is_last else np.zeros(self.n_ids, dtype=np.int64))
        return np.append(rank_pairs(company, last) + 1, 0)


def _pseudonyms(patients: FileRows, claims: FileRows) -> list[_Pseudonyms]:
    found: dict[str, list[tuple[str, tuple[int, int], pl.Series]]] = {}
    for table, rows in enumerate((patients, claims)):
        for place, (name, (group, ids)) in enumerate(rows.ids.items()):
            found.setdefault(group, []).append((f"{table} {name} ", (table, place), ids))
    groups = []
    for columns in found.values():
        columns.sort(key=lambda one: one[0])
        texts, numbers = code_texts(pl.concat([ids.alias("id") for _, _, ids in columns]))
        if texts:
            parts = np.split(numbers, np.cumsum([ids.len() for _, _, ids in columns])[:-1])
            own = tuple((*where, part) for (_, where, _), part in zip(columns, parts, strict=True))
            groups.append(_Pseudonyms(len(texts), own))
    return groups


def _as_written(width: int) -> Numbers:
    """The place of each number below a width when they are in the order of their decimal digits: 1, 10, 11, 2."""
    numbers, powers = np.arange(width), 10 ** np.arange(1, 18)
    digits = 1 + np.searchsorted(powers, numbers, side="right")
    # with noughts behind them all have as many digits; of equal ones the shorter comes first
    filled = numbers * 10 ** (digits.max(initial=1) - digits)
    rank = np.empty(width, dtype=np.int64)
    rank[np.lexsort((digits, filled))] = numbers
    return rank


def _refine_numbers(
    numbers: Numbers, table: int, groups: Sequence[_Pseudonyms], colours: Sequence[Numbers], more: Numbers
) -> Numbers:
    coloured = {
        place: own[ids]
        for group, own in zip(groups, colours, strict=True)
        for of, place, ids in group.columns
        if of == table
    }
    keys = [numbers, *(coloured[place] for place in sorted(coloured)), more]
    return numbers_by_content(pl.DataFrame([pl.Series(f"{place}", key) for place, key in enumerate(keys)]))


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseTables:
    """What is written; ``patients``: row of each released patient among those that were encoded, in released order."""

    files: WrittenClaims
    form: ClaimsForm
    patients: Numbers


def lay_out(data: Claims, encoding: Encoding, released: ReleasedClaims, levels: tuple[int, ...]) -> ReleaseTables:
    """Return the files of a release from the frames that were encoded; ``levels``: those of patients first."""
    plan, encoded = data.plan, encoding.claims
    n_own = len(encoded.patients)
    form = form_of(plan, dict(zip(TABLES, (
        {one.name: (level, one.n_levels - 1) for one, level in zip(columns, own, strict=True)}
        for columns, own in ((encoded.patients, levels[:n_own]), (encoded.claims, levels[n_own:]))
    ), strict=True)))  # fmt: skip
    people = np.flatnonzero(released.patients)
    rows = np.flatnonzero(released.claims & released.patients[encoded.owners])
    owners = (np.cumsum(released.patients) - 1)[encoded.owners[rows]]
    own_rows = pl.Series(encoding.patient_rows[people])
    patients = [_labels(column, level, people) for column, level in zip(encoded.patients, levels[:n_own], strict=True)]
    patients += [as_text(data.patients[name]).gather(own_rows) for name in kept_columns(plan, PATIENTS)]
    patients.append(_flags(TRUNCATED, released.truncated[people]))
    claims, flags = [], []
    for h, (column, level) in enumerate(zip(encoded.claims, levels[n_own:], strict=True)):
        hidden = ~released.cells[h][rows]
        claims.append(_labels(column, level, rows, hidden))
        flags.append(_flags(f"{SUPPRESSED}{column.name}", hidden))
    claim_rows = pl.Series(encoding.claim_rows[rows])
    claims += [pack_text(data.claims[name]).gather(claim_rows) for name in kept_columns(plan, CLAIMS)]
    frames = pl.DataFrame(patients), pl.DataFrame([*claims, *flags])
    parts = []
    for table, frame in zip(TABLES, frames, strict=True):
        pseudonyms = form.names(table, PSEUDONYM)
        ids = {name: (str(form.of(table)[name].numbered_with), as_text(frame[name])) for name in pseudonyms}
        parts.append(FileRows(frame.drop(*pseudonyms), ids))
    # keyed hashes of the patients' ids, as step 1 made them
    hashes = None if form.ids == NUMBER else as_text(data.patients[form.names(PATIENTS)[0]]).gather(own_rows)
    order, claim_order = released_order(parts[0], parts[1], owners, hashes)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    in_order = number_pseudonyms(frames[0][order], frames[1][claim_order], plan)
    names = pl.Series(np.arange(1, order.size + 1)).cast(pl.String) if hashes is None else hashes[order]
    ids_of = names, pack_text(names, always=True).gather(pl.Series(place[owners[claim_order]]))
    tables = [
        pl.DataFrame([own.alias(form.names(table)[0]), *frame.get_columns()])
        for table, own, frame in zip(TABLES, ids_of, in_order, strict=True)
    ]
    return ReleaseTables(WrittenClaims.of_frames(tables[0], tables[1]), form, people[order].astype(np.int64))


def _labels(column: EncodedColumn, level: int, rows: Numbers, hidden: NDArray[np.bool_] | None = None) -> pl.Series:
    labels = pl.Series(column.name, [*(label or None for label in column.labels[level]), None], dtype=pl.String)
    texts = pack_text(labels, always=True)
    numbers = column.at(level)[rows].astype(np.int64)
    absent = numbers < 0 if hidden is None else (numbers < 0) | hidden
    numbers[absent] = texts.len() - 1
    return texts.gather(pl.Series(numbers))


def _flags(name: str, flags: NDArray[np.bool_]) -> pl.Series:
    return pl.Series(name, ["0", "1"], dtype=pl.Enum(["0", "1"])).gather(pl.Series(flags).cast(pl.UInt32))


@dataclass(frozen=True, repr=False)
class ClaimsRelease(Release):
    """Verified patients and claims; ``format`` is csv or parquet."""

    files: WrittenClaims = field(repr=False)
    format: str
    delimiter: str
    _check: Callable[[WrittenClaims], Verdict] = field(repr=False)

    @property
    def patients(self) -> pl.DataFrame:
        """One row a released patient."""
        return self.files.patients

    @property
    def claims(self) -> pl.DataFrame:
        """One row a released claim, as text."""
        return pl.DataFrame([*map(as_text, self.files.claims)])

    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the files; None for Parquet."""
        return self.delimiter if self.format == "csv" else None

    def recheck(self) -> Verdict:
        """Return the verdict on the released rows."""
        return self._check(self.files)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write both files."""
        names = f"{PATIENTS}.{self.format}", f"{CLAIMS}.{self.format}"
        for table, name in zip(TABLES, names, strict=True):
            if self.format == "parquet":
                write_parquet(self.files.of(table), folder / name)
            else:
                write_csv(self.files.of(table), folder / name, self.delimiter)
        return names

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on what is read back of the files.

        Each cell must be equal to what was verified; so nothing is verified once more, which would find the same.
        """
        checks = Checks()
        for table in TABLES:
            own, at, is_same = self.files.of(table), 0, True
            for read in frames_of(folder / f"{table}.{self.format}", self.delimiter_written(), PIECE):
                is_same &= read.equals(own.slice(at, read.height).cast(pl.String))
                at += read.height
            checks.require(is_same and at == own.height, f"the file of {table} holds what was verified")
        return checks.verdict("the files were read back")
