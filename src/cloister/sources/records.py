"""Records that profiles return: people, conditions and claims, each with its place in the source.

Files are read from a folder, a zip archive or one file: names, bytes, and tables.
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import as_text, display_name
from cloister.io.csv import csv_of, load_bytes, text_of, unpack
from cloister.io.foreign import translate_errors
from cloister.io.read import MAGIC, parquet_of, without_texts
from cloister.settings.reading import ReadingWords

from .columns import FILE, ID, ROW, parse_dates

TABLE = re.compile(r"(.+?)\.(?:csv|csv\.gz|tsv|tsv\.gz|txt|parquet|pq)", re.IGNORECASE | re.DOTALL)
ZIP = b"PK\x03\x04"
LEFT = "\0left"  # The column with why a record is omitted
NOTHING = pl.lit(None, dtype=pl.String)
ENCRYPTED = 1  # The flag of a file in an archive that is encrypted


@dataclass(frozen=True)
class SourceRecords:
    """Records of one kind."""

    # text, null where there is none, with the columns `FILE` and `ROW`; always with `ID`
    frame: pl.DataFrame = field(repr=False)
    unit: Literal["record", "line"] = "record"
    notes: tuple[str, ...] = ()

    def refuse(self, wrong: pl.Series, found: str, advice: str, column: str | None = None) -> None:
        """Refuse records that are ``wrong``; null counts as false."""
        wrong = wrong.fill_null(value=False)
        count = int(wrong.sum())
        if not count:
            return
        first = int(wrong.arg_true()[0])
        file, row = str(self.frame[FILE][first]), int(self.frame[ROW][first])
        have = f"1 {self.unit} has" if count == 1 else f"{count} {self.unit}s have"
        where = f"{file}, {self.unit} {row}{', is the first' if count > 1 else ''}"
        line = row if self.unit == "line" else None
        raise InputError(
            f"{have} {found} ({where}). {advice}.", file=file, row=None if line else row, line=line, column=column
        )

    def dates_of(self, column: str) -> pl.DataFrame:
        """Return the dates of a column, as `parse_dates` returns them."""
        dates = parse_dates(self.frame[column])
        self.refuse(dates["odd"], f"a {column} that is no date", "Write dates as YYYY-MM-DD", column)
        return dates

    def refuse_repeated(self, ids: pl.Series, what: str) -> None:
        """Refuse records with repeated ids; missing ids do not count."""
        again = ids.is_not_null() & ~ids.is_first_distinct()
        self.refuse(again, f"the id of {what} that is there already", "Leave one of each there")

    def without(self, is_omitted: pl.Series, why: str) -> "SourceRecords":
        """Omit records, and add a note on their number."""
        is_omitted = is_omitted.fill_null(value=False)
        return SourceRecords(self.frame.filter(~is_omitted), self.unit, self.notes).with_note(
            int(is_omitted.sum()), why
        )

    def with_note(self, count: int, why: str) -> "SourceRecords":
        """Add a note on the number of omitted records."""
        counted = f"{count:,} {self.unit}s were" if count > 1 else f"1 {self.unit} was"
        return replace(self, notes=(*self.notes, f"{counted} left out: {why}")) if count else self

    def refuse_of_others(self, owner: pl.Series, named: str) -> None:
        """Refuse records that refer to something of another patient.

        ``owner``: whose that is which a record names, one each; null where it is nobody's
        """
        self.refuse(
            self.frame[ID].ne_missing(owner), f"{named} of another patient", "Correct whose they are, or leave them out"
        )


@dataclass(frozen=True)
class People(SourceRecords):
    """Records of people, one per person: with `SEX` and `BIRTH`, a date to the day, the month or the year."""

    def checked(self) -> "People":
        """Return these records if each has an id of its own."""
        if not self.frame.height:
            raise InputError("There are no patients, so there is nothing to release.")
        ids = self.frame[ID]
        self.refuse(ids.is_null(), "no id of a patient", "Give every patient an id")
        self.refuse(~ids.is_first_distinct(), "the id of a patient who is there already", "Leave one of each there")
        return self


Row = dict[str, str | int | None]


def frame_of_rows(rows: Iterable[Row], columns: Sequence[str]) -> pl.DataFrame:
    """Return rows as a frame of text, with their places."""
    schema = {**dict.fromkeys(columns, pl.String), FILE: pl.String, ROW: pl.Int64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def without_left(rows: Iterable[tuple[Row, str | None]], columns: Sequence[str]) -> SourceRecords:
    """Omit rows for which there is a reason, and add a note for each reason."""
    records = SourceRecords(frame_of_rows((row | {LEFT: why} for row, why in rows), (*columns, LEFT)), "line")
    for why in records.frame[LEFT].drop_nulls().unique().sort():
        records = records.without(records.frame[LEFT] == why, why)
    return replace(records, frame=records.frame.drop(LEFT))


@dataclass(frozen=True)
class Profile:
    """The functions that convert a collection of files into records."""

    people: Callable[..., People]
    # what patients had: `CODE`, `DATE`; further columns with other codes of the same, none of them missing
    conditions: Callable[..., SourceRecords]
    claims: Callable[..., SourceRecords]


@dataclass(frozen=True)
class Member:
    """A file of a collection."""

    name: str
    load: Callable[[], bytes] = field(repr=False)

    @property
    def stem(self) -> str | None:
        """The file's name in lower case without the extension of a table; None if it is not a table."""
        found = TABLE.fullmatch(self.name)
        return found[1].lower() if found else None


def members_at(path: Path, name: str) -> tuple[Member, ...]:
    """Return the files of a folder or archive, or the single file, by name; archives in a folder are opened."""
    if not path.exists():
        raise InputError(f"There is no file or folder {name}.", file=name)
    if path.is_dir():
        try:
            own = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        except OSError:
            raise InputError(f"The folder {name} may not be read: ask its owner for permission.", file=name) from None
        found = [member for file in own for member in _members_at(file)]
    else:
        found = _members_at(path)
    return tuple(sorted(found, key=lambda member: member.name))


def _members_at(path: Path) -> list[Member]:
    """The file ``path``; if it is an archive, the files in it, of which the folders do not count."""
    if not _is_archive(path):
        return [Member(path.name, lambda: load_bytes(path))]
    refusal = InputError(f"{path.name} is not a whole zip archive: copy it again.", file=path.name)
    archive = translate_errors(lambda: zipfile.ZipFile(io.BytesIO(load_bytes(path))), refusal)
    entries = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir()
        and not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(entry.filename).parts)
    ]
    if any(entry.flag_bits & ENCRYPTED for entry in entries):
        raise InputError(
            f"{path.name} is an encrypted zip archive. Unpack it with its password, and name the folder.",
            file=path.name,
        )
    names = [entry.filename for entry in entries]
    return [
        Member(PurePosixPath(name).name, partial(translate_errors, partial(archive.read, name), refusal))
        for name in names
    ]


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(ZIP)) == ZIP
    except OSError:
        return False  # the reader says what is wrong


@dataclass(frozen=True)
class Files:
    """The files of a collection."""

    name: str
    members: tuple[Member, ...]
    reading: ReadingWords = ReadingWords()  # noqa: RUF009  (frozen)

    def tables(self, wanted: str) -> list[Member]:
        """Return the tables whose names, in lower case and without extensions, match the pattern ``wanted``."""
        return [one for one in self.members if one.stem is not None and re.fullmatch(wanted, one.stem)]

    def table(
        self, name: str, needed: Sequence[str], optional: Sequence[str] = (), *, may_lack: bool = False
    ) -> pl.DataFrame:
        """Return the only table of that name, as `frame_of`; if there is none and it ``may_lack``, without records."""
        members = self.tables(re.escape(name.lower()))
        if len(members) > 1:
            raise InputError(
                f"{self.name} has the table {name} {len(members)} times. Leave one of them there.", file=self.name
            )
        if members:
            return self.frame_of(members[0], needed, optional)
        if not may_lack:
            raise InputError(
                f"{self.name} has no table {name}. It must be there as {name}.csv, .csv.gz or .parquet.", file=self.name
            )
        return pl.DataFrame(schema={**dict.fromkeys((*needed, *optional), pl.String), ROW: pl.Int64, FILE: pl.String})

    def frame_of(self, member: Member, needed: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
        """Return the columns of a table as stripped text, null where empty, and the place of each record.

        ``needed, optional``: names of columns, as they are returned, in small letters; a column that is optional and
        not there is null throughout
        """
        frame = without_texts(self._read(member), self.reading.missing)
        names = [name.strip().lower() for name in frame.columns]
        if len(set(names)) < len(names):
            message = f"{member.name} has columns whose names differ in capitals alone. Rename one."
            raise InputError(message, file=member.name)
        frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
        lacking = next((column for column in needed if column not in frame.columns), None)
        if lacking is not None:
            raise InputError(
                f"{member.name} has no column {lacking!r}. Needed are {', '.join(needed)}.",
                file=member.name,
                column=lacking,
            )
        columns = dict.fromkeys((*needed, *optional))
        texts = pl.DataFrame([as_text(frame[name]).str.strip_chars() for name in columns if name in frame.columns])
        cells = (pl.when(pl.col(name) != "").then(name) if name in texts.columns else NOTHING for name in columns)
        file = pl.lit(display_name(Path(member.name))).alias(FILE)
        row = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(ROW)
        return texts.select(*(cell.alias(name) for name, cell in zip(columns, cells, strict=True)), row, file)

    def _read(self, member: Member) -> pl.DataFrame:
        content, file = unpack(member.load(), member.name), re.sub(r"(?i)\.gz$", "", member.name)
        if content.startswith(MAGIC) or file.lower().endswith((".parquet", ".pq")):
            return parquet_of(content, file, may_be_empty=True)
        header = content[: content.find(b"\n")]
        if self.reading.delimiter is None and b"\t" in header and b'"' not in header:
            # Tabs and no quotes: vocabularies of OHDSI have quotes inside cells, where they mean nothing.
            data = text_of(content, file, self.reading.encoding).data.replace(b"\r\n", b"\n")
            names = data.split(b"\n", 1)[0].decode().split("\t")
            refusal = InputError(f"{file} is no table parted by tabs: each line needs {len(names)} cells.", file=file)
            if data.rstrip(b"\n").count(b"\t") != (data.rstrip(b"\n").count(b"\n") + 1) * (len(names) - 1):
                raise refusal
            return translate_errors(
                lambda: pl.read_csv(data, separator="\t", quote_char=None, infer_schema=False, has_header=True), refusal
            )
        return csv_of(content, file, self.reading, usual_delimiter=",", may_be_empty=True).frame
