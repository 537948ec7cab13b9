"""What a benchmark ran on, and how busy that was."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cloister.shapes.table.method.settings import available_cores


def machine() -> dict[str, Any]:
    """Processor, cores, memory, versions, day, and the load of the last minute; no name of host or user."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "cores": available_cores(),
        "gib": round(pages / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("cloister", "numpy", "numba", "polars")},
        "load": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
