"""A preview of cut points over many values: numbers are read once, and one value represents each interval."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .file_hierarchy import GROUPS_DRAWN, LABELS_SHOWN, LevelPreview, preview
from .interval import LARGEST, CutHierarchy, Scale

EXACT = 15
"""Digits up to which different numbers are different as floats, in the same order."""


@dataclass(frozen=True)
class CountedNumbers:
    """The distinct values of a column of numbers in the order of their texts, with the records of each."""

    texts: tuple[str, ...] = field(repr=False)
    numbers: NDArray[np.float64] = field(repr=False)
    records: NDArray[np.int64] = field(repr=False)
    missing: int

    @classmethod
    def of(cls, records: Mapping[str, int]) -> Self | None:
        """Return the values of a column, of which "" is missing; None unless all others are numbers of few digits."""
        scale, texts = Scale(), sorted(value for value in records if value)
        if not texts or any(len(text) > EXACT or scale.read(text) is None for text in texts):
            return None
        numbers, counts = [float(text) for text in texts], [records[text] for text in texts]
        return cls(tuple(texts), np.array(numbers), np.array(counts, dtype=np.int64), records.get("", 0))


def preview_cuts(hierarchy: CutHierarchy, counted: CountedNumbers, column: str) -> tuple[LevelPreview, ...] | None:
    """Return what `preview` returns, without reading each value; None where a number has too many digits for that."""
    finest = hierarchy.cuts[0]
    in_units = np.abs(counted.numbers).max() * 10.0**hierarchy.scale.places
    if in_units >= LARGEST or any(len(str(cut)) > EXACT for cut in finest):
        return None
    cells = np.searchsorted(np.array([float(cut) for cut in finest]), counted.numbers, side="right")
    present, first = np.unique(cells, return_index=True)
    totals = np.zeros(len(finest) + 1, dtype=np.int64)
    np.add.at(totals, cells, counted.records)
    missing: dict[str | None, int] = {None: counted.missing} if counted.missing else {}
    found = {counted.texts[place]: int(totals[cell]) for cell, place in zip(present, first, strict=True)}
    sizes = (*counted.records.tolist(), *missing.values()) if counted.records.size < GROUPS_DRAWN else ()
    examples = (*counted.texts[:LABELS_SHOWN], *missing)[:LABELS_SHOWN]
    ends = [counted.records.min(), counted.records.max(), *missing.values()]
    recorded = LevelPreview(0, len(counted.texts) + len(missing), int(min(ends)), int(max(ends)), examples, sizes)
    return recorded, *preview(hierarchy, {**found, **missing}, column)[1:]
