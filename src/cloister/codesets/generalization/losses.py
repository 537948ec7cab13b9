"""What generalized terms lose: ILM, its exponential form UL, and NCP.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, Definition 3.3 (ILM) and section V.B (NCP, after Xu et
al. 2006, KDD, and Terrovitis, Mamoulis, Kalnis 2008, PVLDB 1(1), section 2.3); Loukides et al. (2010), PNAS 107 (UL).
Ours, where the papers leave it open: the weight w (`closeness`), and the penalty S of a suppressed code, the share of
the records that hold it.
"""

from dataclasses import dataclass
from math import exp, inf, log, log1p

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.encode import plain_code

from .closeness import CodeTree
from .data import Generalization
from .measure import sizes_in_codes
from .sets import Integers

LOG_2 = log(2)


@dataclass(frozen=True, eq=False, repr=False)
class TermCounts:
    """What losses are made of.

    Attributes
    ----------
    sizes, levels, supports : (n_terms,) int64, codes, height of the node above them, records of each term
    top : height of the root
    n_codes, n_records : of the original
    term_occurrences : (n_terms,) int64, occurrences in the original of the codes of each term
    suppressed : int64, occurrences of each suppressed code
    """

    sizes: Integers
    levels: Integers
    supports: Integers
    top: int
    n_codes: int
    n_records: int
    term_occurrences: Integers
    suppressed: Integers

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight w of each term, in [0, 1]; 0 for single codes."""
        return np.asarray(self.levels / self.top, dtype=np.float64)


def count_terms(released: Generalization, occurrences: Integers, tree: CodeTree, *, told: bool = False) -> TermCounts:
    """Gather what losses need.

    Parameters
    ----------
    occurrences : (n_codes,) original records of each code of the vocabulary
    tree : of these codes; its root is above all
    told : what the released records tell: as if suppressed codes had no occurrences, and a code that repeats counts
        once
    """
    terms = released.terms
    codes = {plain_code(code, repeats=released.repeats and told) for code in released.vocabulary}
    return TermCounts(
        sizes=sizes_in_codes(released) if told else terms.sizes,
        levels=np.array([tree.joint_level(terms.members(number)) for number in range(len(terms))], dtype=np.int64),
        supports=released.supports(),
        top=tree.top,
        n_codes=len(codes),
        n_records=released.n_records,
        term_occurrences=np.add.reduceat(occurrences[terms.items], terms.offsets[:-1]),
        suppressed=occurrences[released.suppressed] * (not told),
    )


def information_loss(counts: TermCounts) -> float:
    """Return ILM: over terms |term| / |codes| * w * support / N, and over suppressed codes support / N."""
    terms = (counts.sizes * counts.levels * counts.supports).sum()
    return float(terms / (counts.n_codes * counts.top * counts.n_records) + counts.suppressed.sum() / counts.n_records)


def log_exponential_loss(counts: TermCounts) -> float:
    """Return the logarithm of UL, which takes (2^|term| - 1) / (2^|codes| - 1) in place of |term| / |codes|.

    A suppressed code counts the share of records that hold it, as in ILM.
    """
    whole = _log_subsets(counts.n_codes)
    parts = [
        _log_subsets(size) - whole + log(level / counts.top) + log(support / counts.n_records)
        for size, level, support in zip(
            counts.sizes.tolist(), counts.levels.tolist(), counts.supports.tolist(), strict=True
        )
        if level and support
    ]
    parts += [log(support / counts.n_records) for support in counts.suppressed.tolist()]
    largest = max(parts, default=-inf)
    return largest if largest == -inf else largest + log(sum(exp(part - largest) for part in parts))


def certainty_penalty(counts: TermCounts) -> float:
    """Return NCP: the mean over all occurrences of |term| / |codes|, 0 for single codes, 1 for suppressed ones."""
    covered = np.where(counts.sizes > 1, counts.sizes, 0)
    lost = int((covered * counts.term_occurrences).sum()) / counts.n_codes + int(counts.suppressed.sum())
    return float(lost / (int(counts.term_occurrences.sum()) + int(counts.suppressed.sum())))


def _log_subsets(size: int) -> float:
    """The logarithm of the number of non-empty subsets."""
    return size * LOG_2 + log1p(-(0.5**size))
