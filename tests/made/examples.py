"""How many examples a property is tried on: a quarter, or all with ``CLOISTER_EXAMPLES=all``."""

import os

from hypothesis import settings

PROFILE = os.environ.get("CLOISTER_EXAMPLES")
IS_FULL = PROFILE in ("full", "all")
SHARE = 1 if PROFILE == "all" else 4


def examples(count: int, quick: int | None = None) -> settings:
    """Try so many examples where all are; ``quick``: in the quick profile, where each one takes its time."""
    return settings(max_examples=(None if IS_FULL else quick) or max(5, count // SHARE))
