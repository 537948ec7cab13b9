"""Bytes of a text file -> UTF-8 text: unpacked, decoded and known to be text.

Decoding is done by Python's codecs, in memory: patient data are never written to a temporary file.
"""

import codecs
import gzip
from dataclasses import dataclass
from pathlib import Path

from cloister.errors import InputError, setting
from cloister.io.foreign import call_foreign

_HEAD_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ADVICE = f"Save it as UTF-8 or name its {setting('encoding')}."


@dataclass(frozen=True)
class Text:
    """The text of a file."""

    data: bytes  # the text in UTF-8, without byte order mark and without NUL
    encoding: str


def load_bytes(path: Path) -> bytes:
    """Everything in the file ``path``."""
    reason: str | None
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.", file=path.name) from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; a file is needed.", file=path.name) from None
    except PermissionError:
        raise InputError(f"{path.name} may not be read: ask its owner for permission.", file=path.name) from None
    except OSError as error:
        reason = error.strerror
    raise InputError(f"{path.name} cannot be read ({reason or 'input/output error'}).", file=path.name)


def load_text(path: Path, encoding: str | None = None) -> Text:
    """The text of the file ``path``, unpacked if it is gzip'd.

    ``encoding``: how the bytes are to be decoded; None: a byte order mark decides, else UTF-8; nothing is guessed, as a
    wrong guess corrupts names
    """
    return text_of(load_bytes(path), path.name, encoding)


def text_of(data: bytes, file: str, encoding: str | None = None) -> Text:
    """The text that ``data``, which may be gzip'd, stand for."""
    data = unpacked(data, file)
    if data.startswith(_ZIP):
        raise InputError(f"{file} is a spreadsheet or a zip archive. Save it as CSV.", file=file)
    if encoding is None:
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8")
    text = Text(_transcoded(data, file, encoding), encoding)
    if not text.data.strip():
        raise InputError(f"{file} is empty.", file=file)
    if b"\0" in text.data:
        line = text.data.count(b"\n", 0, text.data.index(b"\0")) + 1
        message = (
            f"{file} has undecodable bytes: line {line} is the first with a NUL byte, which no text has. {_ADVICE}"
        )
        raise InputError(message, file=file, line=line)
    if b"\r" in text.data and b"\n" not in text.data:
        raise InputError(f"{file} ends its lines in carriage returns alone. Save it with line feeds.", file=file)
    return text


def head_of(path: Path, encoding: str | None = None) -> bytes:
    """The first lines of a UTF-8 file, which may be gzip'd: all whole lines of its first megabyte."""
    refusal = InputError(f"{path.name} is not a whole gzip file: copy or compress it again.", file=path.name)
    data = _begins(path)
    if data.startswith(_GZIP):
        with gzip.open(path) as file:
            data = call_foreign(lambda: file.read(_HEAD_BYTES), refusal)
    is_utf8 = encoding is None or encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii")
    if not is_utf8 or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(
            f"{path.name} is not in UTF-8, the only encoding that can be read piece by piece. Give "
            f"{setting('engine', 'memory')}.",
            file=path.name,
        )
    whole = data if len(data) < _HEAD_BYTES else data[: data.rfind(b"\n") + 1]
    return text_of(whole, path.name.lower().removesuffix(".gz")).data


def _begins(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return load_bytes(path)  # which says what is wrong


def is_packed(path: Path) -> bool:
    """Whether a file is gzip'd."""
    return _begins(path).startswith(_GZIP)


def unpacked(data: bytes, file: str) -> bytes:
    """``data``, or what is packed in them if they are gzip'd."""
    if not data.startswith(_GZIP) and not file.lower().endswith(".gz"):
        return data
    refusal = InputError(f"{file} is not a whole gzip file: copy or compress it again.", file=file)
    return call_foreign(lambda: gzip.decompress(data), refusal)


def _transcoded(data: bytes, file: str, encoding: str) -> bytes:
    """``data`` as UTF-8, without a byte order mark."""
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
            f"{file} has undecodable bytes: line {line} is the first that is not {encoding}. "
            f"{_ADVICE}{_read_as_windows(data, encoding)}",
            file=file,
            line=line,
        )
    if codecs.lookup(encoding).name not in ("utf-8", "ascii"):
        data = data.decode(encoding).encode()
    return data.removeprefix(codecs.BOM_UTF8)


def _read_as_windows(data: bytes, encoding: str) -> str:
    """Say how many characters cp1252, the usual encoding of Windows, would make of what is not UTF-8."""
    if codecs.lookup(encoding).name != "utf-8":
        return ""
    try:
        lines = [line for line in data.decode("cp1252").split("\n") if not line.isascii()]
    except UnicodeDecodeError:
        return ""
    others = [mark for line in lines for mark in line if not mark.isascii()]
    n_letters, mark = sum(map(str.isalpha, others)), "character" if len(others) == 1 else "characters"
    return (
        f" As Windows writes ({setting('encoding', 'cp1252')}) it has {len(others):,} {mark} beyond ASCII in "
        f"{len(lines):,} of its lines, {n_letters:,} of these letters."
    )


def is_text(word: str) -> bool:
    """Whether a word can be written: JSON may name half a character, and a command line bytes that are not UTF-8."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
