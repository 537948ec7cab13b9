"""UGACLIP: the method that CBA is compared with; it fixes the term to generalize and suppresses whole constraints.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), "Anonymization of electronic medical records for validating
genome-wide association studies", Proceedings of the National Academy of Sciences 107, as told in sections II and IV of
their "Privacy-preserving publication of diagnosis codes for effective biomedical analysis", IEEE ITAB.

Step by step: of the sets that are not protected the one that most records hold; of its terms the one that fewest
records hold; of the terms of the same utility constraint the one that loses least together with it. Where there is
none, all codes of that constraint are suppressed. Ties: the larger set, then by codes; the smaller name of a term.
"""

import numpy as np

from cloister.kernels.terms import Waiting, most_held_below

from .sets import Numbers, Sets
from .terms import WorkingTerms

NEVER = -1


def clip(terms: WorkingTerms, sets: Sets, k: int, *, exponential: bool = False) -> None:
    """Generalize and suppress until no set has 1 to k - 1 records.

    Parameters
    ----------
    terms : changed in place
    sets : each held by some record, in the order of their codes
    exponential : whether losses grow exponentially with the codes of a term
    """
    sets = sets.chosen(np.argsort(-sets.sizes, kind="stable"))
    waiting = Waiting(
        np.arange(len(sets)),
        np.full(len(sets), NEVER, dtype=np.int64),
        np.zeros(len(sets), dtype=np.int64),
        np.zeros(len(terms.term_of), dtype=np.int64),
    )
    n_waiting, step = len(sets), 0
    while n_waiting:
        best, n_waiting = most_held_below(terms.arrays, sets.offsets, sets.items, k, waiting, n_waiting)
        if best >= 0:
            step += 1
            changed = _take_step(terms, sets.members(best), exponential=exponential)
            waiting.changed[changed] = step


def _take_step(terms: WorkingTerms, codes: Numbers, *, exponential: bool) -> Numbers:
    """Merge the least supported term of a set, or suppress its constraint; return the codes concerned."""
    own = terms.terms_of(codes)
    fixed = own[np.argmin(terms.arrays.support[own])]
    pair = terms.cheapest_pair(own[own == fixed], exponential=exponential)
    if pair is not None:
        terms.merge(*pair)
        return terms.members(pair[0]).astype(np.int32)
    group = terms.groups.group[fixed]
    codes = terms.groups.codes[terms.groups.starts[group] : terms.groups.starts[group + 1]]
    for term in terms.terms_of(codes).tolist():
        terms.suppress(term)
    return codes
