"""MDAV over random tables: as defined, whatever the order of rows and columns, and refused where changed."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import mdav as oracle

import cloister as cl
from cloister.io import Tally
from cloister.kernels.mdav import Mixed, average_row, group_similar

numbers = st.one_of(st.none(), st.integers(0, 9))
categories = st.integers(0, 3)
kinds = st.lists(st.booleans(), min_size=1, max_size=4)


@st.composite
def mixed_rows(draw):
    """Distinct rows with counts, the range of each column of numbers, and weights."""
    is_number = draw(kinds)
    row = st.tuples(*(numbers if one else categories for one in is_number))
    rows = sorted(draw(st.sets(row, min_size=1, max_size=14)), key=lambda row: [-1 if v is None else v for v in row])
    counts = draw(st.lists(st.sampled_from([1, 1, 1, 2, 3, 5]), min_size=len(rows), max_size=len(rows)))
    weights = draw(st.lists(st.sampled_from([1, 1, 2]), min_size=len(is_number), max_size=len(is_number)))
    known = [[row[j] for row in rows if row[j] is not None] for j in range(len(is_number))]
    spans = [max(own, default=0) - min(own, default=0) if one else None for one, own in zip(is_number, known)]
    return rows, counts, spans, weights


def as_mixed(rows, counts, spans, weights):
    """The same as arrays."""
    values = [
        [np.nan if v is None else (v / span if span else 0.0) if span is not None else v for v, span in zip(row, spans)]
        for row in rows
    ]
    is_number = np.array([span is not None for span in spans])
    return Mixed(np.array(values, dtype=np.float64), np.array(counts), is_number, np.array(weights, dtype=np.float64))


@examples(150)
@given(case=mixed_rows(), k=st.integers(2, 4))
def test_classes_are_those_of_the_definition(case, k):
    """The kernel groups rows as the slow definition does; each class but one of what is left has k records."""
    rows, counts, spans, weights = case
    found = group_similar(as_mixed(*case), k)
    classes = [set(np.flatnonzero(found == one).tolist()) for one in range(int(found.max()) + 1)]
    expected = oracle.classes(rows, counts, k, spans, weights)

    assert sorted(map(sorted, classes)) == sorted(map(sorted, expected))
    sizes = [sum(counts[i] for i in one) for one in expected]
    assert sum(size < k for size in sizes) <= 1
    assert all(size < 2 * k for size, one in zip(sizes, expected) if len(one) > 1)


@examples(60)
@given(case=mixed_rows())
def test_averages_are_means_and_modes(case):
    """The average record has the mean of the known numbers and the most frequent categories."""
    rows, counts, spans, _ = case
    found = average_row(as_mixed(*case), np.arange(len(rows))).tolist()
    exact = oracle.average(rows, counts, range(len(rows)), spans)

    for own, value, span in zip(found, exact, spans):
        if value is None:
            assert np.isnan(own)
        else:
            assert own == pytest.approx(float(value / span if span else 0 if span == 0 else value))


tables = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 40)), st.sampled_from(["F", "M", None]), st.sampled_from("xyz")),
    min_size=4,
    max_size=24,
)
RULES = st.sampled_from([[], ["l-diversity:dx=2"], ["t-closeness:dx=0.5"], ["average-risk=0.3"]])


def release_of(frame, rules=(), **more):
    """The release of a table by MDAV, or None where there is no safe one."""
    try:
        return cl.protect_table(
            frame, k=2, qi={"age": None, "sex": None}, rule=rules, sensitive=["dx"], method="mdav", suppression=0,
            **{"accept_empty": True} | more,
        )  # fmt: skip
    except cl.NoSafeRelease:
        return None


@examples(40)
@given(rows=tables, rules=RULES, data=st.data())
def test_a_release_is_averaged_verified_and_refused_where_changed(rows, rules, data):
    """All records are released in classes of k with their mean and mode; a cell put back, or one missing, is seen."""
    frame = pl.DataFrame(rows, schema={"age": pl.Int64, "sex": pl.String, "dx": pl.String}, orient="row")
    release = release_of(frame, rules)
    assume(release is not None)
    shown = release.frame
    assert release.verify().holds
    assert shown.height == len(rows)
    assert min(Counter(shown.select("age", "sex").rows()).values()) >= 2
    assert sorted(shown["dx"]) == sorted(frame["dx"])
    utility = release.summary()["utility"]
    assert 0.01 <= utility["loss"] <= 1
    assert not utility["exact"]

    row = data.draw(st.integers(0, shown.height - 1))
    assert not release._check(Tally(shown[[i for i in range(shown.height) if i != row]])).holds
    column, other = data.draw(st.sampled_from([("age", "7.77"), ("sex", "F"), ("sex", "M"), ("sex", None)]))
    assume(shown[column][row] != other)
    changed = pl.Series(column, [*shown[column][:row], other, *shown[column][row + 1 :]])
    assert not release._check(Tally(shown.with_columns(changed))).holds


@examples(30)
@given(rows=tables, rules=RULES, seed=st.randoms())
def test_order_of_rows_and_columns_does_not_matter(rows, rules, seed):
    """Shuffled records, and columns turned round, give the same released records and losses."""
    schema = {"age": pl.Int64, "sex": pl.String, "dx": pl.String}
    one = release_of(pl.DataFrame(rows, schema=schema, orient="row"), rules)
    shuffled = seed.sample(rows, len(rows))
    other = release_of(pl.DataFrame(shuffled, schema=schema, orient="row").select("dx", "sex", "age"), rules)

    assert (one is None) == (other is None)
    if one is not None:
        assert Counter(one.frame.rows()) == Counter(other.frame.select("age", "sex", "dx").rows())
        assert one.summary()["utility"]["losses"] == other.summary()["utility"]["losses"]


@examples(60)
@given(values=st.lists(st.sampled_from(["a", "B", "é", "zz"]), min_size=1, max_size=9))
def test_the_mode_is_the_most_frequent_value(values):
    """Of equally frequent values the first by UTF-8 bytes is shown; none if no two agree, or if one is missing."""
    from cloister.shapes.table.method.protect import microaggregate

    most = max(values.count(value) for value in values)
    first = min((value for value in values if values.count(value) == most), key=lambda value: value.encode())
    expected = first if most > 1 else None
    classes = np.zeros(len(values) + 1, dtype=np.int64)
    assert microaggregate(pl.Series("x", values), classes[:-1], "mode").to_list() == [expected] * len(values)
    assert set(microaggregate(pl.Series("x", [*values, None]), classes, "mode")) == {None}


@examples(60)
@given(pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=12))
def test_errors_of_averages_are_shares_of_the_range(pairs):
    """The loss of numbers is their mean difference divided by the range; of modes the share of others."""
    from cloister.shapes.table.method.measure import averaging_error

    recorded, shown = (pl.Series([str(one) for one in own]) for own in zip(*pairs))
    assume(shown.n_unique() > 1)
    low, high = min(a for a, _ in pairs), max(a for a, _ in pairs)
    error = sum(Fraction(abs(a - b), max(1, high - low)) for a, b in pairs) / len(pairs) if high > low else Fraction(0)
    assert averaging_error(recorded, shown, "mean") == pytest.approx(float(min(error, Fraction(1))))
    assert averaging_error(recorded, shown, "mode") == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))


def test_a_worked_example():
    """From the average (4.4, M) the furthest is (0, F); with the nearest, (1, F), it makes a class of two."""
    ages, sexes = [0, 1, 5, 6, 10], [*"FFMMM"]
    for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 17):
        frame = pl.DataFrame({"age": [ages[i] for i in order], "sex": [sexes[i] for i in order], "dx": ["a"] * 5})
        release = release_of(frame)
        assert release.data.rows() == [("0.50", "F", "a")] * 2 + [("7.00", "M", "a")] * 3


def test_two_classes_are_made_in_one_round():
    """30 is furthest from the mean 9 and takes 11; 0, furthest from 30, takes 1; 2 and 10 are left."""
    frame = pl.DataFrame({"age": [0, 1, 2, 10, 11, 30], "sex": ["F"] * 6, "dx": ["a"] * 6})
    assert sorted(map(float, release_of(frame).data["age"])) == [0.5, 0.5, 6.0, 6.0, 20.5, 20.5]


def test_classes_that_violate_a_rule_are_merged():
    """Two classes with one diagnosis each become one where two diagnoses are asked for; all as one may not do."""
    frame = pl.DataFrame({"age": [1, 2, 51, 52], "sex": [*"FFMM"], "dx": [*"aabb"]})
    assert release_of(frame).data["age"].to_list() == ["1.50", "1.50", "51.50", "51.50"]
    assert release_of(frame, ["l-diversity:dx=2"]).data["age"].to_list() == ["26.50"] * 4
    with pytest.raises(cl.NoSafeRelease, match="Even all 4 records as one class"):
        cl.protect_table(
            frame, k=2, qi={"age": None, "sex": None}, rule=["l-diversity:dx=3"], sensitive=["dx"], method="mdav"
        )


def test_one_class_for_all_is_no_release():
    """Where all records show the same averages, the release says nothing and is refused."""
    frame = pl.DataFrame({"age": [1, 2, 51, 52], "sex": [*"FFMM"], "dx": [*"aabb"]})
    with pytest.raises(cl.NoSafeRelease, match="would be useless: age and sex would say nothing"):
        cl.protect_table(frame, k=3, qi={"age": None, "sex": None}, sensitive=["dx"], method="mdav")


def test_the_average_of_a_column_can_be_chosen():
    """A number is averaged and text shows its mode, unless median or mode is asked for."""
    frame = pl.DataFrame({"age": [1, 2, 9, 90], "sex": [*"FFFM"], "dx": [*"aabb"]})
    how = release_of(frame).summary()["settings"]["microaggregate"]
    assert how == {"age": "mean", "sex": "mode"}
    chosen = release_of(frame, microaggregate={"age": "mode"}).summary()["settings"]["microaggregate"]
    assert chosen == {"age": "mode", "sex": "mode"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "arx"}, "minimizes distances, not the loss arx"),
        ({"codes": "dx", "sensitive": []}, "codes have none"),
        ({"qi": {"age": "interval:5@1", "sex": None}}, "releases averages, not levels"),
        ({"strata": ["sex"]}, "kept by the method cluster"),
        ({"microaggregate": {"sex": "mean"}}, "hold something else than a number"),
        ({"rule": ["k-map:1000000=3"], "microaggregate": {"dx": "mode"}}, "is no quasi-identifier"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(options, said):
    """What MDAV cannot keep is refused before anything is computed, without a value of the data."""
    frame = pl.DataFrame({"age": [1, 2, 51, 52], "sex": [*"FFMM"], "dx": [*"aabb"]})
    with pytest.raises(cl.InputError, match=said):
        cl.protect_table(
            frame, **{"k": 2, "qi": {"age": None, "sex": None}, "sensitive": ["dx"], "method": "mdav"} | options
        )
