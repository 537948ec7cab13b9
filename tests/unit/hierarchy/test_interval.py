"""Intervals: labels, bounds, domain, refusals."""

import pytest

from cloister import errors
from cloister.hierarchy import Hierarchy, IntervalHierarchy, intervals, names_hierarchy, parse_hierarchy


def labels_of(hierarchy: Hierarchy, *values: str | None) -> dict[str | None, list[str | None]]:
    """The labels of each value, from level 1 on."""
    bound = hierarchy.bind("age", values)
    return {value: [level[n] for level in bound.labels[1:]] for n, value in enumerate(bound.values)}


def test_whole_numbers_get_closed_intervals() -> None:
    """Whole numbers are named by their first and last number, on multiples of the width."""
    assert labels_of(intervals(5, 10, 20), "44", "0") == {
        "44": ["[40-44]", "[40-49]", "[40-59]", "*"],
        "0": ["[0-4]", "[0-9]", "[0-19]", "*"],
    }


def test_a_decimal_belongs_to_the_interval_of_its_whole_part() -> None:
    """Labels do not tell whether any value is a decimal."""
    assert labels_of(intervals(5), "44", "44.9") == {"44": ["[40-44]", "*"], "44.9": ["[40-44]", "*"]}
    assert labels_of(intervals(5), "44", "44.0") == {"44": ["[40-44]", "*"], "44.0": ["[40-44]", "*"]}


def test_bounds_hold_at_every_level() -> None:
    """Values of the top and above, and below the bottom, have one label from the first width to the root."""
    assert labels_of(intervals(5, 10, 20, top=90, bottom=0), "90", "107", "-1", "89") == {
        "-1": ["<0", "<0", "<0", "*"],
        "107": [">=90"] * 3 + ["*"],
        "89": ["[85-89]", "[80-89]", "[80-89]", "*"],
        "90": [">=90"] * 3 + ["*"],
    }


def test_a_decimal_just_below_the_top_is_inside() -> None:
    """Bounds compare the number, not its whole part alone."""
    assert labels_of(intervals(5, top=90, bottom=0), "89.99", "-0.01") == {
        "89.99": ["[85-89]", "*"],
        "-0.01": ["<0", "*"],
    }


def test_intervals_begin_at_the_bottom() -> None:
    """A bottom that is no multiple of the width moves the grid."""
    assert labels_of(intervals(5, 10, bottom=18), "18", "23", "28") == {
        "18": ["[18-22]", "[18-27]", "*"],
        "23": ["[23-27]", "[18-27]", "*"],
        "28": ["[28-32]", "[28-37]", "*"],
    }


def test_negative_ends_are_spelled_out() -> None:
    """A minus sign is not mistaken for the dash of the interval."""
    assert labels_of(intervals(5), "-3", "-5.5") == {"-3": ["[-5 to -1]", "*"], "-5.5": ["[-10 to -6]", "*"]}
    assert labels_of(intervals(5), "-3") == {"-3": ["[-5 to -1]", "*"]}


def test_missing_stays_apart_until_the_root() -> None:
    """Missing has no label below the root."""
    assert labels_of(intervals(5), "44", None)[None] == [None, "*"]


@pytest.mark.parametrize(
    ("hierarchy", "values", "n_leaves"),
    [
        (intervals(5, 20), ["44"], 20),
        (intervals(5, 20), ["44", "61"], 40),
        (intervals(5, 20, top=90), ["44"], 51),
        (intervals(5, 20, top=90, bottom=0), ["44"], 92),
        (intervals(5, 20, top=90, bottom=0), [], 92),
        (intervals(5, 20, top=90, bottom=0), ["91", "92", "93"], 94),
        (intervals(5, 20, top=90), ["91"], 1),
        (intervals(5, 20), ["44", None], 21),
        (intervals(5), [], 1),
        (intervals(2), ["0", "0.5", "1", "1.5"], 4),
    ],
)
def test_domain_is_the_grid(hierarchy: IntervalHierarchy, values: list[str | None], n_leaves: int) -> None:
    """The domain runs from bound to bound or to the rounded grid; a bound adds a leaf, and so does missing."""
    assert hierarchy.bind("age", values).n_leaves == n_leaves


def test_leaves_are_the_whole_numbers_of_the_interval() -> None:
    """An interval covers its whole numbers, fewer where the top clips it."""
    hierarchy = intervals(5, 20, top=90).bind("age", ["44", "85"])

    assert hierarchy.leaves.tolist() == [[1, 1], [5, 5], [20, 10], [51, 51]]


def test_spec_is_as_typed() -> None:
    """The specification can be typed again."""
    assert intervals(5, 10, top=90, bottom=0).spec == "interval:5,10/top=90/bottom=0"
    assert intervals(5).kind == "interval"


@pytest.mark.parametrize(
    "text", ["", " ", "abc", "1e3", "NaN", "inf", "4-5", "[40-44]", "1,5", ".", "+", "٤", "9" * 16]
)
def test_what_is_no_number_is_outside(text: str) -> None:
    """Only plain whole and decimal numbers below 10^15 are covered."""
    assert intervals(5).outside(["44", " 44 ", ".5", "+4.", text, None]) == [text]


def test_a_refusal_counts() -> None:
    """The refusal tells column and count, and what to do."""
    with pytest.raises(
        errors.InputError, match=r"2 of 3 distinct values of column 'age' are not .* Correct them"
    ) as caught:
        intervals(5).bind("age", ["44", "young", "old"])
    assert caught.value.column == "age"


@pytest.mark.parametrize(
    "widths", [(), (0,), (-5,), (5, 5), (10, 5), (5, 12), (0.5, 0.7), (float("inf"),), ("5",), (True,), (10**15,)]
)
def test_widths_must_nest(widths: tuple[int, ...]) -> None:
    """Widths are positive numbers, and each divides the next."""
    with pytest.raises(errors.InputError, match=r"interval needs .*interval:5,10,20"):
        intervals(*widths)


@pytest.mark.parametrize("bounds", [{"top": 5, "bottom": 5}, {"top": 0, "bottom": 1}, {"top": "1"}, {"bottom": 10**15}])
def test_bounds_must_leave_room(bounds: dict[str, int]) -> None:
    """Bounds are numbers, the bottom below the top."""
    with pytest.raises(errors.InputError, match="interval needs"):
        intervals(5, **bounds)


def test_decimal_widths_make_half_open_intervals() -> None:
    """With a decimal point in a number, intervals leave their upper end out and say so."""
    found = labels_of(intervals(0.5, 1), "9.7", "10", "-0.2", "10.49999999999999999")

    assert found["9.7"] == ["[9.5, 10)", "[9, 10)", "*"]
    assert found["10"] == ["[10, 10.5)", "[10, 11)", "*"]
    assert found["-0.2"] == ["[-0.5, 0)", "[-1, 0)", "*"]
    assert found["10.49999999999999999"] == ["[10, 10.5)", "[10, 11)", "*"]


def test_whole_widths_are_half_open_where_they_are_written_so() -> None:
    """``5.0`` is the same grid as 5, with the labels of decimals."""
    assert labels_of(intervals(5.0, 10.0, top=90), "9.7", "95") == {
        "9.7": ["[5, 10)", "[0, 10)", "*"],
        "95": [">=90", ">=90", "*"],
    }
    assert intervals(5.0, 10.0, top=90).spec == "interval:5.0,10.0/top=90"


def test_cut_points_make_the_intervals_between_them() -> None:
    """What is below the first, or from the last on, has an open interval."""
    hierarchy = parse_hierarchy("interval:cuts=0,2,18,65/18,65")

    assert labels_of(hierarchy, "-1", "1.5", "17", "18", "65") == {
        "-1": ["<0", "<18", "*"],
        "1.5": ["[0-1]", "<18", "*"],
        "17": ["[2-17]", "<18", "*"],
        "18": ["[18-64]", "[18-64]", "*"],
        "65": [">=65", ">=65", "*"],
    }
    assert hierarchy.spec == "interval:cuts=0,2,18,65/18,65"


def test_leaves_of_cut_points_are_the_numbers_between_them() -> None:
    """An open interval is one leaf of its own, and at a coarser level what it took up besides."""
    hierarchy = parse_hierarchy("interval:cuts=0,2,18,65/18").bind("age", ["1", "70"])

    assert hierarchy.n_leaves == 67
    assert hierarchy.leaves.tolist() == [[1, 1], [2, 1], [19, 48], [67, 67]]


@pytest.mark.parametrize("spec", ["18,2", "2,2", "", "x", "0,18/0,2", "0,18/0,18", "0,1.5,2/9", "1" + "0" * 15])
def test_cut_points_rise_and_nest(spec: str) -> None:
    """Cut points that do not rise, are no numbers, or levels that do not nest are refused with an example."""
    with pytest.raises(errors.InputError, match="interval"):
        parse_hierarchy(f"interval:cuts={spec}")


@pytest.mark.parametrize("spec", ["interval:0.5,1", "interval:cuts=18.5,25,30", "interval:0.25,1.0/bottom=-0.5"])
def test_decimals_come_back_as_typed(spec: str) -> None:
    """A manifest says a hierarchy as it was typed, and is understood."""
    assert parse_hierarchy(spec).spec == spec
    assert names_hierarchy(spec, "interval")


def test_a_bound_acts_on_recorded_numbers_too() -> None:
    """Ages over 89 are one group at every level, so that no class has them as recorded."""
    bound = intervals(5, 10, top=90, bottom=0).bind("age", ["44", "91", "96", "-3"])
    recorded = dict(zip(bound.values, bound.labels[0], strict=True))

    assert recorded == {"44": "44", "91": ">=90", "96": ">=90", "-3": "<0"}


@pytest.mark.parametrize("text", ["> 89", ">89", "90+", ">=90", "≥ 90", "90 and over", "90 or more", "over 89", "95+"])
def test_open_ended_texts_are_read_where_a_bound_reaches_them(text: str) -> None:
    """De-identified extracts write the top group as a text; it joins the numbers of the top."""
    assert intervals(5, top=90).outside([text]) == []
    assert intervals(5, top=90).bind("age", [text, "44"]).labels[0][[*sorted([text, "44"])].index(text)] == ">=90"
    with pytest.raises(errors.InputError, match="open-ended"):
        intervals(5, top=100).bind("age", [text, "44"])
    with pytest.raises(errors.InputError, match="Give a bound"):
        intervals(5).bind("age", [text, "44"])


@pytest.mark.parametrize("text", ["<18", "< 18", "under 18", "<=17", "17 and under"])
def test_open_ended_texts_of_the_bottom(text: str) -> None:
    """What lies below the bottom joins it."""
    assert intervals(5, bottom=18).bind("age", [text]).labels[0] == ("<18",)


def test_numbers_too_large_for_the_grid_are_called_so() -> None:
    """Whole numbers from 10^15 on are numbers: the message says which are read, and what to do."""
    with pytest.raises(
        errors.InputError, match=r"numbers of 10\^15 and more, which interval does not read.* Use suppress"
    ):
        intervals(2, 4).bind("station", ["9007199254740993", "9007199254740996"])
