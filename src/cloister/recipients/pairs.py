"""Counts of patients who have several (code, age) pairs, from released trajectories: bounds and an estimate.

A released pair is one pair of its patient, generalized (Tamersoy et al. 2012, section IV), so it can be only one of the
pairs that are asked for, unless these overlap. Which one it is does not depend on the patient's other pairs. Several
pairs that are asked for are estimated by inclusion and exclusion (Appendix B of the paper, made precise), and are
possible where each has a released pair of its own. `average_relative_error` asks the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.results import CountBounds
from cloister.shapes.trajectories.method.figures import MOST_PAIRS, Workload

from .labels import LabelledColumn, Mask, Meeting, Part, Places, Shares, Wanted, bounds_on

Asked: TypeAlias = tuple[str, Wanted] | tuple[str, Wanted, str]
"""A code, and an age or ages, None for any age; and perhaps a detail."""

Region: TypeAlias = tuple[tuple[Part, ...], ...]
"""Disjoint sets of codes, ages and details; without an age, any age counts, and likewise without a detail."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedPairs:
    """The pairs of the distinct released trajectories, in order of trajectories."""

    columns: tuple[LabelledColumn, ...]  # codes, ages and perhaps details of all released pairs
    rows: Places  # (n_pairs,) where the pairs of the distinct trajectories stand among all
    owner: Places  # (n_pairs,) the distinct trajectory of each
    patients: Places  # (n_trajectories,) patients of each
    _met: dict[tuple[int, tuple[Part, ...]], Meeting] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pl.DataFrame, codebook: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> "ReleasedPairs":
        """Read released rows: ``id``, ``code``, ``age`` and perhaps ``detail`` as text."""
        columns = tuple(
            LabelledColumn.of(frame[name], codebook.filter(pl.col("column") == name), hierarchies.get(name))
            for name in frame.columns
            if name != "id"
        )
        patient = frame["id"].rank("dense").to_numpy().astype(np.int64) - 1
        pair = np.zeros(frame.height, dtype=np.int64)
        for column in columns:
            pair = pair * len(column.labels) + column.place
        rows = pl.DataFrame({"patient": patient, "pair": pair, "row": np.arange(pair.size)})
        of_patients = rows.group_by("patient", maintain_order=True).agg("pair", "row")
        distinct = of_patients.group_by("pair", maintain_order=True).agg(pl.col("row").first(), pl.len())
        owner = np.repeat(np.arange(distinct.height), distinct["row"].list.len().to_numpy())
        return cls(columns, distinct["row"].explode().to_numpy(), owner, distinct["len"].to_numpy().astype(np.int64))

    def count(self, asked: Sequence[Asked]) -> CountBounds:
        """Bound the number of patients who have all requested pairs."""
        regions = self._regions(asked)
        met = [self._meeting(region) for region in regions]
        patients = self.patients
        surely = np.logical_and.reduce([self._of_any(one.surely) for one in met])
        possibly = self._possibly(regions, [one.possibly for one in met])
        return bounds_on(
            int(patients[surely].sum()), self._expected_patients(regions, met), int(patients[possibly].sum())
        )

    def expect(self, asked: Sequence[Asked]) -> float:
        """Return only the estimate of `count`; NaN if the values that a label covers are not known."""
        regions = self._regions(asked)
        return self._expected_patients(regions, [self._meeting(region) for region in regions])

    def _regions(self, asked: Sequence[Asked]) -> list[Region]:
        """Return the requested regions, without those that others imply."""
        if len(asked) > MOST_PAIRS:
            raise InputError(f"{len(asked)} pairs are asked for. Ask for {MOST_PAIRS} at most.")
        found: list[Region] = []
        for one in asked:
            wanted = zip(self.columns, one, strict=False)
            region = tuple(() if value is None else (*column.parts(value),) for column, value in wanted)
            region += ((),) * (len(self.columns) - len(region))
            if all(self._both(region, other) != other for other in found):
                found = [*(other for other in found if self._both(region, other) != region), region]
        return found

    def _both(self, one: Region, other: Region) -> Region | None:
        """Return the intersection of two regions; None if it is empty."""
        found = []
        for column, mine, theirs in zip(self.columns, one, other, strict=True):
            common = tuple(part for a in mine for b in theirs for part in column.overlap(a, b))
            if mine and theirs and not common:
                return None
            found.append(common if mine and theirs else mine or theirs)
        return tuple(found)

    def _meeting(self, region: Region) -> Meeting:
        """Return which pairs of the distinct trajectories are in a region: (n_pairs,)."""
        met = self._labels(0, region[0])
        for place, parts in enumerate(region[1:], start=1):
            met = met & self._labels(place, parts) if parts else met
        return met

    def _labels(self, place: int, parts: tuple[Part, ...]) -> Meeting:
        column = self.columns[place]
        if (place, parts) not in self._met:
            self._met[place, parts] = column.any_of(parts)
        return self._met[place, parts].at(column.place[self.rows])

    def _of_any(self, pairs: Mask) -> Mask:
        """Return which trajectories have at least one of these pairs: (n_trajectories,)."""
        found = np.zeros(self.patients.size, dtype=np.bool_)
        found[self.owner[pairs]] = True
        return found

    def _together(self, regions: Sequence[Region]) -> Iterator[tuple[int, Region]]:
        """Yield sets of regions, as bits, with their nonempty intersection."""
        waiting: list[tuple[int, Region]] = [(1 << place, region) for place, region in enumerate(regions)]
        for chosen, both in waiting:
            yield chosen, both
            for place in range(chosen.bit_length(), len(regions)):
                if (common := self._both(both, regions[place])) is not None:
                    waiting.append((chosen | 1 << place, common))

    def _possibly(self, regions: Sequence[Region], possibly: Sequence[Mask]) -> Mask:
        """Return which trajectories can satisfy all regions at once: (n_trajectories,)."""
        together = list(self._together(regions))
        if len(together) == len(regions):
            return self._have_own(possibly)
        found: Mask = np.logical_and.reduce([self._of_any(one) for one in possibly])
        sets = np.array([chosen for chosen, _ in together])
        fits = np.stack([self._meeting(both).possibly for _, both in together], axis=1)
        starts = np.searchsorted(self.owner, np.arange(self.patients.size + 1))
        every = (1 << len(regions)) - 1
        for place in np.flatnonzero(found).tolist():
            own = fits[starts[place] : starts[place + 1]]
            reached = {0}
            for fit in own[own.any(axis=1)]:
                reached |= {one | other for one in reached for other in sets[fit].tolist()}
            found[place] = every in reached
        return found

    def _have_own(self, possibly: Sequence[Mask]) -> Mask:
        """Return which trajectories have a separate pair for each region, by Hall's theorem, for disjoint regions."""
        bits = sum((one.astype(np.int64) << place for place, one in enumerate(possibly)), np.zeros(self.rows.size, int))
        found = np.ones(self.patients.size, dtype=np.bool_)
        for chosen in range(1, 1 << len(possibly)):
            here = np.bincount(self.owner[(bits & chosen) != 0], minlength=self.patients.size)
            found &= here >= chosen.bit_count()
        return found

    def _expected_patients(self, regions: Sequence[Region], met: Sequence[Meeting]) -> float:
        """Return the expected number of patients with pairs in all regions."""
        possible = np.logical_and.reduce([self._of_any(one.possibly) for one in met])
        near = np.flatnonzero(possible[self.owner] & np.logical_or.reduce([one.possibly for one in met]))
        number = np.cumsum(possible) - 1
        owner, patients = number[self.owner[near]], self.patients[possible]
        shares = [(chosen, self._meeting(both).share[near]) for chosen, both in self._together(regions)]
        held: Shares = np.zeros(patients.size)
        for chosen in range(1 << len(regions)):
            inside = [share if one.bit_count() % 2 else -share for one, share in shares if one & chosen == one]
            none = np.ones(patients.size)
            np.multiply.at(none, owner, 1 - np.sum([np.zeros(near.size), *inside], axis=0))
            held += none if chosen.bit_count() % 2 == 0 else -none
        return float(np.maximum(held, 0) @ patients)


def average_relative_error(
    pairs: ReleasedPairs, workload: Workload, codes: Sequence[str], ages: Sequence[str]
) -> float | None:
    """Return the mean of |a(Q) - e(Q)| / a(Q) over a workload (Appendix B); None without queries, or if not known.

    ``codes``, ``ages``: those that the queries name by their places
    """
    if not workload.queries:
        return None
    found = [pairs.expect([(codes[code], ages[age]) for code, age in query]) for query in workload.queries]
    error = float(np.mean(np.abs(workload.counts - np.array(found)) / workload.counts))
    return None if np.isnan(error) else error
