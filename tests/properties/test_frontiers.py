"""The frontier and the rules that recommend, against their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.tables import cases
from tests.oracles import frontiers
from tests.oracles.frontiers import distances, on_frontier

from cloister.exploration.results import Point, frontier, recommend
from cloister.search.risk_frontier import risk_frontier

SHARES = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 0.9, 1.0])
MANY = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=12)


def points_of(pairs):
    """Points in the order given."""
    return [Point(place, risk, loss) for place, (risk, loss) in enumerate(pairs)]


@given(MANY)
def test_the_frontier_is_what_no_other_point_beats(pairs):
    """Every point that no other beats is there, and none else, in order of risk."""
    found = frontier(points_of(pairs))

    assert {point.place for point in found} == on_frontier(pairs)
    assert [point.risk for point in found] == sorted(point.risk for point in found)


@given(MANY)
def test_the_knee_is_the_point_furthest_below_the_line_of_the_ends(pairs):
    """No point of the frontier is further below; where none is below, the lowest risk is taken."""
    found = recommend(points_of(pairs), "knee", None)
    below = distances(pairs)

    if max(below.values(), default=0.0) > 1e-9:
        assert max(below.values()) == pytest.approx(below[found.place], abs=1e-9)
        assert "best trade-off" in found.why
    else:
        assert min(risk for risk, _ in pairs) == pairs[found.place][0]
        assert "lowest risk" in found.why
    assert found.place in on_frontier(pairs)


@given(MANY, st.sampled_from([0.04, 0.1, 0.5, 1.0]), st.sampled_from(["knee", "best-utility"]))
def test_nothing_above_the_limit_is_recommended(pairs, limit, rule):
    """What is taken has a risk within the limit; by utility nothing allowed loses less, or as much at less risk."""
    found = recommend(points_of(pairs), rule, limit)
    allowed = [(loss, risk) for risk, loss in pairs if risk <= limit]

    if not allowed:
        assert found.place is None
        return
    risk, loss = pairs[found.place]
    assert risk <= limit
    if rule == "best-utility":
        assert min(allowed) == (loss, risk)


def test_of_points_that_are_alike_the_greatest_promise_is_taken():
    """The same release can be promised for a larger k: that is recommended."""
    alike = [Point(0, 0.1, 0.2, (2.0,)), Point(1, 0.1, 0.2, (5.0,)), Point(2, 0.1, 0.2, (3.0,))]

    assert [point.place for point in frontier(alike)] == [1, 2, 0]
    assert {1} == {recommend(alike, rule, 1.0).place for rule in ("knee", "best-utility")}


@given(cases(most_records=12))
def test_no_transformation_beats_one_of_the_frontier(case):
    """By trying all of the lattice; each is there once, least loss first, and is what its levels give."""
    problem = case.problem()
    found = risk_frontier(problem)
    points = [(1 / one.smallest, round(one.bound, 12)) for one in found]

    assert {*points} == frontiers.risk_frontier(
        case.records, case.hierarchies, lambda levels: problem.measure(levels).bound
    )
    assert len({*points}) == len(points)
    assert points == sorted(points, key=lambda point: point[1])
    assert [one.smallest for one in found] == [problem.measure(one.levels).smallest for one in found]
