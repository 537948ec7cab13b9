"""No value of the data in any error: not in its text, its fields, its causes or its traceback."""

import gzip
import io
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cloister.errors import InputError
from cloister.io import as_text, from_native, read_table, write_csv, write_parquet

SECRET = "PATIENT-7-SECRET"


def search(error: BaseException) -> None:
    """Fail if the secret is anywhere in an error or in what it came from."""
    seen: list[BaseException | None] = [error]
    for found in seen:
        if found is None:
            continue
        assert SECRET not in f"{found} {found!r} {found.args!r} {vars(found)!r} {getattr(found, '__notes__', '')}"
        seen += [cause for cause in (found.__cause__, found.__context__) if cause not in seen]
    assert SECRET not in "".join(traceback.format_exception(error))


def refused(action: Callable[[], Any]) -> None:
    """The action fails with our error, which holds no secret."""
    with pytest.raises(InputError) as caught:
        action()
    search(caught.value)


def parquet(frame: pl.DataFrame) -> bytes:
    """The bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="uncompressed")
    return buffer.getvalue()


GOOD = f"name,age\n{SECRET},39\n".encode()
TABLE = pl.DataFrame({"name": [SECRET] * 50, "codes": [[SECRET]] * 50})
BAD_TEXT = {
    "short": GOOD + SECRET.encode() + b"\n",
    "long": GOOD + f"{SECRET},39,{SECRET}\n".encode(),
    "open quote": GOOD + f'"{SECRET},39\n'.encode(),
    "inner quote": GOOD + f'{SECRET}"x",39\n'.encode(),
    "after quote": GOOD + f'"{SECRET}"x,39\n'.encode(),
    "carriage return": GOOD + f"{SECRET}\rx,39\n".encode(),
    "undecodable": GOOD + SECRET.encode() + b"\x81,39\n",
    "NUL": GOOD + SECRET.encode() + b"\0,39\n",
    "no header": f"{SECRET},{SECRET}\nx,y\n".encode(),
    "no name": f"{SECRET},\nx,y\n".encode(),
    "blank start": b"\n" + GOOD,
    "header only": f"{SECRET},b\n".encode(),
    "two delimiters": f"{SECRET},b;c\n{SECRET},1;2\n".encode(),
    "old line ends": GOOD.replace(b"\n", b"\r"),
    "cut gzip": gzip.compress(GOOD, 0)[:-4],
    "zip": b"PK\x03\x04" + GOOD,
}


@pytest.mark.parametrize("data", BAD_TEXT.values(), ids=BAD_TEXT)
def test_bad_text(tmp_path, data):
    """No refusal of a text file shows what stands in it."""
    (tmp_path / "data.csv").write_bytes(data)

    refused(lambda: read_table(tmp_path / "data.csv"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "ascii", "klingon", "utf-32", "idna", "cp1252"])
def test_bad_encodings(tmp_path, encoding):
    """No refusal for an encoding shows the bytes."""
    (tmp_path / "data.csv").write_bytes(GOOD + SECRET.encode() + b"\x81..\xff,39\n")

    refused(lambda: read_table(tmp_path / "data.csv", encoding=encoding))


def test_damaged_parquet(tmp_path):
    """No refusal of a Parquet file shows what stands in it, wherever it is damaged."""
    data = parquet(TABLE.drop("codes"))
    path = tmp_path / "data.parquet"
    n_refused = 0
    for position in range(4, len(data) - 4, 7):
        path.write_bytes(data[:position] + b"\xff\xff\xff" + data[position + 3 :])
        try:
            read_table(path)
        except InputError as error:
            n_refused += 1
            search(error)
    assert n_refused > 10
    path.write_bytes(parquet(TABLE))
    refused(lambda: read_table(path))
    path.write_bytes(data[:-9])
    refused(lambda: read_table(path))


def _raises() -> pl.LazyFrame:
    return pl.LazyFrame({"a": [SECRET]}).with_columns(pl.col("a").cast(pl.Int64))


FRAMES = {
    "lazy": _raises,
    "nested": lambda: TABLE,
    "duckdb": lambda: duckdb.connect().sql(f"SELECT CAST(x AS INTEGER) AS a FROM (VALUES ('{SECRET}')) AS t(x)"),
    "mixed": lambda: pd.DataFrame({"a": [SECRET, 1]}),
    "objects": lambda: pd.DataFrame({"a": [SECRET, {SECRET}]}),
    "large": lambda: pd.DataFrame({"a": pd.Series([2**80, 1], dtype=object)}),
    "surrogate": lambda: pd.DataFrame({"a": pd.Series([SECRET + "\ud800"], dtype=object)}),
    "names": lambda: pa.table([pa.array([SECRET])] * 2, names=[SECRET, SECRET]),
    "dictionary": lambda: {"a": [SECRET]},
    "text": lambda: SECRET,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_bad_dataframes(make):
    """No refusal of a dataframe shows what it holds."""
    refused(lambda: from_native(make()))


def test_bad_ways_back():
    """A release that cannot be made the user's kind of dataframe does not show what it holds."""
    native = from_native(pd.DataFrame({"a": [1]}))

    refused(
        lambda: native.back(pl.DataFrame({"a": [2**70]}, schema={"a": pl.Int128}).with_columns(b=pl.lit(SECRET)).lazy())
    )


def test_bad_columns():
    """No refusal of a column shows what it holds."""
    refused(lambda: as_text(pl.Series("a", [SECRET.encode() + b"\xff"])))
    refused(lambda: as_text(pl.Series("a", [[SECRET]])))


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_bad_writing(tmp_path, write, monkeypatch):
    """No refusal to write shows what was to be written."""
    frame = pl.DataFrame({"a": [SECRET]})

    refused(lambda: write(TABLE, tmp_path / "a"))
    refused(lambda: write(frame, tmp_path / "none" / "a"))
    refused(lambda: write(frame.rename({"a": " "}), tmp_path / "a"))
    (tmp_path / "there").touch()
    refused(lambda: write(frame, tmp_path / "there"))

    def fail(*_args: object, **_options: object) -> None:
        raise pl.exceptions.ComputeError(SECRET)

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", fail)
    refused(lambda: write(frame, tmp_path / "a"))
    assert {path.name for path in tmp_path.iterdir()} == {"there"}


def test_nul_in_text(tmp_path):
    """A text that CSV cannot hold is not shown."""
    refused(lambda: write_csv(pl.DataFrame({"a": [SECRET + "\0"]}), tmp_path / "a"))


def test_an_error_inside_polars(tmp_path, monkeypatch):
    """Whatever Polars raises, a panic included, is replaced."""
    (tmp_path / "data.csv").write_bytes(GOOD)
    for error in (pl.exceptions.ComputeError, ValueError, pl.exceptions.PanicException):

        def fail(*_args: object, kind: type[BaseException] = error, **_options: object) -> None:
            raise kind(SECRET)

        monkeypatch.setattr(pl, "read_csv", fail)
        refused(lambda: read_table(Path(tmp_path, "data.csv")))
