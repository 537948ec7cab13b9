"""How many of some things can each have another one of their own."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

Numbers = NDArray[np.int64]


def n_matched(ones: Numbers, others: Numbers) -> int:
    """Return how many things at most can be paired with another each, no other twice.

    Parameters
    ----------
    ones, others : (n_pairs,) numbers of things, from 0 on, that can be paired
    """
    if not ones.size:
        return 0
    graph = csr_array((np.ones(ones.size, dtype=np.int8), (ones, others)))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())
