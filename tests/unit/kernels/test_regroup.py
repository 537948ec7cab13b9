"""Local search over classes: what the kernel finds is what the plain definition finds, and never loses more."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import Case, cases
from tests.oracles import regrouping
from tests.unit.kernels.test_clusters import Rows

from cloister.kernels import layout as distinct
from cloister.kernels import regroup
from cloister.kernels.regroup import regroup_classes


def begun(rows, least):
    """Classes of consecutive rows, each with enough records; None if all records together are too few."""
    class_of, size = [], 0
    for group in rows.groups:
        class_of.append(class_of[-1] if class_of and size < least else (class_of[-1] + 1 if class_of else 0))
        size = size + len(group) if size < least else len(group)
    if size < least:
        class_of = [min(number, max(class_of) - 1) for number in class_of]
    return None if min(class_of) < 0 else np.array(class_of, dtype=np.int64)


@examples(80)
@given(case=cases(), least=st.integers(1, 6))
def test_classes_are_those_of_the_definition(case, least):
    """Dissolving, splitting and regrouping end with the same classes; all have enough records, none loses more."""
    rows = Rows(case)
    class_of = begun(rows, least)
    if class_of is None:
        return
    found = regroup_classes(rows.task.rows, rows.task.maps, rows.prices, class_of, least)
    search = regrouping.Search(rows.table, rows.groups, class_of.tolist(), least)
    before = sum(map(search.loss, search.classes.values()))
    expected = search.improve()
    classes = {frozenset(np.flatnonzero(found == number).tolist()) for number in range(int(found.max()) + 1)}

    assert min(map(search.size, classes)) >= least
    assert sum(map(search.loss, classes)) <= before + 1e-9
    assert classes == expected


def larger(seed, least, weights):
    """60 records of nine values in each of three columns: losses are eighths, so that sums are exact in any order."""
    values = [f"{first}{second}" for first in range(3) for second in range(3)]
    tree = [(value, value[:1] + "*", "**") for value in values]
    records = [tuple(values[v] for v in row) for row in np.random.default_rng(seed).integers(0, 9, (60, 3)).tolist()]
    return Rows(Case(("a", "b", "c"), records, [tree] * 3, least, Decimal(0), "iyengar", weights))


@pytest.mark.parametrize("seed", range(8))
def test_numbers_of_classes_mean_nothing(seed):
    """Classes numbered otherwise at the beginning, as by rows of a file in another order, end the same."""
    rows = larger(seed, 3, (1.0, 1.0, 1.0))  # equal weights: many classes cost the same
    class_of = begun(rows, 3)
    numbers = np.random.default_rng(seed).permutation(class_of.size)
    first, other = (
        regroup_classes(rows.task.rows, rows.task.maps, rows.prices, one, 3) for one in (class_of, numbers[class_of])
    )

    assert first.tolist() == other.tolist()


@pytest.mark.parametrize(("seed", "least"), list(enumerate([2, 3, 5, 2, 3, 5])))
def test_classes_of_larger_tables_are_those_of_the_definition(seed, least):
    """Of 60 records of nine values by three columns, many classes change, as defined."""
    rows = larger(seed, least, (1.0, 2.0, 1.0))
    class_of = begun(rows, least)
    search = regrouping.Search(rows.table, rows.groups, class_of.tolist(), least)
    before = {frozenset(members) for members in search.classes.values()}
    found = regroup_classes(rows.task.rows, rows.task.maps, rows.prices, class_of, least)
    classes = {frozenset(np.flatnonzero(found == number).tolist()) for number in range(int(found.max()) + 1)}

    assert classes == search.improve()
    assert len(classes - before) > len(before) / 4


def test_the_definition_has_the_same_bounds():
    """Kernel and definition try as many neighbours, starts, rows and passes."""
    assert (regroup.NEIGHBOURS, regroup.STARTS, regroup.MOST_ROWS, regroup.PASSES, regroup.LESS) == (
        regrouping.NEIGHBOURS, regrouping.STARTS, regrouping.MOST_ROWS, regrouping.PASSES, regrouping.LESS
    )  # fmt: skip


def test_wrong_classes_are_refused():
    """A class number for each row is needed."""
    with pytest.raises(ValueError, match="number of a class for each row"):
        regroup_classes(distinct.Rows(np.zeros((1, 1), dtype=np.uint32), np.ones(1)), None, None, np.zeros(3), 2)
