"""One table has one file: what was released is written again from what is read, and must be the same bytes."""

import datetime
from decimal import Decimal

import polars as pl
import pyarrow.parquet as pq
import pytest

from cloister.io import batches, write_csv, write_parquet
from cloister.io.batches import is_as_written

PLAIN = pl.DataFrame(
    {
        "text": ["a", None, "b"],
        "float": [0.5, None, -1.0],
        "single": pl.Series([0.5, None, 1.0], dtype=pl.Float32),
        "whole": [1, None, 3],
        "small": pl.Series([1, 2, None], dtype=pl.UInt8),
        "wide": pl.Series([1, 2, None], dtype=pl.Int128),
        "yes": [True, None, False],
        "day": [datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1)],
        "at": [datetime.time(1, 2, 3), None, datetime.time(4)],
        "when": pl.Series([1, 2, None], dtype=pl.Datetime("ns", "Europe/Berlin")),
        "then": pl.Series([1, 2, None], dtype=pl.Datetime("ms")),
        "long": pl.Series([1, 2, None], dtype=pl.Duration("us")),
        "exact": [Decimal("1.25"), None, Decimal("3.50")],
        "nothing": [None, None, None],
        "kind": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize("rows", [1, 3, pytest.param(700_000, marks=pytest.mark.full)])
def test_whatever_we_write_is_as_written(tmp_path, rows):
    """Every type that can be released, in few rows and in several row groups, is found as it was written."""
    path = tmp_path / "data.parquet"
    write_parquet(pl.concat([PLAIN] * (rows // 3 + 1)).head(rows), path)

    assert is_as_written(path, None)


def with_text(path):
    """The texts missing in a column put to empty ones."""
    frame = pl.read_parquet(path)
    return frame.with_columns(pl.col("text").fill_null(""))


def with_nan(path):
    """The numbers missing in a column put to those that are none."""
    return pl.read_parquet(path).with_columns(pl.col("float").fill_null(float("nan")))


def written(frame, path, **words):
    """A frame written by Polars, with other words than ours."""
    ours = {"statistics": False, "row_group_size": 1 << 18, "compression": "zstd"}
    frame.lazy().sink_parquet(path, **(ours | words))


def with_bytes_between(path):
    """Bytes that no reader looks at, before the footer."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:-length] + b"M001 is the mayor" + content[-length:])


CARRIERS = {
    "an empty text for a missing one": lambda path: written(with_text(path), path),
    "a NaN for a missing number": lambda path: written(with_nan(path), path),
    "bytes before the footer": with_bytes_between,
    "statistics": lambda path: written(pl.read_parquet(path), path, statistics=True),
    "metadata": lambda path: written(pl.read_parquet(path), path, metadata={"note": "M001 is the mayor"}),
    "borders of row groups": lambda path: written(pl.read_parquet(path), path, row_group_size=1),
    "another compression": lambda path: written(pl.read_parquet(path), path, compression="snappy"),
    "another writer": lambda path: pq.write_table(pq.read_table(path), path),
}


@pytest.mark.parametrize("change", CARRIERS.values(), ids=CARRIERS)
def test_nothing_hides_in_a_parquet_file(tmp_path, change):
    """The same table in other bytes could carry a message, and other kinds of missing values do; both are seen."""
    path = tmp_path / "data.parquet"
    write_parquet(PLAIN.drop("wide"), path)
    assert is_as_written(path, None)
    change(path)

    assert not is_as_written(path, None)


@pytest.mark.parametrize("large", [1, 1 << 28])
def test_other_spellings_of_a_text_are_seen(tmp_path, monkeypatch, large):
    """A text that spells the same cells otherwise is told from one that we write, in pieces as whole."""
    monkeypatch.setattr(batches, "LARGE_BYTES", large)
    path, other = tmp_path / "data.csv", tmp_path / "other.csv"
    write_csv(pl.DataFrame({"x": ["a"], "y": ["b"]}), path)
    other.write_text('x,y\n"a",b\n')

    assert is_as_written(path, ",")
    assert not is_as_written(other, ",")
