"""UGACLIP: the method that CBA is compared with; it fixes the term to generalize and suppresses whole constraints.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), "Anonymization of electronic medical records for validating
genome-wide association studies", Proceedings of the National Academy of Sciences 107, as told in sections II and IV of
their "Privacy-preserving publication of diagnosis codes for effective biomedical analysis", IEEE ITAB.

Step by step: of the sets that are not protected the one that most records hold; of its terms the one that fewest
records hold is fixed, and merged with the term of the same utility constraint that loses least together with it, until
the set is protected. Where no such term is left, all codes of that constraint are suppressed, and the set is chosen
anew like any other. Ties: the larger set, then by codes; the smaller name of a term.
"""

import numpy as np

from cloister.kernels.terms import Waiting, most_held_below

from .data import Numbers, Sets
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
            changed = _protect_set(terms, sets.members(best), k, exponential=exponential)
            waiting.changed[changed] = step


def _protect_set(terms: WorkingTerms, codes: Numbers, k: int, *, exponential: bool) -> Numbers:
    """Merge the least supported term of a set until that is safe, or suppress its constraint; return what changed."""
    own = terms.terms_of(codes)
    fixed = int(own[np.argmin(terms.arrays.support[own])])
    while 0 < terms.held(codes, k) < k:
        pair = terms.cheapest_pair(np.array([fixed], dtype=np.int32), exponential=exponential)
        if pair is None:
            return _suppress_constraint(terms, fixed)
        fixed = terms.merge(*pair)
    return terms.members(fixed).astype(np.int32)


def _suppress_constraint(terms: WorkingTerms, term: int) -> Numbers:
    """Take all codes that may be generalized with a term out of the data; return what is gone now."""
    before = terms.term_of.copy()
    group = terms.groups.group[term]
    codes = terms.groups.codes[terms.groups.starts[group] : terms.groups.starts[group + 1]]
    for own in terms.terms_of(codes).tolist():
        terms.suppress(own)
    return np.flatnonzero(before != terms.term_of).astype(np.int32)
