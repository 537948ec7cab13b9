"""What follows from labels and method: never wrong, and no more than repeating the method on every original finds."""

from decimal import Decimal
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.refinement import consistent, determined

import cloister as cl
from cloister.attacks.refinement import refine
from cloister.errors import NoSafeRelease
from cloister.privacy import KAnonymity
from cloister.shapes.table.format.options import CLUSTER, FULL_DOMAIN, MONDRIAN
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.recoding.choice import choose

DOMAINS = {"codes": (("a1", "a2", "b1"), ("x", "y")), "numbers": (("0", "1", "2", "3"), ("x", "y"))}
"""Of numbers, intervals of one number each can be joined."""
BUILT = {
    "codes": (
        cl.hierarchy_rows([["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"]]),
        cl.hierarchy_rows([["x", "*"], ["y", "*"]]),
    ),
    "numbers": (cl.intervals(1, 2), cl.suppress()),
}
NAMES = ("code", "sex")
METHODS = {
    "cluster": {"method": CLUSTER},
    "strata": {"method": CLUSTER, "strata": ("sex",)},
    "mondrian": {"method": MONDRIAN},
    "local-recoding": {"method": FULL_DOMAIN, "local_recoding": True},
}


def bound(kind, release=()):
    """The hierarchies bound to all values, with the joined labels of a release."""
    found = {
        name: one.bind(name, DOMAINS[kind][j]) for j, (name, one) in enumerate(zip(NAMES, BUILT[kind], strict=True))
    }
    if kind == "numbers":
        found["code"] = BUILT[kind][0].join(found["code"], [row[0] for row in release])
    return found


@cache
def protecting(method, kind):
    """A function from records to the labels of each; None where there is no safe release."""
    request = TableRequest(
        quasi_identifiers={name: QuasiIdentifier(one) for name, one in zip(NAMES, BUILT[kind], strict=True)},
        rules=(KAnonymity(2),),
        suppression=Decimal(0),
        **METHODS[method],
    )

    @cache
    def protect(records):
        try:
            frame = pl.DataFrame(records, schema=list(NAMES), orient="row")
            return tuple(choose(encode(frame, request), request).labels.select(NAMES).rows())
        except NoSafeRelease:
            return None

    return protect


def finer(kind, hierarchy):
    """The label of a value directly below a label: of numbers its interval."""
    paths = dict(zip(hierarchy.values, zip(*hierarchy.labels, strict=True), strict=True))
    if kind == "numbers" and hierarchy.n_levels > 2:
        return lambda value, label: value if label == value else paths[value][1]
    return lambda value, label: paths[value][max(0, paths[value].index(label) - 1)]


def classes_of(release):
    """The distinct labels with their sizes, as `refine` takes them."""
    classes = sorted(set(release))
    texts = {name: sorted({row[j] for row in classes}) for j, name in enumerate(NAMES)}
    labels = {name: np.array([texts[name].index(row[j]) for row in classes]) for j, name in enumerate(NAMES)}
    return classes, np.array([release.count(row) for row in classes]), labels, texts


@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("method", METHODS)
@examples(12)
@given(data=st.data())
def test_every_deduction_holds_in_every_possible_original(method, kind, data):
    """Below a label at least two finer ones occur; determined counts are those of each original with this release."""
    domains, protect = DOMAINS[kind], protecting(method, kind)
    more = data.draw(st.lists(st.tuples(*map(st.sampled_from, domains)), min_size=1, max_size=2))
    records = [*zip(domains[0], "xyxy"), *more]
    release = protect(tuple(records))
    assume(release is not None)
    possible = consistent(release, domains, len(records), protect)
    classes, sizes, labels, texts = classes_of(release)
    hierarchies = bound(kind, release)
    levels = {name: range(hierarchies[name].n_levels) for name in NAMES}
    found = refine(sizes, labels, texts, hierarchies, levels)

    assert sorted(records) in [sorted(record for record, _ in one) for one in possible]
    by_rule = 0
    for j, name in enumerate(NAMES):
        below = finer(kind, hierarchies[name])
        follows = determined(possible, j, below)
        for place, row in enumerate(classes):
            one = {"sizes": sizes[place : place + 1], "labels": {name: labels[name][place : place + 1]}}
            alone = refine(one["sizes"], one["labels"], texts, hierarchies, levels)
            by_rule += alone.determined
            if alone.labels:
                assert all(len({below(r[j], row[j]) for r, label in o if label == row}) > 1 for o in possible)
            if alone.determined:
                assert sorted(count for _, count in follows[row]) == [1, 1]
    assert found.determined == by_rule


def test_a_class_of_two_has_a_record_at_either_end_of_joined_intervals():
    """Of ages 5 to 19 in intervals of five, two records are in the first and in the last; of three, so many less."""
    ages = cl.intervals(5, 20)
    ages = ages.join(ages.bind("age", ["7", "12", "18", "30"]), ["[5-19]"])
    found = refine(np.array([2, 3]), {"age": np.array([0, 0])}, {"age": ["[5-19]"]}, {"age": ages}, {"age": [0, 1, 2]})

    assert (found.labels, found.determined, found.records) == (2, 1, 2)
    assert found.bits == pytest.approx((np.log2(9 / 2) + np.log2(27 / 12)) / 2)


def test_a_class_of_two_under_a_label_of_two_is_one_of_each():
    """The example of a class of two: a woman and a man; of three, two of one and one of the other, not which."""
    sex = {"sex": cl.suppress().bind("sex", ["F", "M"])}
    found = refine(np.array([2, 3, 2]), {"sex": np.array([1, 1, 0])}, {"sex": ["F", "*"]}, sex, {"sex": [0, 1]})

    assert (found.labels, found.determined, found.records) == (2, 1, 2)
    assert found.bits == pytest.approx((1 + np.log2(8 / 6)) / 2)
