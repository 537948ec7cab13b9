"""The published searches find what they define, and those that promise the optimum find it."""

from dataclasses import replace
from decimal import Decimal
from itertools import count
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases
from tests.oracles import minimal_policies as oracle
from tests.oracles.full_domain import at_least, best_policy

from cloister.errors import NoSafeRelease
from cloister.search import exhaustive, search_run
from cloister.search.bfs import bfs
from cloister.search.flash import flash
from cloister.search.greedy import datafly, igreedy
from cloister.search.minimal import incognito, ola, samarati

EXACT = {
    "flash": (flash, {}),
    "flash:explicit": (flash, {"representation": "explicit"}),
    "flash-list": (flash, {"store": "list"}),
    "bfs": (bfs, {}),
    "bfs:unpredicted": (bfs, {"prediction": False}),
}
MINIMAL = {"ola": ola, "incognito": incognito}
GREEDY = {
    "datafly": (datafly, "original"),
    "datafly:arx": (datafly, "arx"),
    "igreedy": (igreedy, "original"),
    "igreedy:arx": (igreedy, "arx"),
}
PATHS = {
    "datafly": lambda case, variant: oracle.datafly(case, max if variant == "original" else min),
    "igreedy": oracle.igreedy,
}
EXAMPLES = 40


def run(search, problem, **options):
    """What a search returns, or None where it says there is no safe release."""
    try:
        return search(problem, **options)
    except NoSafeRelease:
        return None


def levels_of(problem, found):
    """Level vector of a result."""
    return None if found is None else tuple(found.levels[name] for name in problem.names)


class Odd:
    """Rules that are not monotone: any policy may suppress more than the class sizes ask for, or lose more."""

    def __init__(self, problem, extra):
        self.problem = problem
        self.extra = extra

    def measure(self, levels):
        """The plain measurement with something on top, the same each time."""
        plain = self.problem.measure(levels)
        more = self.extra[hash(tuple(levels)) % len(self.extra)]
        suppressed = min(plain.suppressed + more, self.problem.task.threshold.n_records)
        loss = plain.bound + (1 - plain.bound) * (suppressed % 7) / 7
        return replace(plain, suppressed=suppressed, loss=loss)


@pytest.mark.parametrize("name", EXACT)
@examples(EXAMPLES)
@given(case=cases())
def test_the_optimum_is_found_and_proven(name, case):
    """Levels and suppressed records are those of the best policy by definition, ties included."""
    best = best_policy(case.records, case.hierarchies, at_least(case.k), case.limit, case.loss, case.weights)
    problem = case.problem()
    search, options = EXACT[name]

    found = run(search, problem, **options)

    assert levels_of(problem, found) == (None if best is None else best.levels)
    if found is not None:
        assert found.suppressed == best.suppressed
        assert found.optimal
        assert found.bound == found.loss
        assert found.checked <= problem.lattice


@pytest.mark.parametrize("name", EXACT)
@examples(EXAMPLES)
@given(case=cases(), weights=st.lists(st.sampled_from([1e6, 1.0, 2e-6, 1e-6]), min_size=4, max_size=4))
def test_nearly_equal_losses_are_decided_at_the_end(name, case, weights):
    """Equality within a tolerance is not transitive; with weights far apart the searches still agree."""
    problem = replace(case, weights=tuple(weights[: len(case.names)])).problem()
    search, options = EXACT[name]

    assert levels_of(problem, run(exhaustive, problem)) == levels_of(problem, run(search, problem, **options))


@pytest.mark.parametrize("name", EXACT)
@examples(EXAMPLES)
@given(case=cases(), extra=st.lists(st.sampled_from([0, 0, 1, 3, 30]), min_size=7, max_size=7))
def test_rules_need_not_be_monotone(name, case, extra):
    """Where a coarser policy may protect less, nothing is concluded from that it should protect more."""
    plain = case.problem()
    problem = replace(plain, evaluator=Odd(plain, extra), is_monotone=False)
    search, options = EXACT[name]

    assert levels_of(problem, run(exhaustive, problem)) == levels_of(problem, run(search, problem, **options))


@pytest.mark.parametrize("search", MINIMAL.values(), ids=MINIMAL)
@examples(EXAMPLES)
@given(case=cases())
def test_minimal_policies_are_found(search, case):
    """All minimal safe policies are named, and the best of them by loss is returned."""
    safe = oracle.safe_policies(case)
    minimal = oracle.minimal(safe)
    problem = case.problem()

    found = run(search, problem)

    if found is None:
        assert minimal == set()
        return
    assert minimal == {tuple(levels[name] for name in problem.names) for levels in found.minimal}
    assert oracle.best(case, [safe[levels] for levels in minimal]) == levels_of(problem, found)
    assert found.bound <= exhaustive(problem).loss + 1e-12


@pytest.mark.parametrize("search", MINIMAL.values(), ids=MINIMAL)
@examples(EXAMPLES)
@given(case=cases())
def test_the_best_minimal_policy_is_optimal_without_suppression(search, case):
    """Where nothing may be suppressed the best minimal policy is the optimum, and is said to be."""
    problem = replace(case, suppression=Decimal(0)).problem()
    best, found = run(exhaustive, problem), run(search, problem)

    assert levels_of(problem, best) == levels_of(problem, found)
    if found is not None:
        assert found.optimal


@examples(EXAMPLES)
@given(case=cases())
def test_samarati_finds_the_least_rank(case):
    """The policy returned is the best of the least rank at which any is safe; it is not said to be optimal."""
    safe = oracle.safe_policies(case)
    least = oracle.of_least_rank(safe)
    problem = case.problem()

    found = run(samarati, problem)

    assert levels_of(problem, found) == (oracle.best(case, [safe[levels] for levels in least]) if least else None)
    assert found is None or not found.optimal


@pytest.mark.parametrize("name", GREEDY)
@examples(EXAMPLES)
@given(case=cases())
def test_greedy_searches_take_the_path_that_they_define(name, case):
    """Datafly generalizes the attribute with the most (arx: fewest) distinct values until the policy is safe, iGreedy
    takes the direct generalization whose smallest class is largest.
    """
    problem = case.problem()
    search, variant = GREEDY[name]

    expected = PATHS[search.__name__](case, variant)
    assert expected == levels_of(problem, run(search, problem, variant=variant))


@pytest.mark.parametrize("search", [datafly, igreedy, samarati, ola, incognito])
@examples(EXAMPLES)
@given(case=cases())
def test_no_search_is_better_than_the_optimum(search, case):
    """Loss is never below that of exhaustive search, the bound never above it; all find a policy if there is one."""
    problem = case.problem()
    best, found = run(exhaustive, problem), run(search, problem)

    assert (best is None) == (found is None)
    if found is not None:
        assert best.loss <= found.loss + 1e-12
        assert found.bound <= best.loss + 1e-12


@pytest.mark.parametrize("search", [bfs, flash, ola, incognito, samarati])
@examples(EXAMPLES)
@given(case=cases(), ticks=st.integers(1, 60))
def test_a_search_that_is_stopped_is_right_so_far(search, case, ticks):
    """Stopped anywhere, the policy is safe, the bound holds, and nothing is said to be proven that is not."""
    problem = case.problem()
    best = run(exhaustive, problem)
    clock = count()
    with patch.object(search_run.time, "perf_counter", lambda: float(next(clock))):
        found = run(search, problem, time_limit=ticks)

    if found is None:
        return
    assert problem.is_safe(problem.measure(levels_of(problem, found)))
    assert found.bound <= best.loss + 1e-12
    assert best.loss <= found.loss + 1e-12
    if found.optimal:
        assert levels_of(problem, best) == levels_of(problem, found)
