"""Loading the kernels ahead of their use."""

import numpy as np

from cloister.kernels._jit import is_compiled
from cloister.kernels.classes import class_sizes, distinct_rows, group, leaves_lost
from cloister.kernels.layout import CODE, Costs, Ladders, Threshold, make_task

from .bfs import bfs
from .flash import flash
from .ola import ola
from .optimal import optimal
from .problem import SearchProblem


def must_compile() -> bool:
    """Whether loading the kernels takes long this time: some twenty seconds, once on each machine."""
    return not is_compiled("boxes._search")


def load_kernels() -> None:
    """Run the kernels of the default search on two records; where they must be compiled, those of all searches."""
    is_first = must_compile()
    codes = np.array([[0, 1]], dtype=CODE)
    ladders = Ladders(
        up=np.array([0, 1, 0, 0, 0], dtype=CODE),
        start=np.array([[[0, 2], [0, 4]]], dtype=np.int64),
        sizes=np.array([[2, 1]], dtype=np.int64),
        heights=np.array([2], dtype=np.int64),
        number=np.array([[0, 1]], dtype=np.int64),
        stride=np.array([1], dtype=np.int64),
        exact=True,
    )
    costs = Costs(
        leaves=np.array([0, 0, 1], dtype=np.int64),
        start=np.array([[0, 2]], dtype=np.int64),
        domain=np.array([1], dtype=np.int64),
        mean=np.array([[0.0, 1.0]]),
        worst=np.array([[0.0, 1.0]]),
        weight=np.array([1.0]),
        geometric=False,
    )
    distinct = distinct_rows(codes, ladders)
    class_sizes(distinct.rows, ladders, np.array([1], dtype=np.int64))
    task = make_task(distinct.rows, ladders, costs, Threshold(2, 2, 0))
    bounds = np.array([0], dtype=np.int64), np.array([1], dtype=np.int64)
    problem = SearchProblem(("any",), task, sum, *bounds, distinct.labels)
    optimal(problem)
    if is_first:
        group(task.rows, ladders, bounds[1])
        leaves_lost(task.rows, ladders, costs, bounds[1], np.ones(2, dtype=np.bool_))
        for search in (flash, bfs, ola):
            search(problem)
