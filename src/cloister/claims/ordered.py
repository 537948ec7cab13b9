"""An adversary who knows in which order values came (step 12, "exact order")."""

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Known
from cloister.kernels.claim_sequences import ordered_class_sizes

from .adversaries import Attack, Attacked, figures_of
from .encoded import MISSING
from .knowledge import Knowledge
from .matching import Matching
from .numbering import gather
from .released import Released


def exact_order(attacked: Attacked, when: NDArray[np.int32]) -> Attack:
    """An adversary who knows the order of the values drawn: a patient fits who has them in that order.

    More than a recipient can see: released rows are sorted by value, and only days since the first claim tell an order.
    So this is an upper end of what order adds. Ties in time are taken in the order of the rows.

    Parameters
    ----------
    when : (n_claims,) rank of each claim in time
    """
    released, levels, settings = attacked.released, attacked.levels, attacked.settings
    encoded = released.encoded
    knowledge = Knowledge(encoded, attacked.power, settings.seed_of(1), released.patients)
    knowledge.__dict__["known"] = in_time(Released.everything(encoded), when)
    seen = in_time(released, when)
    cells = Matching(released, 1, settings.threads, levels).cells(levels)
    own = attacked.of_claims
    tables = [column.levels[level].astype(np.int64) for column, level in zip(encoded.claims, own, strict=True)]
    at = np.concatenate([[0], np.cumsum([table.size for table in tables])])[:-1].astype(np.int64)
    found = []
    for number in range(attacked.repeats):
        draws = knowledge.repeat(number)
        sizes = np.zeros(draws.patients.size, dtype=np.int64)
        ordered_class_sizes(seen, cells, draws, np.concatenate(tables), at, (0, sizes.size), sizes)
        found.append(sizes)
    return Attack(
        "values in their order (exact order)",
        "Knows of each column in which order the values came, and could tell the order of released claims.",
        figures_of(np.concatenate(found), settings.k),
    )


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
