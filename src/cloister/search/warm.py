"""Loading the kernels ahead of their use."""

import numpy as np

from cloister.kernels.classes import class_sizes, distinct_rows
from cloister.kernels.layout import CODE, Costs, LevelMaps, Threshold, make_task
from cloister.kernels.shared_labels import common_levels

from . import search as run
from .problem import SearchProblem

OPTIMAL, NO_SEARCH = "optimal", "no search"


def load_kernels(search: str = OPTIMAL) -> None:
    """Run a search on two records, or what a method without one needs; the rest is compiled once it is asked for."""
    codes = np.array([[0, 1]], dtype=CODE)
    maps = LevelMaps(
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
    distinct = distinct_rows(codes, maps)
    if search == NO_SEARCH:
        start, lowest = np.array([0, 2], dtype=np.int64), np.zeros(1, dtype=np.int64)
        common_levels(distinct.rows, maps, np.array([0, 1], dtype=np.int64), start, lowest)
        return
    class_sizes(distinct.rows, maps, np.array([1], dtype=np.int64))
    task = make_task(distinct.rows, maps, costs, Threshold(2, 2, 0))
    bounds = np.array([0], dtype=np.int64), np.array([1], dtype=np.int64)
    run(search, SearchProblem(("any",), task, sum, *bounds, distinct.labels))
