"""Figure 3 of Prasser, Kohlmayer, Kuhn (2016): a prefix tree of three policies, and a query.

A property that is inherited by coarser policies is found at (1,1,1), (1,3,0) and (3,2,0). The tree keeps the least rank
below each node. Asked for (1,2,2), it passes over the second child of the root and the node (1,3), and finds (1,1,1).
"""

import pytest
from tests.made.antichains import branches, transformations_in

from cloister.results import PropertyStatistics
from cloister.search.lattice import STORES, CompiledStore

FOUND = [(1, 1, 1), (1, 3, 0), (3, 2, 0)]
LEAST_RANKS = {(1,): 3, (1, 1): 3, (1, 1, 1): 3, (1, 3): 4, (1, 3, 0): 4, (3,): 5, (3, 2): 5, (3, 2, 0): 5}


def filled(name):
    """A store with the policies of the figure."""
    store = CompiledStore(name, (3, 3, 3), is_upward=True)
    for levels in FOUND:
        store.insert(levels)
    return store


def test_the_tree_is_that_of_the_figure():
    """Nodes and least ranks are those that the figure shows."""
    found = dict(branches(filled("ranked-tree").antichain))

    assert found == LEAST_RANKS


@pytest.mark.parametrize("name", STORES)
def test_the_query_of_the_figure_is_positive(name):
    """(1,2,2) is associated with the property; nothing is that is not above one of the three."""
    store = filled(name)

    assert store.covers((1, 2, 2))
    assert not store.covers((1, 2, 0))
    assert not store.covers((2, 2, 0))
    assert PropertyStatistics(inserts=3, queries=3, hits=1, largest=3) == store.statistics
    assert sorted(map(list, FOUND)) == sorted(transformations_in(store.antichain).tolist())
