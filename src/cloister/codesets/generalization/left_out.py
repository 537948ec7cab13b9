"""How many records are left out of a release, and what of that is told.

Patients without codes are left out if that was asked for; and patients all of whose codes are suppressed, if they are
fewer than k. Of these no number is told, nor one that it follows from: their sum with the others is a bound (decisions
6 and 8).
"""

import re

from cloister.release_folder import same
from cloister.results import Manifest

from .data import Generalization

BOUND = re.compile(r"<([1-9][0-9]*)")


def counts_of(released: int, n_empty: int, few: int, k: int) -> dict[str, int | str]:
    """Return how many records there were, are, and were left out.

    Parameters
    ----------
    n_empty : patients without codes that were left out
    few : patients without any code that is released, who were left out; fewer than k
    """
    most = n_empty if n_empty == 0 or n_empty >= k else k - 1
    if few:
        most += k - 1
    if few or 0 < n_empty < k:
        return _bounded(released, most + 1)
    return {"in": released + n_empty, "released": released, "suppressed": n_empty}


def _bounded(released: int, bound: int) -> dict[str, int | str]:
    return {"in": f"<{released + bound}", "released": released, "suppressed": f"<{bound}"}


def counts_agree(manifest: Manifest, released: Generalization) -> bool:
    """Return whether the numbers of records of a manifest fit together, and none tells of fewer than k."""
    records, drops, k = manifest["records"], manifest["settings"]["drop_empty"] is True, released.k
    left_out = records["suppressed"]
    if isinstance(left_out, str):
        found = BOUND.fullmatch(left_out)
        bound = int(found[1]) if found else 0
        may_be = k > 1 and (bound == k or (drops and bound >= 2 * k - 1))
        return may_be and same(records, _bounded(released.n_records, bound))
    exact = type(left_out) is int and (left_out == 0 or (drops and left_out >= k))
    return exact and same(records, counts_of(released.n_records, left_out, 0, k))
