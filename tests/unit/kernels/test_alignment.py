"""The checks in front of the kernels of trajectories."""

from fractions import Fraction

import numpy as np
import pytest
from tests.made.trajectories import numbered, trees

from cloister.errors import InputError
from cloister.hierarchy import suppress
from cloister.kernels.alignment import align, distances
from cloister.kernels.clusters import group
from cloister.shapes.trajectories.format.data import TrajectoriesRequest
from cloister.shapes.trajectories.method.problem import build_problem

RECORDS = [((0, 0), (1, 1)), ((1, 0),), ((1, 0),)]
NUMBERS = np.array([0, 1], dtype=np.int32)


def posed(**options):
    """A small problem."""
    request = TrajectoriesRequest(2, suppress(), suppress(), **options)
    return build_problem(numbered(RECORDS, 2, 2), trees([["x", "x"]], [["y", "y"]]), request)


def test_sequences_must_belong_to_the_trees():
    """Nodes and leaves that a tree has not, and codes without ages or details, are refused before anything is read."""
    domain = posed().domain
    beyond = np.array([0, 9], dtype=np.int32)

    for nodes, ranks in (
        ((beyond, NUMBERS), (NUMBERS, NUMBERS)),
        ((NUMBERS, NUMBERS), (NUMBERS, beyond)),
        ((NUMBERS, NUMBERS[:1]), (NUMBERS, NUMBERS)),
        ((NUMBERS, NUMBERS), (NUMBERS, NUMBERS, beyond)),
        ((NUMBERS, NUMBERS, NUMBERS[:1]), (NUMBERS, NUMBERS)),
    ):
        with pytest.raises(ValueError, match="sequence"):
            align(domain, nodes, 1, ranks)
    with pytest.raises(ValueError, match="a start and a weight"):
        distances(domain, np.array([0, 2]), (NUMBERS, NUMBERS), np.array([1, 1]), (NUMBERS, NUMBERS))


def test_distances_are_those_of_alignments():
    """Many sequences at once are as far from one as each alone."""
    domain = posed().domain
    start = np.array([0, 1, 3, 3])
    nodes = np.array([0, 1, 2], dtype=np.int32)
    found = distances(domain, start, (nodes, nodes), np.array([1, 2, 1]), (NUMBERS, NUMBERS))
    losses = [
        align(domain, (nodes[a:b], nodes[a:b]), weight, (NUMBERS, NUMBERS))[0][:, -1, -1].sum()
        for a, b, weight in ((0, 1, 1), (1, 3, 2), (3, 3, 1))
    ]

    assert losses == found.tolist()


def test_groups_need_sequences_that_fit_together():
    """Too few patients, starts that do not end where the pairs do, and unknown symbols are refused."""
    problem = posed()
    data = problem.sequences(np.arange(2))

    with pytest.raises(ValueError, match="3 patients"):
        group(problem.domain, data, 4)
    with pytest.raises(ValueError, match="a start, a number of times and a value"):
        group(problem.domain, data._replace(start=data.start[:-1]), 1)
    with pytest.raises(ValueError, match="symbols"):
        group(problem.domain, data._replace(code=data.code[:1], age=data.age[:1]), 1)
    assert data.times.tolist() == problem.counts().tolist()


def test_weights_that_are_too_fine_are_refused():
    """Losses are whole numbers that must not overflow."""
    tiny = Fraction(1, 10**17)

    with pytest.raises(InputError, match="fewer decimal places"):
        posed(weights=(tiny, 1 - tiny))
