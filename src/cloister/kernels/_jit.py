"""The decorators of all kernels: what is compiled how, and where it is cached, is decided here.

A kernel that Python calls is an *entry*: ``jit`` gives it a wrapper and a place in the cache. A kernel that only
kernels call is *inner*: LLVM compiles it into each entry that calls it, so that a wrapper and a place in the cache
would be compiled for nobody; they took most of the time.

A wheel for a platform carries compiled kernels (``make wheel``), made for a baseline that most of its processors have.
They are looked for first; where processor, Numba, Python or source is another one, a kernel is compiled as ever.
"""

import platform
import re
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numba
from llvmlite import binding
from numba.core import caching, types

from cloister.private_cache import cache_folder

from . import only_ours

BLAS = "scipy.linalg.cython_blas"
if only_ours and BLAS not in sys.modules:
    # Numba loads it for products of matrices, which is a tenth of a short command; no kernel multiplies any.
    sys.modules[BLAS] = None  # type: ignore[assignment]
    import numba.np.arraymath

    del sys.modules[BLAS]

Kernel = TypeVar("Kernel", bound=Callable[..., object])

SOURCES = Path(__file__).parent
CARRIED = SOURCES / "compiled"
"""Where a wheel has its compiled kernels."""

BASELINES = {
    "x86_64": ("x86-64-v3", "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt"),
    "aarch64": ("generic", "+neon"),
}
"""By machine, the processor (as LLVM calls it) and the features that carried kernels are compiled for."""


CACHE = cache_folder("kernels", SOURCES)
"""Where kernels are cached; None where no folder is private and they are compiled anew each time."""


@cache
def _closure(module: str) -> frozenset[str]:
    """A file of kernels and all that it imports, directly or not, by ``from .name import``."""
    found, waiting = {module, "_jit"}, [module]
    while waiting:
        source = (SOURCES / f"{waiting.pop()}.py").read_text(encoding="utf-8")
        fresh = set(re.findall(r"^from \.(\w+) import", source, re.MULTILINE)) - found
        found |= fresh
        waiting += fresh
    return frozenset(found)


@cache
def _edition(module: str) -> str:
    """A name for a file of kernels as it is now. Numba looks at this file alone, but compiles others into it."""
    digest = sha256()
    for name in sorted(_closure(module)):
        digest.update(name.encode() + (SOURCES / f"{name}.py").read_bytes())
    return digest.hexdigest()[:12]


@cache
def _remove_old_editions(folder: Path) -> None:
    """Remove what was compiled from files as they were, or from files that are gone."""
    for file in folder.iterdir():
        module = file.name.partition(".")[0]
        if not (SOURCES / f"{module}.py").exists() or f"-{_edition(module)}." not in file.name:
            file.unlink(missing_ok=True)


def is_compiled(kernel: str) -> bool:
    """Whether this kernel, as ``module.function``, is carried or was compiled before, from the sources as they are."""
    index = f"{kernel}-{_edition(kernel.partition('.')[0])}.py{sys.version_info[0]}{sys.version_info[1]}*.nbi"
    places = [place for place in (CARRIED if baseline() else None, CACHE) if place is not None]
    return any(any(place.glob(index)) for place in places)


@cache
def baseline() -> tuple[str, str, str] | None:
    """Return triple, processor and features of what a wheel may carry for this processor; None if it has them not."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    processor, features = BASELINES.get(machine, ("", ""))
    has = binding.get_host_cpu_features()
    wanted = [feature[1:] for feature in features.split(",") if feature]
    return (binding.get_process_triple(), processor, features) if wanted and all(map(has.get, wanted)) else None


class _Locator(caching._CacheLocator):
    """Says to Numba where a kernel is cached, and from which edition of its file it was compiled."""

    def __init__(self, module: str) -> None:
        self._edition = _edition(module)

    def get_cache_path(self) -> str:
        return str(CACHE)

    def get_source_stamp(self) -> str:
        return self._edition

    def get_disambiguator(self) -> str:
        return self._edition

    @classmethod
    def from_function(cls, _function: Callable[..., object], file: str) -> "_Locator":
        return cls(Path(file).stem)


class _CacheFiles(caching.CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012


class _Baseline:
    """Stands for the code generator that compiled what is carried."""

    magic_tuple = staticmethod(baseline)


class _Cache(caching.FunctionCache):
    _impl_class = _CacheFiles

    def _load_overload(self, sig: object, target_context: object) -> object:
        if CARRIED.is_dir() and baseline() is not None:
            files = caching.IndexDataCacheFile(
                str(CARRIED), self._impl.filename_base, self._impl.locator.get_source_stamp()
            )
            compiled = files.load(self._index_key(sig, _Baseline))
            if compiled is not None:
                return self._impl.rebuild(target_context, compiled)
        return None if CACHE is None else super()._load_overload(sig, target_context)

    def save_overload(self, sig: object, data: object) -> None:
        if CACHE is not None:
            super().save_overload(sig, data)
            _remove_old_editions(CACHE)


def _seam(argument: types.Type) -> types.Type:
    """The type of an argument at every seam: a number that a caller writes down is any number, of 64 bits.

    Numba would compile a kernel once more for each number that stands in a call, and for each code beside a count.
    """
    kind = types.unliteral(argument)
    return types.int64 if kind == types.int32 else kind


def _with_seams(kernel: Kernel) -> Kernel:
    """The kernel, compiled for the types of `_seam` where another kernel calls it."""
    template_of = getattr(kernel, "get_call_template", None)
    if template_of is not None:  # a plain function has none, as where compiling is switched off
        kernel.get_call_template = lambda args, named: template_of([_seam(one) for one in args], named)  # type: ignore[attr-defined]
    return kernel


# No fast-math: counts are integers, and a loss must not depend on the processor. No lock of Python: kernels run side by
# side.


def inner(function: Kernel) -> Kernel:
    """Compile a kernel that only kernels call."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    kernel: Kernel = numba.njit(nogil=True, fastmath=False, **options)(function)  # type: ignore[call-overload]
    return _with_seams(kernel)


def jit(function: Kernel) -> Kernel:
    """Compile a kernel that Python calls."""
    kernel: Kernel = numba.njit(nogil=True, fastmath=False)(function)  # type: ignore[assignment]
    if hasattr(kernel, "py_func"):
        kernel._cache = _Cache(function)  # type: ignore[attr-defined]
    return _with_seams(kernel)
