"""The published searches on a small table: limits of time, refusals, reports, and what they say of their work."""

import random
import sys
from dataclasses import replace

import pytest
from tests.unit.search.tables import problem_of

from cloister.errors import InputError, NoSafeRelease
from cloister.search.bfs import bfs
from cloister.search.flash import flash
from cloister.search.greedy import datafly, igreedy
from cloister.search.minimal import incognito, ola, samarati

SEARCHES = [flash, bfs, ola, incognito, samarati, datafly, igreedy]
NEED_MONOTONE = [ola, incognito, samarati]


def many_records(n_attributes=6):
    """Records enough that nothing is safe at once."""
    generator = random.Random(0)
    return [tuple(generator.choice("abcd") for _ in range(n_attributes)) for _ in range(60)]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_table_too_small_has_no_release(search):
    """Where even the coarsest policy is not safe, the search says so and why."""
    with pytest.raises(NoSafeRelease, match="the table has only 2"):
        search(problem_of(5, [("a", "x"), ("b", "y")]))


@pytest.mark.parametrize("search", SEARCHES)
def test_time_can_be_too_short_for_any_policy(search):
    """Stopped before anything safe was found, a search says that it ran out of time."""
    with pytest.raises(NoSafeRelease, match="within the time limit"):
        search(problem_of(5, many_records()), time_limit=0.0)


def test_a_stopped_search_says_that_nothing_is_proven():
    """With the first policy safe, a search without time returns it; its bound is that of what is left to look at."""
    problem = problem_of(2, [("a", "x")] * 2 + [("b", "y")], "0.5")
    found = bfs(problem, time_limit=0.0)

    assert set(found.levels.values()) == {0}
    assert not found.optimal
    assert found.bound == problem.measure((0, 0)).bound < found.loss


def test_incognito_does_not_measure_what_fewer_attributes_rule_out():
    """A value that is unique in one column rules out its level, whatever the other columns."""
    problem = problem_of(2, [(str(number), "x", "y") for number in range(4)])
    measured = []
    watched = replace(problem, evaluator=Watched(problem, measured))

    incognito(watched)

    assert [levels for levels in measured if levels[0] == 0] == [(0, 1, 1)]


class Watched:
    """Measures as the problem does, and notes what."""

    def __init__(self, problem, measured):
        self.problem = problem
        self.measured = measured

    def measure(self, levels):
        """The plain measurement."""
        self.measured.append(tuple(levels))
        return self.problem.measure(levels)


@pytest.mark.parametrize("search", NEED_MONOTONE)
def test_rules_must_be_monotone_where_the_search_needs_it(search):
    """A search that concludes from one policy to others refuses rules that do not allow it."""
    problem = replace(problem_of(2, many_records(2)), is_monotone=False)

    with pytest.raises(InputError, match=f"search {search.__name__} .* Use optimal"):
        search(problem)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_watched_search_reports(search, monkeypatch):
    """Whoever watches is told of the policies measured so far, and of losses that only fall."""
    monkeypatch.setattr("cloister.search.search_run.REPORT_EVERY", 2)
    seen = []
    found = search(problem_of(5, many_records()), report=seen.append)

    assert seen
    assert [progress.checked for progress in seen] == sorted(progress.checked for progress in seen)
    assert [progress.loss for progress in seen] == sorted((progress.loss for progress in seen), reverse=True)
    assert found.checked >= seen[-1].checked


def test_flash_says_what_it_stored():
    """Inserts, queries and hits of both properties, and time and memory of their stores."""
    found = flash(problem_of(5, many_records()))
    quality, protection = found.statistics.insufficient_quality, found.statistics.insufficient_protection

    for kept in (quality, protection):
        assert 0 < kept.inserts <= found.checked
        assert 0 < kept.largest <= kept.inserts
        assert 0 < kept.hits < kept.queries
    assert 0 < found.statistics.seconds_to_best <= found.seconds
    assert 0 < found.statistics.store_seconds < found.seconds
    assert found.statistics.store_bytes > 0


def test_explicit_and_implicit_flash_measure_the_same_policies():
    """How properties are kept changes nothing else."""
    problem = problem_of(5, many_records())

    assert flash(problem).checked == flash(problem, representation="explicit").checked
    assert flash(problem).checked == flash(problem, store="list").checked


def test_prediction_saves_measurements():
    """Without prediction the same policy is found with no fewer measurements, and nothing is stored."""
    problem = problem_of(5, many_records())
    predicted, plain = bfs(problem), bfs(problem, prediction=False)

    assert predicted.levels == plain.levels
    assert predicted.checked <= plain.checked
    assert plain.statistics.insufficient_quality is None


@pytest.mark.parametrize(
    ("search", "options", "message"),
    [
        (flash, {"representation": "explicitly"}, "Did you mean explicit"),
        (flash, {"store": "trees"}, "Did you mean tree"),
        (bfs, {"store": "nothing"}, "store must be list, antichain-list, tree or ranked-tree"),
        (datafly, {"variant": "old"}, "Variants: original, arx"),
        (igreedy, {"variant": "old"}, "Variants: original, arx"),
    ],
)
def test_unknown_variants_are_refused(search, options, message):
    """The message says what there is."""
    with pytest.raises(InputError, match=message):
        search(problem_of(2, many_records(2)), **options)


def test_incognito_refuses_what_it_cannot_keep(monkeypatch):
    """The lattices of all sets of attributes must be small enough."""
    monkeypatch.setattr(sys.modules[incognito.__module__], "MOST_FLAGS", 8)

    with pytest.raises(InputError, match="9 transformations, too many for incognito"):
        incognito(problem_of(2, many_records(2)))


def test_incognito_looks_above_the_highest_level_allowed():
    """With levels held below the root, other attributes are still left out by going to the root."""
    problem = problem_of(5, many_records(3), "0.5")
    held = replace(problem, highest=problem.highest - [1, 0, 0])

    found = incognito(held)

    assert found.levels == ola(held).levels
    assert found.minimal == ola(held).minimal
    assert found.levels["c0"] == 0
