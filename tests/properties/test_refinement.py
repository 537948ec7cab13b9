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

DOMAINS = (("a1", "a2", "b1"), ("x", "y"))
ROWS = ([["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"]], [["x", "*"], ["y", "*"]])
NAMES = ("code", "sex")
METHODS = {
    "cluster": {"method": CLUSTER},
    "strata": {"method": CLUSTER, "strata": ("sex",)},
    "mondrian": {"method": MONDRIAN},
    "local-recoding": {"method": FULL_DOMAIN, "local_recoding": True},
}


def hierarchies():
    """The hierarchies, and bound to their values."""
    made = {name: cl.hierarchy_rows(rows) for name, rows in zip(NAMES, ROWS, strict=True)}
    return made, {name: one.bind(name, DOMAINS[j]) for j, (name, one) in enumerate(made.items())}


@cache
def protecting(method):
    """A function from records to the labels of each; None where there is no safe release."""
    made, _ = hierarchies()
    request = TableRequest(
        quasi_identifiers={name: QuasiIdentifier(one) for name, one in made.items()},
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


def finer(column):
    """The label of a value directly below a label."""
    paths = {row[0]: row for row in ROWS[column]}
    return lambda value, label: paths[value][max(0, paths[value].index(label) - 1)]


def classes_of(release):
    """The distinct labels with their sizes, as `refine` takes them."""
    classes = sorted(set(release))
    texts = {name: sorted({row[j] for row in classes}) for j, name in enumerate(NAMES)}
    labels = {name: np.array([texts[name].index(row[j]) for row in classes]) for j, name in enumerate(NAMES)}
    return classes, np.array([release.count(row) for row in classes]), labels, texts


@pytest.mark.parametrize("method", METHODS)
@examples(12)
@given(records=st.lists(st.tuples(*map(st.sampled_from, DOMAINS)), min_size=1, max_size=2))
def test_every_deduction_holds_in_every_possible_original(method, records):
    """Below a label at least two finer ones occur; determined counts are those of each original with this release."""
    records = [("a1", "x"), ("a2", "y"), ("b1", "x"), *records]
    assume(all({row[j] for row in records} == set(domain) for j, domain in enumerate(DOMAINS)))
    protect = protecting(method)
    release = protect(tuple(records))
    assume(release is not None)
    possible = consistent(release, DOMAINS, len(records), protect)
    classes, sizes, labels, texts = classes_of(release)
    _, bound = hierarchies()
    levels = {name: range(bound[name].n_levels) for name in NAMES}
    found = refine(sizes, labels, texts, bound, levels)

    assert sorted(records) in [sorted(record for record, _ in one) for one in possible]
    by_rule = 0
    for j, name in enumerate(NAMES):
        follows = determined(possible, j, finer(j))
        for place, row in enumerate(classes):
            one = {"sizes": sizes[place : place + 1], "labels": {name: labels[name][place : place + 1]}}
            alone = refine(one["sizes"], one["labels"], texts, bound, levels)
            by_rule += alone.determined
            if alone.labels:
                below = finer(j)
                assert all(len({below(r[j], row[j]) for r, label in o if label == row}) > 1 for o in possible)
            if alone.determined:
                assert sorted(count for _, count in follows[row]) == [1, 1]
    assert found.determined == by_rule


def test_a_class_of_two_under_a_label_of_two_is_one_of_each():
    """The example of a class of two: a woman and a man; of three, two of one and one of the other, not which."""
    sex = {"sex": cl.suppress().bind("sex", ["F", "M"])}
    found = refine(np.array([2, 3, 2]), {"sex": np.array([1, 1, 0])}, {"sex": ["F", "*"]}, sex, {"sex": [0, 1]})

    assert (found.labels, found.determined, found.records) == (2, 1, 2)
    assert found.bits == pytest.approx((1 + np.log2(8 / 6)) / 2)
