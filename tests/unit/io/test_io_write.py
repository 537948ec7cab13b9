"""What is written is what is read back, and nothing else is written."""

import datetime as dt
import io
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.errors import InputError
from cloister.io import as_text, read_table, write_csv, write_parquet
from cloister.io.columns import BLANK

ODD = st.sampled_from([*"\"',;\t|\n\r 0é\u2028\ufeff=", "\r\n", '""', "001", "1e5", "NA"])
TEXTS = st.one_of(
    st.lists(ODD, max_size=4).map("".join), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
NAMES = TEXTS.filter(lambda name: name.strip() and not re.fullmatch(r"\*|\^.*\$", name, re.DOTALL))


@st.composite
def tables(draw):
    """Any table of text with names that tell apart and at least one record."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    n_rows = draw(st.integers(1, 5))
    cells = st.none() | TEXTS
    return pl.DataFrame(
        {name: draw(st.lists(cells, min_size=n_rows, max_size=n_rows)) for name in names},
        schema=dict.fromkeys(names, pl.String),
    )


def missing_is_null(frame: pl.DataFrame) -> pl.DataFrame:
    """The same table with null for a text without anything but blanks."""
    return frame.with_columns(pl.when(~pl.all().str.contains(BLANK)).then(pl.all()))


@given(tables(), st.sampled_from([",", ";", "\t", "|"]))
@example(pl.DataFrame({"a": [None, "x", None]}, schema={"a": pl.String}), ",")
@example(pl.DataFrame({"a": ["1,2", "3"], "b;c": ["x", None]}, schema={"a": pl.String, "b;c": pl.String}), ";")
@example(pl.DataFrame({"\ufeffa": ["x"], "b": [None]}, schema={"\ufeffa": pl.String, "b": pl.String}), "\t")
@example(pl.DataFrame({"a": ['"'], "literal": [","]}, schema={"a": pl.String, "literal": pl.String}), ",")
@examples(200)
def test_csv_round_trip(frame, delimiter):
    """Any table of text is read back the same, its delimiter detected."""
    with tempfile.TemporaryDirectory() as folder:
        write_csv(frame, Path(folder, "data.csv"), delimiter)
        source = read_table(Path(folder, "data.csv"))

    assert source.frame.equals(missing_is_null(frame))
    assert source.frame.columns == frame.columns
    assert source.delimiter == delimiter or frame.width == 1
    assert source.encoding == "utf-8"
    assert source.notes == ()


@given(tables())
@settings(deadline=None)
def test_parquet_round_trip(frame):
    """Any table of text is read back the same."""
    with tempfile.TemporaryDirectory() as folder:
        write_parquet(frame, Path(folder, "data.parquet"))
        source = read_table(Path(folder, "data.parquet"))

    assert source.frame.equals(missing_is_null(frame))


@given(st.lists(st.none() | st.floats(), min_size=1), st.sampled_from(["csv", "parquet"]))
@settings(deadline=None)
def test_numbers_round_trip(values, kind):
    """Numbers come back from Parquet as numbers and from CSV as their canonical text; NaN is missing."""
    frame = pl.DataFrame({"x": values, "n": list(range(len(values)))}, schema={"x": pl.Float64, "n": pl.Int64})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"data.{kind}")
        (write_csv if kind == "csv" else write_parquet)(frame, path)
        back = read_table(path).frame

    assert as_text(back["x"]).equals(as_text(frame["x"]))
    assert back.dtypes == ([pl.String, pl.String] if kind == "csv" else frame.dtypes)


def test_the_bytes_of_csv(tmp_path):
    r"""UTF-8, \n, quotes where needed only, an empty cell for a missing value."""
    frame = pl.DataFrame({"a": ["é", None, " x "], "b,c": ['q"', "1,2", "p\nq"], "n": [1.0, None, 2.5]})

    write_csv(frame, tmp_path / "data.csv")

    assert (tmp_path / "data.csv").read_bytes() == 'a,"b,c",n\né,"q""",1\n,"1,2",\n x ,"p\nq",2.5\n'.encode()


def test_typed_columns_are_written_as_their_text(tmp_path):
    """Dates, booleans and categories stand in CSV as their canonical text."""
    frame = pl.DataFrame(
        {"d": [dt.date(2020, 1, 2)], "b": [True], "c": pl.Series(["x"], dtype=pl.Categorical), "n": [None]}
    )

    write_csv(frame, tmp_path / "data.csv", ";")

    assert (tmp_path / "data.csv").read_text() == "d;b;c;n\n2020-01-02;true;x;\n"


def test_a_table_in_pieces(tmp_path):
    """A table longer than what is written at once has its header once and every row."""
    frame = pl.DataFrame({"a": range(600_000), "b": "x"})

    write_csv(frame, tmp_path / "data.csv")

    assert read_table(tmp_path / "data.csv").frame["a"].cast(pl.Int64).equals(frame["a"])


def test_nothing_but_the_values_is_in_parquet(tmp_path):
    """Categories, rows cut off and cells blanked leave no trace; there are no statistics and no metadata."""
    secret = "PATIENT-7-SECRET"
    names = [f"{secret}-{position}" for position in range(10)]
    frame = pl.DataFrame({"c": pl.Series(names, dtype=pl.Enum(names)), "s": names, "n": list(range(10))})
    frame = frame.slice(9, 1).with_columns(
        s=pl.when(pl.col("n") > 9).then("s"), c=pl.lit("x").cast(pl.Enum(["x", *names]))
    )

    write_parquet(frame, tmp_path / "data.parquet")
    write_parquet(pl.DataFrame({"c": ["x"], "s": [None], "n": [9]}), tmp_path / "fresh.parquet")

    data = (tmp_path / "data.parquet").read_bytes()
    table = pq.ParquetFile(tmp_path / "data.parquet")
    assert (tmp_path / "fresh.parquet").read_bytes() == data
    assert secret.encode() not in data
    assert table.schema_arrow.types == [pa.large_string(), pa.large_string(), pa.int64()]
    assert table.schema_arrow.metadata is None
    assert set(table.metadata.metadata) == {b"ARROW:schema"}
    assert not any(table.metadata.row_group(0).column(position).is_stats_set for position in range(3))


def test_masked_cells_leave_no_trace_in_parquet(tmp_path):
    """What a cell held before it was blanked is written neither as text nor as number."""
    numbers = pl.Series("n", [123_456_789, 5]).to_frame().with_columns(pl.when(pl.col("n") < 9).then("n"))

    write_parquet(numbers, tmp_path / "data.parquet")

    assert (123_456_789).to_bytes(8, "little") not in (tmp_path / "data.parquet").read_bytes()


def test_the_bytes_do_not_depend_on_threads(tmp_path):
    """One thread and two write the same bytes in both formats."""
    program = (
        "import sys, polars as pl; from pathlib import Path; from cloister.io import *;"
        "f = pl.DataFrame({'a': [i % 977 for i in range(300_000)]}).with_columns(b=pl.col('a').cast(pl.String) + ',');"
        "write_csv(f, Path(sys.argv[1], 'd.csv')); write_parquet(f, Path(sys.argv[1], 'd.parquet'))"
    )
    for threads in ("1", "2"):
        (tmp_path / threads).mkdir()
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        subprocess.run([sys.executable, "-c", program, str(tmp_path / threads)], env=environment, check=True)

    for name in ("d.csv", "d.parquet"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_files_are_private_and_new(tmp_path, write):
    """A file is readable by its owner alone whatever the umask, and never written over another."""
    frame = pl.DataFrame({"a": ["x"]})
    before = os.umask(0)
    try:
        write(frame, tmp_path / "open")
        os.umask(0o777)
        write(frame, tmp_path / "shut")
    finally:
        os.umask(before)

    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    with pytest.raises(InputError, match="exists already"):
        write(frame, tmp_path / "open")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="exists already"):
        write(frame, tmp_path / "link")


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_full_disk_leaves_no_file(tmp_path, write, monkeypatch):
    """Where the disk is full the message says so and no part of the file stays."""

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(InputError, match="disk is full"):
        write(pl.DataFrame({"a": ["x"]}), tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_missing_folder_is_said(tmp_path, write):
    """A file is not written to a folder that is not there."""
    with pytest.raises(InputError, match="folder does not exist"):
        write(pl.DataFrame({"a": ["x"]}), tmp_path / "none" / "data")


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame({"": [1]}), pl.DataFrame({"a\0": [1]}), pl.DataFrame({"a": ["x\0"]}), pl.DataFrame({"a": [[1]]})],
)
def test_what_csv_cannot_hold_is_refused(tmp_path, frame):
    """NUL characters, lists and nameless columns cannot be read back, so they are not written."""
    with pytest.raises(InputError):
        write_csv(frame, tmp_path / "data.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_table_is_left_as_it_is(tmp_path):
    """Writing does not change the table."""
    frame = pl.DataFrame({"a": ["", None, "x"], "b": [1.0, float("nan"), None]})
    before = frame.clone()

    write_csv(frame, tmp_path / "a.csv")
    write_parquet(frame, tmp_path / "a.parquet")

    assert frame.equals(before)
    assert io.BytesIO((tmp_path / "a.csv").read_bytes()).readline() == b"a,b\n"
