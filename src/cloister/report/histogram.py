"""Geometry of a histogram of numbers, with round marks on its axis: how many records have values in each bin."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

WIDTH, HEIGHT, BELOW, LEFT, SIDE = 640, 150, 22, 64, 20
"""Of the field of bars: its size, and the room for marks below, at the left and at the right."""

BINS, MARKS, COUNTS, NEARLY_ALL = 40, 8, 5, 0.98
LEAST_SPREAD, LARGEST = 1e-9, 1e15
"""Of numbers that can be drawn: their range as a share of the largest, and their size."""


@dataclass(frozen=True)
class NumberHistogram:
    """Bars as (x, width, height), marks of the axis as (text, x), its range, and a step to round numbers to."""

    bars: tuple[tuple[float, float, float], ...]
    marks: tuple[tuple[str, float], ...]
    counts: tuple[tuple[str, float], ...]  # marks of the axis of records as (text, y)
    low: float
    high: float
    step: float
    left: int = LEFT
    right: int = LEFT + WIDTH
    bottom: int = HEIGHT
    width: int = LEFT + WIDTH + SIDE
    height: int = HEIGHT + BELOW

    def x(self, number: float) -> float:
        """Return where a number is on the axis; numbers beyond it are at its ends."""
        share = (number - self.low) / (self.high - self.low)
        return round(self.left + (self.right - self.left) * min(1.0, max(0.0, share)), 1)


def histogram_of(records: Mapping[str, int]) -> NumberHistogram | None:
    """Return the histogram of values with their records; None unless nearly all of at least three are numbers
    that differ by more than their last digits.

    Examples
    --------
    >>> histogram_of({"1": 2, "2": 1, "5": 1}).marks[-1][0]
    '5'
    >>> histogram_of({"a": 2, "b": 1, "c": 1}) is None
    True
    """
    known: dict[float, int] = {}
    for value, count in records.items():
        if (number := _number(value)) is not None:
            known[number] = known.get(number, 0) + count
    present = sum(count for value, count in records.items() if value)
    numbers, counts = np.array(list(known)), np.array(list(known.values()))
    if len(known) < 3 or counts.sum() < NEARLY_ALL * present or np.ptp(numbers) < LEAST_SPREAD * np.abs(numbers).max():
        return None
    step = _round_step(float(np.ptp(numbers)) / MARKS)
    low, high = math.floor(numbers.min() / step) * step, math.ceil(numbers.max() / step) * step
    bins = min(BINS, max(3, round((high - low) / _round_step(float(np.ptp(numbers)) / BINS))))
    heights, _ = np.histogram(numbers, bins, (low, high), weights=counts)
    wide = WIDTH / bins
    bars = tuple(
        (round(LEFT + place * wide, 1), round(wide - 1, 1), round(HEIGHT * 0.95 * float(one) / max(heights), 1))
        for place, one in enumerate(heights)
    )
    fine = max(_round_step(step / 50), 1.0 if (numbers == np.floor(numbers)).all() else 0.0)
    high_step = max(1.0, _round_step(max(heights) / COUNTS))
    counted = [high_step * place for place in range(int(max(heights) / high_step) + 1)]
    upwards = tuple((f"{one:,.0f}", round(HEIGHT * (1 - 0.95 * one / max(heights)), 1)) for one in counted)
    found = NumberHistogram(bars, (), upwards, low, high, fine)
    marks = [low + step * place for place in range(round((high - low) / step) + 1)]
    return replace(found, marks=tuple((f"{mark:,.10g}", found.x(mark)) for mark in marks))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < LARGEST else None


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least so much."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-9))
