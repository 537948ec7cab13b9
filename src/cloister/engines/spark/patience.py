"""A cluster that gives nobody to do the work: Spark itself would wait for ever, and say nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

LOOK_S = 1.0
"""Seconds between two looks at the cluster."""


@contextmanager
def impatient(session: Any, patience_s: float) -> Iterator[None]:
    """For as long as the block lasts, end jobs of a classic session that had no worker for so many seconds.

    The job then fails where it was asked for, as any job that Spark ends.
    """
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(session.sparkContext, patience_s, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(context: Any, patience_s: float, over: threading.Event) -> None:
    waited = 0.0
    with suppress(Exception):  # Java is gone, and so is what waited for it
        while not over.wait(LOOK_S):
            waited = waited + LOOK_S if _waits(context) else 0.0
            if waited >= patience_s:
                context.cancelAllJobs()


def _waits(context: Any) -> bool:
    """Whether there is work, and nobody to do it; the driver counts as one."""
    there = context._jsc.sc().getExecutorMemoryStatus().size() > 1
    return not there and bool(context.statusTracker().getActiveJobsIds())
