"""What is sampled: the same for a seed, and near the truth that a count finds."""

import numpy as np
import pytest

from cloister.errors import InputError
from cloister.kernels.classes import Cells, cells_of, classes, stand_out
from cloister.kernels.itemset_support import count_sets, item_sets, least_of, records_of_items, supports
from cloister.risk import partial_knowledge as counted
from cloister.risk import partial_knowledge as sampled_knowledge
from cloister.risk.partial_knowledge import partial_knowledge, share_of


def records(n, seed=0):
    """Sets of codes of which some are common, as offsets and items."""
    random = np.random.default_rng(seed)
    weight = 1 / np.arange(1, 41)
    sets = [
        np.unique(random.choice(40, random.integers(1, 9), p=weight / weight.sum())).astype(np.int32) for _ in range(n)
    ]
    return np.concatenate([[0], np.cumsum([s.size for s in sets])]), np.concatenate(sets)


FIELDS = ("records_unique", "records_below_k", "chance_unique", "chance_below_k", "sets_unique", "sets_below_k")


def test_intervals_hold_what_a_count_finds(monkeypatch):
    """Sets of three that are sampled, as if too many to count: 95 % of the intervals hold the share of all of them."""
    offsets, items = records(800)
    (exact,) = partial_knowledge(offsets, items, known=[3], k=5).risks
    monkeypatch.setattr(counted, "MOST_COUNTED", 0)
    monkeypatch.setattr(sampled_knowledge, "DRAWS", 400)
    monkeypatch.setattr(sampled_knowledge, "SEARCHED", 100)
    samples = [partial_knowledge(offsets, items, known=[3], k=5, seed=seed).risks[0] for seed in range(60)]

    assert exact.exact
    assert not any(sample.exact or sample.undecided for sample in samples)
    for field in FIELDS:
        true = getattr(exact, field).value
        estimates = [getattr(sample, field) for sample in samples]
        held = sum(estimate.low <= true <= estimate.high for estimate in estimates)
        assert held >= 53, field  # fewer have a chance below 1 % where 95 % are right
        assert sum(estimate.value for estimate in estimates) / 60 == pytest.approx(true, abs=0.012), field


def test_a_seed_is_all_that_chance_knows():
    """The same seed gives the same numbers, another one others; other sizes asked for change nothing."""
    offsets, items = records(400)
    one = partial_knowledge(offsets, items, known=[5], k=5, seed=1).risks[-1]

    assert one == partial_knowledge(offsets, items, known=[1, 4, 5], k=5, seed=1).risks[-1]
    assert one != partial_knowledge(offsets, items, known=[5], k=5, seed=2).risks[-1]


def test_items_may_be_pairs():
    """An item is a number: pairs of a code and an age that are numbered give what the pairs mean."""
    timelines = [{("250", 50), ("401", 51)}, {("250", 50)}, {("401", 51), ("V58", 60)}, {("250", 50), ("401", 52)}]
    number = {pair: i for i, pair in enumerate(sorted(set().union(*timelines)))}
    offsets = np.concatenate([[0], np.cumsum([len(pairs) for pairs in timelines])])
    items = np.array([i for pairs in timelines for i in sorted(number[pair] for pair in pairs)], dtype=np.int32)
    one, two = partial_knowledge(offsets, items, known=[1, 2], k=3).risks

    assert one.records_unique.value == 2 / 4  # an age of 52, a code V58
    assert two.records_unique.value == 3 / 4  # and both pairs of the first
    assert one.sets_below_k.value == 3 / 4


def test_larger_knowledge_finds_no_fewer():
    """Who knows more finds at least as many records, as far as they are counted."""
    risks = partial_knowledge(*records(500), known=[1, 2, 3], k=5).risks
    found = [(risk.records_unique.value, risk.records_below_k.value) for risk in risks]

    assert found == sorted(found)
    assert all(unique <= below for unique, below in found)


def test_wilson_s_interval_by_hand():
    """8 of 10: 0.490 to 0.943; none and all end where shares do."""
    share = share_of(8, 10)

    assert (share.value, round(share.low, 3), round(share.high, 3)) == (0.8, 0.49, 0.943)
    assert share_of(0, 10).low == 0.0
    assert share_of(10, 10).high == 1.0


@pytest.mark.parametrize(("known", "k"), [([], 5), ([0], 5), ([21], 5), ([2], 1)])
def test_settings_that_mean_nothing_are_refused(known, k):
    """Attackers know from 1 to 20 items, and k is at least 2."""
    with pytest.raises(InputError):
        partial_knowledge(*records(10), known=known, k=k)


def test_records_without_items_are_refused():
    """Nobody can know an item of a record that has none."""
    for offsets in ([0], [0, 1, 1]):
        with pytest.raises(InputError, match="no records, or one has no items"):
            partial_knowledge(np.array(offsets), np.zeros(offsets[-1], dtype=np.int32), known=[1], k=5)


def test_searches_that_are_given_up_widen_the_interval(monkeypatch):
    """Records whose most telling set was not found for want of work count at the upper end only."""
    monkeypatch.setattr(sampled_knowledge, "WORK", -1)
    sets = [[j for j in range(6) if j != left_out] for left_out in range(6)]  # two records hold any four items
    offsets = np.concatenate([[0], np.cumsum([len(items) for items in sets])])
    items = np.array([item for items in sets for item in items], dtype=np.int32)
    (risk,) = partial_knowledge(offsets, items, known=[4], k=3).risks
    share = risk.records_below_k

    assert (share.value, share.low, share.high) == (0.0, 0.0, 1.0)
    assert risk.undecided == 2 * 6  # none is alone, and none is found to be in fewer than three


def test_kernels_refuse_what_does_not_fit():
    """The wrappers check shapes and bounds before compiled code reads by them."""
    sets = item_sets(np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32))
    holders = records_of_items(sets, 2)
    refused = [
        lambda: item_sets(np.array([0, 3]), np.array([0, 1], dtype=np.int32)),
        lambda: item_sets(np.array([0, 2]), np.array([1, 1], dtype=np.int32)),
        lambda: item_sets(np.array([0, 1]), np.array([-1], dtype=np.int32)),
        lambda: count_sets(sets, 4, 5),
        lambda: count_sets(sets, 2, 0),
        lambda: supports(sets, holders, np.array([0, 1]), np.array([2], dtype=np.int32)),
        lambda: supports(sets, holders, np.array([0, 0]), np.array([], dtype=np.int32)),
        lambda: least_of(sets, holders, 1, 2, 1, 10),
        lambda: least_of(sets, holders, 2, 1, 1, 10),
        lambda: cells_of(np.array([[3]]), np.array([3])),
        lambda: cells_of(np.array([[0]]), np.array([1, 1])),
        lambda: cells_of(np.array([[0]]), np.array([1]), np.array([0])),
        lambda: classes(cells_of(np.array([[0]]), np.array([1])), np.array([1])),
        lambda: stand_out(
            Cells(np.zeros((1, 1), np.uint32), np.ones(1, np.int64), np.ones(1, np.int64)),
            np.array([0]),
            np.zeros(2, dtype=np.bool_),
            np.zeros(1, dtype=np.bool_),
        ),
    ]
    for attempt in refused:
        with pytest.raises(ValueError, match=r"must|are counted"):
            attempt()
