"""Which character separates the cells of a text file."""

import re

from cloister.errors import InputError

CANDIDATES = (",", ";", "\t", "|")
"""What is tried, the likeliest first."""

NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}

_SAMPLE_BYTES = 1 << 20
_SAMPLE_RECORDS = 100
_QUOTED = re.compile(rb'"[^"]*+"')


def detect_delimiter(data: bytes, file: str, usual: str | None = None) -> str:
    """The candidate that stands in the header and equally often in each of the first records, outside quotes.

    Of several, the one with the most cells. A header without any candidate is the name of one column; its cells are
    then separated by commas, in a file named ``.tsv`` by tabs, so that a second cell is found and reported.

    Parameters
    ----------
    usual : what is taken where the header has no candidate but this, or two candidates fit equally well

    Raises
    ------
    InputError : two candidates fit equally well
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
            f"The cells of {file} may be separated by {' or '.join(NAMES[mark] for mark in best)}. "
            "Name the delimiter (delimiter=..., on the command line --delimiter).",
            file=file,
        )
    return best[0]


def check_delimiter(delimiter: str) -> str:
    """``delimiter``, if it can separate cells.

    Raises
    ------
    InputError : it is not one ASCII character, or has a meaning of its own in a text file
    """
    if len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0':
        return delimiter
    raise InputError("A delimiter is one ASCII character other than a quote and the end of a line.")


def header_outside_quotes(data: bytes) -> bytes:
    """The first record of a text without its quoted cells."""
    return _sample(data)[0]


def _sample(data: bytes) -> list[bytes]:
    """The header and the first records that are not blank, without their quoted cells."""
    start = data[:_SAMPLE_BYTES]
    unquoted, cut, _ = _QUOTED.sub(b"", start).partition(b'"')
    lines = unquoted.split(b"\n", _SAMPLE_RECORDS + 1)
    is_partial = bool(cut) or len(data) > len(start) or len(lines) > _SAMPLE_RECORDS + 1
    if is_partial and len(lines) > 1:
        lines.pop()
    return [lines[0], *(line for line in lines[1:] if line.strip(b"\r"))]
