"""Losses never fall with the level; labels are suppressed greedily; levels and labels are chosen together."""

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_by_hand import matching_of
from tests.made.claims_risk import attacked, chooser_of, risk_plan
from tests.made.encoded_claims import claims_of, constant_power, few_claims, many_claims
from tests.made.examples import examples
from tests.oracles.claims import information_lost, plain_greedy

from cloister.hierarchy import parse_hierarchy
from cloister.kernels import claim_leeway
from cloister.kernels.claim_draws import Draws
from cloister.shapes.claims.method import joint_choice
from cloister.shapes.claims.method.adversary_draws import DrawnKnowledge
from cloister.shapes.claims.method.encode import cell_losses, distinct
from cloister.shapes.claims.method.joint_choice import RARE, DrawnLabels, JointSearch, greedy_cover, without_labels
from cloister.shapes.claims.method.matching import ReleasedClaims, information_kept, label_losses, level_losses
from cloister.shapes.claims.method.protect import WORTH_IT, choose_and_suppress, remedies
from cloister.shapes.claims.method.risk import release_risk


@pytest.mark.parametrize("name", ["entropy", "iyengar", "precision"])
@given(st.lists(st.integers(0, 40), min_size=1, max_size=30))
def test_no_loss_falls_with_the_level(name, ages):
    """From 0 at level 0, cell by cell, to at most 1 in the mean at the root: the search's bounds need it."""
    distinct = sorted(set(ages))
    bound = parse_hierarchy("interval:5,10,20").bind("age", [str(age) for age in distinct])
    texts = [str(value) for value in bound.values]
    numbers = [[sorted(set(labels)).index(label) for label in labels] for labels in bound.labels]
    levels, values = np.array(numbers, dtype=np.int32), np.array([texts.index(str(a)) for a in ages], dtype=np.int32)
    losses = cell_losses(name, bound, levels, values)

    assert (losses[0] == 0).all()
    assert (np.diff(losses, axis=0) >= 0).all()
    assert losses[:, values].mean(axis=1).max() <= 1 + 1e-12


@given(st.lists(st.integers(0, 7), min_size=1, max_size=20))
def test_entropy_is_the_share_of_the_information(values):
    """A half of four equal values loses one bit of two; any column what plain counting says."""
    levels = np.array([range(8), [v // 2 for v in range(8)], [0] * 8], dtype=np.int32)
    found = cell_losses("entropy", None, levels, np.array(values, dtype=np.int32))
    halves = cell_losses("entropy", None, np.array([range(4), [0, 0, 1, 1], [0] * 4]), np.arange(4, dtype=np.int32))

    assert halves.tolist() == [[0] * 4, [0.5] * 4, [1] * 4]
    for level in range(3):
        lost = information_lost(values, [int(levels[level, value]) for value in values])
        assert found[level, values].mean() == pytest.approx(lost)


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30), st.integers(0, 12), st.randoms())
def test_lazy_greed_takes_what_plain_greed_takes(pairs, needed, chance):
    """The label with most of the draws left for its cost, lower numbers first, counted again each time."""
    costs = [chance.choice([0.5, 1.0, 2.0, math.inf]) for _ in range(6)]
    labels, draws = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    taken = greedy_cover(DrawnLabels(labels, draws, labels[:0]), np.array(costs), needed)

    assert taken.tolist() == plain_greedy(pairs, costs, needed)


@given(st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=2, max_size=8), st.sets(st.integers(0, 3)))
def test_draws_without_labels_keep_the_others(drawn, gone):
    """Values go from their draw and column; the others stay in order."""
    pairs = drawn[: len(drawn) // 2 * 2]
    ends = np.cumsum([0, *map(len, pairs)])
    starts = np.array([ends[i : i + 3] for i in range(0, len(pairs), 2)], dtype=np.int64)
    values = np.array([value for own in pairs for value in own], dtype=np.int32)
    left = without_labels(Draws(np.arange(len(starts)), starts, values), np.isin(values, [*gone]))
    found = [left.values[a:b].tolist() for row in left.starts for a, b in pairwise(row)]

    assert found == [[value for value in own if value not in gone] for own in pairs]


@examples(30)
@given(few_claims(), st.integers(0, 2), st.integers(0, 1))
def test_labels_cost_what_their_suppression_adds(encoded, level, other):
    """Holders are counted plainly; without a label the loss is higher by its cost."""
    released, levels = ReleasedClaims.everything(encoded), (0, level, other)
    matching = matching_of(released, constant_power(encoded, 2))
    begins, holders = matching.lists(levels).begins, matching.holders(levels)
    for h, column in enumerate(encoded.claims):
        labels, costs = column.at(levels[1 + h]), label_losses(released, h, levels[1 + h])
        for label in range(len(costs)):
            gone = [np.arange(len(own.labels[levels[1 + g]])) == (label if g == h else -1)
                    for g, own in enumerate(encoded.claims)]  # fmt: skip
            assert holders[begins[h] + label] == len({*encoded.owners[labels == label].tolist()})
            less = released.without_labels(levels, gone)
            added = level_losses(less).of(levels) - level_losses(released).of(levels)
            assert added == pytest.approx(costs[label])
            assert not (less.cells[h] & (labels == label)).any()


@given(st.lists(st.integers(0, 9), max_size=30))
def test_distinct_numbers_are_those_of_a_set(numbers):
    """In order, each once."""
    assert distinct(np.array(numbers, dtype=np.int64)).tolist() == sorted(set(numbers))


@examples(30)
@given(few_claims(), st.randoms())
def test_sorted_values_are_those_of_each_patient(encoded, chance):
    """Of some claims what plain sorting gives, patient by patient; labels of any level are side by side."""
    claims = np.array([chance.random() < 0.7 for _ in range(encoded.n_claims)], dtype=np.bool_)
    for column, ordered in zip(encoded.claims, encoded.sorted_values):
        left = ordered.only(claims)
        for i, (a, b) in enumerate(pairwise(left.starts)):
            own = [row for row in range(*encoded.offsets[i : i + 2]) if claims[row] and column.values[row] >= 0]
            assert left.values[a:b].tolist() == sorted(int(ordered.numbers[column.values[row]]) for row in own)
            assert sorted(left.rows[a:b].tolist()) == own
        for labels in column.levels[:, np.argsort(ordered.numbers)]:
            assert np.count_nonzero(np.diff(labels)) == max(len(set(labels.tolist())) - 1, 0)


@examples(15)
@given(st.integers(0, 50), st.sampled_from([3, 10_000]))
def test_flag_aware_candidates_are_the_same_by_words_and_one_by_one(seed, most):
    """Cells asked by words of bits give what each patient by itself gives, also beyond a word of patients."""
    random = np.random.default_rng(seed)
    encoded = many_claims(150, mean_claims=5, seed=seed, sizes=(12, 6, 4))
    cells = random.random((3, encoded.n_claims)) < 0.75
    released = ReleasedClaims(encoded, random.random(150) < 0.9, random.random(encoded.n_claims) < 0.97, cells)
    levels, power = (3, 0, 3, 2, 1, 0, 1), constant_power(encoded, 3)
    draws = DrawnKnowledge(encoded, power, seed, released.patients, 300).repeat(0)
    found = []
    with pytest.MonkeyPatch.context() as patched:
        for dense_from in (0, 1 << 30):
            patched.setattr(claim_leeway, "DENSE_CELLS", dense_from)
            matching = matching_of(released, power)
            none = matching.sizes(levels, draws) == 0
            found.append((matching.count_tolerated(levels, draws, most=most), matching.nearest(levels, draws, none)))

    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])
    assert found[0][0].any()
    assert found[0][1].any()


@pytest.fixture(scope="module")
def hospital():
    """Three hundred patients with two columns of claims, one of four hundred codes."""
    encoded = many_claims(300, mean_claims=6, seed=3, sizes=(30, 12))
    return type(encoded)(encoded.patients[:1], encoded.claims, encoded.offsets)


def settings(**changes):
    """Settings of a small release: classes of five, levels and labels chosen together."""
    return risk_plan(
        **{"threshold": 0.2, "max_sup": None, "truncation": (100.0, 90.0), "repeats": 10, "draws": 3000, **changes}
    )


def test_what_is_chosen_together_loses_less_and_holds(hospital):
    """Hardly more than the published way loses at most; an independent simulation finds the risk under its limit."""
    power, asked = constant_power(hospital, 2), settings(most_treated=1.0, most_removed=0.5)
    choice, found, max_sup = choose_and_suppress(chooser_of(hospital, power, asked))
    one_by_one = replace(asked, risk=replace(asked.risk, max_flag_rate=0.2))
    _, published, _ = choose_and_suppress(chooser_of(hospital, power, one_by_one))
    again = DrawnKnowledge(hospital, power, 987654321, found.released.patients)
    risk = release_risk(attacked(found.released, found.levels, power, asked), again, 10)

    assert max_sup == "chosen"
    assert found.loss <= published.loss + WORTH_IT
    assert (
        max(risk.exact.flag_rate, risk.exact.mean, risk.flag_aware.mean, risk.fallback.mean, risk.nearest.mean) <= 0.2
    )
    assert choice.levels == found.levels


def test_candidates_say_what_they_cost(hospital):
    """The total is the loss of the node without its labels; common labels stay."""
    power, asked = constant_power(hospital, 2), settings()
    chooser = chooser_of(hospital, power, asked)
    joint = JointSearch(chooser)
    best, *others = joint.candidates()
    released = chooser.level(best.percentile).released
    less = released.without_labels(best.levels, best.labels)
    holders = [
        len({*hospital.owners[column.at(level) == label].tolist()})
        for column, level, gone in zip(hospital.claims, best.levels[1:], best.labels)
        for label in np.flatnonzero(gone)
    ]

    assert best.total == min(one.total for one in (best, *others))
    assert level_losses(less).of(best.levels) == pytest.approx(best.total)
    assert all(own <= RARE * 300 for own in holders)


def test_a_column_is_given_up_for_what_is_worth_more():
    """Ages that weigh 3 go where codes that weigh 4 can be kept then; no node of the lattice is fit and loses less."""
    encoded = many_claims(300, mean_claims=6, seed=6, sizes=(30, 12))
    encoded = replace(encoded, patients=(encoded.patients[0], encoded.patients[2]))
    weights = {"age": 3, "days": 1, "c0": 4, "c1": 1}
    asked = settings(truncation=(100.0,), draws=2000, weights=weights)
    joint = JointSearch(chooser_of(encoded, constant_power(encoded, 2), asked))
    best = joint.candidates()[0]
    nodes = product(*(range(low, high + 1) for low, high in joint.chooser.bounds))
    looks = [joint._look(node, 100.0) for node in nodes]
    less = [joint._confirm(one.levels, 100.0, best.total - 1e-9) for one in looks if one.total < best.total]

    assert (best.levels[0], best.levels[2]) == (4, 0)
    assert all(one is None or one.total >= best.total for one in less)


def test_a_bounded_joint_search_says_so(hospital):
    """When the budget is spent the best of those tried is taken, and the choice is not said to be complete."""
    power, asked = constant_power(hospital, 2), settings(search_nodes=12)
    joint = JointSearch(chooser_of(hospital, power, asked))

    found = joint.candidates()

    assert not joint.is_complete
    assert all(joint.choice_of(one).is_optimal is False for one in found)


def test_information_kept_is_that_of_released_cells():
    """Of two bits, halves keep one; a suppressed cell keeps none; patients left out do not count."""
    encoded = claims_of([(0,)] * 5, [[(v,)] for v in (0, 1, 2, 3, 3)], [(), ((0, 0, 1, 1),)])
    everything = ReleasedClaims.everything(encoded).without_patients(np.arange(5) == 4)
    hidden = everything.without_cells(np.array([[True, False, False, False, False]]))

    assert information_kept(everything, (0, 0)) == [1.0, 1.0]
    assert information_kept(everything, (0, 1)) == [1.0, 0.5]
    assert information_kept(hidden, (0, 1)) == [1.0, 0.375]


def test_what_would_have_to_give_is_said():
    """Hardly two share four codes of six at power 4, and a third of all one at power 1: each way by itself."""
    random = np.random.default_rng(5)
    own = [sorted(random.choice(6, 4, replace=False).tolist()) for _ in range(60)]
    encoded = claims_of([(0,)] * 60, [[(v,) for v in values] for values in own])
    asked = risk_plan(threshold=0.05, max_sup=None, draws=2000, power=4)
    (found,) = remedies(chooser_of(encoded, constant_power(encoded, 4), asked), (0, 1))
    counts = Counter(map(tuple, own))
    alike = np.array([counts[tuple(values)] for values in own])

    assert (found.column, found.labels, found.flag_rate > 0.9) == ("c0", 6, True)
    assert found.power in (1, 2)
    assert found.patients is None or found.patients >= 60 * 19 / max(alike.max() - 1, 1)
    assert f"at power {found.power}" in found.sentence(0.05)
    assert "6 labels" in found.sentence(0.05)


def test_a_look_is_by_the_first_draws(hospital):
    """The fewer draws are those with which the more begin, so that what is found by them is found again."""
    power = constant_power(hospital, 2)
    knowledge = DrawnKnowledge(hospital, power, 5)
    few, many = (knowledge.with_power(power, n).repeat(0) for n in (100, 4000))

    assert few.patients.tolist() == many.patients[:100].tolist()
    assert few.values.tolist() == many.values[: few.values.size].tolist()


@pytest.mark.parametrize("changes", [{"threads": 2}, {"patched": True}])
def test_neither_threads_nor_first_looks_change_what_is_chosen(hospital, changes, monkeypatch):
    """Looks only spare work: where each node is looked at by all draws the same one is chosen."""
    power, asked = constant_power(hospital, 2), settings(most_treated=1.0, most_removed=0.5)
    usual = JointSearch(chooser_of(hospital, power, asked)).candidates()
    if changes.pop("patched", False):
        monkeypatch.setattr(joint_choice, "LOOK", asked.risk.draws)
    other = JointSearch(chooser_of(hospital, power, asked, **changes)).candidates()

    assert (usual[0].levels, usual[0].percentile, usual[0].total) == (
        other[0].levels, other[0].percentile, other[0].total
    )  # fmt: skip
    assert all(np.array_equal(a, b) for a, b in zip(usual[0].labels, other[0].labels))


def test_flag_aware_figures_may_be_of_fewer_draws(hospital):
    """They stop where they are clear; of as many draws they are the same, and so are the paper's."""
    power = constant_power(hospital, 2)
    cells = np.random.default_rng(2).random((2, hospital.n_claims)) < 0.9
    everything = ReleasedClaims.everything(hospital).without_cells(~cells)
    levels = tuple(column.n_levels - 2 for column in hospital.columns)
    knowledge = DrawnKnowledge(hospital, power, 3, draws=2000)
    first = release_risk(attacked(everything, levels, power, settings(draws=2000)), knowledge, 1)
    limit = first.exact.flag_rate  # so near that it takes more draws
    asked = settings(threshold=max(limit, 0.01), draws=2000)
    found = release_risk(attacked(everything, levels, power, asked), knowledge, 20)

    assert found.flag_aware.draws == found.fallback.draws == found.nearest.draws <= found.exact.draws
    assert found.exact.draws == 40_000
