"""What is read from Parquet, and what is refused."""

import datetime
import io
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cloister.errors import InputError
from cloister.io import read_table


def test_types_are_kept(tmp_path):
    """Numbers, booleans and dates keep their type; missing is null."""
    frame = pl.DataFrame(
        {
            "n": [1, None],
            "x": [1.5, None],
            "b": [True, None],
            "d": [datetime.date(2020, 1, 2), None],
            "t": [datetime.datetime(2020, 1, 2, 3), None],
            "m": [Decimal("1.50"), None],
            "s": ["001", None],
        }
    )
    frame.write_parquet(tmp_path / "data.parquet")

    source = read_table(tmp_path / "data.parquet")

    assert source.frame.equals(frame)
    assert source.frame.schema == frame.schema
    assert (source.format, source.delimiter, source.encoding, source.notes) == ("parquet", None, None, ())
    assert source.name == "data.parquet"


def test_categories_become_text_and_missing_becomes_null(tmp_path):
    """Categories and bytes are text, an empty text and NaN are missing, a column of nulls alone is text."""
    table = pa.table(
        {
            "c": pa.array(["a", "b", None]).dictionary_encode(),
            "s": ["", "x", None],
            "x": [float("nan"), 1.0, None],
            "n": pa.nulls(3),
            "b": pa.array([b"ab", b"", None]),
        }
    )
    pq.write_table(table, tmp_path / "data.parquet")

    frame = read_table(tmp_path / "data.parquet").frame

    assert frame.to_dict(as_series=False) == {
        "c": ["a", "b", None],
        "s": [None, "x", None],
        "x": [None, 1.0, None],
        "n": [None, None, None],
        "b": ["ab", None, None],
    }
    assert frame.dtypes == [pl.String, pl.String, pl.Float64, pl.String, pl.String]


@pytest.mark.parametrize("values", [[[1, 2]], [{"a": 1}], [b"\xff\xfe"]], ids=["list", "struct", "bytes"])
def test_columns_of_many_values_a_cell_are_refused(tmp_path, values):
    """A column of lists, structs or bytes that are no text is named."""
    pl.DataFrame({"id": [1], "codes": values}).write_parquet(tmp_path / "data.parquet")

    with pytest.raises(InputError, match="column 'codes'") as caught:
        read_table(tmp_path / "data.parquet")

    assert caught.value.column == "codes"


def test_the_content_tells_parquet_from_csv(tmp_path):
    """A Parquet file is read as such whatever its name, and a folder like `year=2020` or `*` adds nothing."""
    folder = tmp_path / "year=2020" / "*[x]"
    folder.mkdir(parents=True)
    pl.DataFrame({"a": [1]}).write_parquet(io.BytesIO())
    (folder / "data").write_bytes(_parquet(pl.DataFrame({"a": [1]})))
    (folder / "other.parquet").write_bytes(_parquet(pl.DataFrame({"a": [2]})))

    assert read_table(folder / "data").frame.to_dict(as_series=False) == {"a": [1]}
    assert read_table(folder / "other.parquet").frame.to_dict(as_series=False) == {"a": [2]}


def test_csv_may_begin_like_parquet(tmp_path):
    """A column named PAR1 makes no Parquet file."""
    (tmp_path / "data.csv").write_text("PAR1,b\n1,2\n")

    assert read_table(tmp_path / "data.csv").frame.columns == ["PAR1", "b"]


@pytest.mark.parametrize("cut", [1, 8, 40, 200])
def test_a_damaged_file_is_refused(tmp_path, cut):
    """A file that is not whole, or not Parquet at all, is refused."""
    data = _parquet(pl.DataFrame({"a": list(range(1000))}))
    for bad in (data[:-cut], data[cut:], b"a,b\n1,2\n", b"PAR1PAR1", data[:100] + b"\xff" * cut + data[100 + cut :]):
        (tmp_path / "data.parquet").write_bytes(bad)
        if bad[:4] == bad[-4:] == b"PAR1" and len(bad) == len(data):
            continue  # damage within the pages may or may not be noticed
        with pytest.raises(InputError, match="Parquet"):
            read_table(tmp_path / "data.parquet")


def test_an_empty_file_is_refused(tmp_path):
    """A file without bytes is called empty."""
    (tmp_path / "data.parquet").write_bytes(b"")

    with pytest.raises(InputError, match="empty"):
        read_table(tmp_path / "data.parquet")


def test_a_table_without_records_is_refused(tmp_path):
    """A Parquet file without rows is no table."""
    pl.DataFrame({"a": []}, schema={"a": pl.String}).write_parquet(tmp_path / "data.parquet")

    with pytest.raises(InputError, match="no records"):
        read_table(tmp_path / "data.parquet")


def test_empty_names_are_refused(tmp_path):
    """Every column needs a name."""
    pl.DataFrame({"": [1], "b": [2]}).write_parquet(tmp_path / "data.parquet")

    with pytest.raises(InputError, match="no name"):
        read_table(tmp_path / "data.parquet")


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("column", ["DATE 'infinity'", "TIMESTAMP '-infinity'", "TIMESTAMPTZ 'infinity'"])
def test_dates_that_are_no_days_are_refused(tmp_path, column):
    """A database writes an infinity into Parquet; no table is made of it, and the message names the column alone."""
    duckdb.execute(f"COPY (SELECT 1 AS id, {column} AS seen) TO '{tmp_path / 'data.parquet'}'")
    with pytest.raises(InputError, match=r"column 'seen' has dates outside the years 1 to 9999, .* \(1 records\)"):
        read_table(tmp_path / "data.parquet")
