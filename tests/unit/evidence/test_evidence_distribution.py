"""The kind of a column, and the small picture of its values."""

import polars as pl
import pytest

from cloister.evidence.column import Column


@pytest.mark.parametrize(
    ("values", "kind", "bars"),
    [
        (["1", "1", "2", "13", None], "integers", [3, 0, 1]),
        (["0.5", "1.5"], "numbers", [1, 1]),
        (["2020-01-01", "2020-01-02", "2020-12-31", "2020-12-31"], "dates", [2, 0, 2]),
        (["b", "a", "b", "c"], "categories", [2, 1, 1]),
        ([f"v{n}" for n in range(61)], "text", [1] * 12),
        ([None, None], "empty", []),
        (["inf", "inf", "inf"], "categories", [3]),
        ([f"{100000000000000000 + n}" for n in range(3)], "integers", [1, 1, 1]),
    ],
)
def test_a_column_has_a_kind_and_a_distribution(values, kind, bars):
    """Numbers and days by their size, other values by how often they occur; missing values are in no bar."""
    column = Column.of(pl.Series("x", values, dtype=pl.String), "")
    assert (column.kind, column.distribution()) == (kind, bars)


def test_the_axis_of_another_column_is_kept():
    """A column is counted by the values of another one; what lies beyond is at its ends."""
    before = Column.of(pl.Series("x", [str(n) for n in range(24)]), "")
    after = Column.of(pl.Series("x", ["0", "1", "23"]), "")
    assert after.distribution(before) == [2, *[0] * 10, 1]
    kinds = Column.of(pl.Series("x", ["b", "b", "a"]), "")
    assert Column.of(pl.Series("x", ["a", "c"]), "").distribution(kinds) == [0, 1]
