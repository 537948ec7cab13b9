"""Labels between the levels: which are read, and what they cover."""

import polars as pl
import pytest

import cloister as cl

AGES = ["3", "7", "12", "31", "38", "-4", "95", None]


@pytest.mark.parametrize(
    ("spec", "label", "covers", "leaves", "level"),
    [
        ("interval:5,10,20", "[0-14]", {"3", "7", "12"}, 15, 3),
        ("interval:5,10,20", "[5-34]", {"7", "12", "31"}, 30, 4),
        ("interval:5,10,20", "[-5 to 4]", {"-4", "3"}, 10, 4),
        ("interval:5,10,20/top=90/bottom=0", ">=35", {"38", "95"}, 56, 4),
        ("interval:5,10,20/top=90/bottom=0", "<5", {"-4", "3"}, 6, 4),
        ("interval:cuts=5,10,20,60/20", "[5-19]", {"7", "12"}, 15, 2),
        ("interval:5.0,10,20", "[5, 15)", {"7", "12"}, 10, 3),
    ],
)
def test_adjacent_intervals_are_one_label(spec, label, covers, leaves, level):
    """From the first interval to the last one, with a leaf for each number between."""
    hierarchy = cl.parse_hierarchy(spec)
    bound = hierarchy.join(hierarchy.bind("age", AGES), [label, "*", None, "3"])
    (joined,) = bound.joined

    assert {bound.values[place] for place in bound.places_of(joined)} == covers
    assert (joined.label, joined.leaves, joined.level, joined.base) == (label, leaves, level, 1)


@pytest.mark.parametrize(
    "label",
    [
        "[0-13]",
        "[1-14]",
        "[0-9]",
        "[0-44]",
        "[00-14]",
        "[0-14)",
        "0-14",
        "[50-59]",
        "[14-0]",
        "[0-99999999999999999]",
        "",
    ],
)
def test_any_other_text_is_no_joined_label(label):
    """Ends within an interval or at one without a value, labels of levels, and other spellings are none."""
    hierarchy = cl.parse_hierarchy("interval:5,10,20")

    assert not hierarchy.join(hierarchy.bind("age", AGES), [label]).joined


def test_a_joined_label_counts_among_its_level():
    """What the labels of some levels cover includes those that join intervals beneath them."""
    hierarchy = cl.parse_hierarchy("interval:5,10,20")
    bound = hierarchy.join(hierarchy.bind("age", AGES), ["[0-14]", "[5-34]"])

    assert "[0-14]" in bound.list_covered([2, 3])
    assert "[5-34]" not in bound.list_covered([2, 3])
    assert {bound.values[place] for place in bound.list_covered([3])["[0-14]"]} == {"3", "7", "12"}
    assert ("[0-14]", 3, 15) in bound.sets([3]).rows()


def test_pairs_are_those_that_a_label_covers():
    """Of joined labels only pairs that are asked about are listed, of labels of levels all."""
    hierarchy = cl.parse_hierarchy("interval:5,10,20")
    bound = hierarchy.join(hierarchy.bind("age", AGES), ["[0-14]"])
    values, labels = pl.Series(["3", "31", None, "12"]), pl.Series(["[0-14]", "[0-14]", "[0-14]", "[10-19]"])
    found = bound.pairs(values, labels, [3]).rows()

    assert ("3", "[0-14]") in found
    assert not {("31", "[0-14]"), (None, "[0-14]"), ("12", "[0-14]")} & {*found}
    assert ("12", "[0-19]") in found
