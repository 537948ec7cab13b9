"""Loading the kernels of generalized code sets ahead of their use."""

from cloister.codesets.data import CodeSets
from cloister.kernels._jit import is_compiled

from .data import GeneralizationRequest, Method
from .privacy_policy import PrivacyPolicy
from .protect import generalize

RECORDS = [["a", "b", "c"], ["a", "b"], ["c", "d"], ["d"]]


def must_compile() -> bool:
    """Whether loading the kernels takes long this time: some seconds, once on each machine."""
    return not is_compiled("terms._cheapest_pair")


def load_kernels() -> None:
    """Run every kernel once, on four records."""
    codes = CodeSets.from_records(RECORDS)
    for method in Method:
        generalize(codes, GeneralizationRequest(2, PrivacyPolicy.all_combinations(codes, 2), method))
