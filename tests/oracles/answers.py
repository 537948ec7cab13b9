"""What released labels may stand for, one choice after another."""

from fractions import Fraction
from itertools import product


def holding(sequence, wanted):
    """Bounds on whether a trajectory has all that is wanted, and how probable it is, over every choice.

    ``sequence``: of each pair the (code, age) leaves that it may stand for, with their chances, 0 where only possible
    ``wanted``: tests of a (code, age) leaf, each of which some pair must pass
    """
    outcomes, expected = [], Fraction(0)
    for chosen in product(*(pair.items() for pair in sequence)):
        holds = all(any(test(leaf) for leaf, _ in chosen) for test in wanted)
        outcomes.append(holds)
        chance = Fraction(1)
        for _, each in chosen:
            chance *= each
        expected += holds * chance
    return min(outcomes), expected, max(outcomes)
