"""What every course goes through, whatever the shape: a verdict that must hold, and the head of the manifest."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from cloister.errors import InternalError
from cloister.release import SCHEMA
from cloister.results import Manifest, Verdict
from cloister.stopwatch import Stopwatch

RISK_THRESHOLD = 0.2
"""Risk above which a record counts as at high risk."""


def passed(verdict: Verdict) -> Verdict:
    """Return the verdict on our own output, if it holds.

    Raises
    ------
    InternalError
        It does not: our bug, and nothing is released.
    """
    if not verdict.holds:
        raise InternalError(f"The release did not pass verification: {'; '.join(verdict.failures)}.")
    return verdict


def completed(described: Manifest, *, source: str, seed: int, watch: Stopwatch) -> Manifest:
    """Return the whole manifest: what is particular to the release, and when, where and from what it was made.

    Parameters
    ----------
    described : shape, method, settings and all else that is particular to the shape
    source : name of what was read, without its path
    seed : as given
    watch : holds the time of every stage so far
    """
    head = {
        "schema": SCHEMA,
        "cloister": version("cloister"),
        "shape": described["shape"],
        "method": described["method"],
        "settings": {"source": source} | described["settings"],
        "seed": seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
    }
    particular = {name: part for name, part in described.items() if name not in head}
    return head | particular | {"seconds": watch.table(), "files": {}}


def _machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    packages = {name: version(name) for name in ("numpy", "numba", "polars")}
    return {"cores": cores, "system": platform.system(), "python": platform.python_version(), **packages}
