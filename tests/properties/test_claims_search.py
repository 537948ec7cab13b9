"""The search finds the node that loses least, and suppression ends below the threshold."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_by_hand import matching_of
from tests.made.claims_risk import attacked, chooser_of, risk_plan
from tests.made.encoded_claims import claims_of, constant_power, few_claims, many_claims

from cloister.errors import InputError, NoSafeRelease
from cloister.shapes.claims.method.adversary_draws import DrawnKnowledge
from cloister.shapes.claims.method.choice import truncation
from cloister.shapes.claims.method.lattice_search import Budget, corners, search_lattice
from cloister.shapes.claims.method.matching import ReleasedClaims, level_losses
from cloister.shapes.claims.method.risk import Basis, NodeRisk, release_risk, risk_of
from cloister.shapes.claims.method.suppression import suppress


@st.composite
def lattices(draw):
    """Losses by level, minimal candidates, and nodes that are not accepted."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    losses = [np.cumsum([0, *draw(st.lists(st.integers(0, 3), min_size=n - 1, max_size=n - 1))]) / 8 for n in shape]
    node = st.tuples(*(st.integers(0, n - 1) for n in shape))
    return losses, draw(st.lists(node, max_size=5)), draw(st.sets(node, max_size=6))


@given(lattices(), st.sampled_from([0.5, 1.0, np.inf]))
def test_the_search_finds_what_trying_all_nodes_finds(lattice, bound):
    """Least loss, then lowest sum of levels, then lowest levels, among accepted candidates below the bound."""
    losses, minimal, refused = lattice
    asked = []

    def is_candidate(node):
        asked.append(node)
        return any(all(a >= b for a, b in zip(node, one)) for one in minimal)

    def is_accepted(node):
        return node not in refused

    wanted = [
        (round(0.25 + sum(own[level] for own, level in zip(losses, node)), 12), sum(node), node)
        for node in product(*(range(own.size) for own in losses))
        if is_candidate(node) and is_accepted(node)
    ]
    asked.clear()
    found = search_lattice(losses, is_candidate, is_accepted, fixed=0.25, bound=bound)
    best = min((one for one in wanted if one[0] < bound), default=None)

    assert found.levels == (best and best[2])
    assert found.loss == (best[0] if best else np.inf)
    assert found.checked == len(asked) == len(set(asked))


@given(lattices(), st.integers(1, 30))
def test_a_bound_of_nodes_ends_the_search_with_the_best_so_far(lattice, nodes):
    """No more nodes are asked; what is found is wanted, never better for a smaller bound, and the best if complete."""
    losses, minimal, refused = lattice
    asked = []

    def is_candidate(node):
        asked.append(node)
        return any(all(a >= b for a, b in zip(node, one)) for one in minimal)

    def is_accepted(node):
        asked.append(node)
        return node not in refused

    whole = search_lattice(losses, is_candidate, is_accepted)
    n_whole = len(asked)
    asked.clear()
    budget = Budget(nodes)
    found = search_lattice(losses, is_candidate, is_accepted, budget=budget)

    assert found.checked + found.tested == len(asked) == min(nodes, n_whole)
    assert found.is_complete == (nodes >= n_whole)
    assert budget.is_spent == (nodes <= n_whole)
    assert found.loss >= whole.loss
    assert found.levels == whole.levels or not found.is_complete
    assert found.levels is None or (is_candidate(found.levels) and is_accepted(found.levels))


def test_no_time_is_no_answer():
    """A bound of time that has passed: nothing is asked, and it is said that the search did not end."""
    found = search_lattice([np.zeros(2)], lambda node: True, lambda node: True, budget=Budget(seconds=1e-9))

    assert (found.levels, found.checked, found.is_complete) == (None, 0, False)


def test_a_lattice_too_large_is_refused():
    """A lattice that does not fit into memory is an error that says what to do."""
    with pytest.raises(InputError, match="Bound the levels"):
        search_lattice([np.zeros(100)] * 5, lambda node: True, lambda node: True)


def test_corners_are_one_or_two_columns_below_the_top():
    """The first nodes asked are those that rule out most."""
    assert set(corners((3, 2))) == {(1, 1), (0, 1), (2, 0), (1, 0), (0, 0)}


@given(few_claims(), st.integers(0, 10), st.sampled_from([{}, {"p0": 3.0}, {"c0": 0.001, "c1": 1000.0}]))
def test_losses_add_up_to_the_mean_loss_of_cells(encoded, seed, asked):
    """The loss of a node is the weighted mean over columns of what its cells lose, those not released counted as 1."""
    random = np.random.default_rng(seed)
    rows = random.random(encoded.n_claims) < 0.7
    cells = random.random((2, encoded.n_claims)) < 0.7
    people = random.random(encoded.n_patients) < 0.8
    released = ReleasedClaims(encoded, people, rows, cells)
    owners = encoded.owners
    for levels in product(*(range(column.n_levels) for column in encoded.columns)):
        means = []
        for j, (column, level) in enumerate(zip(encoded.columns, levels)):
            of_claims = j - len(encoded.patients)
            cost = []
            for row, value in enumerate(column.values.tolist()):
                if value < 0:
                    continue
                shown = people[row] if of_claims < 0 else people[owners[row]] and rows[row] and cells[of_claims, row]
                cost.append(column.losses[level, value] if shown else 1.0)
            means.append(sum(cost) / len(cost) if cost else 0.0)
        weights = [asked.get(column.name, 1.0) for column in encoded.columns]
        assert np.average(means, weights=weights) == pytest.approx(level_losses(released, asked).of(levels))


@pytest.fixture(scope="module")
def hospital():
    """Three hundred patients; the lattice of one column of patients and two of claims has 80 nodes."""
    encoded = many_claims(300, mean_claims=6, seed=3, sizes=(30, 12))
    return type(encoded)(encoded.patients[:1], encoded.claims, encoded.offsets)


def settings(**changes):
    """Settings of a small release: classes of five."""
    return risk_plan(**{"threshold": 0.2, "max_sup": 0.2, "truncation": (100.0, 90.0), "repeats": 10, **changes})


def chosen(hospital, power, asked, **more):
    """The choice by the MaxSup asked."""
    return chooser_of(hospital, power, asked, **more).choose(asked.risk.max_flag_rate)


@pytest.mark.parametrize(("weights", "draws"), [({}, 10_000), ({"c0": 9.0, "c1": 0.5}, 2_500)])
def test_the_choice_is_the_best_of_all_nodes(hospital, weights, draws):
    """Each node of each truncation level measured on the same draws by both tests: none that passes loses less."""
    power = constant_power(hospital, 2)
    asked = settings(draws=draws, weights=weights)
    choice = chosen(hospital, power, asked)
    knowledge = DrawnKnowledge(hospital, power, asked.risk.seed, draws=draws)
    passed = []
    for percentile in asked.truncation.levels:
        released = ReleasedClaims.everything(hospital, truncation(hospital).mark_kept(percentile))
        losses = level_losses(released, weights)
        matching = matching_of(released, power)
        tests = [NodeRisk(matching, knowledge, asked.risk.k, basis) for basis in Basis]
        for levels in product(*(range(column.n_levels) for column in hospital.columns)):
            if all(test.is_candidate(levels, 0.2) for test in tests):
                passed.append((round(losses.of(levels), 12), -percentile, sum(levels), levels))

    assert min(passed) == (choice.loss, -choice.truncation, sum(choice.levels), choice.levels)
    assert (choice.is_optimal, choice.around[0].raw.draws) == (True, draws)
    assert choice.around[0].levels == choice.levels
    assert choice.around[0].raw.flag_rate <= choice.around[0].node.flag_rate <= 0.2


def test_a_bounded_search_is_told_and_can_be_had_again(hospital):
    """Too few nodes are an error that names the bound; a few more give a choice that its own levels give again."""
    power = constant_power(hospital, 2)
    whole = chosen(hospital, power, settings())
    needed = sum(one.n_requested for one in whole.tried)
    with pytest.raises(NoSafeRelease, match=r"ended by search.nodes or search.time_limit_s after 2 nodes"):
        chosen(hospital, power, settings(search_nodes=2))
    ended = chosen(hospital, power, settings(search_nodes=needed - 1))
    fixed = [(level, level) for level in ended.levels]
    again = chosen(hospital, power, settings(truncation=(ended.truncation,)), bounds=fixed)

    assert (ended.is_optimal, ended.loss >= whole.loss) == (False, True)
    assert sum(one.n_requested for one in ended.tried) == needed - 1
    assert (again.levels, again.truncation, again.loss, again.is_optimal) == (*_told(ended), True)
    assert np.array_equal(again.released.claims, ended.released.claims)


def _told(choice):
    return choice.levels, choice.truncation, choice.loss


def test_bounds_on_levels_are_kept(hospital):
    """A node is chosen among the levels allowed."""
    bounds = [(1, 3), (0, 1), (2, 3)]
    choice = chosen(hospital, constant_power(hospital, 1), settings(max_sup=0.9), bounds=bounds)

    assert all(low <= level <= high for level, (low, high) in zip(choice.levels, bounds))


def test_power_may_be_that_of_the_node(hospital):
    """The paper's test takes the power from the values of the node; a higher one lets fewer nodes pass."""
    power = constant_power(hospital, 1)
    plain = chosen(hospital, power, settings())
    strict = chosen(hospital, power, settings(), of_nodes=constant_power(hospital, 3))

    assert plain.loss < strict.loss


def test_no_node_is_an_error_without_values(hospital):
    """Where no node passes, the message counts nodes and truncation levels and says what to do."""
    bounds = [(0, 0)] * 3
    with pytest.raises(NoSafeRelease, match="None of 2 truncation levels and 1 nodes"):
        chosen(hospital, constant_power(hospital, 3), settings(), bounds=bounds)


def fine_node(hospital):
    """A release with a quarter of the draws flagged: too many."""
    released = ReleasedClaims.everything(hospital, truncation(hospital).mark_kept(95))
    return released, (3, 1, 2)


@pytest.mark.parametrize("treatment", ["patients", "claims", "cells"])
def test_suppression_ends_below_the_threshold(hospital, treatment):
    """Mean risk, flag rate and flag-aware risk are below the threshold, also as simulated again with another seed."""
    released, levels = fine_node(hospital)
    power = constant_power(hospital, 2)
    asked = settings(treatment=treatment, most_treated=1.0, most_removed=0.9)
    result = suppress(attacked(released, levels, power, asked))
    again = DrawnKnowledge(hospital, power, 987654321, result.released.patients)
    risk = release_risk(attacked(result.released, levels, power, asked), again, 10)

    assert not result.before.holds(asked)
    assert result.rounds > 0
    assert result.risk.holds(asked)
    assert max(risk.exact.flag_rate, risk.exact.mean, risk.flag_aware.mean, risk.fallback.mean) <= 0.2
    assert result.loss > level_losses(released).of(levels)
    assert result.treated.sum() >= result.patients.sum()


def test_treatments_suppress_what_they_say(hospital):
    """Cells stay in their claims, claims go whole with their flag, patients go with all of their claims."""
    released, levels = fine_node(hospital)
    power = constant_power(hospital, 2)
    by = {
        treatment: suppress(
            attacked(
                released,
                levels,
                power,
                settings(treatment=treatment, most_treated=1.0, most_removed=0.9, is_flag_aware_waived=True),
            )
        )
        for treatment in ("patients", "claims", "cells")
    }
    truncated = int((~released.claims).sum())
    whole = by["patients"]

    assert by["cells"].cells.any()
    assert (~by["cells"].released.claims).sum() == truncated
    assert not by["claims"].cells.any()
    assert by["claims"].claims.sum() > truncated
    assert whole.patients.any()
    assert whole.claims[np.repeat(whole.patients, np.diff(hospital.offsets))].all()


def test_too_many_to_treat_is_an_error(hospital):
    """Where more patients would have to be treated than may be, nothing is released."""
    released, _levels = fine_node(hospital)
    with pytest.raises(NoSafeRelease, match=r"treating at most a share of 0\.01 "):
        suppress(attacked(released, (0, 0, 0), constant_power(hospital, 3), settings(most_treated=0.01)))


def test_nothing_is_suppressed_where_the_risk_is_low(hospital):
    """At the highest levels all patients are alike, and the release stays as it is."""
    released, _ = fine_node(hospital)
    result = suppress(attacked(released, (4, 3, 3), constant_power(hospital, 2), settings()))

    assert result.rounds == 0
    assert not result.patients.any()
    assert result.released is released


def test_suppression_does_not_fool_who_believes_flags():
    """A rare value suppressed is a miss for the paper's adversary, and for one who sees the flag still one patient.

    Of 40 patients one has a rare value. With its cell suppressed the paper's flag rate is 0. Whoever knows the value
    finds that nobody has it, and that one patient's cell is flagged.
    """
    encoded = claims_of([(0,)] * 40, [[(0,)]] * 39 + [[(1,)]])
    cells = np.zeros((1, 40), dtype=np.bool_)
    cells[0, 39] = True
    released = ReleasedClaims.everything(encoded).without_cells(cells)
    power = constant_power(encoded, 1)
    knowledge = DrawnKnowledge(encoded, power, 5, np.arange(40) == 39)
    risk = release_risk(attacked(released, (0, 0), power, risk_plan()), knowledge, 1)

    assert risk.exact.mean == 0.0
    assert risk.flag_aware.mean == 1.0
    assert risk.fallback.mean == 1.0


def test_no_results_depend_on_threads(hospital):
    """Choice and suppression are the same on one thread and on three."""
    power = constant_power(hospital, 2)
    found = []
    for threads in (1, 3):
        asked = settings(max_sup=0.25, most_treated=1.0, most_removed=0.9, truncation=(90.0,))
        choice = chosen(hospital, power, asked, bounds=[(3, 4), (0, 3), (0, 3)], threads=threads)
        result = suppress(attacked(choice.released, choice.levels, power, asked, threads=threads))
        found.append((choice.levels, choice.tried, choice.around, result.risk, result.cells.tobytes()))

    assert found[0] == found[1]


def test_twenty_is_the_class_for_five_percent():
    """k is the smallest class whose risk is at most the threshold."""
    assert {threshold: risk_plan(threshold=threshold).risk.k for threshold in (0.05, 0.2, 0.3, 1.0, 0.09)} == {
        0.05: 20,
        0.2: 5,
        0.3: 4,
        1.0: 1,
        0.09: 12,
    }


def test_missed_draws_bear_no_risk():
    """Risk is 1 over the class, and 0 where there is none."""
    assert risk_of(np.array([0, 1, 4])).tolist() == [0.0, 1.0, 0.25]
