"""Groups of categories: as stated, and by what their records have in another column."""

from collections import Counter
from itertools import combinations
from math import log

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloister as cl
from cloister.hierarchy import parse_hierarchy
from cloister.hierarchy.categories import GroupsHierarchy, SimilarHierarchy

PAIRS = [
    (value, other)
    for value, ill, n in (("a", 9, 10), ("b", 8, 10), ("c", 1, 10), ("d", 2, 10), ("e", 5, 10), ("f", 1, 2))
    for place in range(n)
    for other in ("ill" if place < ill else "well",)
]


def test_stated_groups():
    """A label names the group; what stands in none is ``other``; all nests up to the root."""
    bound = parse_hierarchy("groups:a+b,c/a+b+c").bind("x", ["a", "b", "c", "d"])
    labels = [dict(zip(bound.values, level, strict=True)) for level in bound.labels]
    assert labels[1] == {"a": "a|b", "b": "a|b", "c": "c", "d": "other"}
    assert labels[2] == {"a": "a|b|c", "b": "a|b|c", "c": "a|b|c", "d": "other"}
    assert {*labels[-1].values()} == {"*"}


@pytest.mark.parametrize(
    "spec", ["groups:", "groups:a+a", "groups:a,,b", "groups:a+b/a,b", "groups:a,b/a,b", "similar"]
)
def test_what_is_no_group(spec):
    """Groups that hold a category twice, or do not nest, are refused with an example."""
    with pytest.raises(cl.InputError, match=r"groups needs|is written like similar:diagnosis"):
        parse_hierarchy(spec)


def test_alike_categories_are_together():
    """Categories whose records have the same of another column are a group; fewer than k records are ``other``."""
    made = SimilarHierarchy("ill").cut("x", PAIRS, 5)
    assert made.spec == "groups:a+b,c+d,e/a+b+e,c+d"
    assert parse_hierarchy(made.spec).spec == made.spec


def test_a_release_says_its_groups():
    """The release is that of the stated groups, byte for byte, and verifies against its original."""
    frame = pl.DataFrame(PAIRS, schema=["ward", "state"], orient="row")
    asked = {"rule": ["k-anonymity=5"], "sensitive": ["state"], "levels": {"ward": 1}, "accept": ["state"]}
    made, stated = (
        cl.protect_table(frame, qi={"ward": spec}, suppression=0.1, **asked)
        for spec in ("similar:state", "groups:a+b,c+d,e/a+b+e,c+d")
    )
    assert made.data.equals(stated.data)
    assert made.summary()["settings"] == stated.summary()["settings"]
    with pytest.raises(cl.InputError, match="'stat' was asked for"):
        cl.protect_table(frame, qi={"ward": "similar:stat"}, **asked)


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), min_size=12, max_size=60), st.integers(1, 3)
)
def test_the_least_information_is_lost(pairs, k):
    """Each joining is one that loses least mutual information of all, by its definition from the table of counts."""
    sizes = Counter(value for value, _ in pairs)
    groups = {(value,) for value, n in sizes.items() if n >= k}
    if len(groups) < 4:
        with pytest.raises(cl.InputError, match="needs four categories"):
            SimilarHierarchy("y").cut("x", pairs, k)
        return
    known = [(value, other) for value, other in pairs if sizes[value] >= k]

    def information(parts):
        of = {value: part for part in parts for value in part}
        joint, left, right = (
            Counter((of[value], other) for value, other in known),
            Counter(of[value] for value, _ in known),
            Counter(other for _, other in known),
        )
        return sum(n * log(n * len(known) / (left[part] * right[other])) for (part, other), n in joint.items())

    made: GroupsHierarchy = SimilarHierarchy("y").cut("x", pairs, k)
    first = made.partitions[0]
    while len(groups) > len(first):
        joined = [groups - {one, two} | {tuple(sorted(one + two))} for one, two in combinations(sorted(groups), 2)]
        inside = [parts for parts in joined if all(any({*part} <= {*whole} for whole in first) for part in parts)]
        assert inside
        best = max(map(information, inside))
        assert best == pytest.approx(max(map(information, joined)), abs=1e-6)
        groups = next(parts for parts in inside if information(parts) == best)


def test_a_category_called_other_is_one_of_its_own():
    """What stands in no group is called otherwise than any group; groups cannot be told from their names alone."""
    levels = parse_hierarchy("groups:A+B,C,other/A+B+C,other").bind("x", ["A", "B", "C", "D", "other"]).labels
    assert [dict(zip("ABCDo", level, strict=True)) for level in levels[1:3]] == [
        {"A": "A|B", "B": "A|B", "C": "C", "D": "any other", "o": "other"},
        {"A": "A|B|C", "B": "A|B|C", "C": "A|B|C", "D": "any other", "o": "other"},
    ]
    with pytest.raises(cl.InputError, match="groups needs categories"):
        parse_hierarchy("groups:A|B+C")
    with pytest.raises(cl.InputError, match="similar:ill cannot name 1 of the categories of column 'x'"):
        SimilarHierarchy("ill").cut("x", [("a, b", "ill")] * 5, 5)
