"""Every kernel that a method needs, compiled ahead: before tests, into a wheel, before a demonstration."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor


def of_search() -> None:
    """Load what every search of a table runs."""
    from cloister.search import SEARCHES
    from cloister.search.warm import load_kernels

    for search in SEARCHES:
        load_kernels(search)


def of_disassociation() -> None:
    """Load what disassociation runs."""
    from cloister.codesets.disassociation.protect import load_kernels

    load_kernels()


def of_generalization() -> None:
    """Load what the generalization of codes runs."""
    from cloister.codesets.generalization.protect import load_kernels

    load_kernels()


def of_histories() -> None:
    """Load what trajectories, claims and measures of risk run."""
    from cloister.claims.warm import load_kernels as of_claims
    from cloister.risk.assessment import load_kernels as of_risk
    from cloister.trajectories.protect import load_kernels as of_trajectories

    of_claims()
    of_trajectories()
    of_risk()


LOADERS: tuple[Callable[[], None], ...] = (of_disassociation, of_search, of_histories, of_generalization)
"""Each runs its kernels on a few made-up records; what was compiled before is loaded. The longest comes first."""


def compile_all() -> None:
    """Compile what is not compiled yet, in as many processes as there are cores."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(LOADERS)), spawning) as pool:
        for each in [pool.submit(load) for load in LOADERS]:
            each.result()


def baseline_environment() -> str:
    """Return what makes Numba compile for the baseline of a wheel, as ``NAME=VALUE`` for a shell."""
    from cloister.kernels._jit import baseline

    _, processor, features = baseline() or ("", "", "")
    return f"NUMBA_CPU_NAME={processor} NUMBA_CPU_FEATURES={features}" if processor else ""
