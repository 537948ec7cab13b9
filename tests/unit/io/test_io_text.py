"""How bytes become text."""

import gzip
from pathlib import Path

import pytest

from cloister.errors import InputError
from cloister.io import read_table


def written(tmp_path: Path, data: bytes, name: str = "data.csv") -> Path:
    """A new file of that content."""
    path = tmp_path / name
    path.write_bytes(data)
    return path


def refusal(path: Path, **options: str) -> InputError:
    """The error with which the file is refused; it names the file."""
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    assert caught.value.file == path.name
    return caught.value


TABLE = "name,age\nZoë,39\n"


@pytest.mark.parametrize(("encoding", "found"), [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16")])
def test_encodings_are_recognised(tmp_path, encoding, found):
    """A byte order mark decides, else it is UTF-8, and the text is the same in each."""
    source = read_table(written(tmp_path, TABLE.encode(encoding)))

    assert source.frame.rows() == [("Zoë", "39")]
    assert source.frame.columns == ["name", "age"]
    assert source.encoding == found
    assert source.notes == ()


def test_utf16_big_endian_is_recognised(tmp_path):
    """The other byte order mark of UTF-16 decides as well."""
    source = read_table(written(tmp_path, b"\xfe\xff" + TABLE.encode("utf-16-be")))

    assert source.frame.rows() == [("Zoë", "39")]


def test_no_encoding_is_guessed(tmp_path):
    """A file that is not UTF-8 is refused, and the message names the option."""
    error = refusal(written(tmp_path, TABLE.encode("cp1252")))

    assert error.line == 2
    assert "name its encoding" in error.message


@pytest.mark.parametrize("bad", [b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d", b"\xff", b"\xe9\0"])
def test_undecodable_bytes_are_refused(tmp_path, bad):
    """Bytes that are not UTF-8 are refused with the line of the first."""
    error = refusal(written(tmp_path, b"name,age\nAnn,39\nB" + bad + b"b,40\n"))

    assert "undecodable bytes" in error.message
    assert "name its encoding" in error.message
    assert error.line == 3


def test_utf16_without_a_mark_is_refused(tmp_path):
    """UTF-16 without a byte order mark looks like UTF-8 with NUL bytes, and is not read as such."""
    error = refusal(written(tmp_path, "name,age\nAnn,39\n".encode("utf-16-le")))

    assert "NUL" in error.message
    assert error.line == 1


def test_a_named_encoding_overrules(tmp_path):
    """The encoding that the user names is the one used, even where another would do."""
    source = read_table(written(tmp_path, "name,age\nЖанна,39\n".encode("cp1251")), encoding="cp1251")

    assert source.frame["name"].to_list() == ["Жанна"]
    assert source.encoding == "cp1251"
    assert source.notes == ()


def test_a_named_encoding_may_be_wrong(tmp_path):
    """Bytes that the named encoding does not define are refused with their line."""
    assert refusal(written(tmp_path, TABLE.encode("cp1252")), encoding="utf-8").line == 2
    assert refusal(written(tmp_path, TABLE.encode("utf-8")), encoding="ascii").line == 2
    assert "utf-16" in refusal(written(tmp_path, b"a,b\n1,2\n3"), encoding="utf-16").message


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13", "a\0b", "undefined"])
def test_an_unknown_encoding_is_refused(tmp_path, encoding):
    """A name that is no encoding of text is refused."""
    refusal(written(tmp_path, TABLE.encode()), encoding=encoding)


def test_a_named_utf8_may_have_a_mark(tmp_path):
    """A byte order mark is no part of the first name, whoever names the encoding."""
    source = read_table(written(tmp_path, TABLE.encode("utf-8-sig")), encoding="utf-8")

    assert source.frame.columns == ["name", "age"]


@pytest.mark.parametrize("name", ["data.csv.gz", "data.csv"])
def test_gzip_is_unpacked(tmp_path, name):
    """A gzip'd file is known by its bytes, whatever its name."""
    source = read_table(written(tmp_path, gzip.compress(TABLE.encode("utf-16")), name))

    assert source.frame.rows() == [("Zoë", "39")]
    assert source.format == "csv"
    assert source.name == name


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(TABLE.encode())[:-6],
        gzip.compress(TABLE.encode())[:12],
        b"\x1f\x8bnot gzip",
        gzip.compress(TABLE.encode())[:-8] + b"12345678",
        TABLE.encode(),
    ],
    ids=["cut", "cut early", "no gzip", "wrong checksum", "plain"],
)
def test_corrupt_gzip_is_refused(tmp_path, data):
    """A file named .gz that does not unpack whole is refused."""
    assert "gzip" in refusal(written(tmp_path, data, "data.csv.gz")).message


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b" \r\n"])
def test_an_empty_file_is_refused(tmp_path, data):
    """A file without any text is called empty."""
    assert "empty" in refusal(written(tmp_path, data)).message


def test_an_empty_gzip_is_refused(tmp_path):
    """A gzip'd file without any text is called empty."""
    assert "empty" in refusal(written(tmp_path, gzip.compress(b""), "data.csv.gz")).message


def test_a_spreadsheet_is_refused(tmp_path):
    """A spreadsheet is recognised and the way out is said."""
    assert "Save it as CSV" in refusal(written(tmp_path, b"PK\x03\x04rest", "data.csv")).message


def test_old_line_ends_are_refused(tmp_path):
    """Carriage returns alone do not end lines."""
    assert "line feeds" in refusal(written(tmp_path, b"a,b\r1,2\r")).message


def test_a_missing_file_is_refused(tmp_path):
    """A file that is not there is named."""
    assert "There is no file" in refusal(tmp_path / "none.csv").message
    assert "There is no file" in refusal(tmp_path / "none.parquet").message


def test_a_folder_is_refused(tmp_path):
    """A folder is not a file, whatever its name."""
    for name in ("folder", "folder.csv", "folder.parquet"):
        (tmp_path / name).mkdir()
        assert "folder" in refusal(tmp_path / name).message


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
@pytest.mark.parametrize(
    ("error", "words"), [(PermissionError(13, "Permission denied"), "permission"), (OSError(5, "I/O error"), "I/O")]
)
def test_an_unreadable_file_is_refused(tmp_path, monkeypatch, name, error, words):
    """A file that the system does not give is refused with the reason."""

    def refuse(*_args: object, **_options: object) -> bytes:
        raise error

    path = written(tmp_path, b"a,b\n1,2\n", name)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    monkeypatch.setattr(Path, "open", refuse)

    assert words in refusal(path).message
