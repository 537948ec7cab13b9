"""Which codes and ages there are, and what they may become: hierarchies and data fitted to each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Generic, TypeVar

import numpy as np

from cloister.errors import InputError, setting
from cloister.hierarchy import ROOT, BoundHierarchy, Hierarchy, IntervalHierarchy, icd9, icd10

from .data import Trajectories, Unknown

USUAL_AGES = IntervalHierarchy((1, 5, 10, 20), top=90)
"""Ages by one, five, ten and twenty years; 90 and over together, as the Safe Harbor rule of HIPAA asks."""


H = TypeVar("H", bound=Hierarchy)


@dataclass(frozen=True)
class _Fitted(Generic[H]):
    """A hierarchy that was fitted to data, and is told as it was asked for."""

    inner: H

    @property
    def kind(self) -> str:
        """As of the hierarchy that was asked for."""
        return self.inner.kind

    @property
    def spec(self) -> str:
        """As of the hierarchy that was asked for."""
        return self.inner.spec


@dataclass(frozen=True)
class CodesUnderRoot(_Fitted[Hierarchy]):
    """A hierarchy in which codes that it does not have are under the root alone."""

    def outside(self, values: Sequence[str | None]) -> list[str]:  # noqa: ARG002  (as of hierarchies)
        """None: the root covers all."""
        return []

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Bind the known codes, and the others without labels between."""
        beyond = tuple(sorted(set(self.inner.outside(values))))
        inside = self.inner.bind(column, [value for value in values if value not in beyond])
        between = [(*level, *(None for _ in beyond)) for level in inside.labels[1:-1]]
        labels = ((*inside.values, *beyond), *between, (ROOT,) * (len(inside.values) + len(beyond)))
        counts = np.concatenate([inside.leaves, np.ones((inside.n_levels, len(beyond)), dtype=np.int64)], axis=1)
        counts[-1] = inside.n_leaves + len(beyond)
        return BoundHierarchy(column, labels[0], labels, counts, inside.n_leaves + len(beyond))


@dataclass(frozen=True)
class GroupedAges(_Fitted[IntervalHierarchy]):
    """Intervals in which what lies beyond a bound is one age: `>=90` stands for every age from 90 on."""

    def text_of(self, age: str) -> str:
        """Return how an age is written: beyond a bound as the group that it belongs to."""
        top, bottom = self.inner.top, self.inner.bottom
        if age in self._stand_ins():
            return age
        if top is not None and Decimal(age) >= top:
            return f">={top}"
        return f"<{bottom}" if bottom is not None and Decimal(age) < bottom else age

    def _stand_ins(self) -> dict[str, str]:
        """The texts of the groups, each with a number in it."""
        top, bottom = self.inner.top, self.inner.bottom
        found = {} if top is None else {f">={top}": str(top)}
        return found if bottom is None else found | {f"<{bottom}": str(bottom - 1)}

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that are neither numbers nor groups."""
        groups = self._stand_ins()
        return self.inner.outside([value for value in values if value not in groups])

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Bind the hierarchy to these distinct values."""
        groups = self._stand_ins()
        numbers = {groups.get(value, value) if value is not None else None: value for value in values}
        hierarchy = self.inner.bind(column, list(numbers))
        texts = tuple(numbers[value] for value in hierarchy.values)
        return BoundHierarchy(column, texts, (texts, *hierarchy.labels[1:]), hierarchy.leaves, hierarchy.n_leaves)


@dataclass(frozen=True, eq=False, repr=False)
class FittedTrajectories:
    """Trajectories and hierarchies that fit each other."""

    trajectories: Trajectories
    codes: Hierarchy
    ages: Hierarchy
    dropped: int = 0


def usual_codes(trajectories: Trajectories) -> Hierarchy:
    """Return ICD-9-CM or ICD-10-CM, whichever knows more of the codes."""
    n_codes = len(trajectories.vocabulary)
    known = [(n_codes - len(each.outside(trajectories.vocabulary)), each) for each in (icd9(), icd10())]
    most, best = max(known, key=lambda found: found[0])
    if most == 0:
        raise InputError(
            f"Neither ICD-9-CM nor ICD-10-CM has any of the {n_codes} distinct codes. Name a hierarchy file with "
            f"{setting('code_hierarchy')}: one row a code, from the code to the root."
        )
    return best


def fitted(trajectories: Trajectories, codes: Hierarchy, ages: Hierarchy, unknown: Unknown) -> FittedTrajectories:
    """Return trajectories and hierarchies that fit each other."""
    outside = set(codes.outside(trajectories.vocabulary))
    dropped = 0
    if outside and unknown is Unknown.ERROR:
        raise InputError(unknown_codes(len(outside), len(trajectories.vocabulary), codes))
    if outside and unknown is Unknown.ROOT:
        codes = CodesUnderRoot(codes)
    elif outside:
        before = trajectories.n_pairs
        trajectories = _without(trajectories, outside)
        dropped = before - trajectories.n_pairs
    if isinstance(ages, IntervalHierarchy) and (ages.top is not None or ages.bottom is not None):
        ages = GroupedAges(ages)
        trajectories = _grouped(trajectories, ages)
    strange = len(ages.outside(trajectories.age_values))
    if strange:
        raise InputError(
            f"{strange} of {len(trajectories.age_values)} distinct ages are not in the hierarchy {ages.spec}. Add a "
            f"row for each to the file, or use intervals: {setting('age_hierarchy', 'interval:5,10,20/top=90')}."
        )
    return FittedTrajectories(trajectories, codes, ages, dropped)


def unknown_codes(count: int, n_codes: int, hierarchy: Hierarchy) -> str:
    """Return what to say of codes that a hierarchy does not have."""
    return (
        f"{count} of {n_codes} distinct codes are not in the hierarchy {hierarchy.spec}. Correct them or name another "
        f"with {setting('code_hierarchy')}; or say with {setting('on_unknown_code', 'root')} that they become * "
        "where they "
        f"cannot stay, or with {setting('on_unknown_code', 'drop')} that their lines are left out."
    )


def _without(trajectories: Trajectories, outside: set[str]) -> Trajectories:
    kept = np.array([code not in outside for code in trajectories.vocabulary], dtype=np.bool_)
    stays = kept[trajectories.codes]
    owner = np.repeat(np.arange(trajectories.n_patients), np.diff(trajectories.offsets))
    sizes = np.bincount(owner[stays], minlength=trajectories.n_patients)
    empty = int(np.sum(sizes == 0))
    if empty:
        raise InputError(
            f"{empty} of {trajectories.n_patients} patients have only codes that are not in the hierarchy, and would "
            f"be left without any. Keep such codes with {setting('on_unknown_code', 'root')}, or leave these "
            "patients out."
        )
    number = (np.cumsum(kept) - 1).astype(np.int32)
    present, ages = np.unique(trajectories.ages[stays], return_inverse=True)
    return replace(
        trajectories,
        vocabulary=tuple(code for code in trajectories.vocabulary if code not in outside),
        age_values=tuple(trajectories.age_values[age] for age in present.tolist()),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        codes=number[trajectories.codes[stays]],
        ages=ages.astype(np.int32),
    )


def _grouped(trajectories: Trajectories, ages: GroupedAges) -> Trajectories:
    """The same with one age for all beyond a bound; pairs put in order again."""
    texts = [ages.text_of(age) for age in trajectories.age_values]
    values = list(dict.fromkeys(texts))  # ages ascend, and groups are at the ends
    if values == list(trajectories.age_values):
        return trajectories
    place = {text: number for number, text in enumerate(values)}
    number = np.array([place[text] for text in texts], dtype=np.int32)
    found = number[trajectories.ages]
    owner = np.repeat(np.arange(trajectories.n_patients), np.diff(trajectories.offsets))
    order = np.lexsort((trajectories.codes, found, owner))
    return replace(trajectories, age_values=tuple(values), codes=trajectories.codes[order], ages=found[order])
