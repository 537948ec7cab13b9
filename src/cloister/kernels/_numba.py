"""Configure Numba for our kernels: cache, argument types and compilation."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numba
from numba.core import caching, types

from . import _cached, only_ours
from ._cached import CARRIED, baseline, edition, remove_old_editions

Kernel = TypeVar("Kernel", bound=Callable[..., object])
BLAS = "scipy.linalg.cython_blas"
if only_ours and BLAS not in sys.modules:
    # Numba loads it for products of matrices, which is a tenth of a short command; no kernel multiplies any.
    sys.modules[BLAS] = None  # type: ignore[assignment]
    import numba.np.arraymath

    del sys.modules[BLAS]


class _Locator(caching._CacheLocator):
    """Says to Numba where a kernel is cached, and from which edition of its file it was compiled."""

    def __init__(self, module: str) -> None:
        self._edition = edition(module)

    def get_cache_path(self) -> str:
        return str(_cached.CACHE)

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
            with suppress(Exception):  # whatever is wrong with a carried file, the kernel can be compiled
                compiled = files.load(self._index_key(sig, _Baseline))
                if compiled is not None:
                    return self._impl.rebuild(target_context, compiled)
        return None if _cached.CACHE is None else super()._load_overload(sig, target_context)

    def save_overload(self, sig: object, data: object) -> None:
        if _cached.CACHE is not None:
            super().save_overload(sig, data)
            remove_old_editions(_cached.CACHE)


def _seam(argument: types.Type) -> types.Type:
    """The type of an argument at every seam: a number that a caller writes down is any number, of 64 bits.

    Numba would compile a kernel once more for each number that is in a call, and for each code beside a count.
    """
    kind = types.unliteral(argument)
    return types.int64 if kind == types.int32 else kind


def _with_seams(kernel: Kernel) -> Kernel:
    """The kernel, compiled for the types of `_seam` where another kernel calls it."""
    template_of = getattr(kernel, "get_call_template", None)
    if template_of is not None:  # a plain function has none, as where compiling is switched off
        kernel.get_call_template = lambda args, named: template_of([_seam(one) for one in args], named)  # type: ignore[attr-defined]
    return kernel


def compiled(function: Kernel, *, is_entry: bool) -> Kernel:
    """Return a kernel: no fast-math, as a loss must not depend on the processor; no lock of Python."""
    options = {} if is_entry else {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    kernel: Kernel = numba.njit(nogil=True, fastmath=False, **options)(function)  # type: ignore[call-overload]
    if is_entry and hasattr(kernel, "py_func"):
        kernel._cache = _Cache(function)  # type: ignore[attr-defined]
    return _with_seams(kernel)
