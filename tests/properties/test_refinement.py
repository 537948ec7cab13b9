"""What follows from labels and method: never wrong, and no more than repeating the method on every original finds."""

import math
from collections import Counter
from decimal import Decimal
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.refinement import assignments, consistent, determined, minimal_counts, refined_counts

import cloister as cl
from cloister.attacks.refinement import ShownClasses, refine, refine_columns
from cloister.errors import NoSafeRelease
from cloister.hierarchy.value_lists import list_values
from cloister.privacy import KAnonymity
from cloister.shapes.table.format.options import CLUSTER, FULL_DOMAIN, LOCAL_RECODING, MONDRIAN
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
PUBLISHED = {"strata": CLUSTER}
METHODS = {
    CLUSTER: {"method": CLUSTER},
    "strata": {"method": CLUSTER, "strata": ("sex",)},
    MONDRIAN: {"method": MONDRIAN},
    LOCAL_RECODING: {"method": FULL_DOMAIN, "local_recoding": True},
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
def protecting(method, kind, k):
    """A function from records to the labels of each; None where there is no safe release."""
    request = TableRequest(
        quasi_identifiers={name: QuasiIdentifier(one) for name, one in zip(NAMES, BUILT[kind], strict=True)},
        rules=(KAnonymity(k),),
        suppression=Decimal(0),
        **METHODS[method],
    )

    @cache
    def protect(records):
        try:
            frame = pl.DataFrame(records, schema=list(NAMES), orient="row")
            choice = choose(encode(frame, request), request)
        except NoSafeRelease:
            return None
        return tuple(choice.labels.select(NAMES).rows())

    return protect


def finer(hierarchy):
    """The label of a value directly below a label."""
    paths = dict(zip(hierarchy.values, zip(*hierarchy.labels, strict=True), strict=True))
    level = {label: at for at in reversed(range(hierarchy.n_levels)) for label in hierarchy.labels[at]}
    level |= {one.label: one.level for one in hierarchy.joined}
    return lambda value, label: paths[value][max(0, level[label] - 1)]


def n_finer(hierarchy, label):
    """How many labels are directly below a label."""
    below, covered = finer(hierarchy), hierarchy.list_covered(range(hierarchy.n_levels))[label]
    return len({below(hierarchy.values[place], label) for place in covered})


def lowest_level(hierarchy, label):
    """The lowest level of a label, which is the level of its class."""
    of_joined = [one.level for one in hierarchy.joined if one.label == label]
    return min([*of_joined, *(at for at, labels in enumerate(hierarchy.labels) if label in labels)])


def released(kind, release):
    """The labels of each class of a release, and its classes as `refine` takes them."""
    rows, hierarchies = sorted(set(release)), bound(kind, release)
    texts = {name: sorted({row[j] for row in rows}) for j, name in enumerate(NAMES)}
    labels = {name: np.array([texts[name].index(row[j]) for row in rows]) for j, name in enumerate(NAMES)}
    levels = {name: sorted({lowest_level(hierarchies[name], label) for label in texts[name]}) for name in NAMES}
    return rows, ShownClasses(np.array([release.count(row) for row in rows]), labels, texts, hierarchies, levels)


def appeared_one_by_one(rows, classes):
    """Whether two classes are in one cell of the highest levels in use, so that they are not of one transformation."""
    cells = []
    for name, labels in zip(NAMES, zip(*rows, strict=True), strict=True):
        hierarchy, levels = classes.hierarchies[name], classes.levels[name]
        covered = hierarchy.list_covered(levels)
        cells.append([hierarchy.labels[max(levels)][min(covered[label])] for label in labels])
    return len(set(zip(*cells, strict=True))) < len(rows)


def draw_records(data, kind, most):
    """Records in which all values occur."""
    domains = DOMAINS[kind]
    more = data.draw(st.lists(st.tuples(*map(st.sampled_from, domains)), min_size=1, max_size=most))
    return [*zip(domains[0], "xyxy"), *more]


@pytest.mark.parametrize(("method", "k"), [*((method, 2) for method in METHODS), (MONDRIAN, 3), (LOCAL_RECODING, 3)])
@pytest.mark.parametrize("kind", DOMAINS)
@examples(12)
@given(data=st.data())
def test_every_deduction_holds_in_every_possible_original(kind, method, k, data):
    """The rules hold, and determined counts are those of each original with this release."""
    domains, protect = DOMAINS[kind], protecting(method, kind, k)
    records = draw_records(data, kind, 2)
    release = protect(tuple(records))
    assume(release is not None)
    possible = consistent(release, domains, len(records), protect)
    rows, classes = released(kind, release)
    found = refine_columns(classes, PUBLISHED.get(method, method), k)

    assert sorted(records) in [sorted(record for record, _ in one) for one in possible]
    for j, name in enumerate(NAMES):
        below, follows = finer(classes.hierarchies[name]), determined(possible, j, finer(classes.hierarchies[name]))
        for place in np.flatnonzero(found[name].is_coarser):
            row = rows[place]
            counts = [Counter(below(r[j], row[j]) for r, label in one if label == row) for one in possible]
            assert all(len(one) > 1 for one in counts)
            assert row in follows or not found[name].is_determined[place]
            if method == MONDRIAN:
                minimal = minimal_counts(int(classes.sizes[place]), n_finer(classes.hierarchies[name], row[j]), k)
                assert {*map(in_order, counts)} <= {*map(in_order, minimal)}
            if method == LOCAL_RECODING and appeared_one_by_one(rows, classes):
                assert all(max(one.values()) < k for one in counts)


def in_order(counts):
    """The counts that occur, without their labels."""
    return tuple(sorted(filter(None, counts.values() if isinstance(counts, Counter) else counts)))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("method", [MONDRIAN, LOCAL_RECODING])
@examples(100)
@given(data=st.data())
def test_published_attacks_determine_no_more(method, kind, k, data):
    """What follows by the rule of either paper, where our methods follow it, is what follows here."""
    records = draw_records(data, kind, 6)
    release = protecting(method, kind, k)(tuple(records))
    assume(release is not None)
    rows, classes = released(kind, release)
    found, is_refined = refine_columns(classes, method, k), appeared_one_by_one(rows, classes)
    for place, row in enumerate(rows):
        n = int(classes.sizes[place])
        coarser = [(j, name) for j, name in enumerate(NAMES) if found[name].is_coarser[place]]
        n_labels = [n_finer(classes.hierarchies[name], row[j]) for j, name in coarser]
        if method == LOCAL_RECODING and is_refined:
            bounds = refined_counts(n, n_labels, k)
        else:
            counts = [zip(*minimal_counts(n, one, k), strict=True) for one in n_labels]
            bounds = [[(min(one), max(one)) for one in column] for column in counts]
        for (_, name), column in zip(coarser, bounds, strict=True):
            assert found[name].is_determined[place] or any(least < most for least, most in column)


@pytest.mark.parametrize("method", [CLUSTER, MONDRIAN, LOCAL_RECODING])
def test_a_finer_label_may_have_k_records_where_classes_did_not_appear_one_by_one(method):
    """Of three women and a man at k = 3 no class of women is made: two women and two men would be a wrong deduction."""
    release = protecting(method, "codes", 3)((*[("a1", "x")] * 3, ("a1", "y")))

    assert release == (("a1", "*"),) * 4
    assert refined_counts(4, [2], 3) == [[(2, 2), (2, 2)]]
    assert not refine(released("codes", release)[1], method, 3).determined


CELLS = {"*2": (1, 1), "*3": (1, 1, 1), "[1-2]": (1, 1), "[1-4]": (1, 2, 1), "[0-3]": (2, 2), "{a1 | a2 | b1}": (2, 1)}
"""Labels, and of each finer label how many intervals can be joined inside of it; of `*2` there are two values."""
LETTERS = ("a1", "a2", "b1", "b2")


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "shown", [["*2"], ["*3"], ["[1-4]"], ["*2", "*2"], ["*2", "*3"], ["[0-3]", "[1-2]"], ["{a1 | a2 | b1}"]]
)
@pytest.mark.parametrize("method", [CLUSTER, MONDRIAN, LOCAL_RECODING])
def test_all_columns_together_exclude_what_each_one_does(method, shown, n):
    """Of all assignments to all columns the share is the product of those of the columns, and counts vary as freely."""
    k = 2 if method == MONDRIAN and "{" not in shown[0] else (n + 3) // 2
    columns = [CELLS[label] for label in shown]
    found = refine_columns(one_class(shown, n, k), method, k)
    rules = [(method, k, label[0]) for label in shown]
    possible = [one for one in assignments(n, columns) if all(map(allowed, one, rules))]
    if not possible:  # of three listed values at least three records
        assert not any(one.is_coarser[0] for one in found.values())
        return
    counts = [{tuple(map(sum, one[j])) for one in possible} for j in range(len(columns))]

    share = len(possible) / math.prod(map(sum, columns)) ** n
    assert sum(one.bits[0] for one in found.values()) == pytest.approx(-math.log2(share))
    assert [bool(one.is_determined[0]) for one in found.values()] == [len(one) == 1 for one in counts]
    assert len({tuple(tuple(map(sum, own)) for own in one) for one in possible}) == math.prod(map(len, counts))


def allowed(labels, rule):
    """Whether intervals with so many records each, by finer label, follow the rules of a method."""
    (method, k, sign), counts, n = rule, [*map(sum, labels)], sum(map(sum, labels))
    occurring = {"[": (labels[0][0], labels[-1][-1]), "{": [one for label in labels for one in label], "*": ()}[sign]
    if max(counts) == n or not all(occurring):
        return False
    if method == LOCAL_RECODING:
        return max(counts) < k
    return method == CLUSTER or n < 2 * k or not any(k <= count <= n - k for count in counts)


def one_class(shown, n, k):
    """A class of n records with these labels, and one with a value in each column, in the same cell."""
    hierarchies = {}
    for place, label in enumerate(shown):
        if label[0] == "*":
            hierarchies[f"c{place}"] = cl.suppress().bind(f"c{place}", [*"0123456"[: int(label[1])]])
        elif label[0] == "{":
            groups = cl.hierarchy_rows([[one, one[0], "*"] for one in LETTERS]).bind(f"c{place}", LETTERS)
            hierarchies[f"c{place}"] = list_values(groups, shown, k=12, frequent=LETTERS)
        else:
            hierarchies[f"c{place}"] = cl.intervals(1, 2).join(cl.intervals(1, 2).bind(f"c{place}", [*"012345"]), shown)
    return ShownClasses(
        np.array([n, k]),
        {name: np.array([0, 1]) for name in hierarchies},
        {
            name: [label.rstrip("23") if label[0] == "*" else label, "a1" if label[0] == "{" else "0"]
            for name, label in zip(hierarchies, shown, strict=True)
        },
        hierarchies,
        {name: [0, one.n_levels - 1] for name, one in hierarchies.items()},
    )


def test_of_the_lowest_level_nothing_follows_whatever_it_covers_higher_up():
    """A level that merges nothing leaves a label as it is: at the lowest level allowed it may be one value alone."""
    rows = [["a1", "a", "a", "*"], ["a2", "a", "a", "*"], ["b1", "b", "c", "*"], ["c1", "c", "c", "*"]]
    code = {"code": cl.hierarchy_rows(rows).bind("code", ["a1", "a2", "b1", "c1"])}
    classes = ShownClasses(np.array([2, 2]), {"code": np.array([0, 1])}, {"code": ["a", "c"]}, code, {"code": [1, 2]})

    assert refine(classes, MONDRIAN, 2).labels == 0


def test_a_class_of_two_has_a_record_at_either_end_of_joined_intervals():
    """Of ages 5 to 19 in intervals of five, two records are in the first and in the last; of three, so many less."""
    ages = cl.intervals(5, 20)
    ages = {"age": ages.join(ages.bind("age", ["7", "12", "18", "30"]), ["[5-19]"])}
    classes = ShownClasses(np.array([2, 3]), {"age": np.array([0, 0])}, {"age": ["[5-19]"]}, ages, {"age": [0, 1, 2]})
    found = refine(classes, CLUSTER)

    assert (found.labels, found.determined, found.records) == (2, 1, 2)
    assert found.bits == pytest.approx((np.log2(9 / 2) + np.log2(27 / 12)) / 2)
