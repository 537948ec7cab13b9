"""Loading the kernels of code sets ahead of their use."""

from cloister.kernels._jit import is_compiled

from ..data import CodeSets
from .data import DisassociationRequest
from .protect import disassociate
from .reconstruct import reconstruct

RECORDS = [["a", "b", "c", "d"], ["a", "b", "c"], ["a", "b", "d"], ["b", "e"], ["b", "e", "c"], ["e", "d"]]


def must_compile() -> bool:
    """Whether loading the kernels takes long this time: half a minute, once on each machine."""
    return not is_compiled("joining._group_all")


def load_kernels() -> None:
    """Run every kernel once, on six records."""
    codes = CodeSets.from_records(RECORDS)
    reconstruct(disassociate(codes, DisassociationRequest(2, 3, max_cluster_size=3)).released, 0)
