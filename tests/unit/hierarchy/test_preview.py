"""The preview of a hierarchy over a column."""

import pytest

from cloister import errors
from cloister.hierarchy import intervals, preview


def test_groups_level_by_level() -> None:
    """Each level tells its groups, their sizes in records, and a few labels."""
    levels = preview(intervals(5, 10), ["41", "41", "42", "47", None])

    assert [(level.n_groups, level.smallest, level.largest) for level in levels] == [
        (4, 1, 2),
        (3, 1, 3),
        (2, 1, 4),
        (1, 5, 5),
    ]
    assert levels[1].examples == ("[40-44]", "[45-49]", None)


def test_an_empty_column() -> None:
    """No values, no groups."""
    assert [level.n_groups for level in preview(intervals(5), [])] == [0, 0, 0]


def test_labels_stay_out_of_the_representation() -> None:
    """Examples are data: they are there for who asks, not in logs."""
    assert "41" not in repr(preview(intervals(5), ["41"]))


def test_values_outside_are_refused() -> None:
    """A preview refuses what a binding refuses."""
    with pytest.raises(errors.InputError, match="1 of 1"):
        preview(intervals(5), ["old"])
