"""Property stores: all four agree with the definition, and antichains are antichains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.antichains import branches, transformations_in
from tests.oracles.minimal_policies import inherits, is_below

from cloister.errors import InputError
from cloister.kernels.antichain import LIST, SIZE, covers, insert, make_antichain
from cloister.search.lattice import STORES, CompiledStore

ANTICHAINS = [name for name in STORES if name != "list"]


def held(store):
    """The transformations that a store holds."""
    return [tuple(levels) for levels in transformations_in(store.antichain).tolist()]


@st.composite
def histories(draw):
    """Highest levels, and a sequence of transformations to insert or to ask for."""
    top = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    transformation = st.tuples(*(st.integers(0, high) for high in top))
    return top, draw(st.lists(st.tuples(st.booleans(), transformation), max_size=60))


@pytest.mark.parametrize("is_upward", [True, False])
@pytest.mark.parametrize("name", STORES)
@given(history=histories())
def test_a_store_answers_by_definition(name, is_upward, history):
    """A transformation has a property exactly if one that was inserted is at or below it (at or above it)."""
    top, steps = history
    store = CompiledStore(name, top, is_upward=is_upward)
    inserted, hits = [], 0
    for is_insert, levels in steps:
        if is_insert:
            store.insert(levels)
            inserted.append(levels)
        else:
            expected = inherits(inserted, levels, is_upward)
            hits += expected
            assert expected == store.covers(levels)

    assert sum(not is_insert for is_insert, _ in steps) == store.statistics.queries
    assert hits == store.statistics.hits


@pytest.mark.parametrize("is_upward", [True, False])
@pytest.mark.parametrize("name", ANTICHAINS)
@given(history=histories())
def test_an_antichain_holds_the_extremes_only(name, is_upward, history):
    """What is held is what was inserted, without transformations that inherit from another; sizes are counted."""
    top, steps = history
    store = CompiledStore(name, top, is_upward=is_upward)
    inserted, largest = set(), 0
    for _, levels in steps:
        store.insert(levels)
        inserted.add(levels)
        largest = max(largest, int(store.antichain.counts[SIZE]))
    extremes = {
        one
        for one in inserted
        if not any(one != other and (is_below(other, one) if is_upward else is_below(one, other)) for other in inserted)
    }

    assert extremes == set(held(store))
    assert len(extremes) == len(held(store)) == int(store.antichain.counts[SIZE])
    assert largest == store.statistics.largest


@given(history=histories())
def test_least_ranks_are_never_above_what_is_below(history):
    """A node's least rank is no more than the rank of any transformation below it, so that no query is cut short."""
    top, steps = history
    store = CompiledStore("ranked-tree", top, is_upward=True)
    for _, levels in steps:
        store.insert(levels)

    for path, least in branches(store.antichain):
        below = [sum(transformation) for transformation in held(store) if transformation[: len(path)] == path]
        assert least <= min(below)


@pytest.mark.parametrize("name", STORES)
def test_a_store_grows(name):
    """Many transformations are kept, beyond the room that a store begins with."""
    store = CompiledStore(name, (300, 300), is_upward=True)
    for level in range(300):
        store.insert((level, 300 - level))

    assert len(held(store)) == 300
    assert store.covers((150, 150))
    assert not store.covers((150, 149))
    assert store.seconds > 0
    assert store.n_bytes > 0


def test_an_unknown_store_is_refused():
    """The message names the nearest store and all there are."""
    with pytest.raises(InputError, match="Did you mean ranked-tree"):
        CompiledStore("rank-tree", (1,), is_upward=True)


def test_the_kernel_checks_what_it_is_given():
    """Kinds, tops and numbers of levels that cannot be are refused before compiled code sees them."""
    store = make_antichain(LIST, np.array([1, 2]), True)

    with pytest.raises(ValueError, match="four kinds"):
        make_antichain(4, np.array([1]), True)
    with pytest.raises(ValueError, match="2 levels"):
        covers(store, np.array([1]))
    with pytest.raises(ValueError, match="2 levels"):
        insert(store, np.array([1, 2, 3]))
