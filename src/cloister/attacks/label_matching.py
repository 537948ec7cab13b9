"""Match known values of a patient with records that have one label in each column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy import BoundHierarchy
from cloister.io import as_text
from cloister.kernels.ragged import postings

from .adversary import Integers, PredicateSinglingOut, RecordGroups, sample_targets

Floats = NDArray[np.float64]
NEAR = 1e-9  # By how much two distances may differ and still be the same


@dataclass(frozen=True, eq=False, repr=False)
class Nearest:
    """A column of averages: an adversary who knows a value selects the records with the nearest average.

    Modes are numbered: the nearest mode is the value itself, or any mode if no group shows the value.
    """

    averages: Floats  # (n_groups,) not a number where none is released
    numbers: Floats  # (n_values,) the values that patients have; not a number where missing
    furthest: float = np.inf  # 1 of modes: they differ, or do not

    def among(self, groups: Integers, value: int) -> Integers:
        """Return the groups whose average is nearest to a value; a group without an average matches any value."""
        averages = self.averages[groups]
        if np.isnan(self.numbers[value]):
            return groups[np.isnan(averages)]
        distance = np.minimum(np.abs(averages - self.numbers[value]), self.furthest)
        least = np.nanmin(distance, initial=np.inf)
        near: Integers = groups[np.isnan(averages) | (distance <= least + NEAR)]
        return near


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(RecordGroups):
    """Records in groups with equal labels in all columns."""

    labels: tuple[Integers, ...]  # by column, (n_groups,) number of the label
    sizes: Integers  # (n_groups,) records of each
    values: tuple[Integers, ...]  # by column, (n_patients,) number of the value that is known of each patient
    fits: tuple[Sequence[tuple[int, ...]], ...]  # by column and value, the labels that may stand for it
    own: Integers  # (n_patients,) group of the patient's own record, `GONE` or `NOT_KNOWN`
    # columns of averages, by their place; their labels are not looked at
    nearest: Mapping[int, Nearest] = field(default_factory=dict)

    _having: list[list[Integers]] = field(init=False)  # by column and label, the groups that have it

    def __post_init__(self) -> None:
        every = np.arange(self.sizes.size)
        found = [postings(labels, every, int(labels.max(initial=0)) + 1) for labels in self.labels]
        object.__setattr__(self, "_having", found)

    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the groups whose labels cover the known values of a target."""
        exact = [(column, self.fits[column][self.values[column][target]]) for column in known]
        exact = [(column, wanted) for column, wanted in exact if column not in self.nearest]
        alive = np.arange(self.sizes.size)
        if exact:
            exact.sort(key=lambda each: sum(self._having[each[0]][label].size for label in each[1]))
            column, wanted = exact[0]
            parts = [self._having[column][label] for label in wanted]
            alive = np.sort(np.concatenate(parts)) if parts else alive[:0]
        for column, wanted in exact[1:]:
            alive = alive[_are_among(self.labels[column][alive], list(wanted), len(self._having[column]))]
        for column in known:
            if column in self.nearest:
                alive = self.nearest[column].among(alive, int(self.values[column][target]))
        return alive


def _are_among(numbers: Integers, wanted: Sequence[int] | Integers, n: int) -> NDArray[np.bool_]:
    """Whether each number, below ``n``, is wanted: by a look-up, where np.isin would sort for a few."""
    is_wanted = np.zeros(n, dtype=np.bool_)
    is_wanted[wanted] = True
    found: NDArray[np.bool_] = is_wanted[numbers]
    return found


def number_texts(text: pl.Series) -> tuple[list[str | None], Integers]:
    """Return the distinct texts, missing first and the rest in the order of their UTF-8 bytes, and each cell's number.

    Examples
    --------
    >>> numbered(pl.Series(["b", None, "a", "b"]))[1].tolist()
    [2, 0, 1, 2]
    """
    values = [None, *text.drop_nulls().unique().sort().to_list()]
    numbers = text.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    return values, numbers


def group_rows(columns: Sequence[Integers], n_records: int) -> tuple[tuple[Integers, ...], Integers, Integers]:
    """Return the columns of the distinct rows, how many records have each, and the group of each record."""
    if not columns:
        return (), np.full(1, n_records, dtype=np.int64), np.zeros(n_records, dtype=np.int64)
    key, width = np.zeros(n_records, dtype=np.int64), 0
    for column in columns:
        key, width = key * (int(column.max(initial=0)) + 1) + column, width + 1
        key = np.unique(key, return_inverse=True)[1]
    _, first, group, sizes = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return tuple(column[first] for column in columns), sizes.astype(np.int64), group.astype(np.int64)


def labels_of(
    values: Sequence[str | None], hierarchy: BoundHierarchy, levels: Sequence[int], shown: Sequence[str | None]
) -> list[tuple[int, ...]]:
    """Return the numbers of the labels that cover each value at some of these levels."""
    number = {text: at for at, text in enumerate(shown)}
    covering: dict[str | None, set[int]] = {}
    for label, places in hierarchy.list_covered(levels).items():
        if label in number:
            for place in places:
                covering.setdefault(hierarchy.values[place], set()).add(number[label])
    return [tuple(sorted(covering.get(value, ()))) for value in values]


@dataclass(frozen=True, eq=False, repr=False)
class RecordPredicates:
    """What each released record says of its patient: a value under each label, and these recorded values.

    For a column of averages the predicate is that this average is nearest to the value, as in `Nearest`.

    References
    ----------
    Cohen, Nissim (2020), "Towards formalizing the GDPR's notion of singling out", PNAS 117:8344: k-anonymity allows
    predicates that match exactly one record of the original.
    """

    released: Labelled
    classes: Integers  # (n_records,) group of each released record
    recorded: Integers  # (n_records,) number of its combination of recorded values
    originals: Integers  # (n_originals,) number of the combination that each record of the original has
    patient: Integers  # (n_originals,) whose each is

    @classmethod
    def of(
        cls,
        released: Labelled,
        classes: Integers,
        recorded: Mapping[str, pl.Series],
        original: pl.DataFrame,
        patient: Integers,
    ) -> "RecordPredicates":
        """Read the predicates off released records.

        ``released``: with the values of each record of the original; ``recorded``: by column, (n_records,) text
        """
        columns = [number_texts(pl.concat([text, as_text(original[column])]))[1] for column, text in recorded.items()]
        _, _, numbers = group_rows(columns, classes.size + original.height)
        return cls(released, classes, numbers[: classes.size], numbers[classes.size :], patient)

    def single_out(self, budget: int, seed: int) -> PredicateSinglingOut:
        """Count the distinct predicates that match exactly one patient; of more than ``budget``, in a random sample."""
        (groups, numbers), _, _ = group_rows((self.classes, self.recorded), self.classes.size)
        n_numbers = 1 + max(int(self.recorded.max(initial=0)), int(self.originals.max(initial=0)))
        having = postings(self.originals, np.arange(self.originals.size), n_numbers)
        values = []
        for fits, labels in zip(self.released.fits, self.released.labels, strict=True):
            pairs = np.array([(label, value) for value, some in enumerate(fits) for label in some], dtype=np.int64)
            label, value = pairs.reshape(-1, 2).T
            values.append(postings(label, value, 1 + max(int(labels.max(initial=0)), int(label.max(initial=0)))))
        tested = sample_targets(groups.size, budget, seed)
        isolating = sum(
            self._matches_one(int(groups[place]), having[int(numbers[place])], values) for place in tested.tolist()
        )
        return PredicateSinglingOut(groups.size, tested.size, isolating)

    def _matches_one(self, group: int, records: Integers, values: Sequence[Sequence[Integers]]) -> bool:
        """Whether the records among these with values under the labels of this class are of exactly one patient."""
        for place, under in enumerate(values):
            if place not in self.released.nearest and records.size:
                label = int(self.released.labels[place][group])
                values_of = self.released.values[place][records]
                records = records[_are_among(values_of, under[label], len(self.released.fits[place]))]
        whose = self.patient[records]
        if not self.released.nearest:
            return whose.size > 0 and bool((whose == whose[0]).all())
        columns, found = range(len(values)), set[int]()
        for record, one in zip(records.tolist(), whose.tolist(), strict=True):
            if one not in found and group in self.released.groups(record, columns):
                found.add(one)
                if len(found) > 1:
                    return False
        return len(found) == 1
