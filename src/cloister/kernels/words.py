"""Shared by kernels: set bits, places in hash tables, random numbers from a counter, and counting sort.

References
----------
Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA, figure 14: splitmix64.
"""

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 / golden ratio: steps of the counter, and the factor of Fibonacci hashing."""


@inner
def bits_set(word):
    """Count the set bits."""
    # Sums of neighbouring bits, pairs and nibbles; the product adds up all bytes in the highest one.
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def hash_word(key, word):
    """The hash of a chain of words, so far ``key``, and one word more; its lowest bits are a place in a table."""
    key = (key ^ word) * GOLDEN
    # A product's upper bits depend on all bits of the word, its lower ones do not: the lower ones get both.
    return key ^ (key >> np.uint64(32))


@inner
def table_size(n):
    """Places of a hash table for n entries: a power of two, at most half full, so that a free one is soon found."""
    size = 16
    while size < 2 * n:
        size *= 2
    return size


@inner
def scramble(counter):
    """Return the random number of a counter, with all bits equally random."""
    word = (counter ^ (counter >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def starts_of(lengths: NDArray[np.number]) -> NDArray[np.int64]:
    """Return the start of each of several runs with these lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@jit
def _by_number(numbers, starts, order):
    """Counting sort."""
    for i in range(numbers.shape[0]):
        starts[numbers[i] + 1] += 1
    for j in range(1, starts.shape[0]):
        starts[j] += starts[j - 1]
    free = starts[:-1].copy()
    for i in range(numbers.shape[0]):
        order[free[numbers[i]]] = i
        free[numbers[i]] += 1


def by_number(numbers: NDArray[np.integer], n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Places of each number below ``n``, ascending: where those of each begin, (n + 1,), and the places."""
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < n:
        raise ValueError(f"numbers must be from 0 to {n - 1}")
    starts, order = np.zeros(n + 1, dtype=np.int64), np.empty(numbers.size, dtype=np.int32)
    _by_number(numbers.astype(np.int32, copy=False), starts, order)
    return starts, order
