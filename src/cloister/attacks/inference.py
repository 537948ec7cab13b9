"""Guessing a sensitive value of a patient from the records that fit."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl

from .adversary import Integers, Knowledge
from .figures import Inference
from .opened import Sensitive

EVERYTHING = Knowledge("", None)
Counts = dict[str, int]


def infer(sensitive: Sensitive, targets: Integers, seed: int) -> Inference:
    """Guess the most frequent value among the matches of each target, and beside it that of the whole release.

    A missing value is never guessed, and targets without a value or without a match are left out.
    """
    by_group = _counts(sensitive)
    usual = _most_frequent(Counter(sensitive.told.drop_nulls().to_list()))
    right = blind = certain = n = 0
    for truth, counts, records in _matches(sensitive, by_group, targets, seed):
        n += 1
        blind += truth == usual
        right += truth == _most_frequent(counts)
        certain += counts.get(truth, 0) == records
    of = max(1, n)
    return Inference(sensitive.column, n, right / of, blind / of, certain / of)


def _counts(sensitive: Sensitive) -> dict[int, Counts]:
    """How often each value stands in each group."""
    rows = pl.DataFrame([pl.Series("group", sensitive.groups), sensitive.told.alias("value")])
    found: dict[int, Counts] = {}
    for group, value, count in rows.drop_nulls().group_by("group", "value").len().iter_rows():
        found.setdefault(group, {})[value] = count
    return found


def _matches(
    sensitive: Sensitive, by_group: dict[int, Counts], targets: Integers, seed: int
) -> Iterator[tuple[str, Counts, int]]:
    """The true value of each target, how often each value stands in its matches, and how many matches there are."""
    sizes = np.bincount(sensitive.groups[sensitive.groups >= 0])
    for target in targets.tolist():
        truth = sensitive.truth[target]
        known = sensitive.adversary.known(target, EVERYTHING, seed)
        groups = sensitive.released.groups(target, known or [])
        if truth is None or not groups.size:
            continue
        counts: Counter[str] = Counter()
        for group in groups.tolist():
            counts.update(by_group.get(group, {}))
        yield truth, counts, int(sizes[groups].sum())


def _most_frequent(counts: Counts) -> str | None:
    """The value that stands there most often, of several the first in the order of their UTF-8 bytes."""
    if not counts:
        return None
    return min(counts, key=lambda value: (-counts[value], value.encode()))
