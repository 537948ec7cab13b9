"""The labels of a column across its levels: one text may stand at several of them, even for different sets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..coding import Coded


@dataclass(frozen=True)
class Labels:
    """The labels of one column, numbered across its levels.

    Attributes
    ----------
    texts : the labels by number, in the order of their UTF-8 bytes, missing first
    of_code : by level, (n_codes,) number of the label of each code
    leaves : (n_levels, n_texts) int64, leaves that each label covers at each level; 0 where it does not occur
    """

    texts: tuple[str | None, ...]
    of_code: tuple[NDArray[np.int64], ...]
    leaves: NDArray[np.int64]

    @property
    def n_texts(self) -> int:
        """Number of different labels."""
        return len(self.texts)

    def at(self, levels: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the level and the leaves of each label if these levels occur: of its largest set, the lowest level."""
        among = self.leaves[list(levels)]
        place = among.argmax(axis=0)
        return np.array(levels, dtype=np.int64)[place], among.max(axis=0)


def numbered_labels(coded: Coded) -> Labels:
    """Return the labels of a column, each text with one number."""
    every = {label for labels in coded.labels for label in labels}
    texts = sorted(every, key=lambda label: (label is not None, (label or "").encode()))
    number = {label: place for place, label in enumerate(texts)}
    of_code = tuple(np.array([number[label] for label in labels], dtype=np.int64) for labels in coded.labels)
    leaves = np.zeros((len(of_code), len(number)), dtype=np.int64)
    for level, numbers in enumerate(of_code):
        leaves[level, numbers] = coded.leaves[level]
    return Labels(tuple(texts), of_code, leaves)
