"""Equivalence classes made from lists, as privacy rules see them."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cloister.privacy import Histogram


@dataclass(frozen=True)
class Listed:
    """Classes of (key, sensitive value) records; missing is None. Classes are in the order of their keys.

    Attributes
    ----------
    records : pairs of key and value
    whole : values of the whole input; those of the records if None
    people : keys of the population table
    names : for each value, its names from level 0 to the root, if a hierarchy is there
    level_loss : mean of level / highest level
    """

    records: list
    whole: list | None = None
    people: list | None = None
    names: dict | None = None
    level_loss: Fraction = Fraction(0)

    @property
    def keys(self):
        """Keys of the classes, in order."""
        return sorted({key for key, _ in self.records})

    @property
    def sizes(self):
        """Records of each class."""
        return np.array([sum(key == own for own, _ in self.records) for key in self.keys], dtype=np.int64)

    def histogram(self, rule):
        """The values of each class, numbered in their order, missing last."""
        whole = [value for _, value in self.records] if self.whole is None else self.whole
        values = sorted({value for value in whole if value is not None}) + ([None] if None in whole else [])
        start, value, counts = [0], [], []
        for key in self.keys:
            own = [found for known, found in self.records if known == key]
            present = [number for number, name in enumerate(values) if name in own]
            value += present
            counts += [own.count(values[number]) for number in present]
            start.append(len(value))
        return Histogram(
            start=np.array(start, dtype=np.int64),
            value=np.array(value, dtype=np.int64),
            records=np.array(counts, dtype=np.int64),
            whole=np.array([whole.count(name) for name in values], dtype=np.int64),
            missing=len(values) - 1 if None in whole else -1,
            groups=self._groups(values),
        )

    def _groups(self, values):
        if self.names is None:
            return None
        rungs = []
        for level in range(len(next(iter(self.names.values())))):
            labels = [self.names[value][level] for value in values]
            known = list(dict.fromkeys(labels))
            rungs.append([known.index(label) for label in labels])
        return np.array(rungs, dtype=np.int64)

    def population(self, rule):
        """People of each class."""
        return np.array([self.people.count(key) for key in self.keys], dtype=np.int64)

    def is_covering(self, rule):
        """Whether everybody of the population is in one of the classes."""
        return set(self.people) <= set(self.keys)
