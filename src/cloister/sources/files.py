"""The files of a collection, be it a folder, a zip archive or one file: names, bytes, and the tables in them."""

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import as_text
from cloister.io.csv import csv_of
from cloister.io.disk import shown_name
from cloister.io.foreign import call_foreign
from cloister.io.read import MAGIC, parquet_of, without_texts
from cloister.io.text import load_bytes, text_of, unpacked

from .records import FILE, ROW

TABLE = re.compile(r"(.+?)\.(?:csv|csv\.gz|tsv|tsv\.gz|txt|parquet|pq)", re.IGNORECASE | re.DOTALL)
_ZIP = b"PK\x03\x04"
ENCRYPTED = 1
"""The flag of a file in an archive that is encrypted."""


@dataclass(frozen=True)
class Member:
    """A file of a collection."""

    name: str
    load: Callable[[], bytes] = field(repr=False)

    @property
    def stem(self) -> str | None:
        """Its name without what says that it is a table, in small letters; None where it is none."""
        found = TABLE.fullmatch(self.name)
        return found[1].lower() if found else None


def members_at(path: Path, name: str) -> tuple[Member, ...]:
    """The files of a folder or archive, or that file alone, by name; archives in a folder are looked into."""
    if not path.exists():
        raise InputError(f"There is no file or folder {name}.", file=name)
    if path.is_dir():
        own = [file for file in _listed(path, name) if not file.name.startswith(".")]
        found = [member for file in own for member in _members_at(file)]
    else:
        found = _members_at(path)
    return tuple(sorted(found, key=lambda member: member.name))


def _listed(path: Path, name: str) -> list[Path]:
    try:
        return sorted(file for file in path.iterdir() if file.is_file())
    except OSError:
        raise InputError(f"The folder {name} may not be read: ask its owner for permission.", file=name) from None


def _members_at(path: Path) -> list[Member]:
    """The file ``path``; if it is an archive, the files in it, of which the folders do not count."""
    if not _is_archive(path):
        return [Member(path.name, lambda: load_bytes(path))]
    refusal = InputError(f"{path.name} is not a whole zip archive: copy it again.", file=path.name)
    archive = call_foreign(lambda: zipfile.ZipFile(io.BytesIO(load_bytes(path))), refusal)
    entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
    if any(entry.flag_bits & ENCRYPTED for entry in entries):
        raise InputError(
            f"{path.name} is an encrypted zip archive. Unpack it with its password, and name the folder.",
            file=path.name,
        )
    names = [entry.filename for entry in entries]
    return [
        Member(PurePosixPath(name).name, partial(call_foreign, partial(archive.read, name), refusal)) for name in names
    ]


def _is_hidden(entry: str) -> bool:
    """Whether a file of an archive was put there by an operating system."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(entry).parts)


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ZIP)) == _ZIP
    except OSError:
        return False  # the reader says what is wrong


@dataclass(frozen=True)
class CollectionReading:
    """How the tables of a collection are read; see `cloister.io.read_table`."""

    encoding: str | None = None
    delimiter: str | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Files:
    """The files of a collection."""

    name: str
    members: tuple[Member, ...]
    reading: CollectionReading = CollectionReading()

    @classmethod
    def at(cls, path: Path, name: str, reading: CollectionReading) -> "Files":
        """The files of the folder or archive ``path``, or that file alone."""
        return cls(name, members_at(path, name), reading)

    def tables(self, wanted: str) -> list[Member]:
        """The tables whose names, in small letters and without endings, are as the pattern ``wanted`` says."""
        return [one for one in self.members if one.stem is not None and re.fullmatch(wanted, one.stem)]

    def table(self, name: str, needed: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
        """The one table of that name, as `frame_of`."""
        found = self.table_if_there(name, needed, optional)
        if found is None:
            raise InputError(
                f"{self.name} has no table {name}. It must be there as {name}.csv, .csv.gz or .parquet.",
                file=self.name,
            )
        return found

    def table_if_there(self, name: str, needed: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame | None:
        """The same; None where there is no such table."""
        members = self.tables(re.escape(name.lower()))
        if len(members) > 1:
            raise InputError(
                f"{self.name} has the table {name} {len(members)} times. Leave one of them there.", file=self.name
            )
        return self.frame_of(members[0], needed, optional) if members else None

    def frame_of(self, member: Member, needed: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
        """The columns of a table as text without spaces around, null where empty; where each record stands beside them.

        Parameters
        ----------
        needed, optional : names of columns, as they are returned, in small letters; a column that is optional and not
            there is null throughout
        """
        frame = _by_small_names(without_texts(self._read(member), self.reading.missing), member.name)
        lacking = next((column for column in needed if column not in frame.columns), None)
        if lacking is not None:
            raise InputError(
                f"{member.name} has no column {lacking!r}. Needed are {', '.join(needed)}.",
                file=member.name,
                column=lacking,
            )
        columns = [*needed, *(name for name in optional if name not in needed)]
        taken = [_column(frame, name) for name in columns]
        rows = pl.int_range(1, frame.height + 1, dtype=pl.Int64, eager=True).alias(ROW)
        places = pl.Series(FILE, [shown_name(Path(member.name))], dtype=pl.String).new_from_index(0, frame.height)
        return pl.DataFrame([*taken, rows, places.alias(FILE)])

    def _read(self, member: Member) -> pl.DataFrame:
        content, file = unpacked(member.load(), member.name), re.sub(r"(?i)\.gz$", "", member.name)
        if content.startswith(MAGIC) or file.lower().endswith((".parquet", ".pq")):
            return parquet_of(content, file, may_be_empty=True)
        if self.reading.delimiter is None and _is_unquoted(content):
            return _tabbed(content, file, self.reading.encoding)
        return csv_of(
            content,
            file,
            encoding=self.reading.encoding,
            delimiter=self.reading.delimiter,
            usual_delimiter=",",
            may_be_empty=True,
        ).frame


def _is_unquoted(content: bytes) -> bool:
    """Whether a table is parted by tabs and has no quoted header: vocabularies of OHDSI have quotes inside cells."""
    header = content[: content.find(b"\n")]
    return b"\t" in header and b'"' not in header


def _tabbed(content: bytes, file: str, encoding: str | None) -> pl.DataFrame:
    """A table parted by tabs in which quotes mean nothing."""
    data = text_of(content, file, encoding).data.replace(b"\r\n", b"\n")
    names = data.split(b"\n", 1)[0].decode().split("\t")
    refusal = InputError(f"{file} is no table parted by tabs: each line needs {len(names)} cells.", file=file)
    if data.rstrip(b"\n").count(b"\t") != (data.rstrip(b"\n").count(b"\n") + 1) * (len(names) - 1):
        raise refusal
    return call_foreign(
        lambda: pl.read_csv(data, separator="\t", quote_char=None, infer_schema=False, has_header=True), refusal
    )


def _by_small_names(frame: pl.DataFrame, file: str) -> pl.DataFrame:
    names = [name.strip().lower() for name in frame.columns]
    if len(set(names)) < len(names):
        raise InputError(f"{file} has columns whose names differ in capitals alone. Rename one.", file=file)
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column as text without spaces around, null where empty; all null where there is none."""
    if name not in frame.columns:
        return pl.Series(name, [None], dtype=pl.String).new_from_index(0, frame.height)
    text = as_text(frame[name]).str.strip_chars()
    return text.set(text == "", None)
