"""Seconds spent in each stage of a run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

STARTED = time.perf_counter()
"""When this process began to load cloister, or soon after."""

DIGITS = 2
"""Seconds are published in hundredths: finer times are a side channel."""

STAGES = ("start", "read", "encode", "search", "protect", "verify", "measure", "write")


@dataclass
class Stopwatch:
    """Adds up time by stage; what was spent before it was made can be given."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def move(self, source: str, target: str, seconds: float) -> None:
        """Book part of one stage under another."""
        self.seconds[source] -= seconds
        self.seconds[target] = self.seconds.get(target, 0.0) + seconds

    def table(self) -> dict[str, float]:
        """Seconds of every stage, and their sum as ``total``."""
        spent = {name: round(self.seconds.get(name, 0.0), DIGITS) for name in STAGES}
        return spent | {"total": round(sum(spent.values()), DIGITS)}
