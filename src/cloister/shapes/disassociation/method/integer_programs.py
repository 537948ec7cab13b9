"""Small integer programs, solved exactly: what single clusters cannot say as they compete for shared subrecords."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from cloister.errors import InternalError

Integers = NDArray[np.int64]
Term = tuple[int, int]  # a variable, and its factor


class Program:
    """Variables from 0 to a most, and rows of factors with bounds; built one by one."""

    def __init__(self) -> None:
        self.most: list[float] = []
        self.gain: list[int] = []
        self.rows: list[list[Term]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def variable(self, most: float, gain: int = 0) -> int:
        """Add a whole number from 0 to ``most``; return its place."""
        self.most.append(most)
        self.gain.append(gain)
        return len(self.most) - 1

    def row(self, terms: Iterable[Term], low: float = -np.inf, high: float = np.inf) -> None:
        """Bound a sum of variables."""
        self.rows.append(list(terms))
        self.low.append(low)
        self.high.append(high)

    def solve(self) -> Integers:
        """Return the variables at the greatest gain: (n_variables,)."""
        if not self.most:
            return np.zeros(0, dtype=np.int64)
        terms = [(row, *term) for row, each in enumerate(self.rows) for term in each]
        at, variable, factor = np.array(terms, dtype=np.int64).reshape(-1, 3).T
        matrix = csr_array((factor.astype(float), (at, variable)), shape=(len(self.rows), len(self.most)))
        found = milp(
            -np.array(self.gain, dtype=float),
            constraints=LinearConstraint(matrix, self.low, self.high) if self.rows else None,
            integrality=np.ones(len(self.most)),
            bounds=Bounds(0, np.array(self.most, dtype=float)),
            options={"mip_rel_gap": 0.0},  # the solver's own is one in ten thousand, which is not exact
        )
        if found.status != 0 or found.x is None:
            raise InternalError("A count could not be bounded: the solver found no answer.")
        numbers: Integers = np.rint(found.x).astype(np.int64)
        return numbers


def transport_most(supply: Sequence[int], demand: Sequence[int], roads: Sequence[tuple[int, int, int]]) -> Integers:
    """Return the most that goes from places of supply to places of demand, by road: (n_roads,).

    Parameters
    ----------
    roads : from which place, to which one, and how much goes there at most; no two between the same
    """
    n, end = len(supply), len(supply) + len(demand) + 1
    starts, stops, most = (np.array(each, dtype=np.int64) for each in zip(*roads, strict=True))
    tail = np.concatenate([np.zeros(n, dtype=np.int64), starts + 1, np.arange(n + 1, end)])
    head = np.concatenate([np.arange(1, n + 1), stops + n + 1, np.full(len(demand), end)])
    room = np.concatenate([np.array(supply), most, np.array(demand)]).astype(np.int32)
    graph = csr_array((room, (tail, head)), shape=(end + 1, end + 1))
    flow = maximum_flow(graph, 0, end).flow
    found: Integers = np.asarray(flow[starts + 1, stops + n + 1]).reshape(-1).astype(np.int64)
    return found


def maximize_shares(limit: Integers, members: Sequence[Sequence[int]], room: Mapping[int, int]) -> Integers:
    """Return the share of each group, at most its limit, such that the sum is greatest: (n_groups,).

    The shares of groups with a common member add up to at most the room of that member. If each group has at most two
    members that limit it, and these have two sides, solve a transport problem, else an integer program.
    """
    most = [min([amount, *(room[one] for one in own)]) for amount, own in zip(limit.tolist(), members, strict=True)]
    shares: Integers = np.array(most, dtype=np.int64)
    load = Counter[int]()
    for amount, own in zip(shares.tolist(), members, strict=True):
        load.update(dict.fromkeys(own, amount))
    matter = [[one for one in own if load[one] > room[one]] for own in members]
    if not any(matter):
        return shares
    sides = _two_sides(matter)
    if sides is None:
        program, users = Program(), dict[int, list[int]]()
        for amount, own in zip(shares.tolist(), matter, strict=True):
            variable = program.variable(float(amount), 1)
            for one in own:
                users.setdefault(one, []).append(variable)
        for one, variables in users.items():
            program.row([(variable, 1) for variable in variables], high=float(room[one]))
        return program.solve()
    every = int(shares.sum())
    ways = [[next((one for one in own if sides[one] is side), None) for side in (True, False)] for own in matter]
    places = [{one: at for at, one in enumerate({None: 0, **{way[side]: 0 for way in ways}})} for side in (0, 1)]
    ends = [[every if one is None else room[one] for one in place] for place in places]
    roads: dict[tuple[int, int], list[int]] = {}
    for number, way in enumerate(ways):
        roads.setdefault((places[0][way[0]], places[1][way[1]]), []).append(number)
    flows = transport_most(ends[0], ends[1], [(*road, int(shares[own].sum())) for road, own in roads.items()])
    for flow, numbers in zip(flows.tolist(), roads.values(), strict=True):
        for number in numbers:
            shares[number] = min(shares[number], flow)
            flow -= int(shares[number])
    return shares


def _two_sides(pairs: Sequence[Sequence[int]]) -> dict[int, bool] | None:
    """A side for each member so that no two of a pair are on the same; None if there is none, or three are together."""
    if max(map(len, pairs)) > 2:
        return None
    near: dict[int, set[int]] = {}
    for own in pairs:
        for one in own:
            near.setdefault(one, set()).update(set(own) - {one})
    sides: dict[int, bool] = {}
    for start in near:
        waiting = [] if start in sides else [start]
        sides.setdefault(start, True)
        while waiting:
            one = waiting.pop()
            for other in near[one]:
                if other not in sides:
                    sides[other] = not sides[one]
                    waiting.append(other)
                elif sides[other] is sides[one]:
                    return None
    return sides


def least_excess(excess: dict[int, int], spare: dict[int, int], users: dict[int, tuple[list[int], int]]) -> int:
    """Return the least of the excess of groups that their chunks' spare records cannot take: a transport.

    ``users``: the chunks of each group, and how much each chunk can take of it
    """
    left, total = dict(spare), 0
    for number, wanted in sorted(excess.items(), key=lambda item: len(users[item[0]][0])):
        for chunk in sorted(users[number][0], key=lambda one: -left[one]):
            moved = min(wanted, left[chunk], users[number][1])
            left[chunk] -= moved
            wanted -= moved
        total += wanted
    if total == 0:
        return 0
    place = {chunk: at for at, chunk in enumerate(spare)}
    roads = [(at, place[chunk], users[number][1]) for at, number in enumerate(excess) for chunk in users[number][0]]
    return sum(excess.values()) - int(transport_most([*excess.values()], [*spare.values()], roads).sum())


def first_these(easy: Integers, limit: Integers, total: int) -> Integers:
    """Share matches out: first up to what is easy, then up to the limit."""
    shares = np.minimum(easy, np.maximum(0, total - np.cumsum(easy) + easy))
    more, left = limit - shares, total - int(shares.sum())
    found: Integers = shares + np.minimum(more, np.maximum(0, left - np.cumsum(more) + more))
    return found
