"""The decorators of all kernels.

A kernel that Python calls is an *entry*: ``jit`` gives it a wrapper and a place in the cache. A kernel that only
kernels call is *inner*: LLVM compiles it into each entry that calls it, so that a wrapper and a place in the cache
would be compiled for nobody; they took most of the time. An inner kernel counts no references to arrays, unless it
makes some. Numba is loaded when the first entry is called: it takes as long as many a command, and what is small is
done without.
"""

import sys
from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., object])


class Uncompiled:
    """A kernel that waits for its compiler; the first that is called loads it for all."""

    def __init__(self, function: Callable[..., object], *, is_entry: bool, has_arrays: bool = False) -> None:
        update_wrapper(self, function)
        self.function, self.is_entry, self.has_arrays = function, is_entry, has_arrays
        self.kernel: Callable[..., object] | None = None
        _UNCOMPILED.append(self)

    def __call__(self, *words: object) -> object:
        """Call the kernel."""
        if self.kernel is None:
            load()
        assert self.kernel is not None
        return self.kernel(*words)


_UNCOMPILED: list[Uncompiled] = []
_LOCK = Lock()


def load() -> None:
    """Give all kernels that wait to the compiler, and let them take their places in their files."""
    from . import _numba

    with _LOCK:
        for one in _UNCOMPILED:
            one.kernel = _numba.compile_kernel(
                one.function, is_entry=one.is_entry, has_arrays=one.is_entry or one.has_arrays
            )
        _UNCOMPILED.clear()
        # Kernels call each other by the names in their files, and Numba knows its own alone.
        for module in [module for name, module in sys.modules.items() if name.startswith(f"{__package__}.")]:
            for name, one in list(vars(module).items()):
                if isinstance(one, Uncompiled) and one.kernel is not None:
                    setattr(module, name, one.kernel)


def inner(function: Kernel) -> Kernel:
    """Compile a kernel that only kernels call, and that neither makes nor returns an array.

    References to the arrays that it looks at are not counted, which took longer than to look at them.
    """
    return Uncompiled(function, is_entry=False)  # type: ignore[return-value]


def inner_with_arrays(function: Kernel) -> Kernel:
    """Compile a kernel that only kernels call, and that makes arrays, or returns any."""
    return Uncompiled(function, is_entry=False, has_arrays=True)  # type: ignore[return-value]


def jit(function: Kernel) -> Kernel:
    """Compile a kernel that Python calls."""
    return Uncompiled(function, is_entry=True)  # type: ignore[return-value]
