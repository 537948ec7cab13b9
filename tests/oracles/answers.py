"""What released labels may stand for, one choice after another."""

from fractions import Fraction
from itertools import permutations, product


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


def on_rows(worlds, classes, rows):
    """Every way in which the records of a table with codes may belong to its rows: lists of (codes, row).

    ``worlds``: data sets that the chunks may stand for, as lists of sets of codes
    ``classes``: the class of each record of a world; ``rows``: of each class its rows, as many as records
    """
    for world in worlds:
        inside = {own: [codes for codes, at in zip(world, classes, strict=True) if at == own] for own in rows}
        ways = [{tuple(zip(inside[own], one, strict=True)) for one in permutations(rows[own])} for own in rows]
        for chosen in product(*ways):
            yield [pair for way in chosen for pair in way]


def cells(pairs, codes, is_met):
    """Patients with the codes and the outcome, with the codes alone, with the outcome alone, and with neither."""
    found = [0, 0, 0, 0]
    for own, row in pairs:
        found[2 * (not codes <= own) + (not is_met(row))] += 1
    return found


def odds_ratio(both, code_only, outcome_only, neither):
    """The odds ratio: infinite if only the denominator is 0, None if both are."""
    above, below = both * neither, code_only * outcome_only
    return above / below if below else (float("inf") if above else None)
