"""Value or nothing."""

from cloister.hierarchy import suppress


def test_two_levels() -> None:
    """The value, then the root; each value is a leaf, missing included."""
    hierarchy = suppress().bind("sex", ["M", None, "F"])

    assert hierarchy.labels == (("F", "M", None), ("*", "*", "*"))
    assert hierarchy.leaves.tolist() == [[1, 1, 1], [3, 3, 3]]


def test_an_empty_column_has_a_domain() -> None:
    """A column without values has one leaf, so that no share divides by zero."""
    assert suppress().bind("sex", []).n_leaves == 1


def test_nothing_is_outside() -> None:
    """Every text is covered."""
    assert suppress().outside(["M", "", None]) == []
    assert (suppress().kind, suppress().spec) == ("suppress", "suppress")
