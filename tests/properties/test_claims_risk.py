"""The risk of a node is what trying every sample says."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_by_hand import every_draw, matching_of, plain
from tests.made.encoded_claims import claims_of, constant_power, few_claims, many_claims
from tests.oracles.claims import exact_flag_aware_risk, exact_risk

from cloister.shapes.claims.method.adversary_draws import REPEAT, DrawnKnowledge
from cloister.shapes.claims.method.matching import ReleasedClaims
from cloister.shapes.claims.method.risk import Basis, NodeRisk, risk_of


@st.composite
def releases(draw):
    """A few patients, of whom some claims, cells or whole records are not released."""
    encoded = draw(few_claims())
    rows = draw(st.lists(st.booleans(), min_size=encoded.n_claims, max_size=encoded.n_claims))
    size = 2 * encoded.n_claims
    cells = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    gone = draw(st.sets(st.integers(0, encoded.n_patients - 1), max_size=1))
    people = np.array([i not in gone for i in range(encoded.n_patients)])
    shown = np.array(cells, dtype=np.int64).reshape(2, -1) > 0
    return ReleasedClaims(encoded, people, np.array(rows, dtype=np.bool_), shown)


@st.composite
def powers(draw, encoded):
    """A number of values known, for each patient and column."""
    size = encoded.n_patients * len(encoded.claims)
    return np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), dtype=np.int32).reshape(-1, 2)


def nodes_of(encoded):
    """All nodes."""
    return list(product(*(range(column.n_levels) for column in encoded.columns)))


@given(st.data())
def test_every_draw_has_the_class_of_the_oracle(data):
    """For every sample and node: whether it is missed, how many fit, and how many fit if flags are believed."""
    released = data.draw(releases())
    power = data.draw(powers(released.encoded))
    draws, plainly = every_draw(released, power)
    matching = matching_of(released, power)
    for levels in nodes_of(released.encoded):
        tables = plain(released, levels)
        wanted = [tables.labels(i, sample) for i, sample in plainly]
        held = [tables.holds(i, need) for (i, _), need in zip(plainly, wanted)]
        sizes = [tables.class_size(i, need) for (i, _), need in zip(plainly, wanted)]
        flag_aware = [tables.flag_aware_size(i, need) for (i, _), need in zip(plainly, wanted)]

        assert held == matching.mark_contained(levels, draws).tolist()
        assert sizes == matching.sizes(levels, draws).tolist()
        assert [min(2, size) for size in sizes] == matching.sizes(levels, draws, most=2).tolist()
        assert flag_aware == (matching.sizes(levels, draws) + matching.count_tolerated(levels, draws)).tolist()


@given(st.data())
def test_figures_over_all_draws_are_the_exact_risk(data):
    """Averaged over all samples, by both bases, flag rate and mean risk are those of the oracle."""
    released = data.draw(releases())
    power = data.draw(powers(released.encoded))
    draws, plainly = every_draw(released, power)
    if not plainly:
        return
    people = int(released.patients.sum())
    share = np.bincount(draws.patients, minlength=released.encoded.n_patients)[draws.patients]
    weights = 1.0 / (share * people)
    knowledge = DrawnKnowledge(released.encoded, power, 0, released.patients)
    raw = plain(released, [0, 0, 0])
    for basis in Basis:
        risk = NodeRisk(matching_of(released, power), knowledge, 2, basis)
        for levels in nodes_of(released.encoded):
            sizes = risk.class_sizes(levels, draws)
            flag, mean, missed = exact_risk(
                plain(released, levels), power.tolist(), 2, raw if basis is Basis.RAW else None
            )

            assert float(flag) == pytest.approx(float(weights @ ((sizes > 0) & (sizes < 2))))
            assert float(mean) == pytest.approx(float(weights @ risk_of(sizes)))
            assert float(missed) == pytest.approx(float(weights @ (sizes == 0)))


@given(st.data())
def test_the_flag_aware_risk_is_exact(data):
    """Over all samples, the risk of the adversary who believes flags is that of the oracle, and nothing is a miss."""
    released = data.draw(releases())
    power = data.draw(powers(released.encoded))
    draws, plainly = every_draw(released, power)
    matching = matching_of(released, power)
    if plainly:
        share = np.bincount(draws.patients, minlength=released.encoded.n_patients)[draws.patients]
        weights = 1.0 / (share * int(released.patients.sum()))
        sizes = matching.sizes([0, 1, 0], draws) + matching.count_tolerated([0, 1, 0], draws)

        assert sizes.min() >= 1
        assert float(exact_flag_aware_risk(plain(released, [0, 1, 0]), power.tolist())) == pytest.approx(
            float(weights @ risk_of(sizes))
        )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_simulation_is_within_three_standard_errors(seed):
    """On six patients, 30,000 draws estimate what trying every sample says."""
    encoded = many_claims(6, mean_claims=3, seed=seed, sizes=(4, 3))
    rows = np.random.default_rng(seed).random(encoded.n_claims) < 0.8
    released = ReleasedClaims.everything(encoded).without_claims(~rows)
    power = constant_power(encoded, 2)
    levels = [4, 1, 3, 2, 1, 1]
    risk = NodeRisk(matching_of(released, power), DrawnKnowledge(encoded, power, seed), 3)
    figures = risk.figures(levels, 3)
    flag, mean, missed = map(float, exact_risk(plain(released, levels), power.tolist(), 3))
    error = figures.draws**-0.5

    assert figures.draws == 3 * REPEAT
    assert flag == pytest.approx(figures.flag_rate, abs=3 * error * (flag * (1 - flag)) ** 0.5)
    assert missed == pytest.approx(figures.missed / figures.draws, abs=3 * error * (missed * (1 - missed)) ** 0.5)
    assert mean == pytest.approx(figures.mean, abs=3 * error * figures.deviation)


def test_a_multiset_is_not_a_set():
    """(AMI, AMI) is not contained in (AMI): a patient with one of them does not fit."""
    ami, stroke = 0, 1
    encoded = claims_of([(0,), (0,)], [[(ami,), (ami,)], [(ami,), (stroke,)]])
    released = ReleasedClaims.everything(encoded)
    power = constant_power(encoded, 2)
    draws, _ = every_draw(released, power)

    assert matching_of(released, power).sizes([0, 0], draws).tolist() == [1, 1]
    assert matching_of(released, power).sizes([0, 1], draws).tolist() == [2, 2]


@given(st.data())
def test_on_raw_values_a_coarser_node_flags_no_more(data):
    """With misses decided on base values, draw by draw, a class only grows from a node to a coarser one."""
    released = data.draw(releases())
    power = data.draw(powers(released.encoded))
    draws, _ = every_draw(released, power)
    risk = NodeRisk(matching_of(released, power), DrawnKnowledge(released.encoded, power, 0), 2, Basis.RAW)
    for levels in nodes_of(released.encoded):
        sizes = risk.class_sizes(levels, draws)
        for j, column in enumerate(released.encoded.columns):
            if levels[j] + 1 < column.n_levels:
                above = [*levels[:j], levels[j] + 1, *levels[j + 1 :]]
                assert bool(np.all(sizes <= risk.class_sizes(above, draws)))


def test_merging_codes_turns_a_miss_into_a_match():
    """One patient with AMI, STROKE and UTI, truncated to AMI: merging AMI and STROKE doubles the flag rate by nodes.

    The paper decides on the values of the node whether a sample is missed, so coarser can be worse: 1/3 becomes 2/3.
    Decided on base values it stays 1/3, and a search may trust that coarser is no worse.
    """
    encoded = claims_of([(0,)], [[(0,), (1,), (2,)]], [(), ((0, 0, 1),)])
    released = ReleasedClaims.everything(encoded).without_claims(np.array([False, True, True]))
    power = constant_power(encoded, 1)
    draws, _ = every_draw(released, power)
    rates = {}
    for basis in Basis:
        risk = NodeRisk(matching_of(released, power), DrawnKnowledge(encoded, power, 0), 2, basis)
        sizes = [risk.class_sizes([0, level], draws) for level in (0, 1)]
        rates[basis] = [int(((size > 0) & (size < 2)).sum()) for size in sizes]

    assert rates[Basis.NODE] == [1, 2]
    assert rates[Basis.RAW] == [1, 1]


def test_threads_make_no_difference():
    """Figures are the same bits on one thread and on three."""
    encoded = many_claims(500, mean_claims=8)
    power = constant_power(encoded, 3)
    released = ReleasedClaims.everything(encoded).without_claims(np.arange(encoded.n_claims) % 7 == 0)
    levels = [2, 0, 1, 1, 2, 1, 1, 1, 2, 2]
    figures = [
        NodeRisk(matching_of(released, power, threads), DrawnKnowledge(encoded, power, 7), 20).figures(levels, 2)
        for threads in (1, 3)
    ]

    assert figures[0] == figures[1]


def test_stopping_early_agrees_with_counting_on(monkeypatch):
    """Hundreds of draws settle nodes far from the limit, and settle them as all draws do."""
    encoded = many_claims(2000, mean_claims=10)
    power = constant_power(encoded, 3)
    risk, plain = (
        NodeRisk(matching_of(ReleasedClaims.everything(encoded), power), DrawnKnowledge(encoded, power, 3), 20)
        for _ in range(2)
    )
    count, ends = risk.matching.sizes, []
    monkeypatch.setattr(risk.matching, "sizes", lambda *given: (ends.append(given[3][1]), count(*given))[1])
    for levels, far in [([0] * 10, False), ([4, 1, 3, 2, *[3] * 6], True), ([4, 1, 3, 2, *[2] * 6], True)]:
        is_candidate, figures = risk.is_candidate(levels, 0.05), plain.figures(levels)

        assert (figures.flag_rate <= 0.05) is is_candidate
        assert (ends[-1] <= 500) or far
