"""Loading the kernels of trajectories ahead of their use."""

from cloister.hierarchy import suppress
from cloister.kernels._jit import is_compiled

from .data import Cost, Method, Trajectories, TrajectoriesRequest
from .protect import anonymize

RECORDS = [[("a", 1)], [("a", 1), ("b", 2)], [("b", 2)], [("a", 1), ("b", 3)], [("a", 2)], [("b", 1)], [("a", 3)]]


def must_compile() -> bool:
    """Whether loading the kernels takes long this time: some seconds, once on each machine."""
    return not is_compiled("grouping._group")


def load_kernels() -> None:
    """Run every kernel once, on seven patients."""
    trajectories = Trajectories.from_records(RECORDS)
    for method in Method:
        for cost in Cost:
            anonymize(trajectories, TrajectoriesRequest(2, suppress(), suppress(), method, cost=cost))
