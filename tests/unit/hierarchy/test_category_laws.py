"""Laws and definitions of the builders that join categories, or cut by the records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import hierarchies as oracle

from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.testing.hierarchy_laws import assert_lawful, assert_missing_apart, assert_order_free

NAMES = "abcdef"
RECORDS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=40)
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("xyz")), min_size=12, max_size=60)
PARTITIONS = [(("a", "b"), ("c", "d"), ("e",)), (("a", "b", "c", "d"), ("e",))]
KEPT = st.sets(st.sampled_from(NAMES), min_size=1)


def lawful(hierarchy, values, missing):
    """The hierarchy of some values, and of a missing one or not, once it keeps the laws of all."""
    given_values = [*dict.fromkeys(values), *([None] if missing else [])]
    bound = hierarchy.bind("c", given_values)
    assert_lawful(bound)
    assert_missing_apart(bound)
    assert_order_free(hierarchy, given_values)
    return bound


def levels_of(bound):
    """By value, its label at each level between the values and the root; missing left out."""
    return [
        {value: label for value, label in zip(bound.values, labels, strict=True) if value is not None}
        for labels in bound.labels[1:-1]
    ]


@examples(60)
@given(RECORDS, KEPT, st.booleans())
def test_keep_is_lawful_and_as_defined(values, kept, missing):
    """keep names what is kept, and all others alike."""
    bound = lawful(parse_hierarchy(f"keep:{','.join(sorted(kept))}"), values, missing)

    assert levels_of(bound) == oracle.keep({*values}, kept)


@examples(60)
@given(RECORDS, st.booleans())
def test_groups_is_lawful_and_as_defined(values, missing):
    """groups names the group of each value at each level, and what is in none alike."""
    words = "/".join(",".join("+".join(group) for group in level) for level in PARTITIONS)
    bound = lawful(parse_hierarchy(f"groups:{words}"), values, missing)

    assert levels_of(bound) == oracle.groups({*values}, PARTITIONS)


def test_groups_that_leave_the_others_are_refused():
    """What is in no group is joined with all such values, so that no coarser level may name it apart."""
    with pytest.raises(InputError, match="levels that nest"):
        parse_hierarchy("groups:a+b,c+d/a+b+c+d,e")


@examples(60)
@given(RECORDS, st.integers(1, 8), st.integers(2, 6), st.booleans())
def test_rare_is_lawful_and_as_defined(records, least, k, missing):
    """rare keeps what has records enough, or says that nothing has."""
    try:
        hierarchy = parse_hierarchy(f"rare:{least}").cut("c", records, k)
    except InputError:
        assert {*oracle.rare(records, least, k)[0].values()} == {"other"}
        return

    assert levels_of(lawful(hierarchy, records, missing)) == oracle.rare(records, least, k)


@examples(60)
@given(PAIRS, st.integers(1, 4), st.booleans())
def test_similar_is_lawful_and_as_defined(pairs, k, missing):
    """similar joins, again and again, the two groups that lose least of what they say of the other column."""
    expected = oracle.similar(pairs, k)
    if expected is None:
        with pytest.raises(InputError, match="needs four categories"):
            parse_hierarchy("similar:other").cut("c", pairs, k)
        return
    hierarchy = parse_hierarchy("similar:other").cut("c", pairs, k)

    assert [{frozenset(group) for group in level} for level in hierarchy.partitions] == expected
    lawful(hierarchy, [value for value, _ in pairs], missing)


@examples(60)
@given(st.lists(st.integers(-200, 200), min_size=8, max_size=60), st.integers(2, 5), st.integers(2, 6), st.booleans())
def test_quantile_is_lawful_and_as_defined(numbers, k, parts, missing):
    """quantile cuts at the roundest numbers near the quantiles, or says that there are none."""
    texts, expected = [str(number) for number in numbers], oracle.quantile_cuts(numbers, parts, k)
    if not expected:
        with pytest.raises(InputError, match="finds no cut points"):
            parse_hierarchy(f"quantile:{parts}").cut("c", texts, k)
        return
    hierarchy = parse_hierarchy(f"quantile:{parts}").cut("c", texts, k)

    assert {*hierarchy.cuts[0]} == expected
    lawful(hierarchy, texts, missing)
