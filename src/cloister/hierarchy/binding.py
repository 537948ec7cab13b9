"""The end of every `bind`: values in order, a refusal that names none of them, and the finished ladder."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy.ladder import ROOT, Ladder

Leaves = NDArray[np.int64]


def texts_in_order(values: Sequence[str | None]) -> tuple[list[str], bool]:
    """Return the distinct texts sorted by code point (the order of their UTF-8 bytes), and whether missing occurs."""
    distinct = set(values)
    missing = None in distinct
    return sorted(value for value in distinct if value is not None), missing


def require_cover(column: str, n_outside: int, n_values: int, problem: str, advice: str) -> None:
    """Refuse a column of which some values are outside the hierarchy; counts them and says what to do.

    Raises
    ------
    InputError
        ``n_outside`` is not 0.
    """
    if n_outside:
        raise InputError(
            f"{n_outside} of {n_values} distinct values of column '{column}' {problem}. {advice} "
            "--values-to FILE lists them.",
            column=column,
        )


def group_sizes(labels: Sequence[str]) -> Leaves:
    """Return for each value how many of the values share its label: (n_values,) int64."""
    sizes = Counter(labels)
    return np.fromiter((sizes[label] for label in labels), dtype=np.int64, count=len(labels))


def make_ladder(
    column: str,
    texts: Sequence[str],
    missing: bool,
    labels: Sequence[Sequence[str]],
    leaves: Sequence[Leaves],
    n_leaves: int,
) -> Ladder:
    """Add the original level, the root and the missing value to the levels between.

    Parameters
    ----------
    column : name of the column
    texts : the distinct values, missing left out, in order
    missing : whether the column has missing values; they are a leaf of their own, apart from all others until the root
    labels : for each level between the original and the root, the label of each text
    leaves : for the same levels, the leaves that the label covers
    n_leaves : leaves of the domain, missing left out
    """
    total = max(n_leaves + missing, 1)
    extra: tuple[None, ...] = (None,) if missing else ()
    values = (*texts, *extra)
    between = tuple((*level, *extra) for level in labels)
    counts = np.ones((len(labels) + 2, len(values)), dtype=np.int64)
    for level, covered in enumerate(leaves, start=1):
        counts[level, : len(texts)] = covered
    counts[-1] = total
    counts.flags.writeable = False
    return Ladder(column, values, (values, *between, (ROOT,) * len(values)), counts, total)
