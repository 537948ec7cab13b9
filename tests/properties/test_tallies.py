"""Tallies and runs: a table whose equal records stand once is the same table."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.errors import InputError
from cloister.io import (
    RECORDS,
    as_text,
    batches,
    first_records,
    n_records,
    read_table,
    runs,
    tally_rows,
    write_csv,
    write_parquet,
)
from cloister.io.batches import is_as_written, packed_frame, read_packed
from cloister.io.runs import read_runs, read_tally, write_runs

TEXTS = st.sampled_from([None, "a", "b", 'q"x', "c,d", "two\nlines", " ", "é"])


@st.composite
def sorted_tables(draw, with_id):
    """A table of text and numbers in the order of its values, as a release is, and its tally in that order."""
    rows = draw(st.lists(st.tuples(TEXTS, st.integers(0, 2)), min_size=1, max_size=25))
    frame = pl.DataFrame(rows, schema={'na"me': pl.String, "n": pl.Int64}, orient="row")
    keys = [pl.col('na"me').fill_null(""), pl.col("n")]
    frame, tally = frame.sort(keys), tally_rows(frame).sort(keys)
    if with_id:
        number = pl.int_range(1, frame.height + 1, eager=True).alias("id")
        first = (tally[RECORDS].cum_sum() - tally[RECORDS] + 1).alias("id")
        frame, tally = frame.with_columns(number), tally.with_columns(first)
    return frame, tally


@pytest.fixture(autouse=True, params=[1, 3, 1000])
def piece(request, monkeypatch):
    """How many records are held at a time."""
    for module in (batches, runs):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", request.param)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("delimiter", [",", ";", None])
@pytest.mark.parametrize("with_id", [False, True])
@examples(40, quick=10)
@given(data=st.data())
def test_a_tally_is_written_as_its_records_are(tmp_path_factory, delimiter, with_id, data):
    """The same bytes, however many records are held at a time; read back, the same tally in the same order."""
    frame, tally = data.draw(sorted_tables(with_id))
    folder, id_column = tmp_path_factory.mktemp("runs"), "id" if with_id else None
    suffix = "parquet" if delimiter is None else "csv"
    whole, parts = folder / f"whole.{suffix}", folder / f"parts.{suffix}"

    write_runs(tally, parts, delimiter, id_column)
    if delimiter is None:
        write_parquet(frame, whole)
    else:
        write_csv(frame, whole, delimiter)

    assert whole.read_bytes() == parts.read_bytes()
    read = read_runs(parts, delimiter, id_column)
    kinds = tally.schema if delimiter is None else dict.fromkeys(tally.schema, pl.String) | {RECORDS: pl.Int64}
    assert tally.cast(kinds).select(read.columns).equals(read)
    assert is_as_written(parts, delimiter)


@examples(100, quick=10)
@given(data=st.data())
def test_runs_of_records_out_of_order_keep_their_order(tmp_path_factory, data):
    """Records that follow in another order are read in that order, so that whoever checks the order sees it."""
    rows = data.draw(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=12))
    path = tmp_path_factory.mktemp("runs") / "data.csv"
    write_csv(pl.DataFrame({"x": rows, "y": rows}), path)

    read = read_runs(path, ",")

    assert rows == [value for value, n in read.select("x", RECORDS).iter_rows() for _ in range(n)]
    assert all(one != other for one, other in zip(read["x"], read["x"][1:], strict=False))


@examples(100, quick=10)
@given(ids=st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_ids_that_do_not_count_on_begin_a_run(tmp_path_factory, ids):
    """A run ends where the next id is not the next number, so that ids out of order cannot hide in it."""
    path = tmp_path_factory.mktemp("runs") / "data.csv"
    write_csv(pl.DataFrame({"id": ids, "x": ["same"] * len(ids)}), path)

    read = read_runs(path, ",", "id")

    told = [int(first) + i for first, n in read.select("id", RECORDS).iter_rows() for i in range(n)]
    assert ids == told


@examples(100, quick=10)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20), st.sampled_from([(), ("a",), ("a", " ")]))
def test_a_file_is_tallied_as_its_table_is(tmp_path_factory, rows, missing):
    """Read some records at a time or whole, the same combinations are counted."""
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String}, orient="row")
    path = tmp_path_factory.mktemp("tally") / "data.csv"
    write_csv(frame, path)
    words = pl.when(pl.all().is_in(list(missing))).then(None).otherwise(pl.all()).name.keep()

    expected = tally_rows(frame.with_columns(words)).sort("x", "y")

    assert expected.equals(read_tally(path, missing=missing).sort("x", "y"))


@examples(100, quick=10)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(0, 45))
def test_the_first_records_of_a_tally(counts, n):
    """So many records are taken from the beginning, a row that is cut stands for the rest of them."""
    tally = pl.DataFrame({"x": range(len(counts)), RECORDS: counts})
    records = [x for x, count in enumerate(counts) for _ in range(count)]

    found = first_records(tally, n)

    assert records[:n] == [x for x, count in found.iter_rows() for _ in range(count)]
    assert n_records(found) == min(n, sum(counts))


def _read_or_refused(read, path):
    try:
        return read(path, missing=["-"])
    except InputError as error:
        return error.message


@examples(100, quick=10)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "", "-", "é", 'q"x', "x,y"]), TEXTS) | st.none(), max_size=12))
def test_a_file_read_by_lines_is_the_table(tmp_path_factory, rows):
    """As packed text, however many lines are read at a time; what is no table is refused in the same words."""
    folder = tmp_path_factory.mktemp("lines")
    path = folder / "data.csv"
    lines = ["" if row is None else f"{row[0]},{row[1] or ''}" for row in rows]
    path.write_text("\n".join(["x,y", *lines, ""]))
    with pytest.MonkeyPatch.context() as small:
        small.setattr(batches, "LARGE_BYTES", 0)
        small.setattr(batches, "BYTES_AT_ONCE", 5)
        expected, found = _read_or_refused(read_table, path), _read_or_refused(read_packed, path)

    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert [as_text(one).to_list() for one in found.frame] == [one.to_list() for one in expected.frame]
    assert (found.delimiter, found.name, found.path) == (expected.delimiter, expected.name, expected.path)
    write_csv(expected.frame, folder / "written.csv")
    again = packed_frame(folder / "written.csv", ",")
    assert [as_text(one).to_list() for one in again] == [one.to_list() for one in expected.frame]
