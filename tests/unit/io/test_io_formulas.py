"""Cells that a spreadsheet would run: one recogniser for cells and names of columns."""

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.io import formula_columns, without_formulas

RUN = ["=1+1", "-2+3+cmd|' /C calc'!A0", "+1+cmd|x", "@SUM(A1)", "\t=1", "\r=1", "-x", "+", "-1-1", "+49 89", "-(1)"]
RUN_LATER = ["a;=1+1", "1;2;@SUM(A1)", "x;+cmd|y", "a;\t=1", "-5;-x", "'a;=1"]
KEPT = [
    *("", None, "-5", "+5", "-0.5", "-1,5", "+1.5e-3", "5", "a=1", "'=1", "[-10, -5)", " =1"),
    *("401.9", "a;b", "1;-2", "a; =1", ";", "a;'=1"),
]


@pytest.mark.parametrize("text", [*RUN, *RUN_LATER])
def test_formulas(text):
    """What begins like a formula and is no plain number is one, in a cell and as the name of a column."""
    assert formula_columns(pl.DataFrame({"a": ["x", text], "b": ["x", "y"]})) == ["a"]
    assert formula_columns(pl.DataFrame({text: ["x"], "b": ["y"]})) == [text]


@pytest.mark.parametrize("text", KEPT)
def test_no_formulas(text):
    """Signed numbers and other texts are none."""
    assert formula_columns(pl.DataFrame({"a": ["x", text]}, schema={"a": pl.String})) == []


def test_escaped_cells_are_no_formulas_and_stay_apart():
    """No cell that is escaped would be run, no two values become one, and other cells stay as they are."""
    texts = [*RUN, *KEPT, *RUN_LATER, *(f"'{text}" for text in RUN), *(f"''{text}" for text in RUN)]
    frame = pl.DataFrame({"a": texts, "n": range(len(texts))}, schema={"a": pl.String, "n": pl.Int64})
    escaped = without_formulas(frame)

    assert formula_columns(escaped) == []
    assert escaped["a"].n_unique() == frame["a"].n_unique()
    assert escaped["a"].to_list()[: len(RUN)] == [f"'{text}" for text in RUN]
    assert [text for text in KEPT if text not in ("'=1", "a;'=1")] == [
        text for text in escaped["a"].to_list()[len(RUN) : len(RUN) + len(KEPT)] if text not in ("''=1", "a;''=1")
    ]
    assert without_formulas(pl.DataFrame({"a": ["a;=1+1", "-5;-x;'@y"]}))["a"].to_list() == ["a;'=1+1", "-5;'-x;''@y"]
    with pytest.raises(InputError, match="names of 1 columns"):
        without_formulas(frame.rename({"a": "=1+1"}))
