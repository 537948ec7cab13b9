"""Random numbers that are the same with every version of NumPy and on every machine."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.float64]
Whole = NDArray[np.int64]

PARTS = {"people": 0, "conditions": 1, "visits": 2, "claims": 3, "samples": 4}
"""Each part of a hospital draws from a stream of its own, so that none depends on how many numbers another took."""


class Draws:
    """A stream of random numbers for one part of a hospital.

    NumPy promises that a bit generator such as PCG64 gives the same whole numbers for a seed for ever, and promises no
    such thing of what its `Generator` makes of them. So everything here is made from the raw numbers by arithmetic that
    is exact or rounded in one way only, without logarithms and the like.

    Parameters
    ----------
    seed : from 0
    part : one of `PARTS`

    References
    ----------
    NumPy, "Parallel random number generation" and "PCG64", *Compatibility Guarantee*; NEP 19.
    """

    def __init__(self, seed: int, part: str) -> None:
        self._bits = np.random.PCG64([seed, PARTS[part]])

    def shares(self, n: int) -> Shares:
        """Return numbers from 0 to below 1, in steps of 2^-53."""
        raw: NDArray[np.uint64] = self._bits.random_raw(n)
        return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, most: Whole) -> Whole:
        """Return a whole number from 0 to below each of ``most``."""
        return (self.shares(most.size) * most).astype(np.int64)

    def places(self, n: int, weights: Sequence[int]) -> Whole:
        """Return places in a list, each as often as its weight says."""
        reached = np.cumsum(np.array(weights, dtype=np.int64))
        drawn = (self.shares(n) * reached[-1]).astype(np.int64)
        found: Whole = np.searchsorted(reached, drawn, side="right").astype(np.int64)
        return found

    def order(self, n: int) -> Whole:
        """Return the numbers from 0 to n - 1 in any order."""
        return np.argsort(self.shares(n), kind="stable")
