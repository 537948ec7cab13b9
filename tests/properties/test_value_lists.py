"""Labels that list values: two or more that a class has, half of k at most, none of which is rare."""

from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.choices import JOINING, chosen
from tests.made.examples import examples
from tests.oracles.value_lists import label_of

import cloister as cl
from cloister.hierarchy.value_lists import read_list, write_list
from cloister.shapes.table.format.options import MONDRIAN, NESTED
from cloister.shapes.table.method.data import QuasiIdentifier

PATHS = {
    "suppress": [[region, "*"] for region in "abcde"],
    "groups": [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cde", "*"], ["d", "cde", "*"], ["e", "cde", "*"]],
}
REGIONS = st.sampled_from([None, *"aaabbbccddde"])
RECORDS = st.lists(st.tuples(REGIONS, st.sampled_from("FM")), min_size=8, max_size=40)


def regions(records, paths, k, **settings):
    """What a method chooses for regions and names."""
    frame = pl.DataFrame(records, schema={"region": pl.String, "sex": pl.String}, orient="row")
    rows = [["", *[""] * (len(paths[0]) - 2), "*"], *paths]
    region = cl.suppress() if len(paths[0]) == 2 else cl.hierarchy_rows(rows)
    return chosen(frame, {"region": QuasiIdentifier(region), "sex": QuasiIdentifier(cl.suppress())}, k, **settings)


@pytest.mark.parametrize("paths", PATHS)
@pytest.mark.parametrize("method", JOINING)
@examples(30)
@given(records=RECORDS, k=st.integers(2, 7))
def test_each_class_lists_its_values_where_it_may(method, paths, records, k):
    """By definition: the value, the list, or the label of the hierarchy; every class keeps k records."""
    choice, classes = regions(records, PATHS[paths], k, **JOINING[method]), defaultdict(list)
    kept = [n for n, is_released in enumerate(choice.is_released.tolist()) if is_released]
    for place in kept:
        classes[choice.labels.row(place)].append(records[place][0])
    occur = {region for region, _ in records}
    missing = [None] * (len(PATHS[paths][0]) - 1) + ["*"]
    rows = [row for row in [*PATHS[paths], missing] if row[0] in occur or (paths == "groups" and row[0])]

    assert all(len(members) >= k for members in classes.values())
    for (label, _), members in classes.items():
        assert label == label_of(members, [records[place][0] for place in kept], rows, k)


@examples(30)
@given(records=RECORDS, k=st.integers(4, 7))
def test_a_list_loses_no_more_than_the_label_of_a_level(records, k):
    """Of the same classes; those of Mondrian do not depend on what may be listed."""
    joined = regions(records, PATHS["groups"], k, method=MONDRIAN)
    nested = regions(records, PATHS["groups"], k, method=MONDRIAN, labels=NESTED)

    assert joined.loss <= nested.loss + 1e-12
    assert joined.is_released.tolist() == nested.is_released.tolist()
    assert not any(map(read_list, nested.labels["region"].to_list()))


@examples(100)
@given(values=st.sets(st.text(st.characters(exclude_characters="{|}")), min_size=2, max_size=5))
def test_what_was_written_is_read(values):
    """Whatever the values are called; nothing else is read as a list."""
    assert {*read_list(write_list(values))} == values
    for other in (*values, "{}", "{a}", "{a | a}", "{b | a}", "{a | b|c}", None):
        assert read_list(other) == ()
