"""Guessing a sensitive value of a patient from the records that fit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from .adversary import Adversary, Integers, Knowledge
from .figures import Inference

EVERYTHING = Knowledge("", None)
Counts = dict[str, int]


class Inferable(Protocol):
    """Something that may be learned of targets."""

    def infer(self, targets: Integers, seed: int) -> Inference:
        """Guess it for each target, and count."""


class Grouped(Protocol):
    """Released records that come in groups which nothing known can tell apart."""

    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the groups that fit what is known of a target."""


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive:
    """A sensitive column: what was recorded of patients, and what is released of each group.

    Attributes
    ----------
    column : its name
    truth : (n_patients,) text
    groups : (n_records,) group of each released record
    told : (n_records,) text
    released : which groups fit whom
    adversary : what is known
    """

    column: str
    truth: pl.Series
    groups: Integers
    told: pl.Series
    released: Grouped
    adversary: Adversary

    def infer(self, targets: Integers, seed: int) -> Inference:
        """Guess the most frequent value among the matches of each target, and beside it that of the whole release.

        A missing value is never guessed, and targets without a value or without a match are left out.
        """
        by_group = _counts(self)
        usual = _most_frequent(Counter(self.told.drop_nulls().to_list()))
        right = blind = certain = n = 0
        for truth, counts, records in _matches(self, by_group, targets, seed):
            n += 1
            blind += truth == usual
            right += truth == _most_frequent(counts)
            certain += counts.get(truth, 0) == records
        of = max(1, n)
        return Inference(self.column, n, right / of, blind / of, certain / of)


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
