"""Quantiles: cut points that follow the records, and that no few of them decide."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.hierarchy.interval import QuantileHierarchy


def test_cut_points_are_round_numbers_near_quantiles() -> None:
    """Ages from 0 to 99 in four parts are cut at the quarters, and in two at the middle."""
    ages = [str(age) for age in range(100) for _ in range(3)]

    assert QuantileHierarchy((2, 4)).cut("age", ages, 5).spec == "interval:cuts=25,50,75/50"


def test_decimals_get_half_open_intervals() -> None:
    """Where most values have decimals, cut points have a decimal point."""
    values = [f"{n / 10}" for n in range(201, 300)]

    assert QuantileHierarchy((2,)).cut("bmi", values, 5).spec == "interval:cuts=25.0"


@examples(100)
@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=80),
    st.integers(2, 6),
    st.sampled_from([(2,), (4, 2), (10, 5)]),
)
def test_every_cut_point_has_k_records_on_either_side(values, k, parts) -> None:
    """No cut point parts fewer than k records from the others, whatever the records are."""
    try:
        found = QuantileHierarchy(parts).cut("x", [str(value) for value in values], k)
    except InputError:
        return
    for cut in found.cuts[0]:
        assert min(sum(value < cut for value in values), sum(value >= cut for value in values)) >= k


def test_records_far_from_a_quantile_do_not_move_its_cut_point() -> None:
    """A cut point is decided by the 2k records around a quantile: what those at the ends are changes nothing."""
    values = [str(n) for n in range(1000)]
    cut = QuantileHierarchy((10,)).cut("x", values, 10)

    assert QuantileHierarchy((10,)).cut("x", ["-5000", *values[1:-1], "777777"], 10) == cut


def test_a_column_of_one_value_has_no_quantiles() -> None:
    """What cannot be cut is refused, and so is what is no number, in counts."""
    with pytest.raises(InputError, match="finds no cut points in column 'x'"):
        QuantileHierarchy((4,)).cut("x", ["7"] * 50, 5)
    with pytest.raises(InputError, match="1 of 2 distinct values of column 'x' are not whole or decimal numbers"):
        QuantileHierarchy((4,)).cut("x", ["7", "secret"] * 50, 5)


@pytest.mark.parametrize(
    "spec", ["quantile:1", "quantile:0", "quantile:4,4", "quantile:10,4", "quantile:x", "quantile"]
)
def test_parts_divide_each_other(spec) -> None:
    """Levels nest where each number of parts divides the next; anything else is refused with an example."""
    with pytest.raises(InputError, match="quantile"):
        parse_hierarchy(spec)


def test_a_table_is_released_by_the_cut_points_of_its_records() -> None:
    """The release names the cut points, and is verified by them with no look at the quantiles."""
    random.seed(1)
    import polars as pl

    frame = pl.DataFrame({"age": [random.randint(18, 90) for _ in range(400)], "sex": ["F", "M"] * 200})
    release = cl.protect_table(frame, qi={"age": "quantile:5,10", "sex": "suppress"}, rule=[cl.KAnonymity(5)])

    assert release.summary()["settings"]["hierarchies"]["age"].startswith("interval:cuts=")
    assert release.verify().holds


def test_where_records_are_not_known_it_is_refused() -> None:
    """Values alone have no quantiles of records."""
    with pytest.raises(InputError, match="needs the records of column 'age'"):
        parse_hierarchy("quantile:4").bind("age", ["1", "2"])


def test_decimal_commas_are_named_as_such():
    """Numbers with decimal commas are refused with the setting that reads them."""
    with pytest.raises(InputError, match=r'2 of 3 distinct .* 2 have a decimal comma, which decimal="," reads'):
        parse_hierarchy("interval:5,10").bind("bmi", ["22,5", "31,25", "30"])
