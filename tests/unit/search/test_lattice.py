"""Walking through the lattice: every transformation once, in order, past what is known; implicit and explicit alike."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases
from tests.oracles.minimal_policies import is_below
from tests.unit.search.tables import problem_of

from cloister.errors import InputError
from cloister.kernels.ranks import climb, collect, first_of_rank
from cloister.search import lattice
from cloister.search.lattice import PROTECTION, QUALITY, SAFE, ExplicitProperties, ImplicitProperties, Lattice

EXAMPLES = 40


def bounded(case, data):
    """The problem of a case, with levels bounded at random."""
    problem = case.problem()
    lowest = [data.draw(st.integers(0, high)) for high in problem.highest.tolist()]
    return replace(problem, lowest=np.array(lowest, dtype=np.int64))


def lattices(problem):
    """Both representations."""
    return Lattice(problem, ImplicitProperties(problem, "ranked-tree")), Lattice(problem, ExplicitProperties(problem))


@examples(EXAMPLES)
@given(case=cases(), data=st.data(), block=st.integers(1, 40))
def test_every_policy_comes_once(case, data, block):
    """With nothing known, the ranks together hold all transformations, each once, whatever the blocks."""
    problem = bounded(case, data)
    lowest = problem.lowest.sum()
    before, lattice.BLOCK = lattice.BLOCK, block
    try:
        for walk in lattices(problem):
            ranks = [list(walk.open_transformations(rank, QUALITY)) for rank in range(walk.n_ranks)]
            assert sorted(problem.transformations()) == sorted(
                transformation for rank in ranks for transformation in rank
            )
            assert all(
                sum(transformation) == lowest + rank
                for rank, transformations in enumerate(ranks)
                for transformation in transformations
            )
    finally:
        lattice.BLOCK = before


@examples(EXAMPLES)
@given(case=cases(), data=st.data())
def test_what_is_known_is_passed_over(case, data):
    """Stored properties reach exactly the transformations that inherit them, in both representations."""
    problem = bounded(case, data)
    transformations = list(problem.transformations())
    noted = data.draw(
        st.lists(st.tuples(st.sampled_from(transformations), st.sampled_from([1, 2, 3, 4, 5])), max_size=5)
    )
    for walk in lattices(problem):
        for levels, properties in noted:
            walk.properties.note(levels, properties)
        for mask in (QUALITY, PROTECTION, SAFE, QUALITY | PROTECTION):
            expected = {
                transformation
                for transformation in transformations
                if any(reaches(*one, transformation, mask) for one in noted)
            }
            assert expected == {
                transformation for transformation in transformations if walk.is_known(transformation, mask)
            }
            left = [
                transformation
                for rank in range(walk.n_ranks)
                for transformation in walk.open_transformations(rank, mask)
            ]
            assert sorted(set(transformations) - expected) == sorted(left)


def reaches(levels, properties, transformation, mask):
    """Whether a property noted at a transformation, and asked for, is inherited by another."""
    up = properties & mask & (QUALITY | SAFE) and is_below(levels, transformation)
    return bool(up or (properties & mask & PROTECTION and is_below(transformation, levels)))


@examples(EXAMPLES)
@given(case=cases(), data=st.data())
def test_a_path_rises_in_the_order_of_the_policies(case, data):
    """Each transformation of a path is the first, in the order, of the direct generalizations that are not known."""
    problem = bounded(case, data)
    transformations = list(problem.transformations())
    start, known = data.draw(st.sampled_from(transformations)), data.draw(st.sampled_from(transformations))
    for walk in lattices(problem):
        walk.properties.note(known, QUALITY)
        path = walk.path(start, QUALITY)
        assert start == path[0]
        for levels, following in zip(path, [*path[1:], None]):
            open_above = [above for above in walk.above(levels) if not walk.is_known(above, QUALITY)]
            assert open_above == walk.open_above(levels, QUALITY)
            assert min(open_above, key=walk.key, default=None) == following


@examples(EXAMPLES)
@given(case=cases())
def test_policies_of_a_rank_come_in_order(case):
    """Within a rank, transformations that are less generalized on average come first."""
    for walk in lattices(case.problem()):
        for rank in range(walk.n_ranks):
            transformations = list(walk.open_transformations(rank, QUALITY))
            assert sorted(transformations, key=walk.key) == transformations


@given(case=cases(most_attributes=2))
@examples(10)
def test_measured_policies_are_remembered(case):
    """A transformation noted as measured is, and no other."""
    problem = case.problem()
    for walk in lattices(problem):
        walk.properties.note_measured(problem.top)
        assert [problem.top] == [
            levels for levels in product(*map(range, problem.highest + 1)) if walk.properties.is_measured(levels)
        ]


def small_problem():
    """Two attributes of three levels each."""
    return problem_of(2, [("a", "x"), ("b", "x"), ("c", "y")])


def test_a_lattice_too_large_to_flag_is_refused(monkeypatch):
    """The message says how large it is, and which searches need no flags."""
    problem = small_problem()
    monkeypatch.setattr(lattice, "MOST_FLAGS", 3)

    with pytest.raises(InputError, match=r"has 4 transformations.*Use optimal, bfs"):
        ExplicitProperties(problem)


def test_kernels_refuse_policies_outside_the_lattice():
    """A cursor or a start beyond the levels is refused before compiled code sees it; a rank beyond the top has none."""
    walk = Lattice(small_problem(), ImplicitProperties(small_problem(), "list"))
    known = walk.properties.known()

    with pytest.raises(ValueError, match="within the lattice"):
        collect(known, QUALITY, np.array([9, 0]), 4)
    with pytest.raises(ValueError, match="within the lattice"):
        climb(known, walk.order, QUALITY, np.array([0]))
    assert first_of_rank(known, 99) is None
    assert first_of_rank(known, -1) is None
