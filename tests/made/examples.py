"""How many examples a property is tried on: a tenth; a quarter with ``CLOISTER_EXAMPLES=full``; all with ``all``."""

import os

from hypothesis import settings

PROFILE = os.environ.get("CLOISTER_EXAMPLES")
IS_FULL = PROFILE in ("full", "all")
_TURN = os.environ.get("CLOISTER_TURN", "0")
TURN = None if _TURN == "all" else int(_TURN)
"""Which part of the tests that take turns is run, or None for all: the build machine counts on with each commit."""
SHARE = {"all": 1, "full": 4}.get(PROFILE or "", 10)
FEWEST = 5 if IS_FULL else 4


def examples(count: int, quick: int | None = None) -> settings:
    """Try so many examples where all are; ``quick``: in the quick profile, where each one takes its time."""
    return settings(max_examples=(None if IS_FULL else quick) or max(FEWEST, count // SHARE))
