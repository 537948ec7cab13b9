"""Laws of risk: what is counted fast is what the definitions say."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import risk as oracle

from cloister.kernels import itemset_support
from cloister.kernels.classes import cells_of, stand_out
from cloister.kernels.itemset_support import item_sets, least_of, records_of_items, supports
from cloister.risk import uniqueness_interval
from cloister.risk.assessment import assess_table
from cloister.risk.partial_knowledge import partial_knowledge
from cloister.risk.prosecutor import group
from cloister.risk.special_uniques import find_special_uniques

CELLS = st.sampled_from(["a", "b", "c", None])


@pytest.fixture(scope="module", autouse=True)
def few_resamples():
    """Of hundreds of tables the interval of each may be from few resamples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uniqueness_interval, "RESAMPLES", 4)
        yield


TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=25).map(lambda rows: (width, rows))
)
RECORDS = st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=6), min_size=1, max_size=20)


def frame_of(width, rows):
    """A table of text."""
    return pl.DataFrame(rows, schema={f"c{j}": pl.String for j in range(width)}, orient="row")


def lists_of(records):
    """Offsets and items of sets of numbers."""
    offsets = np.concatenate([[0], np.cumsum([len(record) for record in records])])
    return offsets, np.array([item for record in records for item in sorted(record)], dtype=np.int32)


@examples(150)
@given(TABLES, st.integers(1, 5), st.integers(1, 3))
def test_special_uniques_are_those_of_enumeration(table, largest, threads):
    """Minimal sample uniques, scores, contributions and separations, whatever the threads."""
    width, rows = table
    largest = min(largest, width)
    frame = frame_of(width, rows)
    found = find_special_uniques(group(frame, frame.columns), largest, threads)
    expected = oracle.minimal_uniques(rows, width, largest)
    scores = oracle.suda_scores(rows, width, largest)

    assert found.by_size == tuple(
        sum(len(alone) for columns, alone in expected.items() if len(columns) == size) for size in range(1, largest + 1)
    )
    assert found.scores.tolist() == scores
    assert found.records == sum(score > 0 for score in scores)
    for told in found.separations:
        columns = [int(name[1:]) for name in told.columns]
        classes, apart = oracle.separation(rows, columns)
        assert told.classes == classes
        assert told.distinction == pytest.approx(classes / len(rows), abs=1e-12)
        assert told.separation == pytest.approx(float(apart), abs=1e-12)
        assert told.uniques == len(oracle.unique_rows(rows, columns))


@examples(100)
@given(TABLES, st.data())
def test_standing_out_ignores_what_is_covered(table, data):
    """Rows that part of the columns makes unique change nothing: the counts are those of all rows."""
    width, rows = table
    values = {"a": 0, "b": 1, "c": 2, None: 3}
    wide = data.draw(st.sampled_from([4, 2**31]))  # addressed directly, or hashed
    cells = cells_of(np.array([[values[row[j]] for row in rows] for j in range(width)]), np.full(width, wide))
    covered = np.array([i in oracle.unique_rows(rows, [0]) for i in range(len(rows))])
    alone = np.empty_like(covered)
    every = np.arange(width)
    found = stand_out(cells, every, covered, alone)

    assert set(np.flatnonzero(covered | alone)) == oracle.unique_rows(rows, range(width))
    assert not (covered & alone).any()
    assert found.n_classes == len(set(rows))
    assert found.pairs == sum(rows.count(row) * (rows.count(row) - 1) // 2 for row in set(rows))


@examples(100)
@given(RECORDS, st.integers(1, 3), st.integers(2, 4))
def test_counted_knowledge_is_that_of_enumeration(records, m, k):
    """Up to three items every share is exact."""
    offsets, items = lists_of(records)
    (risk,) = partial_knowledge(offsets, items, known=[m], k=k).risks
    fields = ("records_unique", "records_below_k", "chance_unique", "chance_below_k", "sets_unique", "sets_below_k")
    found = [getattr(risk, field) for field in fields]

    assert risk.exact
    for share, expected in zip(found, oracle.knowledge(records, m, k), strict=True):
        assert (share is None) == (expected is None)
        if share is not None:
            assert share.value == pytest.approx(float(expected), abs=1e-12)
            assert share.low == share.value == share.high


@examples(60)
@given(RECORDS, st.integers(4, 6), st.integers(2, 4))
def test_the_most_telling_set_is_found_for_every_record_of_few(records, m, k):
    """Where all records left can be searched, the share found is exact for more than three items, too."""
    offsets, items = lists_of(records)
    (risk,) = partial_knowledge(offsets, items, known=[m], k=k).risks
    expected = oracle.knowledge(records, m, k)

    assert not risk.exact
    assert risk.undecided == 0
    for share, true in zip((risk.records_unique, risk.records_below_k), expected[:2], strict=True):
        assert share.low == share.value == share.high == pytest.approx(float(true), abs=1e-12)


@examples(60)
@given(RECORDS, st.integers(2, 3), st.integers(1, 30))
def test_sets_are_counted_alike_in_parts_of_any_size(records, m, at_once):
    """How many sets stand in one table changes nothing."""
    sets = item_sets(*lists_of(records))
    whole = itemset_support.count_sets(sets, m, 3)
    before, itemset_support.AT_ONCE = itemset_support.AT_ONCE, at_once
    try:
        parts = itemset_support.count_sets(sets, m, 3)
    finally:
        itemset_support.AT_ONCE = before

    for one, other in zip(whole, parts, strict=True):
        assert one.tolist() == other.tolist()


@examples(60)
@given(RECORDS, st.data())
def test_records_that_hold_a_set_are_counted(records, data):
    """The support of any set, and of the rarest set of a record."""
    sets = item_sets(*lists_of(records))
    holders = records_of_items(sets, 8)
    wanted = data.draw(st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=1, max_size=5))
    offsets, items = lists_of(wanted)

    assert supports(sets, holders, offsets, items).tolist() == [sum(w <= r for r in records) for w in wanted]
    row = data.draw(st.integers(0, len(records) - 1))
    size = data.draw(st.integers(1, len(records[row])))
    rarest = min(sum(set(part) <= other for other in records) for part in combinations(records[row], size))
    assert least_of(sets, holders, row, size, 0, 10**6) == (rarest, True)
    given_up = least_of(sets, holders, row, size, 0, -1)
    assert given_up.records >= rarest


@examples(100)
@given(TABLES, st.data(), st.sampled_from([0.2, 0.09, 0.5]))
def test_risk_against_a_population_is_that_of_enumeration(table, data, threshold):
    """Journalist, marketer and population uniques, counted in a table of all people."""
    width, rows = table
    others = data.draw(st.lists(st.tuples(*[CELLS] * width), max_size=25))
    frame = frame_of(width, rows)
    people = frame_of(width, [*others, *rows])
    found = assess_table(frame, frame, frame.columns, threshold=threshold, people=people).population
    highest, average, above, marketer, alone = oracle.class_risks(rows, [*rows, *others], Fraction(str(threshold)))

    assert found.highest == pytest.approx(float(highest), abs=1e-12)
    assert found.average == pytest.approx(float(average), abs=1e-12)
    assert found.share_above_threshold == pytest.approx(float(above), abs=1e-12)
    assert found.marketer == pytest.approx(float(marketer), abs=1e-12)
    assert found.uniques == {"counted": pytest.approx(float(alone), abs=1e-12)}
    assert found.people == len(rows) + len(others)


@examples(60)
@given(TABLES)
def test_the_whole_population_as_a_sample_is_the_prosecutor(table):
    """Who samples everybody, or compares with the sample itself, has the risks of a prosecutor."""
    width, rows = table
    frame = frame_of(width, rows)
    for whole in ({"people": frame}, {"fraction": 1.0}):
        found = assess_table(frame, frame, frame.columns, threshold=0.3, **whole)
        assert found.population.highest == pytest.approx(found.prosecutor.highest, abs=1e-12)
        assert found.population.average == pytest.approx(found.prosecutor.average, abs=1e-12)
        assert found.population.share_above_threshold == pytest.approx(found.prosecutor.share_above_threshold)
        chosen = found.population.uniques[found.population.chosen]
        assert chosen == pytest.approx(found.sample_uniques / len(rows), abs=1e-12)


@examples(150)
@given(TABLES, st.floats(0.001, 1.0), st.sampled_from([1, 1, 2, 3]))
def test_estimates_of_any_sample_stay_in_bounds(table, fraction, copies):
    """Whatever the classes, also without uniques: a population is no riskier than its sample."""
    width, rows = table
    frame = frame_of(width, rows * copies)
    found = assess_table(frame, frame, frame.columns, threshold=0.2, fraction=fraction)
    told, sample = found.population, found.prosecutor

    assert 0 < told.average <= told.highest <= sample.highest + 1e-9
    assert told.average <= sample.average + 1e-9
    assert 0 <= told.share_above_threshold <= sample.share_above_threshold
    assert all(0 <= share <= found.sample_uniques / found.n_records for share in told.uniques.values())
    assert told.chosen in told.uniques
    assert told.interval.estimates == told.uniques
    assert 0 <= told.interval.lower <= min(told.uniques.values())
    assert max(told.uniques.values()) <= told.interval.upper <= found.sample_uniques / found.n_records
