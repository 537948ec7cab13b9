"""Methods with different levels in different classes: rules hold, nobody is lost, definitions agree."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.recoded import groups_of, recodable_cases, recoding
from tests.made.tables import Case, cases
from tests.oracles import recodings as oracle

from cloister.errors import NoSafeRelease
from cloister.privacy import KAnonymity
from cloister.search import optimal
from cloister.shapes.table.method.recoding.clustering import cluster, recode_locally
from cloister.shapes.table.method.recoding.mondrian import blocks, mondrian
from cloister.shapes.table.method.recoding.specialization import lower_levels, specialize
from cloister.shapes.table.method.recoding.table_recoding import Partition
from cloister.utility import LOSSES


def locally(recoded):
    """Local recoding after the optimal search."""
    return recode_locally(recoded, optimal(recoded.problem))


METHODS = {
    "local": locally,
    "mondrian": mondrian,
    "top-down": lambda recoded: recoded.settle(specialize(recoded)),
    "cluster": lambda recoded: recoded.settle(cluster(recoded)),
    "cluster, grown": lambda recoded: recoded.settle(cluster(recoded, most=0)),
    "cluster, strata": lambda recoded: recoded.settle(cluster(recoded, [0])),
}


def attempt(method, recoded):
    """The partition of a method, or None where it says that there is no safe release."""
    try:
        return method(recoded)
    except NoSafeRelease:
        return None


def labelled(ruled, recoded, partition):
    """Label vector of each record in the order of the case's columns, by the hierarchies; None where suppressed."""
    names = recoded.problem.names
    classes = partition.class_of_row[recoded.problem.row_of_record].tolist()
    rows = []
    for record, one in zip(ruled.records, classes):
        if one < 0:
            rows.append(None)
            continue
        levels = dict(zip(names, partition.levels[one].tolist()))
        hierarchies = [next(row for row in h if row[0] == value) for value, h in zip(record, ruled.hierarchies)]
        rows.append(tuple(row[levels[name]] for row, name in zip(hierarchies, ruled.names)))
    return rows


@pytest.mark.parametrize("name", METHODS)
@examples(60)
@given(ruled=recodable_cases(losses=LOSSES))
def test_every_released_class_satisfies_every_rule(name, ruled):
    """By their definitions the rules hold on classes of equal labels, which all their records bear."""
    recoded = recoding(ruled)
    partition = attempt(METHODS[name], recoded)
    if partition is None:
        return
    recoded.check(partition)
    labels = labelled(ruled.case, recoded, partition)
    records = [(label, value) for label, value in zip(labels, ruled.numbers) if label is not None]

    for _, definition in ruled.class_rules:
        assert all(definition(records, ruled.numbers, []).values())
    sizes = sorted(Counter(label for label, _ in records).values())
    assert not records or all(holds(sizes) for _, holds in ruled.table_rules)
    assert recoded.suppressed(partition) == labels.count(None)


@examples(70)
@given(ruled=recodable_cases(losses=LOSSES))
def test_local_recoding_never_loses_more(ruled):
    """The loss is at most that of the transformation alone, and what that suppressed is all that can be suppressed."""
    recoded = recoding(ruled)
    try:
        first = optimal(recoded.problem)
    except NoSafeRelease:
        return
    partition = recode_locally(recoded, first)
    if ruled.case.loss == "dm_star":  # suppression costs nothing there; such requests are refused
        return

    assert recoded.measure(partition) <= first.loss + 1e-12
    if not ruled.table_rules:
        assert recoded.suppressed(partition) <= first.suppressed


@examples(60)
@given(case=cases(losses=LOSSES))
def test_one_policy_is_a_partition_of_equal_levels(case):
    """The loss and the suppressed records of a policy are the same measured as a partition."""
    recoded = recoding(case)
    if case.loss == "dm_star":  # counts classes that are suppressed, which a partition has as one
        return
    for levels in list(recoded.problem.transformations())[:20]:
        partition = recoded.full_domain(levels, recoded.problem.kept_rows(levels))
        measured = recoded.problem.measure(levels)
        if not measured.kept:
            continue

        assert measured.suppressed == recoded.suppressed(partition)
        assert measured.loss == pytest.approx(recoded.measure(partition), abs=1e-12)


@examples(70)
@given(case=cases())
def test_losses_of_partitions_are_as_defined(case):
    """The loss of a table split by Mondrian is the mean over its records of what their labels cover."""
    case = replace(case, loss="iyengar")
    recoded = recoding(case)
    partition = attempt(mondrian, recoded)
    if partition is None:
        return
    names, lost = recoded.problem.names, Fraction(0)
    classes = partition.class_of_row[recoded.problem.row_of_record].tolist()
    for record, one in zip(case.records, classes):
        for value, name, hierarchy, weight in zip(record, case.names, case.hierarchies, case.weights):
            level = int(partition.levels[one][names.index(name)])
            label = next(row for row in hierarchy if row[0] == value)[level]
            covered = sum(row[level] == label for row in hierarchy)
            lost += Fraction(weight) * Fraction(covered - 1, max(1, len(hierarchy) - 1))
    expected = lost / len(case.records) / Fraction(sum(case.weights))

    assert float(expected) == pytest.approx(recoded.measure(partition), abs=1e-12)


def satisfies(ruled, group):
    """Whether records, by their places, make a class that satisfies the rules about classes, by their definitions."""
    records = [("class", ruled.numbers[place]) for place in group]
    return all(
        len(group) >= rule.k if definition is None else definition(records, ruled.numbers, [])["class"]
        for rule, definition in ruled.class_rules
    )


@examples(120)
@given(ruled=recodable_cases())
def test_mondrian_splits_as_defined(ruled):
    """Without rules about the table, the classes are those of the slow definition."""
    ruled = replace(ruled, table_rules=[], class_rules=ruled.class_rules or [(KAnonymity(ruled.case.k), None)])
    recoded = recoding(replace(ruled, case=replace(ruled.case, loss="iyengar")))
    names = list(recoded.problem.names)
    order = [ruled.case.names.index(name) for name in names]
    table = oracle.Table(
        [tuple(record[j] for j in order) for record in ruled.case.records],
        [ruled.case.hierarchies[j] for j in order],
        [ruled.case.weights[j] for j in order],
    )

    holds = partial(satisfies, ruled)
    partition = attempt(mondrian, recoded)
    everyone = list(range(len(ruled.case.records)))
    if not holds(everyone):
        assert partition is None
    else:
        assert {frozenset(group) for group in oracle.mondrian(table, holds)} == groups_of(recoded, partition)


@examples(80)
@given(ruled=recodable_cases(), data=st.data())
def test_labels_are_replaced_as_defined(ruled, data):
    """From any safe transformation, levels of values and released records are those of the slow definition."""
    ruled = replace(ruled, table_rules=[], class_rules=ruled.class_rules or [(KAnonymity(ruled.case.k), None)])
    recoded = recoding(replace(ruled, case=replace(ruled.case, loss="iyengar")))
    problem, order = recoded.problem, [ruled.case.names.index(name) for name in recoded.problem.names]
    hierarchies = [ruled.case.hierarchies[j] for j in order]
    start = [data.draw(st.integers(0, len(hierarchy[0]) - 1)) for hierarchy in hierarchies]
    assume(problem.is_safe(problem.measure(start)))
    records = [tuple(record[j] for j in order) for record in ruled.case.records]

    holds = partial(satisfies, ruled)
    partition = lower_levels(recoded, start)
    table = oracle.Table(records, hierarchies, [ruled.case.weights[j] for j in order])
    cut, released = oracle.lowered(table, start, holds, problem.limit)
    classes = partition.class_of_row[problem.row_of_record].tolist()

    assert released == {place for place, one in enumerate(classes) if one >= 0}
    for place in released:
        levels = [own[value] for own, value in zip(cut, records[place])]
        assert levels == partition.levels[classes[place]].tolist()


@examples(40)
@given(ruled=recodable_cases())
def test_specialization_gives_each_value_one_label(ruled):
    """All released records with a value have it at one level, so that labels of a column exclude each other."""
    recoded = recoding(ruled)
    partition = attempt(specialize, recoded)
    if partition is None:
        return
    rows = np.flatnonzero(partition.is_released)
    levels = partition.levels[partition.class_of_row[rows]]
    for j, codes in enumerate(recoded.problem.task.rows.codes[:, rows]):
        assert len(set(zip(codes.tolist(), levels[:, j].tolist()))) == np.unique(codes).size


@examples(60)
@given(ruled=recodable_cases())
def test_clusters_never_lose_more_than_mondrian(ruled):
    """Under the same rules and limit, the loss of clusters is at most that of Mondrian."""
    recoded = recoding(ruled)
    one, other = attempt(METHODS["cluster"], recoded), attempt(lambda it: it.settle(mondrian(it)), recoded)

    if other is not None and recoded.suppressed(other) <= recoded.problem.limit:
        assert recoded.suppressed(one) <= recoded.problem.limit
        assert recoded.measure(one) <= recoded.measure(other) + 1e-12


@examples(40)
@given(case=cases(), most_rows=st.integers(1, 6))
def test_blocks_hold_every_row_once(case, most_rows):
    """Blocks are a partition of the distinct rows, none larger than asked."""
    recoded = recoding(case)
    found = blocks(recoded, most_rows)

    assert list(range(recoded.n_rows)) == sorted(np.concatenate(found).tolist())
    assert max(block.size for block in found) <= most_rows


@examples(60)
@given(ruled=recodable_cases(), most_rows=st.integers(1, 8))
def test_clusters_of_small_blocks_are_safe_as_well(ruled, most_rows):
    """However small the blocks, the rules hold; with all levels allowed nothing but the impossible is suppressed."""
    rules = ruled.class_rules[:1] or [(KAnonymity(ruled.case.k), None)]
    recoded = recoding(replace(ruled, table_rules=[], class_rules=rules))
    partition = cluster(recoded, block=most_rows, most=0)
    recoded.check(partition)
    released = recoded.released(partition)
    everyone = np.zeros(recoded.n_rows, dtype=np.int64)

    if rules[0][0].is_closed:
        assert recoded.checker.holds(released.rows, released.classes, released.n_classes).all()
    if recoded.checker.holds(np.arange(recoded.n_rows), everyone, 1)[0]:
        assert recoded.suppressed(partition) == 0


@examples(40)
@given(case=cases(), data=st.data())
def test_levels_can_be_bounded(case, data):
    """No class is recoded beyond the levels allowed, below or above."""
    request = case.request()
    highest = [data.draw(st.integers(0, len(hierarchy[0]) - 1)) for hierarchy in case.hierarchies]
    lowest = [data.draw(st.integers(0, high)) for high in highest]
    bounded = {
        name: replace(request.quasi_identifiers[name], lowest=low, highest=high)
        for name, low, high in zip(case.names, lowest, highest)
    }
    recoded = recoding(case, quasi_identifiers=bounded, suppression=Decimal(1))

    for method in METHODS.values():
        partition = attempt(method, recoded)
        if partition is not None:
            recoded.check(partition)


def test_classes_that_look_alike_are_judged_together():
    """Two classes of the same labels are one in the release, and large enough together."""
    hierarchy = [("a", "x", "*"), ("b", "x", "*"), ("c", "c", "*")]
    case = Case(("c0",), [("a",)] * 2 + [("b",)] * 2 + [("c",)] * 2, [hierarchy], 3, Decimal(1), "iyengar", (1.0,))
    recoded = recoding(case)
    partition = Partition(np.arange(3), np.array([[1], [1], [1]]))
    alone = recoded.checker.holds(np.arange(3), np.arange(3), 3)
    kept = recoded.settle(partition)

    assert alone.tolist() == [False, False, False]
    assert recoded.released(partition).n_classes == 2
    assert kept.is_released.tolist() == [True, True, False]


def test_a_label_of_several_sets_counts_as_the_largest():
    """Where a label stands for two sets at the levels in use, its reader cannot tell which, and the loss says so."""
    hierarchy = [("a", "x", "x", "*"), ("b", "y", "x", "*"), ("c", "c", "z", "*")]
    case = Case(("c0",), [("a",)] * 2 + [("b",)] * 2 + [("c",)] * 2, [hierarchy], 2, Decimal(1), "iyengar", (1.0,))
    recoded = recoding(case)
    fine = Partition(np.arange(3), np.array([[1], [1], [1]]))
    mixed = Partition(np.arange(3), np.array([[1], [2], [1]]))

    assert recoded.measure(fine) == 0.0
    assert recoded.released(mixed).n_classes == 2
    assert recoded.measure(mixed) == pytest.approx(4 / 6 * 1 / 2, abs=1e-15)


@examples(80)
@given(ruled=recodable_cases(), data=st.data())
def test_some_rows_are_judged_as_the_whole_would_be(ruled, data):
    """A class is judged the same among all rows and among some of them."""
    recoded = recoding(ruled)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, recoded.n_rows - 1), min_size=1))), dtype=np.int64)
    labels = np.array([data.draw(st.integers(0, 2)) for _ in rows], dtype=np.int64)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    n_classes = int(labels.max()) + 1
    whole = np.full(recoded.n_rows, n_classes, dtype=np.int64)
    whole[rows] = labels
    n_all = n_classes + (rows.size < recoded.n_rows)
    everywhere = recoded.checker.holds(np.arange(recoded.n_rows), whole, n_all)[:n_classes]
    places = recoded.problem.row_of_record
    values = ruled.numbers
    records = [
        (int(labels[rows.tolist().index(row)]), value)
        for row, value in zip(places.tolist(), values)
        if row in rows.tolist()
    ]
    expected = [True] * n_classes
    for _, definition in ruled.class_rules:
        safe = definition(records, values, [])
        expected = [before and safe[one] for one, before in enumerate(expected)]

    assert expected == recoded.checker.holds(rows, labels, n_classes).tolist()
    assert expected == everywhere.tolist()
