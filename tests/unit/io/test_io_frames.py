"""Any dataframe in, the same kind out."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloister.errors import InputError
from cloister.io import frames, from_native
from cloister.io.frames import from_pandas, to_pandas

ROWS = {"id": ["001", None, "é"], "age": [39, 40, None]}
TABLE = pl.DataFrame(ROWS)


def duckdb_relation() -> duckdb.DuckDBPyRelation:
    """A relation on a connection of its own."""
    return duckdb.connect().sql("SELECT * FROM (VALUES ('001', 39), (NULL, 40), ('é', NULL)) AS t(id, age)")


class Stream:
    """A table of somebody's own, known by the protocol of Arrow alone."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(ROWS).__arrow_c_stream__(requested_schema)


MAKERS = {
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.LazyFrame(ROWS),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pyarrow": lambda: pa.table(ROWS),
    "duckdb": duckdb_relation,
    "narwhals": lambda: nw.from_native(pd.DataFrame(ROWS)),
    "stream": Stream,
    "reader": lambda: pa.table(ROWS).to_reader(),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_is_read_alike(make):
    """The same table gives the same columns whatever holds it."""
    frame = from_native(make()).frame

    assert frame.columns == ["id", "age"]
    assert frame.cast({"age": pl.Int64}).equals(TABLE)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("polars", pl.DataFrame),
        ("lazy", pl.DataFrame),
        ("pandas", pd.DataFrame),
        ("pyarrow", pa.Table),
        ("duckdb", duckdb.DuckDBPyRelation),
        ("narwhals", pd.DataFrame),
        ("stream", pl.DataFrame),
        ("reader", pl.DataFrame),
    ],
)
def test_the_same_kind_comes_back(kind, found):
    """The way back makes the user's kind of dataframe, lazy Polars being eager, with every value in its place."""
    released = pl.DataFrame({"id": [2, 1], "age": ["[30-40]", None]})

    data = from_native(MAKERS[kind]()).back(released)

    assert isinstance(data, found)
    assert from_native(data).frame.equals(released)


@pytest.mark.parametrize(
    "data", [None, [1], {"a": [1]}, "data.csv", np.zeros((2, 2)), pl.Series([1]), pd.Series([1]), Stream]
)
def test_other_objects_are_refused(data):
    """What is no dataframe is refused by its type, with what would do."""
    with pytest.raises(
        InputError, match=r"pandas or Polars DataFrame.*PyArrow Table.*DuckDB relation.*__arrow_c_stream__"
    ):
        from_native(data)


@pytest.mark.parametrize("kind", ["pandas", "lazy"])
def test_a_frame_that_only_narwhals_knows_is_read(kind):
    """A frame of a library with no case of its own is read by narwhals, eager or lazy, and Polars comes back."""
    native = frames._from_other(MAKERS[kind]())

    assert native.frame.cast({"age": pl.Int64}).equals(TABLE)
    assert isinstance(native.back(native.frame), pl.DataFrame)


def test_a_stream_that_is_no_table_names_no_value():
    """A column alone behind the protocol of Arrow is refused without what is in it."""

    class Column:
        def __arrow_c_stream__(self, requested_schema=None):
            return pl.Series(["PATIENT-1"]).__arrow_c_stream__(requested_schema)

    with pytest.raises(InputError, match="The table of type Column cannot be read"):
        from_native(Column())


def test_a_pandas_index_is_never_kept():
    """Row labels are neither a column nor positions, and the way back counts from 0."""
    data = pd.DataFrame({"a": [1, 2]}, index=["MRN-7", "MRN-7"])

    native = from_native(data)
    back = native.back(native.frame)

    assert native.frame.to_dict(as_series=False) == {"a": [1, 2]}
    assert isinstance(back.index, pd.RangeIndex)
    assert back["a"].to_list() == [1, 2]


def test_a_pandas_dataframe_is_left_as_it_is():
    """Reading neither changes the user's dataframe nor shares its memory with the way back."""
    data = pd.DataFrame({"a": [1.0, None], "b": pd.Categorical(["x", None]), "c": ["", "y"]}, index=[5, 6])
    before = data.copy(deep=True)

    native = from_native(data)
    back = native.back(native.frame)
    back.iloc[0, 0] = 7.0

    pd.testing.assert_frame_equal(data, before)
    assert native.frame["a"].to_list() == [1.0, None]


def test_a_polars_dataframe_is_left_as_it_is():
    """Reading does not change the user's dataframe."""
    data = pl.DataFrame({"a": ["", "x"], "b": [float("nan"), 1.0]})

    assert from_native(data).frame.rows() == [(None, None), ("x", 1.0)]
    assert data["a"].to_list() == ["", "x"]
    assert data["b"].is_nan().to_list() == [True, False]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Series([1, 2], dtype="int8"), [1, 2]),
        (pd.Series([1.5, np.nan]), [1.5, None]),
        (pd.Series([1.5, np.nan], dtype="float16"), [1.5, None]),
        (pd.Series([True, False]), [True, False]),
        (pd.Series([1, pd.NA], dtype="Int64"), [1, None]),
        (pd.Series([0.5, pd.NA], dtype="Float32"), [0.5, None]),
        (pd.Series([True, pd.NA], dtype="boolean"), [True, None]),
        (pd.Series(["a", pd.NA], dtype="string"), ["a", None]),
        (pd.Series(["a", "", np.nan, None, pd.NA], dtype=object), ["a", None, None, None, None]),
        (pd.Series(["a", None], dtype=pd.ArrowDtype(pa.string())), ["a", None]),
        (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int32())), [1, None]),
        (pd.Series([1, None, True], dtype=object).iloc[:2], [1, None]),
        (pd.Series([1, 2.5, np.float32(3)], dtype=object), [1.0, 2.5, 3.0]),
        (pd.Series([np.int16(1), 2], dtype=object), [1, 2]),
        (pd.Series([np.True_, False], dtype=object), [True, False]),
        (pd.Series([None, np.nan], dtype=object), [None, None]),
        (pd.Series([Decimal("1.5"), None], dtype=object), [Decimal("1.5"), None]),
        (pd.Series([dt.date(2020, 1, 2), None], dtype=object), [dt.date(2020, 1, 2), None]),
        (pd.Series([dt.time(1, 2), None], dtype=object), [dt.time(1, 2), None]),
        (pd.Series([pd.Timestamp(2020, 1, 2), pd.NaT], dtype=object), [dt.datetime(2020, 1, 2), None]),
        (pd.Series([pd.Timestamp(2020, 1, 2), pd.NaT]), [dt.datetime(2020, 1, 2), None]),
        (pd.Series([pd.Timestamp(2020, 1, 2), pd.NaT], dtype="datetime64[s]"), [dt.datetime(2020, 1, 2), None]),
        (pd.Series([pd.Timedelta(days=1), pd.NaT]), [dt.timedelta(days=1), None]),
        (pd.Categorical(["b", None, "a"], categories=["a", "b", "unused"]), ["b", None, "a"]),
        (pd.Categorical([2, None]), ["2", None]),
        (pd.Categorical([2.0, 2.5]), ["2", "2.5"]),
        (pd.Categorical([None, None]), [None, None]),
        (pd.arrays.SparseArray([0, 1, 0]), [0, 1, 0]),
    ],
)
def test_pandas_types(values, expected):
    """Every way of pandas to hold a value or to miss one is understood."""
    frame = from_native(pd.DataFrame({"a": values})).frame

    assert frame["a"].to_list() == expected


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_pandas_time_zones(zone):
    """A moment stays the moment, in its zone, both ways."""
    data = pd.DataFrame({"t": pd.Series([pd.Timestamp("2020-07-01 12:00", tz=zone), pd.NaT])})

    native = from_native(data)
    back = native.back(native.frame)

    assert native.frame["t"][0] == data["t"][0]
    assert native.frame.schema["t"].time_zone == zone
    assert back["t"][0] == data["t"][0]
    assert back["t"].isna().to_list() == [False, True]


@pytest.mark.parametrize("values", [["a", 1], [1, True], [dt.date(2020, 1, 1), "x"]])
def test_pandas_columns_of_mixed_types_are_refused(values):
    """A column that mixes types has no one text, so the user must decide."""
    with pytest.raises(InputError, match="Column 'a' mixes types"):
        from_native(pd.DataFrame({"a": pd.Series(values, dtype=object)}))


@pytest.mark.parametrize("values", [[[1]], [{"a": 1}], [1j], [pd.Period("2020", "Y")], [pd.Interval(0, 1)], [2**70]])
def test_pandas_objects_of_other_types_are_refused(values):
    """What is not text, number or date is refused."""
    with pytest.raises(InputError, match="Column 'a'") as caught:
        from_native(pd.DataFrame({"a": pd.Series(values, dtype=object)}))

    assert caught.value.column == "a"


@pytest.mark.parametrize("names", [["a", "a"], [0, 1], ["a", None], [("a", "b"), ("a", "c")], ["a", ""]])
def test_pandas_names_that_do_not_tell_apart_are_refused(names):
    """Column names are different texts."""
    data = pd.DataFrame([[1, 2]])
    data.columns = names

    with pytest.raises(InputError, match="column"):
        from_native(data)


def test_equal_names_of_other_kinds_are_refused():
    """PyArrow and DuckDB allow equal names; we do not."""
    for data in (
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        duckdb.connect().sql("SELECT 1 AS a, 2 AS a"),
    ):
        with pytest.raises(InputError, match="columns 1 and 2"):
            from_native(data)


@given(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.lists(st.none() | st.floats(allow_nan=False), max_size=5),
    st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5),
    st.lists(st.none() | st.booleans(), max_size=5),
)
@settings(deadline=None)
def test_pandas_and_back_is_the_same(integers, floats, texts, booleans):
    """Numbers, text and booleans pass through pandas unchanged, missing values included."""
    n_rows = min(map(len, (integers, floats, texts, booleans)))
    frame = pl.DataFrame(
        {"i": integers[:n_rows], "f": floats[:n_rows], "t": texts[:n_rows], "b": booleans[:n_rows]},
        schema={"i": pl.Int64, "f": pl.Float64, "t": pl.String, "b": pl.Boolean},
    )

    back = from_pandas(to_pandas(frame))

    for name in frame.columns:
        assert back[name].to_list() == frame[name].to_list()


def test_other_types_pass_through_pandas():
    """Dates, times, decimals and durations come back as they were."""
    frame = pl.DataFrame(
        {
            "d": [dt.date(2020, 1, 2), None],
            "t": [dt.time(1, 2), None],
            "m": [Decimal("1.50"), None],
            "s": [dt.timedelta(days=1), None],
            "z": [dt.datetime(2020, 1, 2), None],
            "n": pl.Series([None, None], dtype=pl.String),
        }
    )

    assert from_pandas(to_pandas(frame)).equals(frame)


def test_text_is_text_in_pandas():
    """Text comes back in pandas' own type for text, also where every value is missing."""
    back = to_pandas(pl.DataFrame({"a": ["x", None], "b": pl.Series([None, None], dtype=pl.String)}))

    assert [str(dtype) for dtype in back.dtypes] == ["str", "str"]


def test_a_duckdb_relation_comes_back_on_its_connection():
    """The released relation can be joined with the user's, and nothing is left in the user's database."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE patients AS SELECT range AS id FROM range(3)")
    relation = connection.table("patients")

    released = from_native(relation).back(pl.DataFrame({"key": [1, 2], "age": ["40", None]}))
    joined = relation.join(released, "id = key").order("id").fetchall()

    assert joined == [(1, 1, "40"), (2, 2, None)]
    assert connection.sql("SHOW TABLES").fetchall() == [("patients",)]
    assert relation.fetchall() == [(0,), (1,), (2,)]


def test_a_duckdb_relation_comes_back_without_replacement_scans():
    """Where DuckDB may not look at Python's variables the relation is made on the default connection."""
    connection = duckdb.connect()
    relation = connection.sql("SELECT 1 AS a")
    native = from_native(relation)
    connection.execute("SET python_enable_replacements = false")

    assert native.back(pl.DataFrame({"a": [1, 2]})).fetchall() == [(1,), (2,)]


def test_a_query_that_fails_is_said():
    """A lazy query that fails is refused with advice, and never with the error that quotes the data."""
    for data in (
        duckdb.connect().sql("SELECT CAST(x AS INTEGER) AS a FROM (VALUES ('q')) AS t(x)"),
        pl.LazyFrame({"a": ["q"]}).cast(pl.Int64),
    ):
        with pytest.raises(InputError, match="Run its query alone"):
            from_native(data)


def test_duckdb_without_pyarrow_is_said(monkeypatch):
    """Where PyArrow is not installed the message names it."""
    monkeypatch.setattr(frames, "find_spec", lambda _name: None)

    with pytest.raises(InputError, match="PyArrow"):
        from_native(duckdb_relation())


def test_duckdb_types():
    """Enums, decimals, dates and empty texts of DuckDB are plain."""
    relation = duckdb.connect().sql(
        "SELECT 'b'::ENUM('a', 'b') AS e, 1.50::DECIMAL(5, 2) AS m, DATE '2020-01-02' AS d, '' AS s, 'nan'::DOUBLE AS x"
    )

    assert from_native(relation).frame.rows() == [("b", Decimal("1.50"), dt.date(2020, 1, 2), None, None)]


def test_duckdb_leaves_no_warning_at_exit():
    """A relation read and given back leaves nothing on standard error when Python ends."""
    program = (
        "import duckdb, polars; from cloister.io import from_native; c = duckdb.connect();"
        "n = from_native(c.sql('select 1 a')); r = n.back(polars.DataFrame({'a': [1]})); print(r.fetchall())"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("[(1,)]\n", "")


def test_nothing_is_imported_that_the_user_did_not():
    """Reading pandas imports no PyArrow beyond what pandas does, and reading Polars imports neither."""
    program = (
        "import sys, polars; from cloister.io import from_native; from_native(polars.DataFrame({'a': ['x', None]}));"
        "print([m for m in ('pandas', 'pyarrow', 'duckdb') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_pandas_needs_no_pyarrow():
    """A pandas DataFrame is read and given back where PyArrow is not installed."""
    program = (
        "import sys; sys.modules['pyarrow'] = None; import pandas; from cloister.io import from_native;"
        "n = from_native(pandas.DataFrame({'a': ['x', None], 'b': [1, None]}));"
        "print(n.frame.rows(), n.back(n.frame).shape)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[('x', 1.0), (None, None)] (2, 2)\n"
