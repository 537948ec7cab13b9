"""Where points of pictures stand, and what is written beside them."""

from cloister.report.chart import Placed, scatter


def test_points_that_nearly_cover_each_other_are_named_together():
    """At the first of them, so that no name is written over another; those further off have their own."""
    rows = [Placed(name, k, 1000, on_frontier=False) for name, k in (("a", 5), ("b", 9), ("c", 1000), ("d", 12))]
    dots = scatter(rows, "k", "records").dots

    assert [dot.written for dot in dots] == ["a, b, d", "", "c", ""]
    assert dots[2].says == "k 1000, records 1000"
