"""Adversaries: which patients are looked for, what is known of each, and what looking for them shows.

What is known of a patient grows: its items (quasi-identifiers, codes, pairs) stand in an order drawn for it alone, and
whoever knows n of them knows the first n.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

UNKNOWN, ELSEWHERE, THERE = -1, 0, 1  # Whether the target's own record is among the matches
GONE, NOT_KNOWN = -1, -2  # In place of a released record: the patient has none; it is not known
ALL = None  # In place of a number of items: all that there are


@dataclass(frozen=True)
class Match:
    """What looking for one target shows."""

    matches: int  # records that fit
    least: int  # records of the smallest group that the matches come in; all of them, where nothing tells them apart
    own: int  # whether the target's own record is among them: `THERE`, `ELSEWHERE` or `UNKNOWN`


@dataclass(frozen=True, eq=False, repr=False)
class Matches:
    """The same for many targets, as arrays of shape (n_targets,)."""

    matches: Integers
    least: Integers
    own: Integers

    @classmethod
    def of(cls, found: Sequence[Match]) -> "Matches":
        """Put them together."""
        rows = np.array([(each.matches, each.least, each.own) for each in found], dtype=np.int64).reshape(-1, 3)
        return cls(rows[:, 0], rows[:, 1], rows[:, 2])


class RecordSet(Protocol):
    """Records among which targets are looked for."""

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Return what somebody sees who knows these items of a target."""


class RecordGroups(ABC):
    """Records in groups that nothing known can tell apart."""

    sizes: Integers  # (n_groups,) records of each
    own: Integers  # (n_patients,) group of the patient's own record, `GONE` or `NOT_KNOWN`

    @abstractmethod
    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the groups that fit what is known of a target."""

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Return what somebody sees who knows these items of a target."""
        return match_of(self.groups(target, known), self.sizes, int(self.own[target]))


def match_of(groups: Integers, sizes: Integers, own: int) -> Match:
    """Return what is seen where these groups fit and the target's own record is in the group ``own``."""
    is_there = own >= 0 and bool(np.any(groups == own))
    where = UNKNOWN if own == NOT_KNOWN else THERE if is_there else ELSEWHERE
    matches = int(sizes[groups].sum())
    return Match(matches, matches, where)


Coverage = Callable[[int, Sequence[int]], bool]
"""Whether a guarantee is about somebody who knows these items of a target."""


@dataclass(frozen=True)
class KnowledgeStep:
    """One step of what is known."""

    words: str
    items: int | None  # how many items; `ALL` for as many as there are
    limit: float | None = None  # where the guarantee is about the average patient, its bound


@dataclass(frozen=True, eq=False, repr=False)
class Adversary:
    """Somebody whose knowledge grows, and the records that are looked through."""

    steps: tuple[KnowledgeStep, ...]
    # (n_patients,) items of each patient of the original; below 0 where the patient is not looked for
    n_items: Integers
    released: RecordSet
    original: RecordSet
    covers: Coverage  # whether the guarantee is about somebody who knows these items

    def known(self, target: int, step: KnowledgeStep, seed: int) -> list[int] | None:
        """Return the items known of a target; None where it has not as many."""
        there = int(self.n_items[target])
        if there < 0 or (step.items is not ALL and step.items > there):
            return None
        return order_of(target, there, seed)[: step.items]


def order_of(target: int, n_items: int, seed: int) -> list[int]:
    """Return the order in which the items of a target become known: always the same for a seed and a target."""
    order: list[int] = np.random.default_rng([seed, target]).permutation(n_items).tolist()
    return order


def sample_targets(n_patients: int, budget: int, seed: int) -> Integers:
    """Return the patients that are looked for, ascending: all, or a random sample of so many.

    Examples
    --------
    >>> sample_targets(3, 10, seed=0).tolist(), len(set(sample_targets(100, 10, seed=0).tolist()))
    ([0, 1, 2], 10)
    """
    if n_patients <= budget:
        return np.arange(n_patients)
    chosen = np.random.default_rng([seed]).choice(n_patients, budget, replace=False)
    return np.sort(chosen).astype(np.int64)
