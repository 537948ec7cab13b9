"""Case counts answered from records of terms, each a set of codes of which a record has one or more.

References
----------
Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, section III.B (a term stands for any non-empty subset of its
codes) and section V.B (queries). Which subset is meant is not told, so that answers are expectations: by the first
reading all non-empty subsets are equally likely; by the second each code of a term is there with one chance in the size
of the term, whatever the others are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from .case_counts import CountedSets, Means, Query


class Reading(StrEnum):
    """How likely a record with a term has given codes of it."""

    SUBSETS = "subsets"
    INVERSE_SIZE = "inverse-size"

    def chance(self, size: int, queried: int) -> float:
        """Return the chance that a record with a term has all of some of its codes.

        Parameters
        ----------
        size, queried : codes of the term, and how many of them are asked for, from 1 to ``size``

        Examples
        --------
        >>> Reading.SUBSETS.chance(2, 1), Reading.INVERSE_SIZE.chance(2, 1)
        (0.6666666666666666, 0.5)
        """
        if self is Reading.INVERSE_SIZE:
            return float(float(size) ** -queried)
        return float(2.0**-queried / (1.0 - 2.0**-size))


@dataclass(frozen=True, eq=False, repr=False)
class TermSets:
    """Records of terms, ready to be asked about codes.

    Attributes
    ----------
    counted : the records, as sets of term numbers
    term_of : (n_codes,) number of the term that each code is in, below 0 for a code that is suppressed
    sizes : (n_terms,) codes of each term
    """

    counted: CountedSets
    term_of: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def answers(self, queries: Sequence[Query], reading: Reading = Reading.SUBSETS) -> Means:
        """Return how many records are expected to hold all codes of each query; 0 where one is suppressed."""
        asked = [Counter(self.term_of[list(query)].tolist()) for query in queries]
        known = [number for number, terms in enumerate(asked) if min(terms) >= 0]
        held = self.counted.counts([tuple(sorted(asked[number])) for number in known])
        found = np.zeros(len(queries))
        for number, records in zip(known, held.tolist(), strict=True):
            found[number] = records * self._chance(asked[number], reading)
        return found

    def _chance(self, terms: Counter[int], reading: Reading) -> float:
        chance = 1.0
        for term, queried in sorted(terms.items()):
            size = int(self.sizes[term])
            chance *= 1.0 if size == 1 else reading.chance(size, queried)
        return chance
