"""Find kernels that are already compiled from the current sources: in the cache, or in a wheel.

A wheel for a platform carries compiled kernels (``make wheel``), made for a baseline that most of its processors have.
They are looked for first; where processor, Numba, Python or source is another one, a kernel is compiled as ever.
"""

import platform
import re
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

from cloister.kernels.private_cache import cache_folder

SOURCES = Path(__file__).parent
CARRIED = SOURCES / "compiled"
"""Where a wheel has its compiled kernels."""

BASELINES = {
    "x86_64": ("x86-64-v3", "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt"),
    "aarch64": ("generic", "+neon"),
}
"""By machine, the processor (as LLVM calls it) and the features that carried kernels are compiled for."""


CACHE = cache_folder("kernels", SOURCES)
"""Where kernels are cached; None where no folder is private and they are compiled each time."""


@cache
def _closure(module: str) -> frozenset[str]:
    """A file of kernels and all that it imports, directly or not, by ``from .name import``."""
    found, waiting = {module, "_cached", "_jit", "_numba"}, [module]
    while waiting:
        source = (SOURCES / f"{waiting.pop()}.py").read_text(encoding="utf-8")
        fresh = set(re.findall(r"^from \.(\w+) import", source, re.MULTILINE)) - found
        found |= fresh
        waiting += fresh
    return frozenset(found)


@cache
def edition(module: str) -> str:
    """A name for a file of kernels as it is now. Numba looks at this file alone, but compiles others into it."""
    digest = sha256()
    for name in sorted(_closure(module)):
        digest.update(name.encode() + (SOURCES / f"{name}.py").read_bytes())
    return digest.hexdigest()[:12]


@cache
def remove_old_editions(folder: Path) -> None:
    """Remove kernels compiled from changed or deleted files."""
    for file in folder.iterdir():
        module = file.name.partition(".")[0]
        if not (SOURCES / f"{module}.py").exists() or f"-{edition(module)}." not in file.name:
            file.unlink(missing_ok=True)


def is_compiled(kernel: str) -> bool:
    """Whether this kernel, as ``module.function``, is carried or was compiled before, from the sources as they are."""
    index = f"{kernel}-{edition(kernel.partition('.')[0])}.py{sys.version_info[0]}{sys.version_info[1]}*.nbi"
    places = [place for place in (CARRIED if CARRIED.is_dir() and baseline() else None, CACHE) if place is not None]
    return any(any(place.glob(index)) for place in places)


@cache
def baseline() -> tuple[str, str, str] | None:
    """Return triple, processor and features of what a wheel may carry for this processor; None if it has them not."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    processor, features = BASELINES.get(machine, ("", ""))
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    wanted = [feature[1:] for feature in features.split(",") if feature]
    return (binding.get_process_triple(), processor, features) if wanted and all(map(has.get, wanted)) else None
