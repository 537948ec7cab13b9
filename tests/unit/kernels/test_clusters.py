"""Clusters and common labels: kernels find what the plain definitions find."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.recoded import recoding
from tests.made.tables import cases
from tests.oracles import recodings as oracle

from cloister.kernels.shared_labels import Clusters, common_levels, furthest, grow, join, nearest, single_clusters
from cloister.shapes.table.method.recoding.clustering import prices_of


class Rows:
    """The distinct rows of a case as kernels see them, and as lists of records for the definitions."""

    def __init__(self, case):
        case = replace(case, loss="iyengar")
        recoded = recoding(case)
        order = [case.names.index(name) for name in recoded.problem.names]
        # Of every other attribute intervals are joined: of one leaf each, in the order in which labels cover values.
        paths = [sorted(case.hierarchies[j], key=lambda row: row[::-1]) for j in order]
        reach = {
            j: {row[0]: (float(place), place + 1.0) for place, row in enumerate(rows)}
            for j, rows in enumerate(paths)
            if j % 2
        }
        # Of each second other one two values may be listed, but for the first.
        listed = {j: (2, {row[0] for row in rows[1:]}) for j, rows in enumerate(paths) if j % 4 == 0}
        self.table = oracle.Table(
            [tuple(record[j] for j in order) for record in case.records],
            [case.hierarchies[j] for j in order],
            [case.weights[j] for j in order],
            reach,
            listed,
        )
        row_of_record = recoded.problem.row_of_record
        self.groups = [np.flatnonzero(row_of_record == row).tolist() for row in range(recoded.n_rows)]
        self.task = recoded.problem.task
        self.prices = prices_of(recoded)
        for j, of_value in reach.items():
            place = self.prices.place[j] + recoded.coded[j].codes[0]
            ends = [of_value[value] for value in recoded.coded[j].values]
            self.prices.low[place], self.prices.high[place] = zip(*ends)
        for j, (most, values) in listed.items():
            place = self.prices.place[j] + recoded.coded[j].codes[0]
            self.prices.listed[j] = most
            self.prices.bit[place] = [
                1 << n if value in values else 2**64 - 1 for n, value in enumerate(recoded.coded[j].values)
            ]

    def pool(self, spare=0):
        """Every row as a cluster."""
        return single_clusters(self.task.rows, self.task.maps, self.prices, spare)


@examples(60)
@given(case=cases(), least=st.integers(1, 12))
def test_clusters_grow_as_defined(case, least):
    """The cheapest free row joins, the first of equal ones, until there are enough records; labels cover them all."""
    rows = Rows(case)
    n = len(rows.groups)
    pool, owner = rows.pool(spare=1), np.full(n, -1, dtype=np.int64)
    for field in pool:
        field[n] = field[0]
    owner[0] = n
    grow(rows.task.maps, rows.prices, pool, owner, n, least)
    expected = oracle.grown(rows.table, rows.groups[0], list(rows.groups[1:]), least)
    found = [place for row in np.flatnonzero(owner == n).tolist() for place in rows.groups[row]]

    assert sorted(expected) == sorted(found)
    assert len(expected) == pool.sizes[n]
    assert rows.table.common_levels(expected) == pool.levels[n].tolist()


@examples(50)
@given(case=cases(), data=st.data())
def test_the_furthest_row_is_the_costliest(case, data):
    """It is the free row that costs most with the one given; where none is free there is none."""
    rows = Rows(case)
    n = len(rows.groups)
    owner = np.array(data.draw(st.lists(st.sampled_from([-1, 7]), min_size=n, max_size=n)), dtype=np.int64)
    free = [rows.groups[row] for row in range(n) if owner[row] < 0]
    expected = oracle.furthest(rows.table, rows.groups[0], free)
    found = furthest(rows.task.maps, rows.prices, rows.pool(), owner, 0)

    assert expected == (None if found < 0 else rows.groups[found])


@examples(50)
@given(case=cases(), n_joined=st.integers(0, 4))
def test_the_nearest_cluster_adds_least_to_the_loss(case, n_joined):
    """Clusters are joined with the nearest, the first of equal ones, as by definition."""
    rows = Rows(case)
    groups, clusters = [list(group) for group in rows.groups], rows.pool()
    for one in range(min(n_joined, len(groups))):
        expected = oracle.nearest(rows.table, groups, one)
        found = nearest(rows.task.maps, rows.prices, clusters, one)

        assert (-1 if expected is None else expected) == found
        if found >= 0:
            join(rows.task.maps, clusters, found, one)
            clusters.sizes[one] = 0
            groups[found], groups[one] = groups[found] + groups[one], []
            assert rows.table.common_levels(groups[found]) == clusters.levels[found].tolist()
            assert len(groups[found]) == clusters.sizes[found]
        if not groups[one]:
            groups[one] = []


@examples(50)
@given(case=cases(), data=st.data())
def test_common_levels_are_the_lowest_that_are_shared(case, data):
    """Each class takes the lowest levels at which its rows agree."""
    rows = Rows(case)
    n = len(rows.groups)
    ends = sorted(data.draw(st.sets(st.integers(1, n), max_size=3)) | {n})
    start = np.array([0, *ends], dtype=np.int64)
    asked = rows.task.rows, rows.task.maps, np.arange(n), start, rows.prices.lowest
    found = common_levels(*asked)
    expected = [
        rows.table.common_levels([place for row in range(low, high) for place in rows.groups[row]])
        for low, high in zip([0, *ends], ends)
    ]

    assert expected == found.tolist()
    assert expected == common_levels(*asked, few=0).tolist()


@examples(20)
@given(case=cases(most_records=4))
def test_what_does_not_exist_is_refused(case):
    """A row, a class or a level that does not exist is an error, not a read beyond an array."""
    rows = Rows(case)
    n, maps, lowest = len(rows.groups), rows.task.maps, rows.prices.lowest
    start = np.array([0, 1], dtype=np.int64)

    with pytest.raises(ValueError, match="members must be"):
        common_levels(rows.task.rows, maps, np.array([n]), start, lowest)
    with pytest.raises(ValueError, match="none may be empty"):
        common_levels(rows.task.rows, maps, np.array([0]), np.array([0, 0, 1]), lowest)
    with pytest.raises(ValueError, match="levels must be"):
        common_levels(rows.task.rows, maps, np.array([0]), start, maps.heights)
    with pytest.raises(ValueError, match="levels must be"):
        single_clusters(rows.task.rows, maps, rows.prices._replace(lowest=maps.heights))
    with pytest.raises(ValueError, match="numbered from"):
        nearest(maps, rows.prices, rows.pool(), n)
    with pytest.raises(ValueError, match="copy it to a cluster"):
        grow(maps, rows.prices, rows.pool(), np.full(n, -1), 0, 2)
    with pytest.raises(ValueError, match="one level and one code"):
        nearest(maps, rows.prices, Clusters(*rows.pool()[:5], np.zeros(n + 1, dtype=np.int64)), 0)
