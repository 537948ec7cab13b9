"""How many examples a property is tried on: a quarter in the quick profile, all where CLOISTER_EXAMPLES is ``full``."""

import os

from hypothesis import settings

IS_FULL = os.environ.get("CLOISTER_EXAMPLES") == "full"


def examples(count: int) -> settings:
    """Try so many examples in the full profile."""
    return settings(max_examples=count if IS_FULL else max(5, count // 4))
