"""Frames as they come: any name and type of a column, of Polars, pandas and PyArrow, in every function and command."""

import datetime

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.cli.main import run

MARK = "Zq7"
"""Is in each text value, and must be in no message."""

ROWS = 12
UTC, BERLIN = "UTC", "Europe/Berlin"
VALUES = {
    pl.Int8: st.integers(-100, 100),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.Float32: st.floats(width=32),
    pl.Float64: st.floats(),
    pl.Boolean: st.booleans(),
    pl.String: st.text(max_size=4).map(lambda text: f"{MARK}{text}"),
    pl.Categorical: st.sampled_from(["a", "b", ""]).map(lambda text: f"{MARK}{text}"),
    pl.Enum([f"{MARK}lo", f"{MARK}hi"]): st.sampled_from([f"{MARK}lo", f"{MARK}hi"]),
    pl.Date: st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    pl.Datetime("us"): st.datetimes(),
    pl.Datetime("ms", BERLIN): st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2030, 1, 1)),
    pl.Duration("us"): st.timedeltas(datetime.timedelta(-900), datetime.timedelta(900)),
    pl.Time: st.times(),
    pl.Decimal(20, 3): st.decimals(-1000, 1000, places=3),
    pl.Binary: st.binary(max_size=3),
    pl.List(pl.String): st.lists(st.just(MARK), max_size=2),
    pl.Struct({"x": pl.Int64}): st.fixed_dictionaries({"x": st.integers(0, 3)}),
    pl.Null: st.none(),
}
NAMES = st.text(max_size=6) | st.sampled_from(
    ["n", "id", "count", "index", "label", "level", "records", "k", "value", "column", "literal", "size", "*", "a=b",
     "size#2", "len", "", " ", "\x00", "__index_level_0__", "released", "original", "class", "age", "codes", "code"]
)  # fmt: skip


@st.composite
def frames(draw, kinds=tuple(VALUES)):
    """A frame of up to three columns beside ages."""
    names = draw(st.lists(NAMES.filter(lambda name: name != "Age "), min_size=1, max_size=3, unique=True))
    columns = [pl.Series("Age ", [30 + place % 3 for place in range(ROWS)])]
    for name in names:
        kind = draw(st.sampled_from(kinds))
        values = draw(st.lists(st.none() | VALUES[kind], min_size=ROWS, max_size=ROWS))
        columns.append(pl.Series(name, values, dtype=kind, strict=False))
    return pl.DataFrame(columns)


def as_kind(frame, kind):
    """The same in pandas or PyArrow, where these have such columns."""
    if any("\0" in name for name in frame.columns):
        return frame  # Polars panics
    try:
        return frame if kind == "polars" else frame.to_pandas() if kind == "pandas" else frame.to_arrow()
    except Exception:
        return frame


def tried(ask):
    """What is asked ends, or is refused in words that hold no value."""
    message = ""
    try:
        ask()
    except (cl.InputError, cl.NoSafeRelease) as error:
        message = str(error)
    assert MARK not in message


@examples(150)
@given(
    frames(), st.sampled_from(["polars", "pandas", "arrow"]), st.sampled_from(["drop", "sensitive", "quasi-identifier"])
)
def test_every_function_takes_it_or_says_why_not(frame, kind, decision):
    """Tables, code sets, trajectories, assessments and explorations end, or are refused in a sentence."""
    data = as_kind(frame, kind)
    asked = {"qi": {"Age ": "interval:10"}, "rule": ["k-anonymity=2"]}
    other = frame.columns[1]

    tried(lambda: cl.protect_table(data, **asked, undecided=decision))
    tried(
        lambda: cl.protect_table(
            data, qi={"Age ": "interval:10", other: "suppress"}, rule=["k-anonymity=2"], undecided="drop"
        )
    )
    tried(lambda: cl.protect_table(data, **asked, id=other, undecided="drop"))
    tried(lambda: cl.assess(data, qi=["Age ", other]))
    tried(lambda: cl.CodeSets.from_frame(data, id="Age ", code=other))


@examples(60)
@given(frames(), st.sampled_from(["csv", "parquet"]))
def test_every_command_takes_it_or_says_why_not(tmp_path_factory, frame, end):
    """Files with such columns give a job, an assessment and a release, or end with 1 or 2; nothing else is raised."""
    folder = tmp_path_factory.mktemp("any")
    path = folder / f"data.{end}"
    try:
        frame.write_csv(path) if end == "csv" else frame.write_parquet(path)
    except Exception:
        return  # such a file cannot be written
    out = ["--out", str(folder / "out"), "--quiet"]
    for words in (
        ["init", "table", str(path), "--out", str(folder / "job.toml"), "--quiet"],
        ["assess", "table", str(path), "--qi", "Age "],
        ["protect", "table", str(path), "--qi", "Age =interval:10", "--undecided", "sensitive", "-k", "2", *out],
    ):
        assert run(words) in (0, 1, 2), words
