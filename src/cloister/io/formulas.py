"""Cells that a spreadsheet would run as formulas when it opens a text file."""

import polars as pl

from cloister.errors import InputError

_BEGINS = r"^[=+\-@\t\r]"
_SIGNED_NUMBER = r"^[+-][0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?$"
QUOTE = "'"
"""Before a cell it makes spreadsheets take the rest as text."""


def formula_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns of text of which a cell, or the name, would be run: a sign that begins no plain number."""
    texts = [one for one in frame.get_columns() if one.dtype == pl.String]
    return [one.name for one in texts if _are_run(pl.Series([one.name])).any() or _are_run(one).any()]


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with a quote before each cell of text that would be run.

    A cell that would be run but for quotes before it gets one more, so that no two values become one.

    Raises
    ------
    InputError
        The name of a column would be run; other settings call it by that name.
    """
    if named := formula_columns(frame.clear()):
        raise InputError(
            f"A spreadsheet would run the names of {len(named)} columns as formulas, and only cells can be escaped. "
            "Rename these columns."
        )
    return frame.with_columns(_quoted(one) for one in frame.get_columns() if one.dtype == pl.String)


def _are_run(texts: pl.Series) -> pl.Series:
    return texts.str.contains(_BEGINS) & ~texts.str.contains(_SIGNED_NUMBER)


def _quoted(texts: pl.Series) -> pl.Series:
    quoted = pl.DataFrame({"quote": [QUOTE] * len(texts), "text": texts}).select(pl.concat_str(pl.all())).to_series()
    is_run = _are_run(texts.str.strip_chars_start(QUOTE)).fill_null(value=False)
    return quoted.zip_with(is_run, texts).alias(texts.name)
