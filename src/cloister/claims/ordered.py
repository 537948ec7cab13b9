"""An adversary who knows in which order values came (step 12, "exact order")."""

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Known
from cloister.kernels.claim_sequences import ordered_class_sizes

from .adversaries import Attack, Power, figures_of
from .encoded import MISSING
from .knowledge import Knowledge
from .lattice_search import Node
from .matching import Matching
from .numbering import gather
from .released import Released
from .risk_settings import RiskSettings


def exact_order(
    released: Released,
    levels: Node,
    power: Power,
    settings: RiskSettings,
    when: NDArray[np.int32],
    repeats: int = 1,
) -> Attack:
    """An adversary who knows the order of the values drawn: a patient fits who has them in that order.

    More than a recipient can see: released rows are sorted by value, and only days since the first claim tell an order.
    So this is an upper end of what order adds. Ties in time are taken in the order of the rows.

    Parameters
    ----------
    when : (n_claims,) rank of each claim in time
    """
    encoded = released.encoded
    knowledge = Knowledge(encoded, power, settings.seed_of(1), released.patients)
    everything = Released.everything(encoded)
    knowledge.__dict__["known"] = in_time(everything, when)
    seen = in_time(released, when)
    cells = Matching(released, 1, settings.threads, levels).cells(levels)
    own = levels[len(encoded.patients) :]
    tables = [column.levels[level].astype(np.int64) for column, level in zip(encoded.claims, own, strict=True)]
    at = np.concatenate([[0], np.cumsum([table.size for table in tables])])[:-1].astype(np.int64)
    found = []
    for number in range(repeats):
        draws = knowledge.repeat(number)
        sizes = np.zeros(draws.patients.size, dtype=np.int64)
        ordered_class_sizes(seen, cells, draws, np.concatenate(tables), at, (0, sizes.size), sizes)
        found.append(sizes)
    return Attack("values in their order (exact order)", figures_of(np.concatenate(found), settings.k))


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
