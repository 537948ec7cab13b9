"""Configure Numba for our kernels: cache, argument types and compilation."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from . import _cached, only_ours
from ._cached import CARRIED, baseline, edition, remove_old_editions

Kernel = TypeVar("Kernel", bound=Callable[..., object])


@contextmanager
def _absent(module: str) -> Iterator[None]:
    """Let Numba do without a module that it loads where it is installed, and that takes a tenth of a short command."""
    is_hidden = only_ours and module not in sys.modules
    if is_hidden:
        sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if is_hidden:
            del sys.modules[module]


with _absent("coverage"), _absent("scipy"):  # which lines were compiled is not measured; the version of SciPy is ours
    import numba
from numba.core import caching, types  # noqa: E402
from numba.core.registry import cpu_target  # noqa: E402
from numba.core.runtime.nrt import rtsys  # noqa: E402
from numba.core.typing.templates import Signature  # noqa: E402

BORROWS = frozenset(
    ("getitem", "static_getitem", "typed_getitem", "getattr", "getiter", "iternext", "exhaust_iter", "setitem")
)
"""What takes an array, or a part of one, from what holds it."""


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

    def load_overload(self, sig: object, target_context: object) -> object:
        """Load a kernel without what only compiling needs, which takes as long as all else of loading the first."""
        rtsys.initialize(target_context)
        found = None
        with _absent("scipy.linalg.cython_blas"):  # for products of matrices; no kernel multiplies any
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
            if found is None:
                import numba.np.arraymath  # noqa: F401
        return found

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

    Otherwise Numba would compile a kernel again for each number in a call, and for each mix of codes and counts.
    """
    kind = types.unliteral(argument)
    return types.int64 if kind == types.int32 else kind


def _check_arrays(name: str, signature: Signature, inside: Mapping[object, Signature | None]) -> None:
    """Refuse a kernel that makes or returns an array although it counts no references: nobody would free the array.

    What it takes out of an array by numbers and slices is of an array that its caller holds.
    """
    made = [signature.return_type]
    for expression, one in inside.items():
        if one is not None:
            picks = any(isinstance(argument, types.Array) for argument in one.args[1:])
            made += [one.return_type] if picks or getattr(expression, "op", "setitem") not in BORROWS else []
    if any(cpu_target.target_context.data_model_manager[kind].contains_nrt_meminfo() for kind in made):
        raise TypeError(f"{name} makes or returns an array, but is no `inner_with_arrays`.")


def _with_seams(kernel: Kernel, *, has_arrays: bool) -> Kernel:
    """The kernel, compiled for the types of `_seam` where another kernel calls it."""
    template_of = getattr(kernel, "get_call_template", None)

    def find_template(args: Sequence[types.Type], named: Mapping[str, types.Type]) -> object:
        found = template_of([_seam(one) for one in args], named)  # type: ignore[misc]
        for one in () if has_arrays else kernel.overloads.values():  # type: ignore[attr-defined]
            _check_arrays(kernel.__name__, one.signature, one.type_annotation.calltypes)
        return found

    if template_of is not None:  # a plain function has none, as where compiling is switched off
        kernel.get_call_template = find_template  # type: ignore[attr-defined]
    return kernel


def compile_kernel(function: Kernel, *, is_entry: bool, has_arrays: bool) -> Kernel:
    """Return a kernel: no fast-math, as a loss must not depend on the processor; no lock of Python."""
    options = {} if is_entry else {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options |= {"_nrt": has_arrays}  # without this option a kernel does as its caller
    kernel: Kernel = numba.njit(nogil=True, fastmath=False, **options)(function)  # type: ignore[call-overload]
    if is_entry and hasattr(kernel, "py_func"):
        kernel._cache = _Cache(function)  # type: ignore[attr-defined]
    return _with_seams(kernel, has_arrays=has_arrays)
