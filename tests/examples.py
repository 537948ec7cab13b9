"""How many examples a property is tried on: a quarter in the quick profile, all where CLOISTER_EXAMPLES is ``full``."""

import os

from hypothesis import settings

IS_FULL = os.environ.get("CLOISTER_EXAMPLES") == "full"


def examples(count: int, quick: int | None = None) -> settings:
    """Try so many examples in the full profile; ``quick``: in the other, where each one writes files and reads them."""
    return settings(max_examples=count if IS_FULL else quick or max(5, count // 4))
