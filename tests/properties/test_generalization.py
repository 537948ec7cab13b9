"""Laws of generalization: coarser never splits a class, and what is measured is what the definition says."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases
from tests.oracles.full_domain import at_least, carry_out

from cloister.kernels.classes import class_sizes


def policies(problem):
    """A policy of the lattice."""
    return st.tuples(*(st.integers(0, high) for high in problem.highest.tolist()))


@examples(200)
@given(case=cases(), data=st.data())
def test_measured_policies_are_as_defined(case, data):
    """Suppressed records, kept classes and the loss of each attribute are those of the definition, exactly."""
    problem = case.problem()
    levels = data.draw(policies(problem))
    expected = carry_out(case.records, case.hierarchies, levels, at_least(case.k))
    measured = problem.measure(levels)

    assert (expected.suppressed, expected.kept) == (measured.suppressed, measured.kept)
    losses = expected.by_level if case.loss == "precision" else expected.losses
    assert [float(loss) for loss in losses] == list(measured.losses)
    assert abs(expected.loss(case.loss, case.weights) - measured.loss) < 1e-12


@examples(150)
@given(case=cases(), data=st.data())
def test_coarser_never_makes_classes_smaller(case, data):
    """The class of every record at a coarser policy holds at least as many records."""
    problem = case.problem()
    fine = data.draw(policies(problem))
    coarse = [data.draw(st.integers(low, high)) for low, high in zip(fine, problem.highest.tolist())]
    rows, hierarchies = problem.task.rows, problem.task.maps

    assert (class_sizes(rows, hierarchies, np.array(fine)) <= class_sizes(rows, hierarchies, np.array(coarse))).all()


@examples(150)
@given(case=cases(), data=st.data())
def test_the_bound_is_never_above_the_loss(case, data):
    """Mean generalization loss of each attribute is a lower bound that rises with the policy."""
    problem = case.problem()
    fine = data.draw(policies(problem))
    coarse = [data.draw(st.integers(low, high)) for low, high in zip(fine, problem.highest.tolist())]
    costs = problem.task.costs

    for j, (low, high) in enumerate(zip(fine, coarse)):
        assert costs.mean[j, low] <= costs.mean[j, high]
        assert Fraction(float(costs.mean[j, high])) <= Fraction(problem.measure(coarse).losses[j]) + Fraction(1, 10**12)
