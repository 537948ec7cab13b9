"""A release of patients and their claims: two files that one id joins, laid out, put in order and written.

Labels, flags, and numbers for ids stand in them, in an order that follows from what is released, and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import as_text, write_csv, write_parquet
from cloister.release import Release
from cloister.release_folder import read_data
from cloister.results import Verdict

from .data import Claims
from .data_file import (
    CLAIMS,
    FLAG,
    IDENTIFIER,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    QUASI,
    SUPPRESSED,
    TRUNCATED,
    ClaimsForm,
    ReleasedColumn,
    WrittenClaims,
)
from .declared import hierarchy_published, released_as
from .encode import EncodedColumn, Encoding
from .prepare import numbered
from .released import ReleasedClaims

Numbers = NDArray[np.int64]

ROUNDS = 3
"""After so many rounds, ids that are still alike are taken to be interchangeable."""

HOW = "the files were read back"


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
    columns. Missing comes first, texts are in the order of UTF-8 bytes. What is then still alike is told apart by the
    company that pseudonyms keep: which claims and patients share one. So the order of the input never matters, and the
    original ids do so only among pseudonyms that keep the same company, where the files come out the same. Keyed
    hashes, where ids are released so, decide among patients who are alike in all else but pseudonyms.
    """
    own, events = _dense(patients.content), _dense(claims.content)
    n = own.size
    people = _ranked(own.tolist(), _sequences(owners, events, n))
    if hashes is not None:
        people = _ranked(people.tolist(), [text.encode() for text in hashes])
    if patients.ids or claims.ids:
        colours: dict[str, dict[str, int]] = {}
        for last in (*[False] * ROUNDS, True):
            colours = _coloured(patients, claims, people, events, owners, last=last)
            events = _refined(events, claims, colours, people[owners])
            mine = _refined(people, patients, colours, np.zeros(n, dtype=np.int64))
            people = _ranked(mine.tolist(), _sequences(owners, events, n))
    order = np.argsort(people, kind="stable").astype(np.int64)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return order, np.lexsort((events, place[owners])).astype(np.int64)


def _dense(frame: pl.DataFrame) -> Numbers:
    """Number of each row by its content, in the order of the content; missing first."""
    if not frame.width or not frame.height:
        return np.zeros(frame.height, dtype=np.int64)
    keys = frame.select(pl.all().name.map(lambda name: f"key {name}"))
    names = keys.columns
    ordered = keys.with_row_index("row").sort(names, nulls_last=False, maintain_order=True)
    changed = pl.any_horizontal([pl.col(name).ne_missing(pl.col(name).shift()) for name in names])
    numbers = ordered.select("row", changed.fill_null(True).cum_sum().alias("number"))
    found = np.empty(frame.height, dtype=np.int64)
    found[numbers["row"].to_numpy()] = numbers["number"].to_numpy()
    return found


def _sequences(owners: Numbers, numbers: Numbers, n: int) -> list[bytes]:
    """The sorted numbers of each owner, as bytes that sort alike."""
    order = np.lexsort((numbers, owners))
    text = numbers[order].astype(">u4").tobytes()
    ends = np.cumsum(np.bincount(owners, minlength=n)) * 4
    return [text[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


def _ranked(first: Sequence[int], second: Sequence[bytes]) -> Numbers:
    keys = list(zip(first, second, strict=True))
    rank = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.int64)


def _coloured(
    patients: FileRows, claims: FileRows, people: Numbers, events: Numbers, owners: Numbers, *, last: bool
) -> dict[str, dict[str, int]]:
    """A number for each id of each group: the same for ids in the same company, but not at last."""
    with_patient = _dense(pl.DataFrame({"patient": people[owners], "claim": events}))
    found: dict[str, list[pl.DataFrame]] = {}
    for table, rows, colour in ((0, patients, people), (1, claims, with_patient)):
        for name, (group, ids) in rows.ids.items():
            part = pl.DataFrame([ids.alias("id"), pl.Series("colour", colour)])
            part = part.with_columns(pl.format("{} {}", pl.lit(f"{table} {name}"), pl.col("colour")).alias("seen"))
            found.setdefault(group, []).append(part.drop_nulls("id").select("id", "seen"))
    colours = {}
    for group, parts in found.items():
        company = pl.concat(parts).group_by("id").agg(pl.col("seen").sort())
        keys = {name: (",".join(seen), name if last else "") for name, seen in company.iter_rows()}
        rank = {key: number for number, key in enumerate(sorted(set(keys.values())), start=1)}
        colours[group] = {name: rank[key] for name, key in keys.items()}
    return colours


def _refined(numbers: Numbers, rows: FileRows, colours: Mapping[str, Mapping[str, int]], more: Numbers) -> Numbers:
    columns = [pl.Series("own", numbers)]
    for name, (group, ids) in rows.ids.items():
        known = dict(colours[group])
        columns.append(ids.replace_strict(known, default=0, return_dtype=pl.Int64).fill_null(0).alias(name))
    return _dense(pl.DataFrame([*columns, pl.Series("more", more)]))


@dataclass(frozen=True, eq=False, repr=False)
class Laid:
    """What is written; ``patients``: row of each released patient among those that were encoded, in released order."""

    files: WrittenClaims
    form: ClaimsForm
    patients: Numbers


def form_of(data: Claims, encoding: Encoding, levels: tuple[int, ...]) -> ClaimsForm:
    """Return the columns of a release at these levels."""
    plan, parts, of_claims = data.plan, {}, len(encoding.claims.patients)
    for table, section, kept, columns, own in (
        (PATIENTS, plan.patients, encoding.kept_of_patients, encoding.claims.patients, levels[:of_claims]),
        (CLAIMS, plan.claims, encoding.kept_of_claims, encoding.claims.claims, levels[of_claims:]),
    ):
        (name,) = plan.patient_columns("id") if table == PATIENTS else plan.claim_columns("id")
        made = [(name, ReleasedColumn.model_validate({"role": IDENTIFIER, "ids": plan.ids.patients.partition(":")[0]}))]
        for column, level in zip(columns, own, strict=True):
            spec, top = hierarchy_published(section.qi[column.name]), column.n_levels - 1
            made.append((column.name, ReleasedColumn(role=QUASI, hierarchy=spec, level=level, top=top)))
        others = ((own, released_as(str(section.roles.get(own)), table, plan)) for own in kept)
        made += [(own, column) for own, column in others if column is not None]
        flags = [TRUNCATED] if table == PATIENTS else [f"{SUPPRESSED}{column.name}" for column in columns]
        made += [(flag, ReleasedColumn(role=FLAG)) for flag in flags]
        parts[table] = dict(made)
        names = [name for name, _ in made]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(f"The release has a column {twice[0]!r} of {table} of its own. Rename yours, or drop it.")
    return ClaimsForm(patients=parts[PATIENTS], claims=parts[CLAIMS])


def lay_out(data: Claims, encoding: Encoding, released: ReleasedClaims, levels: tuple[int, ...]) -> Laid:
    """Return the files of a release from the frames that were encoded; ``levels``: those of patients first."""
    form, encoded = form_of(data, encoding, levels), encoding.claims
    people = np.flatnonzero(released.patients)
    rows = np.flatnonzero(released.claims & released.patients[encoded.owners])
    owners = (np.cumsum(released.patients) - 1)[encoded.owners[rows]]
    own_rows, n_own = encoding.patient_rows[people], len(encoded.patients)
    patients = [_labels(column, level, people) for column, level in zip(encoded.patients, levels[:n_own], strict=True)]
    patients += [_as_kept(data.patients, name, own_rows) for name in encoding.kept_of_patients]
    patients.append(pl.Series(TRUNCATED, released.truncated[people].astype(np.int64)).cast(pl.String))
    claims, flags = [], []
    for h, (column, level) in enumerate(zip(encoded.claims, levels[n_own:], strict=True)):
        hidden = ~released.cells[h][rows]
        claims.append(_labels(column, level, rows, hidden))
        flags.append(pl.Series(f"{SUPPRESSED}{column.name}", hidden.astype(np.int64)).cast(pl.String))
    claims += [_as_kept(data.claims, name, encoding.claim_rows[rows]) for name in encoding.kept_of_claims]
    frames = {PATIENTS: pl.DataFrame(patients), CLAIMS: pl.DataFrame([*claims, *flags])}
    parts = []
    for table, frame in frames.items():
        pseudonyms = form.names(table, PSEUDONYM)
        ids = {name: (str(form.of(table)[name].numbered_with), frame[name]) for name in pseudonyms}
        parts.append(FileRows(frame.drop(*pseudonyms), ids))
    # keyed hashes of the patients' ids, as step 1 made them
    hashes = None if form.ids == NUMBER else _as_kept(data.patients, form.names(PATIENTS)[0], own_rows)
    order, claim_order = released_order(parts[0], parts[1], owners, hashes)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    in_order = numbered(frames[PATIENTS][order], frames[CLAIMS][claim_order], data)
    names = pl.Series(np.arange(1, order.size + 1)).cast(pl.String) if hashes is None else hashes[order]
    ids_of = names, names.gather(pl.Series(place[owners[claim_order]]))
    tables = [
        pl.DataFrame([own.alias(form.names(table)[0]), *(as_text(one) for one in frame.get_columns())])
        for table, own, frame in zip((PATIENTS, CLAIMS), ids_of, in_order, strict=True)
    ]
    return Laid(WrittenClaims(tables[0], tables[1]), form, people[order].astype(np.int64))


def _labels(column: EncodedColumn, level: int, rows: Numbers, hidden: NDArray[np.bool_] | None = None) -> pl.Series:
    texts = pl.Series(column.name, [*(label or None for label in column.labels[level]), None], dtype=pl.String)
    numbers = column.at(level)[rows].astype(np.int64)
    absent = numbers < 0 if hidden is None else (numbers < 0) | hidden
    numbers[absent] = texts.len() - 1
    return texts.gather(pl.Series(numbers))


def _as_kept(frame: pl.DataFrame, name: str, rows: Numbers) -> pl.Series:
    return as_text(frame[name]).gather(pl.Series(rows))


@dataclass(frozen=True, repr=False)
class ClaimsRelease(Release):
    """Patients and their claims that passed verification; ``format`` is csv or parquet."""

    files: WrittenClaims = field(repr=False)
    format: str
    delimiter: str
    _check: Callable[[WrittenClaims, bool], Verdict] = field(repr=False)

    @property
    def patients(self) -> pl.DataFrame:
        """One row a released patient."""
        return self.files.patients

    @property
    def claims(self) -> pl.DataFrame:
        """One row a released claim."""
        return self.files.claims

    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the files; None for Parquet."""
        return self.delimiter if self.format == "csv" else None

    def recheck(self) -> Verdict:
        """Return the verdict on the released rows."""
        return self._check(self.files, True)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write both files."""
        for table in (PATIENTS, CLAIMS):
            if self.format == "parquet":
                write_parquet(self.files.of(table), folder / f"{table}.parquet")
            else:
                write_csv(self.files.of(table), folder / f"{table}.csv", self.delimiter)
        return f"{PATIENTS}.{self.format}", f"{CLAIMS}.{self.format}"

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on what is read back of the files.

        They must be equal to what was verified; so the adversary is not simulated once more, which would find the same.
        """
        read = [
            read_data(folder / f"{table}.{self.format}", self.delimiter).cast(pl.String) for table in (PATIENTS, CLAIMS)
        ]
        for table, frame in zip((PATIENTS, CLAIMS), read, strict=True):
            if not frame.equals(self.files.of(table)):
                return Verdict(False, HOW, (), (f"the file of {table} does not hold what was released",))
        return self._check(WrittenClaims(read[0], read[1]), False)
