"""CBA: generalize or suppress codes until every set of the privacy policy leads to k patients.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), "Privacy-preserving publication of diagnosis codes for effective
biomedical analysis", IEEE ITAB, Algorithm 1.

Deviations: sets of equal support are taken by size, the larger first, and then by their codes. Two terms are merged
whatever the merger does for the set at hand, as the paper says; equal losses are decided by the names of the terms.
Where no pair is left, one term of the set at a time is suppressed in all records, the one that loses least; the paper
does not say which. Pairs are not kept in a queue: a bound on the loss of each pair rules nearly all of them out.
"""

import numpy as np

from cloister.kernels.terms import supports

from .data import Numbers, Sets
from .terms import WorkingTerms


def by_support(terms: WorkingTerms, sets: Sets, k: int) -> Sets:
    """Return the sets that fewer than k records hold: by support, the largest first; ties: the larger, then by codes.

    Parameters
    ----------
    sets : in the order of their codes
    """
    held = supports(terms.term_of, terms.arrays.bits, sets.offsets, sets.items, k)
    below = np.flatnonzero((held > 0) & (held < k))
    order = np.lexsort((-sets.sizes[below], -held[below]))
    return sets.chosen(below[order])


def cluster(terms: WorkingTerms, sets: Sets, k: int, *, exponential: bool = False) -> None:
    """Generalize and suppress until no set has 1 to k - 1 records.

    Parameters
    ----------
    terms : changed in place
    sets : each held by some record, in the order of their codes
    exponential : whether losses grow exponentially with the codes of a term
    """
    queue = by_support(terms, sets, k)
    at = terms.first_below(queue, k, 0)
    while at < len(queue):
        protect_set(terms, queue.members(at), k, exponential=exponential)
        at = terms.first_below(queue, k, at + 1)


def protect_set(terms: WorkingTerms, codes: Numbers, k: int, *, exponential: bool) -> None:
    """Generalize or suppress terms until a set of codes is held by k records (Algorithm 1, lines 11 to 16)."""
    while 0 < terms.held(codes, k) < k:
        own = terms.terms_of(codes)
        pair = terms.cheapest_pair(own, exponential=exponential)
        if pair is None:
            # Suppressing this one removes the fewest codes from records; of equal ones argmin takes the smallest name.
            terms.suppress(int(own[np.argmin(terms.occurrences[own])]))
        else:
            terms.merge(*pair)
