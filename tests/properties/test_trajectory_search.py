"""The search for the closest and the farthest rules out nothing that would have won, on a hundred records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from tests.made.examples import examples
from tests.made.trajectories import numbered, trees

from cloister.hierarchy import suppress
from cloister.kernels import _jit, clusters
from cloister.kernels.alignment import align
from cloister.kernels.clusters import group, make_scratch
from cloister.shapes.trajectories.format.data import Cost, Method, TrajectoriesRequest
from cloister.shapes.trajectories.method.problem import build_problem

CODES = [[f"c{value // 2}" for value in range(12)], [f"C{value // 6}" for value in range(12)]]
AGES = [[f"a{value // 3}" for value in range(12)]]


_jit.load()
_bound_all, _prepare = clusters._bound_all, clusters._prepare


@njit
def bound_all(domain, data, scratch, m, weight, cap):
    """Bounds on the losses of aligning with each sequence, as the search works them out."""
    _bound_all(data, scratch, data.times.shape[0], m, _prepare(domain, data, scratch, m, weight), cap)


class Scan:
    """Algorithms 3 and 4, aligning with everything that is left."""

    def __init__(self, problem, k):
        self.problem, self.k, self.data = problem, k, problem.sequences(np.arange(problem.first.size))
        self.times, self.found = self.data.times.copy(), []

    def ranks(self, one):
        """Codes and ages of a sequence."""
        symbols = self.data.symbol[self.data.start[one] : self.data.start[one + 1]]
        return self.data.code[symbols], self.data.age[symbols]

    def nodes(self, one):
        """The same as leaves."""
        domain, (codes, ages) = self.problem.domain, self.ranks(one)
        return domain.code.leaf[codes], domain.age.leaf[ages]

    def losses(self, nodes, weight):
        """(loss, number) of all sequences that are left."""
        left = np.flatnonzero(self.times).tolist()
        tables = [(align(self.problem.domain, nodes, weight, self.ranks(one))[0], one) for one in left]
        return [(int(table[:, -1, -1].sum()), one) for table, one in tables]

    def form(self, seed, size):
        """A cluster around a sequence."""
        members, nodes, domain = [seed], self.nodes(seed), self.problem.domain
        self.times[seed] -= 1
        while len(members) < size:
            weight = len(members) if domain.weighted else 1
            one = min(self.losses(nodes, weight))[1]
            match, ranks, own = align(domain, nodes, weight, self.ranks(one))[2], self.ranks(one), self.nodes(one)
            assert len(ranks[0]) == len(own[0])
            kept = np.flatnonzero(match >= 0)
            both = (self.problem.code_tree, self.problem.age_tree)
            nodes = tuple(
                np.array([tree.meet(int(x[h]), int(y[match[h]])) for h in kept], dtype=np.int32)
                for tree, x, y in zip(both, nodes, own)
            )
            self.times[one] -= 1
            members.append(one)
        self.found.append(members)

    def run(self):
        """All clusters, by their members in the order of joining."""
        while (left := int(self.times.sum())) >= 2 * self.k:
            far = min((-loss, one) for loss, one in self.losses(self.nodes(int(np.argmax(self.times))), 1))[1]
            self.form(far, self.k)
            if left >= 3 * self.k:
                self.form(min((-loss, one) for loss, one in self.losses(self.nodes(far), 1))[1], self.k)
        self.form(int(np.argmax(self.times)), int(self.times.sum()))
        return self.found


@pytest.mark.parametrize("cost", Cost)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_would_win_is_ruled_out(seed, cost):
    """A hundred random records: the same members in the same order as aligning with all that is left."""
    random = np.random.default_rng(seed)
    records = [
        [(int(random.integers(12)), int(random.integers(12))) for _ in range(random.integers(1, 8))] for _ in range(100)
    ]
    request = TrajectoriesRequest(6, suppress(), suppress(), cost=cost)
    problem = build_problem(numbered(records, 12, 12), trees(CODES, AGES), request)
    found = group(problem.domain, problem.sequences(np.arange(problem.first.size)), 6)

    assert Scan(problem, 6).run() == [each.tolist() for each in np.split(found.member, np.cumsum(found.size)[:-1])]


@pytest.mark.parametrize("cost", Cost)
@pytest.mark.parametrize("method", Method)
@examples(25)
@given(st.integers(0, 2**32 - 1))
def test_every_bound_is_at_most_the_loss(method, cost, seed):
    """What is not aligned, since its bound is too high, would have lost no less: of X as recorded or merged."""
    random = np.random.default_rng(seed)
    records = [
        [(int(random.integers(12)), int(random.integers(12))) for _ in range(random.integers(1, 8))] for _ in range(30)
    ]
    both = trees(CODES, AGES)
    request = TrajectoriesRequest(6, suppress(), suppress(), cost=cost, method=method)
    problem = build_problem(numbered(records, 12, 12), both, request)
    data = problem.sequences(np.arange(problem.first.size))
    scratch = make_scratch(problem.domain, data)
    m, weight = int(random.integers(1, scratch.code.size + 1)), int(random.integers(1, 6)) if cost is Cost.EXACT else 1
    scratch.code[:m] = random.integers(0, both[0].n_nodes, m)
    scratch.age[:m] = random.integers(0, both[1].n_nodes, m)
    scratch.detail[:m] = 0
    bound_all(problem.domain, data, scratch, m, weight, len(records))
    nodes = scratch.code[:m].copy(), scratch.age[:m].copy()
    for at, sequence in enumerate(scratch.alive.tolist()):
        symbols = data.symbol[data.start[sequence] : data.start[sequence + 1]]
        table = align(problem.domain, nodes, weight, (data.code[symbols], data.age[symbols]))[0]
        assert scratch.bound[at] <= int(table[:, -1, -1].sum())
