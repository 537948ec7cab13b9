"""Tallies and runs: a table whose equal records stand once is the same table."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.errors import InputError, InternalError
from cloister.io import Tally, as_text, batches, read_table, write_csv, write_parquet
from cloister.io.batches import is_as_written, read_packed, read_packed_frame, read_runs, read_tally, write_runs
from cloister.io.tally import concat_tallies

TEXTS = st.sampled_from([None, "a", "b", 'q"x', "c,d", "two\nlines", " x", "é"])


def in_order(tally, keys):
    """A tally with its rows sorted."""
    return tally.gather(tally.frame.select(pl.arg_sort_by(*keys)).to_series())


def records_of(tally):
    """The records of a tally as tuples, each as often as it occurs."""
    return [row for row, n in zip(tally.frame.rows(), tally.weights, strict=True) for _ in range(n)]


@st.composite
def sorted_tables(draw, with_id):
    """A table of text and numbers in the order of its values, as a release is, and its tally in that order."""
    rows = draw(st.lists(st.tuples(TEXTS, st.integers(0, 2)), min_size=1, max_size=25))
    frame = pl.DataFrame(rows, schema={'na"me': pl.String, "n": pl.Int64}, orient="row")
    keys = [pl.col('na"me').fill_null(""), pl.col("n")]
    frame, tally = frame.sort(keys), in_order(Tally(frame).merge(), keys)
    if with_id:
        number = pl.int_range(1, frame.height + 1, eager=True).alias("id")
        first = (tally.counts.cum_sum() - tally.counts + 1).alias("id")
        frame, tally = frame.with_columns(number), tally.replace_rows(tally.frame.with_columns(first))
    return frame, tally


@pytest.fixture(autouse=True, params=[1, 3, 1000])
def piece(request, monkeypatch):
    """How many records are held at a time."""
    monkeypatch.setattr(batches, "ROWS_AT_ONCE", request.param)


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
    kinds = tally.frame.schema if delimiter is None else dict.fromkeys(tally.frame.schema, pl.String)
    assert tally.frame.cast(kinds).equals(read.frame)
    assert tally.counts.equals(read.counts)
    assert is_as_written(parts, delimiter)


@examples(100, quick=10)
@given(data=st.data())
def test_runs_of_records_out_of_order_keep_their_order(tmp_path_factory, data):
    """Records that follow in another order are read in that order, so that whoever checks the order sees it."""
    rows = data.draw(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=12))
    path = tmp_path_factory.mktemp("runs") / "data.csv"
    write_csv(pl.DataFrame({"x": rows, "y": rows}), path)

    read = read_runs(path, ",")

    assert rows == [value for value, _ in records_of(read)]
    assert all(one != other for one, other in zip(read.frame["x"], read.frame["x"][1:], strict=False))


@examples(100, quick=10)
@given(ids=st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_ids_that_do_not_count_on_begin_a_run(tmp_path_factory, ids):
    """A run ends where the next id is not the next number, so that ids out of order cannot hide in it."""
    path = tmp_path_factory.mktemp("runs") / "data.csv"
    write_csv(pl.DataFrame({"id": ids, "x": ["same"] * len(ids)}), path)

    read = read_runs(path, ",", "id")

    told = [int(first) + i for first, n in zip(read.frame["id"], read.counts, strict=True) for i in range(n)]
    assert ids == told


@examples(100, quick=10)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20), st.sampled_from([(), ("a",), ("a", " ")]))
def test_a_file_is_tallied_as_its_table_is(tmp_path_factory, rows, missing):
    """Read some records at a time or whole, the same combinations are counted."""
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String}, orient="row")
    path = tmp_path_factory.mktemp("tally") / "data.csv"
    write_csv(frame, path)
    words = pl.when(pl.all().is_in(list(missing))).then(None).otherwise(pl.all()).name.keep()

    expected, read = (
        in_order(tally, ["x", "y"])
        for tally in (Tally(frame.with_columns(words)).merge(), read_tally(path, missing=missing))
    )

    assert expected.frame.equals(read.frame)
    assert expected.counts.equals(read.counts)


NAMES = st.lists(st.sampled_from(["x", "^y.*$", "*", "n", "records"]), min_size=1, max_size=3, unique=True)


@examples(200, quick=20)
@given(data=st.data(), names=NAMES, n=st.integers(0, 45))
def test_a_tally_answers_as_its_records_do(data, names, n):
    """Whatever is asked of a tally, of any names of columns, the answer is that of a row for each record."""
    width = st.tuples(*[st.sampled_from([None, "a", "b"])] * len(names))
    rows = data.draw(st.lists(st.tuples(width, st.integers(1, 5)), min_size=1, max_size=8))
    schema = dict.fromkeys(names, pl.String)
    frame = pl.DataFrame([row for row, _ in rows], schema=schema, orient="row")
    tally = Tally(frame, pl.Series([count for _, count in rows], dtype=pl.Int64))
    table = Tally(pl.DataFrame([row for row, count in rows for _ in range(count)], schema=schema, orient="row"))
    is_kept = pl.Series([row[0] != "a" for row, _ in rows])

    assert records_of(tally) == records_of(table)
    assert tally.n_records == table.n_records == len(table.frame)
    assert sorted(tally.merge().weights) == sorted(table.merge().weights) == sorted(Counter(records_of(table)).values())
    assert Counter(records_of(tally.merge())) == Counter(records_of(table.merge())) == Counter(records_of(table))
    assert records_of(tally.filter(is_kept)) == [row for row in records_of(table) if row[0] != "a"]
    assert records_of(tally.gather(is_kept.arg_true())) == records_of(tally.filter(is_kept))
    assert records_of(tally.head(n)) == records_of(table.head(n)) == records_of(table)[:n]
    assert records_of(concat_tallies([tally, table])) == records_of(table) * 2
    assert concat_tallies([table, table]).counts is None


@examples(100, quick=10)
@given(st.lists(st.tuples(TEXTS, st.integers(1, 5)), min_size=1, max_size=8))
def test_groups_of_a_tally_are_counted_by_records(rows):
    """Counts of a group are those of its records; a count of other rows is refused."""
    tally = Tally(pl.DataFrame({"x": [x for x, _ in rows]}), pl.Series([n for _, n in rows], dtype=pl.Int64))
    expected = Counter(x for x, n in rows for _ in range(n))

    assert dict(tally.count(["x"], "n").iter_rows()) == expected
    assert dict(tally.count([pl.col("x").alias("value")], "x").iter_rows()) == expected
    with pytest.raises(InternalError):
        tally.replace_rows(tally.frame.clear())


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
    again = read_packed_frame(folder / "written.csv", ",")
    assert [as_text(one).to_list() for one in again] == [one.to_list() for one in expected.frame]
