"""What labels reveal to somebody who knows the method that chose them.

Local recoding, clusters and Mondrian give a class the lowest levels at which its records agree. Who knows this knows
more than a label says: below each label of a class that is not at the lowest level, at least two finer labels occur.
In a class of two records whose label has two finer ones, each record has another of them: a `*` for sex is one woman
and one man. Where intervals are joined, the first and the last interval of a label occur: of two records one is in
each. `refine` counts where finer counts follow exactly, and how many bits the rule gives away.

This is one rule, for one column at a time. Who repeats the whole method on every possible original can learn more
(`tests/oracles/refinement.py` does, for tiny tables), so the figures are what an attacker learns at least. The k
candidates remain: refinement tells what the records of a class have, not whose each record is.

Source: Cohen (2022), "Attacks on Deidentification's Defenses", USENIX Security 2022 (downcoding: a method that
generalizes no more than it must can be turned back); "Exposing Privacy Risks in Anonymizing Clinical Data:
Combinatorial Refinement Attacks on k-Anonymity Without Auxiliary Information" (2025), arXiv:2509.03350.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from cloister.hierarchy import BoundHierarchy
from cloister.shapes.table.format.options import CLUSTER, LOCAL_RECODING, MONDRIAN

from .adversary import Integers, Refinement

LOWEST_LEVELS = (CLUSTER, LOCAL_RECODING, MONDRIAN)
"""Methods whose classes have the lowest levels at which their records agree."""


def refine(
    sizes: Integers,
    labels: Mapping[str, Integers],
    texts: Mapping[str, Sequence[str | None]],
    hierarchies: Mapping[str, BoundHierarchy],
    levels: Mapping[str, Sequence[int]],
) -> Refinement:
    """Return what follows for classes from the rule of the lowest levels.

    Parameters
    ----------
    sizes : (n_classes,) records of each class
    labels : by column, (n_classes,) number of the label
    texts : by column, the label of each number
    hierarchies : by column, bound to the values that occur: which do is assumed to be known
    levels : by column, the levels in use; of the lowest one nothing follows, since it may be the lowest allowed

    Examples
    --------
    >>> import numpy as np
    >>> from cloister.hierarchy import suppress
    >>> sex = {"sex": suppress().bind("sex", ["F", "M"])}
    >>> found = refine(np.array([2, 3]), {"sex": np.array([0, 0])}, {"sex": ["*"]}, sex, {"sex": [0, 1]})
    >>> found.labels, found.determined, found.records, round(found.bits, 3)
    (2, 1, 2, 0.708)
    """
    n_labels = n_determined = 0
    bits, is_concerned = 0.0, np.zeros(sizes.size, dtype=np.bool_)
    for column, numbers in labels.items():
        joined = _count_joined(hierarchies[column], levels[column])
        known = [
            (joined[text], True)
            if joined.get(text, 1) > 1
            else (_n_finer(hierarchies[column], text, levels[column]), False)
            for text in texts[column]
        ]
        finer, both_ends = (np.array(values)[numbers] for values in zip(*known, strict=True))
        is_generalized = (finer > 1) & (sizes > 1)
        is_determined = is_generalized & (sizes == 2) & ((finer == 2) | both_ends)
        n_labels += int(is_generalized.sum())
        n_determined += int(is_determined.sum())
        n, m, ends = (one[is_generalized] for one in (sizes.astype(np.float64), finer.astype(np.float64), both_ends))
        # Of m^n assignments of finer labels the rule excludes m, those with one for all; or those without either end.
        excluded = np.where(ends, 2 * (1 - 1 / m) ** n - (1 - 2 / m) ** n, m ** (1 - n))
        bits += float(-np.log2(1 - excluded).sum())
        is_concerned |= is_determined
    return Refinement(n_labels, n_determined, int(sizes[is_concerned].sum()), bits / max(1, n_labels))


def _count_joined(hierarchy: BoundHierarchy, levels: Sequence[int]) -> dict[str | None, int]:
    """Return for each label how many intervals with values it joins, of which the first and the last occur.

    Where intervals are joined, both ends of a label of a level occur, too, but for the root, which also covers missing
    values. Empty where none are joined.
    """
    if not hierarchy.joined:
        return {}
    intervals = hierarchy.labels[hierarchy.joined[0].base]
    number = {label: place for place, label in enumerate(dict.fromkeys(intervals[at] for at in hierarchy.order))}
    rank = [number[intervals[at]] for at in hierarchy.order]
    found: dict[str | None, int] = {
        one.label: 1 + rank[one.runs[-1][1]] - rank[one.runs[0][0]] for one in hierarchy.joined
    }
    for level in levels:
        if level < hierarchy.n_levels - 1:
            members: dict[str | None, set[str | None]] = {}
            for label, interval in zip(hierarchy.labels[level], intervals, strict=True):
                members.setdefault(label, set()).add(interval)
            found |= {label: max(found.get(label, 1), len(of)) for label, of in members.items()}
    return found


def _n_finer(hierarchy: BoundHierarchy, text: str | None, levels: Sequence[int]) -> int:
    """Return how many labels are directly below a label; 1 where it has one value, or nothing follows for it."""
    above = [level for level in levels if level > min(levels) or level == 0]
    members = {
        frozenset(place for place, label in enumerate(hierarchy.labels[level]) if label == text) for level in above
    } - {frozenset()}
    if len(members) != 1:  # it covers other values at another level, and which level is meant is not known
        return 1
    (one,) = members
    top = max(level for level in above if hierarchy.labels[level][min(one)] == text)
    for level in range(top - 1, -1, -1):
        n_below = len({hierarchy.labels[level][place] for place in one})
        if n_below > 1:
            return n_below
    return 1
