"""Boxes of transformations: what one exploration decides, and what it leaves, add up to the whole box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases

from cloister.kernels.boxes import Box, explore
from cloister.kernels.layout import TOLERANCE, reference
from cloister.kernels.segments import Workspace


def whole(problem):
    """The box of all transformations."""
    top = problem.highest
    return Box(np.zeros_like(top), top.copy(), 0.0, 0)


def nothing_known(problem):
    """A best transformation that everything beats."""
    return reference(np.inf, 2**62, [0] * len(problem.names))


def least_loss(problem, box):
    """Least loss of a safe transformation of a box by measuring each; infinity if none is safe."""
    ranges = [range(low, high + 1) for low, high in zip(box.lower.tolist(), box.upper.tolist())]
    transformations = np.array(np.meshgrid(*ranges, indexing="ij")).reshape(len(ranges), -1).T.tolist()
    measured = [problem.measure(levels) for levels in transformations]
    return min((m.loss for m in measured if problem.is_safe(m)), default=np.inf)


@examples(200)
@given(case=cases(most_attributes=3), work=st.integers(1, 400), exact=st.booleans())
def test_nothing_is_lost_when_work_is_cut_short(case, work, exact):
    """The best found and the boxes left hold the optimum; each box left states a true lower bound."""
    problem = case.problem()
    stride = problem.task.maps.stride if exact else np.ones_like(problem.task.maps.stride)
    task = problem.task._replace(maps=problem.task.maps._replace(stride=stride, exact=exact))
    best, statistics = nothing_known(problem), np.zeros(7, dtype=np.int64)

    left = explore(task, Workspace(task), whole(problem), best, statistics, work)

    losses = [least_loss(problem, box) for box in left]
    assert min([best.loss[0], *losses]) == pytest.approx(least_loss(problem, whole(problem)), abs=TOLERANCE)
    assert all(box.bound <= loss + TOLERANCE for box, loss in zip(left, losses))


@examples(100)
@given(case=cases(most_attributes=3), data=st.data())
def test_a_box_is_searched_alone(case, data):
    """The best transformation found in a box is the best of that box."""
    problem = case.problem()
    lower = [data.draw(st.integers(0, high)) for high in problem.highest.tolist()]
    upper = [data.draw(st.integers(low, high)) for low, high in zip(lower, problem.highest.tolist())]
    box = Box(np.array(lower), np.array(upper), 0.0, 0)
    best = nothing_known(problem)

    left = explore(problem.task, Workspace(problem.task), box, best, np.zeros(7, dtype=np.int64), 10**9)

    assert left == []
    assert best.loss[0] == pytest.approx(least_loss(problem, box), abs=TOLERANCE)


@given(case=cases(most_attributes=2), lists=st.integers(1, 3))
def test_a_small_pool_only_leaves_more_undone(case, lists):
    """Where memory is short, boxes are handed back instead of being lost."""
    problem = case.problem()
    workspace, best = Workspace(problem.task, lists), nothing_known(problem)

    left = explore(problem.task, workspace, whole(problem), best, np.zeros(7, dtype=np.int64), 10**9)

    losses = [least_loss(problem, box) for box in left]
    assert min([best.loss[0], *losses]) == pytest.approx(least_loss(problem, whole(problem)), abs=TOLERANCE)


@given(case=cases(most_records=4))
def test_a_box_outside_the_lattice_is_refused(case):
    """A box that reaches beyond the hierarchies is an error."""
    problem = case.problem()
    beyond = Box(np.zeros_like(problem.highest), problem.highest + 1, 0.0, 0)

    with pytest.raises(ValueError, match="within the lattice"):
        explore(problem.task, Workspace(problem.task), beyond, nothing_known(problem), np.zeros(7, dtype=np.int64), 1)
