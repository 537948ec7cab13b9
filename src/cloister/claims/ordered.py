"""An adversary who knows in which order values came (step 12, "exact order")."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Known
from cloister.kernels.claim_sequences import ordered_class_sizes

from .adversaries import Attack, Attacked, figures_of
from .encoded import MISSING
from .knowledge import Knowledge
from .matching import SPAN
from .numbering import gather
from .released import Released

WORK = 60_000_000
"""Patients that are compared with draws, at most: some ten seconds."""

FEWEST = 2_000
"""Draws that are looked at, however large the cells are."""


def exact_order(attacked: Attacked, when: NDArray[np.int32]) -> Attack:
    """An adversary who knows the order of the values drawn: a patient fits who has them in that order.

    More than a recipient can see: released rows are sorted by value, and only days since the first claim tell an order.
    So this is an upper end of what order adds. Ties in time are taken in the order of the rows.
    All patients of a cell are looked at for each draw, so where cells are large there are fewer draws, with a wider
    interval.

    Parameters
    ----------
    when : (n_claims,) rank of each claim in time
    """
    released, levels, settings = attacked.released, attacked.levels, attacked.settings
    encoded = released.encoded
    knowledge = Knowledge(encoded, attacked.power, settings.seed_of(1), released.patients)
    knowledge.__dict__["known"] = in_time(Released.everything(encoded), when)
    seen = in_time(released, when)
    cells = attacked.matching.cells(levels)
    own = attacked.of_claims
    tables = [column.levels[level].astype(np.int64) for column, level in zip(encoded.claims, own, strict=True)]
    at = np.concatenate([[0], np.cumsum([table.size for table in tables])])[:-1].astype(np.int64)
    labels = np.concatenate(tables)
    found = []
    for number in range(attacked.repeats):
        draws = knowledge.repeat(number)
        sizes = np.zeros(draws.patients.size, dtype=np.int64)
        count = partial(ordered_class_sizes, seen, cells, draws, labels, at, sizes=sizes)
        n_draws = _affordable(cells.of, draws.patients)
        _side_by_side(count, n_draws, settings.threads)
        found.append(sizes[:n_draws])
    return Attack(
        "values in their order (exact order)",
        "Knows of each column in which order the values came, and could tell the order of released claims.",
        figures_of(np.concatenate(found), settings.k),
    )


def _affordable(cells: NDArray[np.int64], patients: NDArray[np.int64]) -> int:
    """How many of the draws are looked at: all, unless their cells are so large that it would take minutes."""
    sizes = np.bincount(cells[cells >= 0])
    mean = max(1.0, float(sizes[cells[patients]].mean()))
    return int(min(patients.size, max(FEWEST, WORK // mean)))


def _side_by_side(count: Callable[[tuple[int, int]], None], n_draws: int, threads: int) -> None:
    """Count some draws at a time, each in its own part of the sizes."""
    spans = [(begin, min(begin + SPAN, n_draws)) for begin in range(0, n_draws, SPAN)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(count, spans):
            pass


def in_time(released: Released, when: NDArray[np.int32]) -> Known:
    """The released base values of each patient that are not missing, in order of time."""
    encoded = released.encoded
    owners = encoded.owners
    order = np.lexsort((np.arange(encoded.n_claims), when, owners))
    parts = []
    for h in range(len(encoded.claims)):
        values = released.values(h)[order]
        present = values != MISSING
        starts = np.zeros(encoded.n_patients + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners[order][present], minlength=encoded.n_patients), out=starts[1:])
        parts.append((starts, values[present]))
    return gather(parts)
