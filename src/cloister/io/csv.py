"""Read a text file into columns of text: unpack, decode, check that it is text, detect the delimiter, and find the
records and their cells.

Python's codecs decode in memory: patient data are never written to a temporary file. Polars fills short
records with nulls and takes unbalanced quotes as they come, so both are checked here before it reads. The grammar is
RFC 4180's: a cell is quoted completely, with its quotes doubled, or contains no quote.
"""

import codecs
import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from cloister.errors import InputError, Message, setting
from cloister.io.columns import check_names, plain_columns
from cloister.io.foreign import translate_errors
from cloister.settings.reading import DROP, KEEP, ReadingWords

_HEAD_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ADVICE = Message("Save it as UTF-8 or name its ", setting("encoding"), ".")


class Text(NamedTuple):
    """The text of a file."""

    data: bytes  # the text in UTF-8, without byte order mark and without NUL
    encoding: str


def load_bytes(path: Path) -> bytes:
    """Return the bytes of the file ``path``."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        message = f"There is no file {path}."
    except IsADirectoryError:
        message = f"{path} is a folder; a file is needed."
    except PermissionError:
        message = f"{path.name} may not be read: ask its owner for permission."
    except OSError as error:
        message = f"{path.name} cannot be read ({error.strerror or 'input/output error'})."
    raise InputError(message, file=path.name)


def load_text(path: Path, encoding: str | None = None) -> Text:
    """Return the text of the file ``path``, unpacked if it is gzip'd.

    ``encoding``: how the bytes are to be decoded; None: a byte order mark decides, else UTF-8; nothing is guessed, as a
    wrong guess corrupts names
    """
    return text_of(load_bytes(path), path.name, encoding)


def text_of(data: bytes, file: str, encoding: str | None = None) -> Text:
    """Decode ``data``, which may be gzip'd, into text."""
    data = unpack(data, file)
    if data.startswith(_ZIP):
        raise InputError(f"{file} is a spreadsheet or a zip archive. Save it as CSV.", file=file)
    if encoding is None:
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8")
    text = Text(_transcode(data, file, encoding), encoding)
    if not text.data.strip():
        raise InputError(f"{file} is empty.", file=file)
    if b"\0" in text.data:
        line = text.data.count(b"\n", 0, text.data.index(b"\0")) + 1
        found = f"line {line} is the first with a NUL byte, which no text has"
        raise InputError(f"{file} has undecodable bytes: {found}. ", _ADVICE, file=file, line=line)
    if b"\r" in text.data and b"\n" not in text.data:
        raise InputError(f"{file} ends its lines with carriage returns only. Save it with line feeds.", file=file)
    return text


def head_of(path: Path, encoding: str | None = None) -> bytes:
    """Return the first lines of a UTF-8 file, which may be gzip'd: all complete lines of its first megabyte."""
    data = first_bytes(path)
    if data.startswith(_GZIP):
        with gzip.open(path) as file:
            data = translate_errors(lambda: file.read(_HEAD_BYTES), _not_whole(path.name))
    is_utf8 = encoding is None or encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii")
    if not is_utf8 or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(
            f"{path.name} is not in UTF-8, the only encoding that can be read piece by piece. Give ",
            setting("engine", "memory"),
            file=path.name,
        )
    whole = data if len(data) < _HEAD_BYTES else data[: data.rfind(b"\n") + 1]
    return text_of(whole, path.name.lower().removesuffix(".gz")).data


def first_bytes(path: Path) -> bytes:
    """Return the first megabyte of a file."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return load_bytes(path)  # which says what is wrong


def is_packed(path: Path) -> bool:
    """Whether a file is gzip'd."""
    return first_bytes(path).startswith(_GZIP)


def unpack(data: bytes, file: str) -> bytes:
    """Return ``data``, unpacked if they are gzip'd."""
    if not data.startswith(_GZIP) and not file.lower().endswith(".gz"):
        return data
    return translate_errors(lambda: gzip.decompress(data), _not_whole(file))


def _not_whole(file: str) -> InputError:
    return InputError(f"{file} is not a whole gzip file: copy or compress it again.", file=file)


def _transcode(data: bytes, file: str, encoding: str) -> bytes:
    """Return ``data`` as UTF-8, without a byte order mark."""
    position = None
    try:
        data.decode(encoding).encode()
    except UnicodeError as error:
        position = error.start if isinstance(error, UnicodeDecodeError) else 0
    except (LookupError, ValueError):  # ValueError: a name with a NUL in it
        raise InputError(f"There is no text encoding of the given name; {file} was not read.", file=file) from None
    if position is not None:
        line = data[:position].decode(encoding).count("\n") + 1
        raise InputError(
            f"{file} has undecodable bytes: line {line} is the first that is not {encoding}. ",
            _ADVICE,
            _read_as_windows(data, encoding),
            file=file,
            line=line,
        )
    if codecs.lookup(encoding).name not in ("utf-8", "ascii"):
        data = data.decode(encoding).encode()
    return data.removeprefix(codecs.BOM_UTF8)


def _read_as_windows(data: bytes, encoding: str) -> str:
    """Count characters, lines and letters beyond ASCII if the text is cp1252, the usual encoding of Windows."""
    if codecs.lookup(encoding).name != "utf-8":
        return ""
    try:
        lines = [line for line in data.decode("cp1252").split("\n") if not line.isascii()]
    except UnicodeDecodeError:
        return ""
    others = [mark for line in lines for mark in line if not mark.isascii()]
    n_letters, mark = sum(map(str.isalpha, others)), "character" if len(others) == 1 else "characters"
    return Message(
        " As Windows writes (",
        setting("encoding", "cp1252"),
        f") it has {len(others):,} {mark} beyond ASCII in {len(lines):,} of its lines, {n_letters:,} of these letters.",
    )


def is_text(word: str) -> bool:
    """Whether a word can be encoded: JSON may contain half a character, and a command line bytes that are not UTF-8."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


_FIRST_RECORD = re.compile(rb'(?:[^"\n]|"[^"]*")*\n')

_STATED_DELIMITER = re.compile(rb'"?sep=([,;\t|])"?\r?\n')
"""The first line that Excel takes as the delimiter and not as data."""

_NAMES_OF_INDEXES = ("", "Unnamed: 0")
KEPT_INDEX = "row_index"
"""The name of a first column without a name that is kept."""

CANDIDATES = (",", ";", "\t", "|")  # What is tried, the likeliest first
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}

_SAMPLE_BYTES = 1 << 20
_SAMPLE_RECORDS = 100
_QUOTED = re.compile(rb'"[^"]*+"')


@dataclass(frozen=True)
class LeftOut:
    """The numbers of lines and rows omitted from a file on request."""

    bad_lines: int = 0
    duplicates: int = 0


@dataclass(frozen=True)
class Source:
    """A table read from a source."""

    frame: pl.DataFrame  # from CSV all columns are text, as written; null is the only missing value
    format: Literal["csv", "parquet"]
    delimiter: str | None  # what separates the cells of a CSV file
    encoding: str | None  # what a CSV file was decoded from, in Python's name
    name: str
    notes: tuple[str, ...] = ()
    left_out: LeftOut = LeftOut()
    path: Path | None = field(default=None, repr=False)  # of the file that has these records, each and no more
    labels: Mapping[str, str] = field(default_factory=dict)  # of columns, where the file has them


def header_of(head: bytes, file: str, delimiter: str) -> list[str]:
    """Return the names of the columns, from the first lines of a text file."""
    first = _FIRST_RECORD.match(head)
    return csv_of(first[0] if first else head, file, ReadingWords(delimiter=delimiter), may_be_empty=True).frame.columns


def csv_of(
    content: bytes,
    file: str,
    reading: ReadingWords = ReadingWords(),  # noqa: B008  (frozen)
    *,
    usual_delimiter: str | None = None,
    may_be_empty: bool = False,
) -> Source:
    """Return the table in a text file, which may be gzip'd; cells keep their text."""
    text = text_of(content, file, reading.encoding)
    data, delimiter, dropped = text.data, reading.delimiter, 0
    if (stated := _STATED_DELIMITER.match(data)) is not None:
        data, delimiter = data[stated.end() :], delimiter or stated[1].decode("latin-1")
    data, header_notes = _without_comments(data, file)
    if delimiter is None:
        delimiter = detect_delimiter(data, file, usual_delimiter)
    check_delimiter(delimiter)
    data = _with_whole_header(data, delimiter, file, header_notes)
    if data.endswith((b"\n\n", b"\n\r\n")) and delimiter.encode() in _sample(data)[0]:
        data = data.rstrip(b"\r\n")  # blank lines after the last record, which in one column are missing values
    data = data if data.endswith(b"\n") else data + b"\n"
    if reading.bad_lines == DROP:
        data, dropped = without_bad_lines(data, delimiter)
    n_records = count_records(data, delimiter, file)
    if not n_records and not may_be_empty:
        raise InputError(f"{file} has a header but no records.", file=file)
    # Every cell, the header as the first row; null where nothing is written, an empty text where ``""`` is.
    refusal = InputError(f"{file} cannot be read as CSV.", file=file)
    cells = translate_errors(
        lambda: pl.read_csv(data, has_header=False, separator=delimiter, quote_char='"', infer_schema=False), refusal
    )
    if cells.height != n_records + 1:
        raise refusal
    names = ["" if name is None else name for name in cells.row(0)]
    if reading.row_index == KEEP:
        free = (name for name in chain([KEPT_INDEX], (f"{KEPT_INDEX}_{n}" for n in count(2))) if name not in names)
        names[0] = names[0] or next(free)
    elif len(names) > 1 and _is_row_index(names[0], cells.to_series(0).slice(1)):
        cells, names = cells.drop(cells.columns[0]), names[1:]
        not_read = f"the first column of {file} numbers the rows and was not read: "
        header_notes.append(Message(not_read, setting("row_index", KEEP), " keeps it"))
    check_names(names, file)
    cells = cells.slice(1).rename(dict(zip(cells.columns, names, strict=True)))
    notes: tuple[str, ...] = tuple(header_notes)
    if cells.width == 1 and (n_blank := cells.to_series().null_count()):
        notes = (*notes, f"{file} has one column: blank lines were read as missing values, {n_blank} in all")
    if dropped:
        were = "1 line was" if dropped == 1 else f"{dropped:,} lines were"
        notes = (*notes, f"{were} dropped, with other than {cells.width} cells or a quote inside one")
    return Source(plain_columns(cells, file), "csv", delimiter, text.encoding, file, notes, LeftOut(bad_lines=dropped))


def _without_comments(data: bytes, file: str) -> tuple[bytes, list[str]]:
    """Return a text without the lines before its header that begin with #, and a note on them.

    A line that has as many delimiters as the one below is the header itself.
    """
    start, n_comments = 0, 0
    while data.startswith(b"#", start) and (end := data.find(b"\n", start) + 1):
        line, below = data[start:end], data[end : data.find(b"\n", end) + 1 or len(data)]
        counts = {mark: below.count(mark.encode()) for mark in CANDIDATES}
        likely = max(counts, key=lambda mark: counts[mark])
        if not below.startswith(b"#") and line.count(likely.encode()) == counts[likely]:
            break
        start, n_comments = end, n_comments + 1
    if not n_comments:
        return data, []
    lines = "1 line" if n_comments == 1 else f"{n_comments:,} lines"
    return data[start:], [f"{lines} before the header of {file} began with # and were not read"]


def _with_whole_header(data: bytes, delimiter: str, file: str, notes: list[str]) -> bytes:
    """Remove a delimiter at the end of the header that no record has, and add a note."""
    mark = delimiter.encode()
    header, *records = _sample(data)
    is_too_long = header.rstrip(b"\r").endswith(mark) and bool(records)
    if not is_too_long or any(one.count(mark) != header.count(mark) - 1 for one in records):
        return data
    notes.append(f"the header of {file} ends in a delimiter that no record has; it was not read")
    end = data.index(b"\n")
    return data[:end].rstrip(b"\r").removesuffix(mark) + data[end:]


def _is_row_index(name: str, cells: pl.Series) -> bool:
    """Whether a column is a row index of R or pandas: distinct whole numbers under an empty name."""
    if name not in _NAMES_OF_INDEXES or cells.is_empty() or cells.null_count():
        return False
    return bool(cells.str.contains(r"^[0-9]+$").all()) and bool(cells.is_unique().all())


def detect_delimiter(data: bytes, file: str, usual: str | None = None) -> str:
    """Detect the delimiter: it occurs in the header and equally often in each of the first records, outside quotes.

    Of several, the one with the most cells. A header without any candidate is the name of one column; its cells are
    then separated by commas, in a file named ``.tsv`` by tabs, so that a second cell is found and reported.
    """
    header, *records = _sample(data)
    found = {mark: header.count(mark.encode()) for mark in CANDIDATES if mark.encode() in header}
    if not found and usual is not None and usual.encode() in header:
        return usual
    if not found:
        return "\t" if file.lower().endswith((".tsv", ".tsv.gz")) else ","
    steady = [mark for mark in found if all(record.count(mark.encode()) == found[mark] for record in records)]
    most = max(found[mark] for mark in steady or found)
    best = [mark for mark in steady or found if found[mark] == most]
    if len(best) > 1 and steady and usual in best:
        return str(usual)
    if len(best) > 1 and steady:
        raise InputError(
            f"The cells of {file} may be separated by {' or '.join(NAMES[mark] for mark in best)}. Name the ",
            setting("delimiter"),
            file=file,
        )
    return best[0]


def check_delimiter(delimiter: str) -> str:
    """Check a delimiter, and return it: one ASCII character that has no other meaning in a text file."""
    if len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0':
        return delimiter
    raise InputError("A delimiter is one ASCII character other than a quote and the end of a line.")


def _sample(data: bytes) -> list[bytes]:
    """The header and the first records that are not blank, without their quoted cells."""
    start = data[:_SAMPLE_BYTES]
    unquoted, cut, _ = _QUOTED.sub(b"", start).partition(b'"')
    lines = unquoted.split(b"\n", _SAMPLE_RECORDS + 1)
    is_partial = bool(cut) or len(data) > len(start) or len(lines) > _SAMPLE_RECORDS + 1
    if is_partial and len(lines) > 1:
        lines.pop()
    return [lines[0], *(line for line in lines[1:] if line.strip(b"\r"))]


def count_records(data: bytes, delimiter: str, file: str) -> int:
    """Count the records in ``data``, without the header.

    ``data``: UTF-8 text without NUL, that ends in a newline
    """
    if data.startswith((b"\n", b"\r\n")):
        raise InputError(f"{file}: the first line is blank. It must name the columns.", file=file, line=1)
    bare = data
    if b'"' in data:
        bare = _quoted_cell(delimiter).sub(b"q", data)
        if b'"' in bare:
            raise _stray_quote(data, delimiter, file)
    if bare.count(b"\r") != bare.count(b"\r\n"):
        # A lone carriage return, which Polars sometimes keeps in the cell and sometimes drops.
        marked = _mark_quoted_cells(data, delimiter)
        lone = marked.replace(b"\r\n", b"\n\n").index(b"\r")
        found = "has a carriage return inside a cell. Put the cell in quotes"
        raise _malformed_error(found, marked, lone, file)
    # The ends of cells and lines alone: those of a good file are those of its header, again and again.
    marks = bare.translate(None, bytes({*range(256)} - {ord(delimiter), ord("\n")}))
    first, n_lines = marks.partition(b"\n")[0], marks.count(b"\n")
    if marks != (first + b"\n") * n_lines:
        n_cells = [len(line) + 1 for line in marks.splitlines()]
        ragged = [record for record, n in enumerate(n_cells) if n != n_cells[0]]
        record = ragged[0]
        line = _line_of(record, _mark_quoted_cells(data, delimiter))
        found, asked = (f"{n} cell" if n == 1 else f"{n} cells" for n in (n_cells[record], n_cells[0]))
        raise InputError(
            f"{file}: record {record}, line {line} has {found}, the header has {asked}. Quote the cells that contain "
            f"a {NAMES.get(delimiter, 'delimiter')} or a line break, or name the delimiter.",
            _dropping(len(ragged), n_lines),
            file=file,
            row=record,
            line=line,
        )
    return n_lines - 1


def without_bad_lines(data: bytes, delimiter: str) -> tuple[bytes, int]:
    """Return the lines of ``data`` that have as many cells as the header, and the number of other lines."""
    marked, mark = _quoted_cell(delimiter).sub(lambda cell: b"q" * len(cell[0]), data), delimiter.encode()
    lines = marked.removesuffix(b"\n").split(b"\n")
    n_marks, kept, start = lines[0].count(mark), [], 0
    for place, line in enumerate(lines):
        is_good = line.count(mark) == n_marks and b'"' not in line and b"\r" not in line[:-1]
        if is_good or not place:  # problems of the header are reported later
            kept.append(data[start : start + len(line) + 1])
        start += len(line) + 1
    return b"".join(kept), len(lines) - len(kept)


def _dropping(n_bad: int, n_lines: int) -> str:
    """Return a sentence on leaving bad lines out, where they are few: else the fault is another one."""
    if 2 * n_bad > n_lines:
        return ""
    lines = "1 line is" if n_bad == 1 else f"{n_bad:,} lines are"
    return Message(f" {lines} so: ", setting("bad_lines", DROP), " leaves out what is no record.")


def _quoted_cell(delimiter: str) -> re.Pattern[bytes]:
    """A cell in quotes, from the delimiter (or start) before it to the delimiter (or end of line) after it.

    The pattern begins with the quote, and looks back from there, so that quotes are searched for and not every byte.
    """
    mark = re.escape(delimiter.encode())
    return re.compile(rb'"(?<![^%b\n]")[^"]*+(?:""[^"]*+)*+"(?=[%b\n]|\r\n)' % (mark, mark))


def _mark_quoted_cells(data: bytes, delimiter: str) -> bytes:
    """``data`` with each quoted cell replaced by one NUL for each newline inside it."""
    return _quoted_cell(delimiter).sub(lambda cell: b"\0" * cell[0].count(b"\n"), data)


def line_of_record(data: bytes, delimiter: str, record: int) -> int:
    """Return the line where a record begins, both counted from 1 (records after the header), in a readable text."""
    return _line_of(record, _mark_quoted_cells(data, delimiter))


def _line_of(record: int, marked: bytes) -> int:
    before = marked.split(b"\n", record)[:record]
    return 1 + len(before) + sum(line.count(b"\0") for line in before)


def _stray_quote(data: bytes, delimiter: str, file: str) -> InputError:
    marked = _mark_quoted_cells(data, delimiter)
    position = marked.index(b'"')
    is_opening = position == 0 or marked[position - 1 : position] in (delimiter.encode(), b"\n")
    if is_opening and data.count(b'"') % 2:
        found = "opens a quote that is never closed. Close it"
    else:
        found = "has a quote inside a cell. Put the whole cell in quotes and double the quotes inside it"
    lines = marked.split(b"\n")
    return _malformed_error(found, marked, position, file, _dropping(sum(b'"' in line for line in lines), len(lines)))


def _malformed_error(found: str, marked: bytes, position: int, file: str, advice: str = "") -> InputError:
    record = marked.count(b"\n", 0, position)
    line = 1 + record + marked.count(b"\0", 0, position)
    where = f"record {record}, line {line}" if record else f"the header, line {line},"
    return InputError(f"{file}: {where} {found}.", advice, file=file, row=record or None, line=line)
