"""Adversaries who know more, or something else, find what trying all they may know says."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_risk import ConstantPower, attacked, risk_plan
from tests.made.encoded_claims import claims_of, constant_power, few_claims, many_claims, text_at, written
from tests.oracles import claims_adversaries as oracle

from cloister.errors import InputError
from cloister.shapes.claims.format.facts import class_size_of_patient
from cloister.shapes.claims.format.manifest import Knowledge
from cloister.shapes.claims.format.population import PeopleCounted, marketer_risk, voter_list
from cloister.shapes.claims.format.population import people_of as counted
from cloister.shapes.claims.method.adversaries import (
    HospitalStays,
    all_values,
    discharge_database,
    exact_order,
    in_population,
    simulate_adversary,
)
from cloister.shapes.claims.method.matching import ReleasedClaims, group_patients

LEVELS = (3, 1, 2, 1, 1, 1)
PLAN = risk_plan(threshold=0.5)


def small(seed, n_patients=8):
    """A few patients with values missing, some claims and cells of whom are not released; and the same plainly."""
    random = np.random.default_rng(seed)
    encoded = many_claims(n_patients, mean_claims=3, seed=seed, sizes=(6, 4))
    for column in encoded.claims:
        column.values[random.random(encoded.n_claims) < 0.2] = -1
    rows = random.random(encoded.n_claims) < 0.85
    cells = random.random((2, encoded.n_claims)) < 0.85
    released = ReleasedClaims(encoded, np.ones(n_patients, dtype=np.bool_), rows, cells)
    return released, plainly(released)


def plainly(released, levels=LEVELS):
    """Patients as the oracle reads them, claims in order of their rows."""
    encoded = released.encoded
    texts = [text_at(column, level) for column, level in zip(encoded.columns, levels)]
    own, other = texts[: len(encoded.patients)], texts[len(encoded.patients) :]
    return [
        (
            tuple(text[i] for text in own),
            [
                (tuple(text[row] for text in other), bool(released.claims[row]), tuple(released.cells[:, row].tolist()))
                for row in range(encoded.offsets[i], encoded.offsets[i + 1])
            ],
        )
        for i in range(encoded.n_patients)
    ]


def near(figures):
    """Within four standard errors of what a simulation found."""
    return pytest.approx(figures.mean, abs=4 * figures.deviation / figures.draws**0.5 + 1e-9)


PARTS = {"values": 0}, {"has_patients": False}, {}


def find(release, **known):
    """What an adversary with this knowledge finds."""
    return simulate_adversary(release, Knowledge(**known), ConstantPower(release.power))


def under_attack(released, power, levels=LEVELS):
    """A release under attack, with lists of patients for any power."""
    return attacked(released, levels, power, PLAN, cap=int(all_values(released.encoded).max()))


@pytest.mark.parametrize("seed", range(3))
def test_every_simulated_adversary_finds_what_all_samples_tell(seed):
    """Parts alone and together, any power, whole claims (exact knowledge), a subsequence (exact order)."""
    released, patients = small(seed)
    encoded = released.encoded
    release = under_attack(released, constant_power(encoded, 2))
    alone, claims, both = (find(release, **known) for known in PARTS)
    tried = {p: find(release, values=p) for p in (1, 3, 99)}
    counts = np.minimum(np.diff(encoded.offsets), 2).astype(np.int32)[:, None]
    in_order = exact_order(release, np.arange(encoded.n_claims, dtype=np.int32))
    whole = find(under_attack(released, np.repeat(counts, 2, axis=1)), is_whole=True)
    apart = [((), own) for _, own in patients]

    assert len({labels for labels, _ in patients}) / len(patients) == near(alone)
    assert float(oracle.mean_risk(apart, oracle.values(2), oracle.has_values)) == near(claims)
    assert float(oracle.mean_risk(patients, oracle.values(2), oracle.has_values)) == near(both)
    assert float(oracle.mean_risk(patients, oracle.whole_claims(2), oracle.has_claims)) == near(whole)
    assert float(oracle.mean_risk(patients, oracle.values(2), oracle.has_values_in_order)) == near(in_order)
    for p, figures in tried.items():
        assert float(oracle.mean_risk(patients, oracle.values(p), oracle.has_values)) == near(figures)


@pytest.mark.parametrize("seed", range(2))
def test_a_discharge_database_is_matched_by_one_exact_stay(seed):
    """One stay of each patient who has any, all its values at once; whoever has such a claim is a candidate."""
    released, patients = small(seed, 12)
    encoded = released.encoded
    stays = HospitalStays((0, 1), encoded.claims[1].values % 2 == 1)
    attack = discharge_database(under_attack(released, constant_power(encoded, 2)), stays)
    is_stay = iter(stays.claims.tolist())
    marked = [
        (own, [((*labels, next(is_stay)), is_released, (*cells, True)) for labels, is_released, cells in claims])
        for own, claims in patients
    ]
    n_listed = len(set(encoded.owners[stays.claims].tolist()))
    over_all = oracle.mean_risk(marked, oracle.one_stay((0, 1), lambda labels: labels[2]), oracle.has_stay((0, 1)))

    assert float(over_all) * 12 / n_listed == near(attack.figures)
    assert attack.figures.missed > 0
    assert (
        discharge_database(under_attack(released, constant_power(encoded, 1)), HospitalStays((0,), encoded.owners < 1))
        is None
    )


def people_of(released, ratio):
    """A population in which each class of the released patients has so many times their number, less one half."""
    groups = group_patients(released.encoded.patients, LEVELS[:4], released.encoded.n_patients)
    counts = np.bincount(groups)
    classes = counts * ratio - counts // 2
    return PeopleCounted(("age",), classes, classes[groups], counts[groups])


@pytest.mark.parametrize("seed", range(2))
def test_a_population_hides_as_its_classes_are_larger(seed):
    """Others who fit are scaled up from the patients of a class to its people; voters are matched by classes."""
    released, patients = small(seed, 20)
    people = people_of(released, 5)
    of = {labels: int(n) for (labels, _), n in zip(patients, people.people, strict=True)}
    release = under_attack(released, constant_power(released.encoded, 2))
    attack = in_population(release, people, np.arange(released.encoded.n_patients))
    voters = voter_list(people, PLAN.risk.k, is_population=True)
    frame = written(released, LEVELS)[0].patients.drop("id")
    alone = voter_list(counted(frame, frame), PLAN.risk.k, is_population=False)

    assert float(oracle.scaled_risk(patients, oracle.values(2), oracle.has_values, of)) == near(attack.figures)
    assert voters.exact == round(len(of) / sum(of.values()), 6)
    assert voters.observed == pytest.approx(np.mean([1 / of[labels] for labels, _ in patients]), abs=1e-6)
    assert voters.flag_rate == np.mean([of[labels] < PLAN.risk.k for labels, _ in patients])
    assert alone.exact == alone.observed == pytest.approx(len(of) / len(patients), abs=1e-6)
    assert alone.paper_eq2 == alone.exact


def test_others_who_fit_are_scaled_up_without_bias():
    """Over all samples of 4 of 7 people that hold a patient, the estimate of the others who fit is their number."""
    fits = [True, True, True, False, False, True, False]
    samples = [(0, *rest) for rest in itertools.combinations(range(1, 7), 3)]
    estimates = [(sum(fits[i] for i in sample) - 1) * (7 - 1) / (4 - 1) for sample in samples]

    assert np.mean(estimates) == pytest.approx(sum(fits) - 1)


def test_more_power_is_more_risk():
    """Of patients whose claims are all released, who knows more finds no larger class; any order is as good."""
    encoded = many_claims(400, mean_claims=6, sizes=(6, 4))
    release = under_attack(ReleasedClaims.everything(encoded), constant_power(encoded, 1), (3, 1, 2, 2, 1, 1))
    found = [find(release, values=p) for p in (0, 1, 3, 10, 999)]
    means = [figures.mean for figures in found]

    assert means == sorted(means)
    assert means[-1] > means[0]
    again = [find(release, values=p) for p in (999, 10, 3, 1, 0)]
    assert again == [*reversed(found)]


def test_safe_parts_can_meet_in_one_patient():
    """Each sex and each code is shared by two patients, each pair is had by one: together nobody is hidden."""
    encoded = claims_of([(0,), (0,), (1,), (1,)], [[(0,)], [(1,)], [(0,)], [(1,)]])
    release = under_attack(ReleasedClaims.everything(encoded), constant_power(encoded, 1), (0, 0))

    assert [find(release, **known).mean for known in PARTS] == [0.5, 0.5, 1.0]


@given(few_claims())
def test_the_unbounded_adversary_tells_apart_all_that_differs(encoded):
    """A class is who has the same labels and the same claims, each as often."""
    released = ReleasedClaims.everything(encoded).without_claims(np.arange(encoded.n_claims) % 3 == 2)
    levels = (0, 1, 0)
    seen = [oracle.everything_released(patient) for patient in plainly(released, levels)]
    counts = Counter(seen)

    assert [counts[one] for one in seen] == class_size_of_patient(*written(released, levels)).tolist()


def test_unique_patients_are_all_matched():
    """Where everybody is unique the marketer is always right; the paper's equation says n/N."""
    risk = marketer_risk(np.ones(50, dtype=np.int64), 10)

    assert risk.exact == 1.0
    assert risk.paper_eq2 == pytest.approx(0.2)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.data())
def test_the_marketer_is_right_for_classes_over_population(sizes, data):
    """|J|/N is the mean over random samples, exactly; the paper's equation is never above it."""
    population = sum(sizes)
    sample = data.draw(st.integers(1, population))
    risk = marketer_risk(np.array(sizes), sample)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    random = np.random.default_rng(0)
    found = []
    hit = []
    for _ in range(300):
        drawn = random.choice(classes, sample, replace=False)
        found.append(float(np.mean(1 / np.array(sizes)[drawn])))
        hit.append(np.unique(drawn).size / population)

    assert np.mean(found) == pytest.approx(risk.exact, abs=4 * float(np.std(found)) / 300**0.5 + 1e-9)
    assert np.mean(hit) == pytest.approx(risk.paper_eq2, abs=4 * float(np.std(hit)) / 300**0.5 + 1e-9)
    assert risk.paper_eq2 <= risk.exact + 1e-9


def test_a_sample_larger_than_the_population_is_refused():
    """A sample has from one patient to all."""
    with pytest.raises(InputError, match="A sample of 5"):
        marketer_risk(np.array([2, 2]), 5)
