"""The four property stores compared: what Flash asked and told its stores, repeated in one compiled loop.

Flash is run once, with the compiled walks through the lattice replaced by the same functions uncompiled, so that each
question can be written down. What was written down is then repeated with each store, and only this is timed: neither
Python nor the search itself is in the figures.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.pruning_runs import Place, compile_kernels, problem_of
from cloister.kernels import antichain, ranks
from cloister.kernels._jit import load
from cloister.kernels.antichain import HITS, LIST, SIZE, Antichain, make_antichain
from cloister.search import lattice
from cloister.search.flash import _Flash
from cloister.search.lattice import PROTECTION, QUALITY, SAFE, STORES, ImplicitProperties, Transformation
from cloister.search.problem import SearchProblem
from cloister.search.search_run import SearchRun

PROPERTIES = {QUALITY: "quality", PROTECTION: "protection", SAFE: "safe"}
WALKS = ("collect", "next_open", "which_known", "climb")
LONG = 5.0
"""Seconds of a repetition that is made once only."""


@dataclass(frozen=True)
class Recording:
    """What was asked and told one store, in order.

    inserts : (n,) whether it was an insert; else a question
    policies : (n, n_attributes) uint8
    """

    inserts: NDArray[np.bool_]
    policies: NDArray[np.uint8]


class _Log:
    """A recording being made."""

    def __init__(self, n_attributes: int) -> None:
        self._n_attributes = n_attributes
        self._inserts = bytearray()
        self._policies = bytearray()

    def add(self, levels: Any, *, is_insert: bool) -> None:
        self._inserts.append(is_insert)
        self._policies += bytes(levels.tolist() if isinstance(levels, np.ndarray) else levels)

    def recording(self) -> Recording:
        policies = np.frombuffer(self._policies, dtype=np.uint8).reshape(-1, self._n_attributes)
        return Recording(np.frombuffer(self._inserts, dtype=np.bool_), policies)


class _Recorded(ImplicitProperties):
    """Properties in stores, and a log of all that is asked and told."""

    def __init__(self, problem: SearchProblem) -> None:
        super().__init__(problem, "ranked-tree")
        self.logs = {name: _Log(len(problem.names)) for name in PROPERTIES}
        self._log_of = {id(store.antichain.counts): self.logs[name] for name, store in self._stores.items()}

    def note(self, levels: Transformation, properties: int) -> None:
        for name, log in self.logs.items():
            if properties & name:
                log.add(levels, is_insert=True)
        super().note(levels, properties)

    def inherits(self, store: Antichain, levels: NDArray[np.int64]) -> bool:
        """Answer as the kernel of this name does."""
        self._log_of[id(store.counts)].add(levels, is_insert=False)
        return antichain.inherits(store, levels)


def _uncompiled(inherits: Callable[..., bool]) -> dict[str, Any]:
    """The functions of `kernels.ranks` as plain Python, with another way to ask a store."""
    load()
    functions: dict[str, Any] = dict(vars(ranks))
    for name, function in vars(ranks).items():
        plain = getattr(function, "py_func", function)
        if isinstance(plain, FunctionType) and plain.__module__ == ranks.__name__:
            functions[name] = FunctionType(plain.__code__, functions, name, plain.__defaults__)
    functions["inherits"] = inherits
    return functions


def record(problem: SearchProblem) -> dict[str, Recording]:
    """Run Flash and return what was asked and told each of its stores."""
    properties = _Recorded(problem)
    plain = _uncompiled(properties.inherits)
    compiled = {name: getattr(lattice, name) for name in WALKS}
    for name in WALKS:
        setattr(lattice, name, plain[name])
    try:
        assert _Flash(properties, SearchRun(problem)).run()
    finally:
        for name in WALKS:
            setattr(lattice, name, compiled[name])
    return {PROPERTIES[name]: log.recording() for name, log in properties.logs.items()}


@numba.njit(nogil=True)
def _replay(store, inserts, policies):
    for i in range(inserts.shape[0]):
        if inserts[i]:
            antichain._insert(store, policies[i])
        else:
            antichain.inherits(store, policies[i])


def _with_room(kind: int, top: Transformation, recording: Recording, *, is_upward: bool) -> Antichain:
    """An empty store that need not grow."""
    store = make_antichain(kind, np.array(top, dtype=np.int64), is_upward)
    room = int(recording.inserts.sum()) + 1
    if store.rows.size:
        return store._replace(rows=np.empty((room, len(top)), dtype=np.int32))
    nodes = np.full(room * len(top) + 1, -1, dtype=np.int32)
    return store._replace(level=nodes, child=nodes.copy(), sibling=nodes.copy(), least=nodes.copy())


def replay(problem: SearchProblem, recording: Recording, name: str, store: str, runs: int) -> tuple[float, int, int]:
    """Median processor seconds of repeating a recording with a store, the hits, and the policies held at the end."""
    seconds: list[float] = []
    while len(seconds) < runs and max(seconds, default=0.0) < LONG:
        kept = _with_room(STORES[store], problem.top, recording, is_upward=name != "protection")
        started = time.thread_time()
        _replay(kept, recording.inserts, recording.policies)
        seconds.append(time.thread_time() - started)
    return statistics.median(seconds), int(kept.counts[HITS]), int(kept.counts[SIZE])


def _compile_replay(problem: SearchProblem) -> None:
    """Compile the loop, on nothing."""
    replay(problem, _Log(len(problem.names)).recording(), "quality", "list", 1)


def compare_stores(table: str, columns: int, place: Place, runs: int) -> dict[str, Any]:
    """Seconds of each store on one table, by property; the answers of all four are compared."""
    compile_kernels()
    problem = problem_of(table, columns, place)
    _compile_replay(problem)
    told: dict[str, Any] = {"table": table, "columns": columns, "lattice": problem.lattice, "seconds": {}, "asked": {}}
    for name, recording in record(problem).items():
        found = {store: replay(problem, recording, name, store, runs) for store in STORES}
        assert len({hits for _, hits, _ in found.values()}) == 1, "the stores answer differently"
        assert len({size for store, (_, _, size) in found.items() if STORES[store] != LIST}) == 1
        told["seconds"][name] = {store: seconds for store, (seconds, _, _) in found.items()}
        inserts = int(recording.inserts.sum())
        told["asked"][name] = {"inserts": inserts, "queries": len(recording.inserts) - inserts}
    return told
