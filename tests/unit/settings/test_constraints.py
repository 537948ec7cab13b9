"""Constraints: what they accept, what they print, and that Pydantic enforces the same."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from cloister.settings.constraints import COLUMN, ForEach, Interval, OneOf, describe
from cloister.settings.declaration import settings_of
from cloister.shapes.registry import SHAPES

SENTENCES = {
    "a whole number from 2": Interval(int, 2),
    "a whole number from 1 to 1,000": Interval(int, 1, 1000),
    "a number from 0 to 1": Interval(float, 0, 1),
    "a number above 0 and below 1": Interval(float, 0, 1, closed="neither"),
    "a number above 0 and at most 0.5": Interval(float, 0, 0.5, closed="right"),
    "a number from 50 to below 100": Interval(float, 50, 100, closed="left"),
    "a number of seconds above 0": Interval(float, 0, closed="neither", what="a number of seconds"),
    "a number at most 7": Interval(float, None, 7),
    "a level from 0 for each column": ForEach(Interval(int, 0, what="a level")),
    "tree, paper or off": OneOf("tree", "paper", "off"),
    "the name of a column": COLUMN,
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_constraint_prints_its_sentence(sentence):
    """What follows "must be" in a message."""
    assert str(SENTENCES[sentence]) == sentence


@pytest.mark.parametrize(
    ("annotation", "sentence"),
    [
        (Annotated[int, Interval(int, 2)] | None, "a whole number from 2"),
        (Literal["auto", "off"] | Annotated[int, Interval(int, 1)], "auto, off or a whole number from 1"),
        (bool, "true or false"),
        (Annotated[Mapping[str, float], ForEach(Interval(float, 0))], "a number from 0 for each column"),
    ],
)
def test_a_type_is_described_by_its_parts(annotation, sentence):
    """Unions, words and marks are put into one sentence."""
    assert describe(annotation) == sentence


BOUNDS = st.none() | st.integers(-3, 3)


@given(
    kind=st.sampled_from([int, float]),
    low=BOUNDS,
    high=BOUNDS,
    closed=st.sampled_from(["both", "left", "right", "neither"]),
    value=st.one_of(st.integers(-4, 4), st.floats(-4, 4), st.booleans(), st.just(math.nan), st.text(max_size=1)),
)
def test_pydantic_accepts_what_the_interval_accepts(kind, low, high, closed, value):
    """One mark for messages, for Python and for what is read from TOML."""
    interval = Interval(kind, low, high, closed=closed)
    adapter = TypeAdapter(Annotated[kind, interval])
    try:
        adapter.validate_python(value, strict=True)
        is_accepted = True
    except ValidationError:
        is_accepted = False

    assert interval.accepts(value) == (is_accepted and value == value)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_setting_of_a_job_says_what_it_may_be(shape):
    """None is left with the words of last resort."""
    described = {one.name: one.allowed for one in settings_of(SHAPES[shape].options) if one.key is not None}

    assert [name for name, words in described.items() if words in ("", "of another type")] == []


@pytest.mark.parametrize("shape", SHAPES)
def test_every_default_is_allowed(shape):
    """What a setting is unless it is given lies within its own constraint."""
    for one in settings_of(SHAPES[shape].options):
        if one.constraint is not None and isinstance(one.default, int | float) and one.default is not None:
            assert one.constraint.accepts(one.default), one.name
