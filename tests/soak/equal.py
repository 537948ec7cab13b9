"""The law of equal outputs: pairs of originals that are released as the same data, of every shape and method."""

from tests.made.equal_outputs import CASES, differences

from .command import check

SEEDS, OTHERS = 4, 8


def equal(draw, folder):
    """Compare the folders of some originals of one case with each other."""
    case = draw.choice(list(CASES))
    for number in range(SEEDS):
        seed = draw.randrange(10**9)
        _, found = differences(CASES[case], seed, folder / str(number), OTHERS)
        check(not found, f"{case}: two originals with equal data (seed {seed}) differ in {found}")
