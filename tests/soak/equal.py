"""The law of equal outputs: pairs of originals that are released as the same data, of every shape and method."""

from tests.equal_outputs import CASES, differences

from .command import check

SEEDS = 20


def equal(draw, folder):
    """Compare the folders of some pairs of one case."""
    case = draw.choice(list(CASES))
    for number in range(SEEDS):
        seed = draw.randrange(10**9)
        found = differences(CASES[case], seed, folder / str(number))
        check(not found, f"{case}: two originals with equal data (seed {seed}) differ in {found}")
