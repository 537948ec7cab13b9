"""Small trajectories for tests: the records of the paper's Fig. 1, and random ones with random hierarchies."""

from fractions import Fraction

from hypothesis import strategies as st
from tests.oracles import trajectories as slow

from cloister.hierarchy import hierarchy_rows
from cloister.shapes.trajectories.format.data import Trajectories
from cloister.shapes.trajectories.format.domain import ValueTree

FIGURE_1 = [
    [("401.1", 33), ("401.1", 34), ("401.1", 35)],
    [("401.1", 38), ("401.1", 40)],
    [("401.9", 38), ("401.1", 40)],
    [("401.9", 33), ("401.1", 33), ("401.1", 34), ("401.1", 35)],
    [("401.1", 39), ("401.9", 40)],
    [("401.1", 40), ("401.9", 40)],
]
"""Fig. 1(a)."""


def span(age, width):
    """The interval of Fig. 3 that an age from 33 to 40 is in."""
    first = 33 + (age - 33) // width * width
    return f"[{first}-{first + width - 1}]"


FIGURE_3 = hierarchy_rows([[age, span(age, 2), span(age, 4), "*"] for age in range(33, 41)])
FIGURE_4 = hierarchy_rows([[code, "401", "*"] for code in ("401.0", "401.1", "401.9")])


def figure_1():
    """The records of Fig. 1(a) over the domains of Fig. 3 and Fig. 4."""
    return Trajectories.from_records(FIGURE_1, vocabulary=["401.0"], age_values=range(33, 41))


def tree_of(hierarchy, values):
    """The tree of a hierarchy over these values."""
    texts = [str(value) for value in values]
    return ValueTree.of(hierarchy.bind("column", texts), texts)


def nodes_above(levels):
    """For each value, the nodes above it as the oracle has them: sets of values, the value first."""
    n = len(levels[0]) if levels else 1
    chain = [[frozenset([value]) for value in range(n)]]
    chain += [
        [frozenset(other for other in range(n) if level[other] == level[value]) for value in range(n)]
        for level in levels
    ]
    chain.append([frozenset(range(n))] * n)
    return {value: [nodes[value] for nodes in chain] for value in range(n)}


def covered(tree, node):
    """The values that a node covers, as the oracle has it."""
    return frozenset(tree.leaves_below(node))


@st.composite
def hierarchies(draw, prefix, most):
    """Labels of up to ``most`` values by level, nested, unique over all levels."""
    n = draw(st.integers(1, most))
    levels, groups = [], list(range(n))
    for depth in range(draw(st.integers(0, 2))):
        merged = {group: draw(st.integers(0, 3)) for group in sorted(set(groups))}
        groups = [merged[group] for group in groups]
        levels.append([f"{prefix}{depth}:{group}" for group in groups])
    return levels or [[f"{prefix}:{value}" for value in range(n)]]


@st.composite
def cases(draw, most=12):
    """Trajectories as lists of pairs of numbers, both hierarchies, weights, constraints."""
    codes, ages = draw(hierarchies("c", 5)), draw(hierarchies("a", 5))
    pair = st.tuples(st.integers(0, len(codes[0]) - 1), st.integers(0, len(ages[0]) - 1))
    records = draw(st.lists(st.lists(pair, min_size=1, max_size=4), min_size=1, max_size=most))
    records = [tuple(sorted(record, key=lambda pair: pair[::-1])) for record in records]
    weight = draw(st.sampled_from([Fraction(1, 2), Fraction(0), Fraction(1), Fraction(3, 10)]))
    return records, codes, ages, (weight, 1 - weight)


@st.composite
def detailed_cases(draw):
    """The same, with a third attribute of each pair: records, the hierarchies of all three, and weights."""
    records, codes, ages, _ = draw(cases(9))
    details = draw(hierarchies("d", 4))
    value = st.integers(0, len(details[0]) - 1)
    longer = [[(*pair, draw(value)) for pair in record] for record in records]
    records = [tuple(sorted(record, key=lambda pair: (pair[1], pair[0], pair[2]))) for record in longer]
    weights = [(Fraction(1, 3),) * 3, (Fraction(0), Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1, 2), 0)]
    return records, (codes, ages, details), tuple(map(Fraction, draw(st.sampled_from(weights))))


def numbered(records, n_codes, n_ages, n_details=0):
    """Records of pairs of numbers as trajectories whose values are called after their numbers."""
    pairs = [[(f"c{code}", age, *(f"d{one}" for one in detail)) for code, age, *detail in record] for record in records]
    return Trajectories.from_records(
        pairs,
        vocabulary=[f"c{code}" for code in range(n_codes)],
        age_values=range(n_ages),
        detail_values=[f"d{detail}" for detail in range(n_details)],
    )


def trees(*levels):
    """The trees of the hierarchies of codes, ages and perhaps details."""
    return tuple(
        ValueTree.from_levels([f"{prefix}{value}" for value in range(len(each[0]))], each)
        for prefix, each in zip(("c", "", "d"), levels)
    )


def setting(codes, ages, weights, details=None, **options):
    """The same for the oracle."""
    above = None if details is None else nodes_above(details)
    return slow.Setting(nodes_above(codes), nodes_above(ages), weights, details=above, **options)
