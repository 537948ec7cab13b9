"""Machine words: bits that are set, places in hash tables, and random numbers that follow from a counter.

References
----------
Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA, figure 14: splitmix64.
"""

import numpy as np

from ._jit import inner

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 / golden ratio: steps of the counter, and the factor of Fibonacci hashing."""


@inner
def bits_set(word):
    """How many bits are set."""
    # Sums of neighbouring bits, pairs and nibbles; the product adds up all bytes in the highest one.
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def hashed(key, word):
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
def scrambled(counter):
    """The random number that stands for a counter, all bits alike."""
    word = (counter ^ (counter >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inner
def number_rows(keys, codes, exact, labels, first):
    """Number rows by key in order of first appearance, and note the first row of each; how many there are.

    codes : (n_codes, n_rows), compared where keys are equal, unless ``exact`` says that different rows have different
        keys
    """
    slots = np.full(table_size(keys.shape[0]), -1, dtype=np.int32)
    mask = slots.shape[0] - 1
    found = 0
    for i in range(keys.shape[0]):
        slot = np.int64(hashed(np.uint64(0), np.uint64(keys[i]))) & mask
        while slots[slot] >= 0:
            seen = first[slots[slot]]
            if keys[seen] == keys[i] and (exact or same_codes(codes, seen, i)):
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            first[found] = i
            found += 1
        labels[i] = slots[slot]
    return found


@inner
def same_codes(codes, one, other):
    """Whether two rows have the same codes."""
    for j in range(codes.shape[0]):
        if codes[j, one] != codes[j, other]:
            return False
    return True
