"""``cl.protect_table``: laws for any table, and any kind of dataframe."""

import math
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.io import Tally

HIERARCHY = cl.hierarchy_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"], ["", "", "*"]])
LIKE = [cl.KAnonymity(2)]

cells = st.sampled_from(["a", "b", "c", None, "", "a"])
numbers = st.sampled_from([1, 4, 7, 12, None])
tables = st.lists(st.tuples(cells, numbers, st.sampled_from(["x", "y", None, "=1"])), min_size=2, max_size=30)


def frame_of(rows):
    """A table with a quasi-identifier of text, one of numbers, and a sensitive column."""
    return pl.DataFrame(rows, schema={"text": pl.String, "number": pl.Int64, "dx": pl.String}, orient="row")


def protected(frame, **options):
    """Protect such a table."""
    wanted = {"text": HIERARCHY, "number": cl.intervals(5, top=15, bottom=0)}
    return cl.protect_table(
        frame,
        **{"qi": wanted, "rule": LIKE, "sensitive": ["dx"], "suppression": 0.2} | {"accept_empty": True} | options,
    )


@examples(60)
@given(tables, st.integers(2, 4), st.sampled_from([0, 0.1, 0.5, 1]), st.sampled_from(["iyengar", "arx"]))
def test_what_is_released_is_safe_and_verifies(rows, k, share, loss):
    """Every class of a release has k records, nothing more than allowed is gone, and the verifier agrees."""
    frame = frame_of(rows)
    if len(rows) < k:
        with pytest.raises(cl.NoSafeRelease):
            protected(frame, rule=[cl.KAnonymity(k)], suppression=share, loss=loss)
        return
    release = protected(frame, rule=[cl.KAnonymity(k)], suppression=share, loss=loss)

    assert release.verify().holds
    assert min(Counter(release.data.select("text", "number").rows()).values()) >= k
    assert len(rows) - release.data.height <= math.floor(share * len(rows) + 1e-9)
    assert release.data.height > 0


@examples(30)
@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(rows, generator):
    """Shuffled rows, and columns in another order, give the same records."""
    shuffled = list(rows)
    generator.shuffle(shuffled)
    first = protected(frame_of(rows)).data
    second = protected(frame_of(shuffled)).data
    third = protected(frame_of(rows).select("dx", "number", "text")).data

    assert first.equals(second)
    assert Counter(first.rows()) == Counter(third.select("text", "number", "dx").rows())


@pytest.mark.parametrize("columns", [["a", "b"], ["b", "a"]])
def test_ties_among_the_smallest_classes_go_by_the_names_of_columns(columns):
    """Of two classes of one size, that goes whose value is first in the column whose name is first."""
    frame = pl.DataFrame({"a": ["x", "y", "x", "y", "z", "z", "z"], "b": ["2", "1", "2", "1", "3", "3", "3"]})
    wanted = {"qi": {"a": "suppress", "b": "suppress"}, "levels": {"a": 0, "b": 0}}
    release = cl.protect_table(frame.select(columns), **wanted, rule=["average-risk=0.4"], suppression=0.9)

    assert sorted(release.data.select("a", "b").rows()) == [("y", "1")] * 2 + [("z", "3")] * 3


@examples(30)
@given(tables)
def test_one_cell_put_back_is_refused(rows):
    """A generalized value put back to what it was makes the verifier refuse."""
    frame = pl.concat([frame_of(rows), frame_of([("a", 1, "x"), ("b", 4, "x")])])
    release = protected(frame, levels={"text": 1, "number": 1}, suppression=1)
    position = release.data["text"].to_list().index("ab")
    number = pl.int_range(pl.len())
    changed = release.data.with_columns(
        pl.when(number == position).then(pl.lit("a")).otherwise(pl.col("text")).alias("text")
    )

    assert not release._check(Tally(changed)).holds


@examples(20)
@given(tables)
def test_a_safe_table_stays_as_it_is(rows):
    """Protecting a table that is safe already changes nothing but its order."""
    frame = frame_of(rows * 2)
    release = protected(frame, suppression=0)

    assert release.summary()["utility"]["loss"] == 0
    expected = [(t or None, n, d) for t, n, d in rows * 2]
    assert Counter(release.data.rows()) == Counter(expected)


MISSING = {
    "None": pl.DataFrame({"a": ["x", "x", "x", None, None, None]}),
    "empty": pl.DataFrame({"a": ["x", "x", "x", "", "", ""]}),
    "both": pl.DataFrame({"a": ["x", "x", "x", "", None, ""]}),
    "NaN": pl.DataFrame({"a": [1.0, 1.0, 1.0, math.nan, math.nan, None]}),
    "pandas NaN": pd.DataFrame({"a": [1.0, 1.0, 1.0, math.nan, math.nan, math.nan]}),
    "pandas None": pd.DataFrame({"a": ["x", "x", "x", None, None, float("nan")]}),
    "pandas NA": pd.DataFrame({"a": pd.array([1, 1, 1, pd.NA, pd.NA, pd.NA], dtype="Int64")}),
}


@pytest.mark.parametrize("frame", MISSING.values(), ids=MISSING)
def test_missing_values_form_a_class_of_their_own(frame):
    """None, NaN and the empty text are one value, missing, which forms classes like any other."""
    release = cl.protect_table(frame, qi={"a": cl.suppress()}, rule=[cl.KAnonymity(3)], suppression=0)

    assert release.frame["a"].null_count() == 3
    assert release.summary()["risk"]["classes"] == 2
    assert release.summary()["utility"]["loss"] == 0
    assert release.verify().holds


def test_a_lone_missing_value_is_someone():
    """One record with a missing value is a class of one: it is suppressed, or all are generalized."""
    frame = pl.DataFrame({"a": ["x"] * 4 + [None]})
    asked = {"qi": {"a": "suppress"}, "rule": LIKE, "accept_empty": True, "purpose": "one-coding"}
    kept = cl.protect_table(frame, **asked, suppression=0)
    gone = cl.protect_table(frame, **asked, suppression=0.2)

    assert kept.data["a"].to_list() == ["*"] * 5
    assert gone.data["a"].to_list() == ["x"] * 4


KINDS = {
    "pandas": (lambda frame: frame.to_pandas(), pd.DataFrame),
    "Polars": (lambda frame: frame, pl.DataFrame),
    "lazy Polars": (lambda frame: frame.lazy(), pl.DataFrame),
    "PyArrow": (lambda frame: frame.to_arrow(), pa.Table),
    "DuckDB": (lambda frame: duckdb.from_arrow(frame.to_arrow()), duckdb.DuckDBPyRelation),
}
PEOPLE = pl.DataFrame(
    {"mrn": [f"m{i}" for i in range(8)], "age": [31, 35, 31, 35, 52, 57, 52, 57], "dx": list("abcdabcd")}
)
OPTIONS = {"qi": {"age": "interval:10"}, "rule": ["k-anonymity=4"], "id": "mrn", "sensitive": ["dx"]}


@pytest.mark.parametrize(("make", "kind"), KINDS.values(), ids=KINDS)
def test_the_same_kind_comes_back(make, kind):
    """Every kind of dataframe comes back as it came, with the same records."""
    release = cl.protect_table(make(PEOPLE), **OPTIONS)

    assert isinstance(release.data, kind)
    rows = release.data.fetchall() if kind is duckdb.DuckDBPyRelation else pl.DataFrame(release.data).rows()
    expected = [(i + 1, "[30-39]" if i < 4 else "[50-59]", "abcd"[i % 4]) for i in range(8)]
    assert rows == expected


@pytest.mark.parametrize("index", [[7, 3, 1, 0, 2, 5, 4, 6], [0] * 8, list("hgfedcba")])
def test_a_pandas_index_is_ignored(index):
    """Row labels are not positions: whatever they are, the result is the same and has none of them."""
    frame = PEOPLE.to_pandas()
    labelled = frame.set_axis(index)
    expected = cl.protect_table(frame, **OPTIONS).data
    found = cl.protect_table(labelled, **OPTIONS).data

    pd.testing.assert_frame_equal(found, expected)
    assert list(found.index) == list(range(8))


@pytest.mark.parametrize("make", [make for make, _ in KINDS.values()][:4], ids=list(KINDS)[:4])
def test_the_caller_s_table_is_unchanged(make):
    """What was handed over is as it was."""
    mine = make(PEOPLE)
    cl.protect_table(mine, **OPTIONS)

    assert pl.DataFrame(mine.collect() if isinstance(mine, pl.LazyFrame) else mine).equals(PEOPLE)


def test_the_caller_s_settings_are_unchanged():
    """Hierarchies, lists and mappings of the caller are as they were, and nothing is remembered between calls."""
    options = {"qi": {"age": cl.intervals(10)}, "rule": [cl.KAnonymity(4)], "sensitive": ["dx"]}
    copy = {key: dict(value) if isinstance(value, dict) else list(value) for key, value in options.items()}
    first = cl.protect_table(PEOPLE, id="mrn", **options)
    second = cl.protect_table(PEOPLE, id="mrn", **options)

    assert options == copy
    assert first.data.equals(second.data)


EDGES = {
    "all missing": pl.DataFrame({"a": [None] * 4}, schema={"a": pl.String}),
    "all missing, no type": pl.DataFrame({"a": [None] * 4}),
    "constant": pl.DataFrame({"a": ["x"] * 4}),
    "one column of numbers": pl.DataFrame({"a": [1, 1, 2, 2]}),
    "booleans": pl.DataFrame({"a": [True, True, False, False]}),
}


@pytest.mark.parametrize("frame", EDGES.values(), ids=EDGES)
def test_safe_edges(frame):
    """A constant or all-missing column is safe as it is, and costs nothing."""
    asked = {"qi": {"a": cl.suppress()}, "rule": LIKE, "suppression": 0}
    release, searched = cl.protect_table(frame, **asked), cl.protect_table(frame, **asked, purpose="one-coding")

    assert release.data.height == 4
    assert release.summary()["utility"]["loss"] == 0
    assert searched.data.equals(release.data)
    assert searched.summary()["search"]["optimal"] is True
    assert release.verify().holds


def test_one_row():
    """One record cannot hide, whatever may be suppressed."""
    with pytest.raises(cl.NoSafeRelease, match="has only 1"):
        cl.protect_table(PEOPLE.head(1), **OPTIONS | {"suppression": 1})


def test_fewer_records_than_k():
    """Fewer records than k are no release."""
    with pytest.raises(cl.NoSafeRelease, match="has only 3"):
        cl.protect_table(PEOPLE.head(3), **OPTIONS | {"suppression": 1})


def test_no_rows():
    """No record at all is bad input, not an empty release."""
    with pytest.raises(cl.InputError, match="no records"):
        cl.protect_table(PEOPLE.head(0), **OPTIONS)


WRONG = {
    "no rules": ({"rule": []}, "No privacy rule"),
    "no quasi-identifiers": ({"qi": {}}, "No quasi-identifier"),
    "unknown column": ({"qi": {"agee": "suppress"}}, "Did you mean 'age'"),
    "undecided": ({"undecided": "all"}, "drop, sensitive, keep"),
    "search": ({"search": "optimla"}, "Did you mean optimal"),
    "search of mondrian": ({"search": "optimal", "method": "mondrian"}, "search optimal .* method mondrian makes none"),
    "search of clusters": ({"search": "bfs", "method": "cluster"}, "search bfs .* method cluster makes none"),
    "search of fixed levels": ({"search": "bfs", "levels": {"age": 1, "sex": 0}}, "search bfs .* levels are fixed"),
    "loss": ({"loss": "arks"}, "arks"),
    "ids": ({"ids": "keep"}, "drop, number or hmac"),
    "no key": ({"ids": "hmac", "id_key": b"short"}, "at least 32 bytes"),
    "threads": ({"threads": 0}, "threads must be a whole number from 1, not 0"),
    "time": ({"time_limit": -1}, "above 0"),
    "levels": ({"levels": {"age": 9}}, "levels 0 to"),
    "bounds": ({"level_bounds": {"age": (5, 9)}}, "levels 0 to"),
    "bounds of nothing": ({"level_bounds": {"height": (0, 1)}}, "'height'"),
    "not a frame": ({"frame": [1, 2]}, "DataFrame"),
}


@pytest.mark.parametrize(("options", "words"), WRONG.values(), ids=WRONG)
def test_wrong_settings(options, words):
    """A setting that makes no sense is an InputError, which is a ValueError too."""
    with pytest.raises(cl.InputError, match=words) as caught:
        cl.protect_table(**{"frame": PEOPLE} | OPTIONS | options)
    assert isinstance(caught.value, ValueError)


WAYS = ({}, {"search": None}, {"search": "optimal"})


def test_a_search_that_is_the_default_may_be_named():
    """Naming the optimal search is leaving the search out, in data and manifest."""
    left_out, none, named = (cl.protect_table(PEOPLE, **OPTIONS, purpose="one-coding", **given) for given in WAYS)

    assert left_out.summary()["settings"]["search"] == "optimal"
    assert left_out.summary()["settings"] == none.summary()["settings"] == named.summary()["settings"]
    assert left_out.data.equals(named.data)


WRONG_KINDS = {
    "a typo": ({"suppresion": 0}, "has no setting suppresion. Did you mean suppression"),
    "a level with a point": (
        {"levels": {"age": 1.5}},
        "levels must be a level from 0 for each column, not 1.5 for column 'age'",
    ),
    "a level that is true": ({"levels": {"age": True}}, "not a value of type bool for column 'age'"),
    "a level as text": ({"levels": {"age": "1"}}, "not a value of type str for column 'age'"),
    "levels in a list": ({"levels": [1]}, "levels must be a level from 0 for each column.* type list"),
    "time as text": ({"time_limit": "1"}, "time_limit must be a number of seconds.* type str"),
    "a method by number": ({"method": 1}, "method must be full-domain, mondrian, cluster, top-down or mdav, not 1"),
    "no purpose": ({"purpose": None}, "purpose must be analysis, counts or one-coding.* type NoneType"),
    "a search by number": ({"search": 1}, "search must be the name of a search"),
    "no loss": ({"loss": None}, "loss must be the name of a loss.* type NoneType"),
    "no ids": ({"ids": []}, "ids must be number or drop.* type list"),
    "an object": ({"rule": [object()]}, "rule must be a list of rules.* type object in it"),
    "a class": ({"rule": [cl.KAnonymity]}, "the class KAnonymity in it"),
    "one rule as text": ({"rule": "k-anonymity=2"}, "rule must be a list of rules.* type str"),
    "one rule": ({"rule": cl.KAnonymity(2)}, "rule must be a list of rules.* type KAnonymity"),
    "rules that are none": ({"rule": None}, "rule must be a list"),
    "one sensitive column": ({"sensitive": "dx"}, "sensitive must be a list of columns"),
    "a column by number": ({"drop": [3]}, "drop must be a list of columns, not 3 in it"),
    "an id by number": ({"id": 0}, "id must be the name of a column, not 0"),
    "a column for all": ({"qi": "age"}, "qi must be a hierarchy for each quasi-identifier.* type str"),
    "a number for a hierarchy": ({"qi": {"age": 10}}, "type int was given for column 'age'"),
    "a column without a name": ({"qi": {1: "suppress"}}, "as the name of a column"),
    "a weight as text": ({"weight": {"age": "2"}}, "weight must be a number from 0 for each column"),
    "one bound": ({"level_bounds": {"age": 1}}, "the lowest and the highest level"),
    "bounds as text": ({"level_bounds": {"age": ("0", "1")}}, "the lowest and the highest level"),
    "averages in a list": ({"microaggregate": ["age"]}, "mean, median or mode for each column"),
    "a key as text": ({"ids": "hmac", "id_key": "0" * 32}, "id_key must be bytes"),
    "half a thread": ({"threads": 0.5}, "threads must be a whole number from 1, not 0.5"),
    "a seed as text": ({"seed": "1"}, "seed must be a whole number"),
    "a switch as text": ({"local_recoding": "no"}, "local_recoding must be true or false"),
}


@pytest.mark.parametrize(("options", "words"), WRONG_KINDS.values(), ids=WRONG_KINDS)
def test_settings_of_the_wrong_kind(options, words):
    """A setting of a kind that it cannot have is an InputError that says what it must be."""
    with pytest.raises(cl.InputError, match=words) as caught:
        cl.protect_table(**{"frame": PEOPLE} | OPTIONS | options)
    assert len(caught.value.message) < 400


def test_whole_numbers_of_other_libraries_are_whole_numbers(tmp_path):
    """Numbers of NumPy are numbers like any others, also in the manifest."""
    one, half = np.int64(1), np.float32(0.5)
    numbers = {"levels": {"age": one}, "level_bounds": {"age": (one, one)}, "weight": {"age": half}}
    release = cl.protect_table(PEOPLE, **OPTIONS, **numbers, threads=one, seed=one, time_limit=half)
    manifest = release.write(tmp_path / "release")

    assert manifest["search"]["levels"] == {"age": 1}
    assert cl.verify_folder(tmp_path / "release").holds


@pytest.mark.parametrize("k", [1, 0, -5, 2.5, True, "5", None])
def test_k_is_a_whole_number_from_2_on(k):
    """A class of one protects nobody."""
    with pytest.raises(cl.InputError, match="from 2"):
        cl.KAnonymity(k)


def test_typed_columns_that_are_kept_keep_their_type():
    """Columns that are not generalized come back with their type."""
    frame = PEOPLE.with_columns(weight=pl.Series([70.5, None] * 4), born=pl.date(1990, 1, 1))
    release = cl.protect_table(frame, **OPTIONS, keep=["weight", "born"])

    assert release.data.schema["weight"] == pl.Float64
    assert release.data.schema["born"] == pl.Date
    assert release.verify().holds


def test_a_release_is_written_and_checked_from_python(tmp_path):
    """A release is written, verified from its folder, and refused where k is higher."""
    release = cl.protect_table(PEOPLE, **OPTIONS)
    manifest = release.write(tmp_path / "release")

    assert manifest["files"].keys() >= {"data.csv", "codebook.csv"}
    assert cl.verify_folder(tmp_path / "release", original=PEOPLE.to_pandas()).holds
    with pytest.raises(cl.GuaranteeViolation, match="fewer than 5"):
        cl.verify_folder(tmp_path / "release", k=5)
    with pytest.raises(cl.InputError, match="exists already"):
        release.write(tmp_path / "release")


def test_the_summary_is_a_copy():
    """Changing what ``summary`` returns changes no release."""
    release = cl.protect_table(PEOPLE, **OPTIONS)
    release.summary()["guarantee"]["rules"].clear()

    assert release.summary()["guarantee"]["rules"] == [{"model": "k-anonymity", "k": 4}]


def test_a_release_is_shown_in_four_lines():
    """A session shows what a release is and promises, not its records nor its manifest; a notebook its report."""
    release = cl.protect_table(PEOPLE, **OPTIONS)
    lines = repr(release).splitlines()

    assert len(lines) == 4
    assert lines[0].startswith("release    table by cluster: ")
    assert "; verified" in lines[1]
    assert "1. Verdict and sign-off" in release._repr_html_()
    assert "<iframe sandbox " in release._repr_html_()
    shown = {name for name in dir(release) if name[0] != "_"}
    assert {"data", "frame", "report", "verify", "write"} <= shown
    assert shown & {"commit", "rollback", "write_into", "recheck_written"} == set()
    assert release.verify()._repr_html_().startswith("<p><strong>Holds</strong></p>")


def test_a_report_is_that_of_the_folder(tmp_path):
    """A release shows its report before it is written; opened, it shows the one that came with it."""
    release = cl.protect_table(PEOPLE, **OPTIONS)
    release.write(tmp_path / "release")
    opened = cl.open(tmp_path / "release").report()
    opened.write(tmp_path / "page.html")

    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "release" / "report.html").read_bytes()
    first = [page.html.partition("<section")[2].partition("</section>")[0] for page in (release.report(), opened)]
    assert first[0] == first[1]


def test_a_release_of_codes_is_shown_too():
    """Losses have the names that they have in the manifest."""
    codes = cl.CodeSets.from_records([["a", "b"], ["a", "b"], ["a", "c"]] * 4)

    assert "k^m-anonymity (k 2, m 2); verified" in repr(cl.protect_codes(codes, k=2, m=2))


def test_no_advice_leads_back_to_the_same_refusal():
    """A column with one label for all records says nothing, root or not; nothing is advised that gives that again."""
    frame = pl.DataFrame({"age": [30 + place % 10 for place in range(20)]})
    with pytest.raises(cl.NoSafeRelease, match="would be useless") as refused:
        cl.protect_table(frame, qi={"age": "interval:10"}, rule=["k-anonymity=3"], loss="iyengar")

    assert "keeps age" not in str(refused.value)
