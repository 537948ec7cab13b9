"""Loading the kernels of risk ahead of their use."""

import numpy as np
import polars as pl

from cloister.kernels._jit import is_compiled

from .grouping import group
from .partial_knowledge import partial_knowledge
from .special_uniques import find_special_uniques


def must_compile() -> bool:
    """Whether loading the kernels takes long this time: some ten seconds, once on each machine."""
    return not (is_compiled("standing_out._stand_out") and is_compiled("knowing._least_of"))


def load_kernels() -> None:
    """Run every kernel once, on four records."""
    texts = pl.DataFrame({"a": ["x", "x", "y", None], "b": ["x", "y", "y", "y"]})
    find_special_uniques(group(texts, texts.columns), 2)
    partial_knowledge(np.array([0, 4, 8]), np.array([0, 1, 2, 3] * 2, dtype=np.int32), known=[2, 3, 4], k=2)
