"""Searches find what the definition finds, whatever the order, the names or the threads."""

import random
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import Case, cases
from tests.oracles.full_domain import at_least, best_policy

from cloister.errors import NoSafeRelease
from cloister.search import exhaustive, optimal
from cloister.search.frontier import projected_bounds
from cloister.shapes.table.method.encode import encode
from cloister.utility import LOSSES

SEARCHES = {"optimal": optimal, "exhaustive": exhaustive}


def answer(search, problem, **options):
    """Levels and suppressed records that a search finds, or None where it says there is no safe release."""
    try:
        found = search(problem, **options)
    except NoSafeRelease:
        return None
    return tuple(found.levels[name] for name in problem.names), found.suppressed


# Two transformations lose as much and suppress nothing: (1, 0), and (0, 2), whose levels come first but are more.
TIE = Case(
    names=("c0", "c1"),
    records=[("x", "a"), ("y", "a"), ("x", "b"), ("y", "b")],
    hierarchies=[[("x", "*"), ("y", "*")], [("a", "a1", "*"), ("b", "b1", "*")]],
    k=2,
    suppression=Decimal(0),
    loss="iyengar",
    weights=(1.0, 1.0),
)


@pytest.mark.parametrize("name", SEARCHES)
@examples(200)
@given(case=cases(losses=LOSSES))
@example(case=TIE)
def test_search_finds_the_optimum(name, case):
    """Whatever the loss, levels and suppressed records are those of the best policy by definition, ties included."""
    best = best_policy(case.records, case.hierarchies, at_least(case.k), case.limit, case.loss, case.weights)
    found = answer(SEARCHES[name], case.problem())

    assert found == (None if best is None else (best.levels, best.suppressed))


@examples(150)
@given(case=cases(), threads=st.integers(2, 4))
def test_threads_do_not_change_the_answer(case, threads):
    """Any number of workers finds the same policy."""
    problem = case.problem()

    assert answer(optimal, problem) == answer(optimal, problem, threads=threads)


@examples(150)
@given(case=cases(), seed=st.integers(0, 1000))
def test_row_order_and_value_names_do_not_change_the_answer(case, seed):
    """Shuffled records and renamed values lead to the same policy."""
    generator = random.Random(seed)
    records = generator.sample(case.records, len(case.records))
    names = [{row[0]: f"{generator.random():.9f}" for row in hierarchy} for hierarchy in case.hierarchies]
    renamed = replace(
        case,
        records=[tuple(name[value] for name, value in zip(names, record)) for record in records],
        hierarchies=[
            [(name[row[0]], *row[1:]) for row in hierarchy] for name, hierarchy in zip(names, case.hierarchies)
        ],
    )

    assert answer(optimal, case.problem()) == answer(optimal, renamed.problem())


@examples(150)
@given(case=cases())
def test_column_order_does_not_change_the_answer(case):
    """A file with its columns turned round leads to the same policy."""
    frame = case.frame()
    turned = encode(frame.select(reversed(frame.columns)), case.request()).problem

    assert answer(optimal, case.problem()) == answer(optimal, turned)


@examples(100)
@given(case=cases())
def test_the_loss_is_proven(case):
    """A finished search proves its own loss; the loss is that of the policy measured alone."""
    problem = case.problem()
    try:
        found = optimal(problem)
    except NoSafeRelease:
        return
    measured = problem.measure([found.levels[name] for name in problem.names])

    assert found.optimal
    assert found.bound == found.loss == measured.loss
    assert found.gap == 0.0


@examples(150)
@given(case=cases())
def test_projections_bound_the_loss_of_every_safe_transformation(case):
    """No bound from groups of attributes passes the least loss of a safe transformation, and none falls."""
    problem = case.problem()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cloister.search.frontier.SMALLEST", 1)
        bounds = list(projected_bounds(problem))
    try:
        least = exhaustive(problem).loss
    except NoSafeRelease:
        return

    assert bounds == sorted(bounds)
    assert bool(bounds) == (len(case.names) > 1)
    assert all(bound <= least + 1e-12 for bound in bounds)


@examples(100)
@given(case=cases(), data=st.data())
def test_levels_can_be_bounded(case, data):
    """With levels bounded, the optimum is that of the bounded lattice."""
    problem = case.problem()
    lowest = [data.draw(st.integers(0, high)) for high in problem.highest.tolist()]
    highest = [data.draw(st.integers(low, high)) for low, high in zip(lowest, problem.highest.tolist())]
    names = case.names
    request = case.request()
    bounded = {
        name: replace(request.quasi_identifiers[name], lowest=low, highest=high)
        for name, low, high in zip(names, lowest, highest)
    }
    bounded_problem = encode(case.frame(), replace(request, quasi_identifiers=bounded)).problem

    assert answer(optimal, bounded_problem) == answer(exhaustive, bounded_problem)


@examples(300)
@given(case=cases(), weights=st.lists(st.sampled_from([1e6, 1.0, 2e-6, 1e-6]), min_size=4, max_size=4))
def test_nearly_equal_losses_are_decided_at_the_end(case, weights):
    """Equality within a tolerance is not transitive; with weights far apart the searches still agree."""
    problem = replace(case, weights=tuple(weights[: len(case.names)])).problem()

    assert answer(exhaustive, problem) == answer(optimal, problem)
