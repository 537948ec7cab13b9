"""Find the memory available to this process, under the limits of the machine, its container and its shell."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

STATM = Path("/proc/self/statm")  # its first number is the pages of address space that the process has
GROUPS = Path("/proc/self/cgroup")  # control groups of this process
GROUP_FILES = Path("/sys/fs/cgroup")  # their files
MEMORY_LIMIT = "4GiB"  # What DuckDB may hold of a file; what does not fit it sets aside on disk, encrypted
LEAST_MIB = 64  # what it needs to begin


def memory_left() -> int:
    """Return the available memory in bytes, under the limits of machine, container and ``ulimit -v``."""
    most = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits_of_groups()]
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        used = int(STATM.read_text().split()[0]) * resource.getpagesize() if STATM.exists() else 0
        most.append(limit - used)
    return min(most)


def memory_limit() -> str:
    """Return the memory limit for DuckDB: half of the available memory, if that is below the default.

    That is what a limit of the shell (``ulimit -v``) leaves, or the memory of the machine or of the container. The
    other half is for what is read from DuckDB, and for the stacks of its threads.
    """
    left = max(LEAST_MIB, memory_left() >> 21)
    return f"{left}MiB" if left < 4 << 10 else MEMORY_LIMIT


def _limits_of_groups() -> Iterator[int]:
    """The limits of memory, in bytes, of the control groups that this process is in; of a container its own."""
    lines = GROUPS.read_text().splitlines() if GROUPS.exists() else []
    for _, controllers, group in (line.split(":", 2) for line in lines):
        if controllers not in ("", "memory"):
            continue
        top = GROUP_FILES / controllers
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        inside = top / group.lstrip("/")
        for place in (inside, *(above for above in inside.parents if above.is_relative_to(top))):
            with suppress(OSError, ValueError):  # ``max``: none
                yield int((place / name).read_text())
