"""What a verifier found, promise by promise."""

import numpy as np


class Checks:
    """Collects what was checked and what failed."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failures: list[str] = []

    def require(self, holds: bool | np.bool_, promise: str) -> bool:
        """Note a promise, and that it failed if it does not hold."""
        self.done.append(promise)
        if not holds:
            self.failures.append(f"not so: {promise}")
        return bool(holds)
