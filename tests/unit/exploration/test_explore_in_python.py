"""Exploring in Python: lists of values are compared as they are typed."""

import polars as pl
import pytest

import cloister as cl

PEOPLE = pl.DataFrame({"age": [31, 34, 38, 39, 52, 57] * 4, "sex": ["F", "F", "M", "M", "M", "M"] * 4})
ASKED = {"qi": ["age", "sex"], "purpose": "one-coding", "accept_empty": True}


def settings_of(found):
    """The settings of an exploration, in their order."""
    return [one.setting for one in found.outcomes]


def test_lists_of_values_are_compared():
    """A list for a setting of one value is a grid; a list of columns stays what ``protect_table`` does with it."""
    found = cl.explore(PEOPLE, k=[3, 5, 9], **ASKED)
    same = cl.explore(cl.protect_table, PEOPLE, grid={"k": (3, 5, 9)}, **ASKED)

    assert settings_of(found) == settings_of(same) == [{"k": 3}, {"k": 5}, {"k": 9}]
    assert [one.figures for one in found.outcomes] == [one.figures for one in same.outcomes]
    assert [one.figures.risk for one in found.outcomes] == [1 / 4, 1 / 8, 1 / 24]


def test_a_stream_that_can_be_read_once_is_read_once():
    """Every setting sees all rows, whatever frame they came in."""
    found = cl.explore(PEOPLE.to_arrow().to_reader(), k=range(2, 4), **ASKED)

    assert [one.figures.released for one in found.outcomes] == [24, 24]


def test_one_column_can_vary_in_both_ways_of_typing():
    """A list inside a setting by column, and its key on the command line, are the same grid."""
    ladder = ["interval:10", cl.intervals(20)]
    listed = cl.explore(PEOPLE, k=3, **{**ASKED, "qi": {"age": ladder, "sex": None}})
    keyed = cl.explore(PEOPLE, k=3, grid={"qi.age": ladder}, **ASKED)

    assert settings_of(listed) == settings_of(keyed) == [{"qi.age": one} for one in ladder]
    assert [one.figures for one in listed.outcomes] == [one.figures for one in keyed.outcomes]


def test_code_sets_are_explored_as_they_are():
    """What protects the data follows from their type."""
    codes = cl.CodeSets.from_records([["250.00", "401.9"], ["250.00", "401.9"], ["250.00", "V58"], ["401.9"]] * 3)

    assert settings_of(cl.explore(codes, k=[3, 4], m=1)) == [{"k": 3}, {"k": 4}]


def test_without_values_a_table_is_compared_by_purpose():
    """The same as the command line does without a grid."""
    asked = {key: value for key, value in ASKED.items() if key != "purpose"}

    assert [one["purpose"] for one in settings_of(cl.explore(PEOPLE, k=3, **asked))] == [
        "analysis", "counts", "one-coding",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: cl.explore(PEOPLE, kk=[3, 5], **ASKED), "no setting kk. Did you mean k?"),
        (lambda: cl.explore(PEOPLE, k=[3, "x"], **ASKED), "k must be a whole number from 2, not a value of type str."),
        (lambda: cl.explore(PEOPLE, k=[3], suppression=[2], **ASKED), "suppression must be a number from 0 to 1"),
        (lambda: cl.explore(PEOPLE, k=[], **ASKED), "Give values to compare, as in k=[2, 5, 11]."),
        (lambda: cl.explore(PEOPLE, k={3, 5}, **ASKED), "Give values to compare, as in k=[2, 5, 11]."),
        (lambda: cl.explore(PEOPLE, k=3, grid={"k": [5]}, **ASKED), "k is a keyword and in the grid as well."),
        (lambda: cl.explore(PEOPLE, k=[3], grid={"k": [5]}, **ASKED), "k is a keyword and in the grid as well."),
        (lambda: cl.explore(PEOPLE, k=[3], grid="frontier", **ASKED), "The frontier of transformations is explored of"),
        (lambda: cl.explore("people.csv", k=[3, 5]), "A job names its data and settings."),
        (lambda: cl.explore(5, k=[3, 5], **ASKED), "A dataframe is needed"),
        (lambda: cl.explore(PEOPLE, k=[3, 5], qi=["age", "sx"]), "Did you mean 'sex'?"),
    ],
)
def test_typos_and_mixtures_are_refused_by_name(call, expected):
    """The message names the setting and what it takes."""
    with pytest.raises(cl.InputError) as refused:
        call()
    assert expected in str(refused.value)
