"""Where points of pictures stand, and what is written beside them."""

from dataclasses import replace

from cloister.report.chart import Placed, parallel, risk_rows, scatter, with_areas


def test_points_that_nearly_cover_each_other_are_named_together():
    """At the first of them, so that no name is written over another; those further off have their own."""
    rows = [Placed(name, k, 1000, on_frontier=False) for name, k in (("a", 5), ("b", 9), ("c", 1000), ("d", 12))]
    dots = scatter(rows, "k", "records").dots

    assert [dot.written for dot in dots] == ["a, b, d", "", "c", ""]
    assert dots[2].says == "k 1000, records 1000"


def test_of_points_in_one_place_the_last_is_drawn():
    """It is the one that can be clicked, and it says how many others it covers."""
    rows = [Placed(name, k, 10, on_frontier=True, words=words) for name, k, words in (("a", 2, "safe"), ("b", 3, ""))]
    dots = scatter([*rows, *(replace(row, label=f"{row.label} again") for row in rows)], "k", "n", is_named=False).dots

    assert [(dot.name, dot.says) for dot in dots] == [
        ("a again", "safe; 1 more in the same place; k 2, n 10"),
        ("b again", "1 more in the same place; k 3, n 10"),
    ]


def test_areas_lie_below_the_highest_and_the_lowest_points():
    """Between the first and the last place across; where there is one point, both are alike."""
    rows = [Placed(str(kept), k, kept, on_frontier=False) for k, kept in ((2, 100), (4, 80), (4, 50))]
    picture = with_areas(scatter(rows, "k", "records", is_named=False))
    x, y = ([getattr(dot, name) for dot in picture.dots] for name in ("x", "y"))
    end = picture.bottom

    assert picture.areas == (
        f"M{x[0]} {end} L{x[0]} {y[0]} L{x[1]} {y[1]} L{x[1]} {end} Z",
        f"M{x[0]} {end} L{x[0]} {y[0]} L{x[1]} {y[2]} L{x[1]} {end} Z",
    )
    assert {dot.written for dot in picture.dots} == {""}


def test_parallel_coordinates_have_an_axis_for_what_differs():
    """Numbers are in order of size, values that are alike have no axis, and the recommended line is on top."""
    rows = [
        (Placed("1", 0.2, 0.1, on_frontier=True, recommended=True), ["20", "a", "same"]),
        (Placed("2", 0.5, 0.4, on_frontier=False), ["3", "b", "same"]),
    ]
    picture = parallel(rows, ["k", "loss", "method"])

    assert [axis.name for axis in picture.axes] == ["k", "loss", "highest risk", "information loss"]
    assert [mark for mark, _ in picture.axes[0].marks] == ["3", "20"]
    assert [line.name for line in picture.lines] == ["2", "1"]
    assert picture.lines[1].says == "k 20; loss a; highest risk 0.2; information loss 0.1"
    assert parallel(rows, ["k"]) is None


def test_risks_lie_on_one_axis_and_words_in_lines_above():
    """A tenth is as far from a hundredth as from one; a risk below 0.1% has a mark of its own at the left."""
    long = "quasi-identifiers of patients and all values of each quasi-identifier of claims"
    steps = [
        {"known": "1 code", "before": 1.0, "after": 0.1, "is_covered": True},
        {"known": long, "before": 0.01, "after": 0.0, "is_covered": False},
    ]
    chart = risk_rows(steps)
    marks = dict(chart.across)
    points = [(row.before, row.after) for row in chart.rows]

    assert points == [(marks["100%"], marks["10%"]), (marks["1%"], marks["< 0.1%"])]
    assert marks["< 0.1%"] < marks["0.1%"] < marks["1%"]
    assert marks["100%"] - marks["10%"] == marks["10%"] - marks["1%"]
    assert " ".join(line for line, _ in chart.rows[1].lines) == f"{long} (not covered by the guarantee)"
    assert [y for row in chart.rows for y in (*[y for _, y in row.lines], row.y)] == sorted(
        y for row in chart.rows for y in (*[y for _, y in row.lines], row.y)
    )
    assert chart.rows[0].says == "1 code: 100.0% before, 10.0% after"
    assert chart.rows[1].says.endswith("1.0% before, < 0.1% after")
