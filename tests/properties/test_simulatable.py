"""Labels that resist downcoding: nothing follows from them exactly, and the verifier asks the same questions."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.downcoding import find_determined

from cloister.shapes.table.method.recoding import simulatable
from cloister.shapes.table.method.recoding.simulatable import CodedColumns, split_simulatably
from cloister.shapes.table.verify import questions

HIERARCHIES = {
    "two": [[0, 1], [0, 0]],
    "three": [[0, 1, 2], [0, 0, 0]],
    "three in two": [[0, 1, 2], [0, 0, 1], [0, 0, 0]],
    "four": [[0, 1, 2, 3], [0, 0, 0, 0]],
    "four in two": [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]],
}
"""By name, the number of the label of each value at each level."""

SMALL = [
    *[(("two",), n, 1000) for n in (3, 4, 7, 11)],
    *[(("three",), n, 1000) for n in (5, 9, 13)],
    *[(("four",), n, 1000) for n in (9, 12)],
    *[(("four in two",), n, more) for n in (9, 12) for more in (1000, 3)],
    *[(("two", "two"), n, more) for n in (6, 9, 13, 16) for more in (1000, 4, 2)],
    *[(("two", "three"), n, more) for n in (7, 9) for more in (1000, 3)],
    (("two", "two", "two"), 8, 1000),
]
"""Columns, records, and records of a part for each of doubt: with few, parts of small tables are doubted as large."""

LARGER = [
    *[(("two", "two"), n, more) for n in (20, 24) for more in (1000, 8, 3)],
    *[(("three", "three in two"), 7, more) for more in (1000, 3)],
    *[(("two", "two", "two"), n, more) for n in (9, 11) for more in (1000, 4)],
    *[(("two", "four in two"), 9, more) for more in (1000, 4)],
]


def columns_of(names, table):
    """The rows of a table as the method takes them; what a label loses is the share of the values that it covers."""
    maps = [np.array(HIERARCHIES[name]) for name in names]
    losses = [np.array([[np.sum(level == label) - 1 for label in level] for level in one]) / 9 for one in maps]
    rows = sorted(table)
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(names)).T
    lowest, highest = np.zeros(len(names), dtype=np.int64), np.array([len(one) - 1 for one in maps])
    records = np.array([table[row] for row in rows], dtype=np.int64)
    return rows, maps, losses, CodedColumns(codes, records, maps, losses, lowest, highest)


def protecting(names, k):
    """A function from a table to its rows with the labels of their classes."""

    def protect(table):
        rows, maps, _, columns = columns_of(names, table)
        found = []
        for part in split_simulatably(columns, k):
            own = [rows[place] for place in part.rows]
            levels = list(enumerate(part.levels))
            shown = tuple((level, int(maps[column][level][own[0][column]])) for column, level in levels)
            found += [(row, shown, table[row]) for row in own]
        return found

    return protect


def determined(names, n, k):
    """What follows exactly from releases of all tables of this size."""
    maps = [HIERARCHIES[name] for name in names]
    return find_determined([len(one[0]) for one in maps], n, maps, protecting(names, k))


@pytest.mark.parametrize(("names", "n", "more"), SMALL)
def test_nothing_follows_exactly_from_the_release_of_any_small_table(names, n, more, monkeypatch):
    """Of every class and coarser label, two distributions of finer ones are possible: all tables were tried."""
    monkeypatch.setattr(simulatable, "RECORDS_PER_DOUBT", more)
    n_tables, n_pairs, found = determined(names, n, 3)

    assert found == []
    assert n_tables == n_possible(names, n)
    assert n_pairs


@pytest.mark.full
@pytest.mark.parametrize(("names", "n", "more"), LARGER)
def test_nothing_follows_exactly_from_the_release_of_any_larger_table(names, n, more, monkeypatch):
    """The same of tables with several parts in a region, where a question is asked again."""
    monkeypatch.setattr(simulatable, "RECORDS_PER_DOUBT", more)
    for k in (3, 4):
        assert determined(names, n, k)[2] == []


def n_possible(names, n):
    """How many tables of this size there are."""
    n_cells = math.prod(len(HIERARCHIES[name][0]) for name in names)
    return math.comb(n + n_cells - 1, n)


def test_every_run_tries_more_than_ten_thousand_tables():
    """The tables of the sizes above, each counted once, though some are tried again with more doubt."""
    assert sum(n_possible(names, n) for names, n, more in SMALL if more == 1000) > 10_000


def _all_frequent(counts, threshold):
    """Every frequent label apart, however few records remain."""
    return (counts >= threshold) & (counts[counts < threshold].sum() != 1)


@pytest.mark.parametrize(("k", "choose"), [(2, simulatable.choose_apart), (3, _all_frequent)])
def test_the_enumeration_finds_what_a_careless_method_gives_away(k, choose, monkeypatch):
    """With classes of two, or with every frequent label apart whatever remains, some counts follow exactly."""
    monkeypatch.setattr(simulatable, "choose_apart", choose)
    found = [determined((name,), n, k)[2] for name in ("two", "three") for n in range(2, 8)]

    assert sum(map(len, found)) > 0


@given(
    names=st.lists(st.sampled_from(sorted(HIERARCHIES)), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
    k=st.integers(3, 6),
    more=st.sampled_from([1000, 20, 5]),
)
@examples(400)
def test_the_verifier_asks_the_same_questions(names, seed, k, more):
    """Both programs find the same classes, in whatever order the verifier reads the rows."""
    draw = np.random.default_rng(seed)
    size = [len(HIERARCHIES[name][0]) for name in names]
    counts = draw.poisson(draw.gamma(0.6, 6, np.prod(size)))
    table = Counter({cell: int(n) for cell, n in zip(np.ndindex(*size), counts, strict=True) if n})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulatable, "RECORDS_PER_DOUBT", more)
        patch.setattr(questions, "SHARE_OF_DOUBT", more)
        found = Counter()
        for _, shown, n in protecting(names, k)(table):
            found[shown] += n
        rows, maps, losses, _ = columns_of(names, table)
        shuffled = [(row, table[row]) for row in rows]
        random.Random(seed).shuffle(shuffled)
        groups = questions.split(shuffled, [labels_of(*one) for one in zip(maps, losses, strict=True)], k)
        expected = Counter()
        for group in groups:
            row = group.rows[0][0]
            levels = enumerate(zip(maps, group.levels, strict=True))
            shown = tuple((level, int(one[level][row[column]])) for column, (one, level) in levels)
            expected[shown] += group.n

    assert found == expected


def labels_of(levels, losses):
    """The labels of a column as the verifier takes them; a label is its level and its number there."""
    named = [{value: (level, int(label)) for value, label in enumerate(one)} for level, one in enumerate(levels)]
    places = [{label: place for place, label in enumerate(dict.fromkeys(one.values()))} for one in named]
    lost = [{one[value]: float(loss) for value, loss in enumerate(own)} for one, own in zip(named, losses, strict=True)]
    return questions.ColumnLabels(named, places, lost, 0, len(levels) - 1)
