"""Adversaries who know more, or something else, find what trying all they may know says."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.encoded_claims import claims_of, few_claims, many_claims
from tests.oracles import claims_adversaries as oracle

from cloister.claims.adversaries import all_values, by_power, constant_power, in_population, jointly, whole_claims
from cloister.claims.marketer import marketer_risk, unbounded_class_sizes
from cloister.claims.ordered import exact_order
from cloister.claims.released import Released
from cloister.claims.risk_settings import RiskSettings
from cloister.errors import InputError

LEVELS = (3, 1, 2, 1, 1, 1)
SETTINGS = RiskSettings(threshold=0.5, repeats=1)


def small(seed, n_patients=8):
    """A few patients with values missing, some claims and cells of whom are not released; and the same plainly."""
    random = np.random.default_rng(seed)
    encoded = many_claims(n_patients, mean_claims=3, seed=seed, sizes=(6, 4))
    for column in encoded.claims:
        column.values[random.random(encoded.n_claims) < 0.2] = -1
    rows = random.random(encoded.n_claims) < 0.85
    cells = random.random((2, encoded.n_claims)) < 0.85
    released = Released(encoded, np.ones(n_patients, dtype=np.bool_), rows, cells)
    return released, plainly(released)


def plainly(released, levels=LEVELS):
    """Patients as the oracle reads them, claims in order of their rows."""
    encoded = released.encoded
    texts = [column.text_at(level) for column, level in zip(encoded.columns, levels)]
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


@pytest.mark.parametrize("seed", range(3))
def test_whole_claims_are_harder_to_hide(seed):
    """Exact knowledge: whole claims, each as often as it is known."""
    released, patients = small(seed)
    counts = np.diff(released.encoded.offsets)
    power = np.repeat(np.minimum(counts, 2)[:, None], 2, axis=1).astype(np.int32)
    attack = whole_claims(released, LEVELS, power, SETTINGS)
    exact = oracle.mean_risk(patients, oracle.whole_claims(2), oracle.has_claims)

    assert float(exact) == near(attack.figures)


@pytest.mark.parametrize("seed", range(3))
def test_order_known_is_a_subsequence(seed):
    """Exact order: who has the values in the known order, column by column."""
    released, patients = small(seed)
    when = np.arange(released.encoded.n_claims, dtype=np.int32)
    attack = exact_order(released, LEVELS, constant_power(released.encoded, 2), SETTINGS, when)
    exact = oracle.mean_risk(patients, oracle.values(2), oracle.has_values_in_order)

    assert float(exact) == near(attack.figures)


@pytest.mark.parametrize("seed", range(3))
def test_a_population_hides_better(seed):
    """Population reference: the class is counted among all of whom the patients are a part."""
    released, patients = small(seed, 20)
    whole = released.encoded
    mine = np.arange(8)
    part = type(whole)(
        tuple(type(c)(c.name, c.values[mine], c.levels, c.labels, c.losses) for c in whole.patients),
        tuple(type(c)(c.name, c.values[: whole.offsets[8]], c.levels, c.labels, c.losses) for c in whole.claims),
        whole.offsets[:9],
    )
    own = Released(part, released.patients[mine], released.claims[: part.n_claims], released.cells[:, : part.n_claims])
    attack = in_population(own, LEVELS, constant_power(part, 2), SETTINGS, whole)
    exact = oracle.mean_risk(patients[:8], oracle.values(2), oracle.has_values, patients)

    assert float(exact) == near(attack.figures)


def test_more_power_is_more_risk():
    """Of patients whose claims are all released, who knows more finds no larger class."""
    encoded = many_claims(400, mean_claims=6, sizes=(6, 4))
    powers = {str(p): constant_power(encoded, p) for p in (0, 1, 3, 10)} | {"all": all_values(encoded)}
    attacks = by_power(Released.everything(encoded), (3, 1, 2, 2, 1, 1), powers, SETTINGS)
    means = [attack.figures.mean for attack in attacks]

    assert means == sorted(means)
    assert [attack.name for attack in attacks] == ["0", "1", "3", "10", "all"]
    assert means[-1] > means[0]


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_attacked_together(seed):
    """Patients alone, claims alone, and both of one patient at once, which is the risk that counts."""
    released, patients = small(seed)
    power = constant_power(released.encoded, 2)
    alone, claims, both = jointly(released, LEVELS, power, SETTINGS)
    apart = [((), own) for _, own in patients]
    sizes = Counter(labels for labels, _ in patients)

    assert len(sizes) / len(patients) == near(alone.figures)
    assert float(oracle.mean_risk(apart, oracle.values(2), oracle.has_values)) == near(claims.figures)
    assert float(oracle.mean_risk(patients, oracle.values(2), oracle.has_values)) == near(both.figures)


def test_safe_parts_can_meet_in_one_patient():
    """Each sex and each code is shared by two patients, each pair is had by one: together nobody is hidden."""
    encoded = claims_of([(0,), (0,), (1,), (1,)], [[(0,)], [(1,)], [(0,)], [(1,)]])
    released = Released.everything(encoded)
    alone, claims, both = jointly(released, (0, 0), constant_power(encoded, 1), SETTINGS)

    assert [attack.figures.mean for attack in (alone, claims, both)] == [0.5, 0.5, 1.0]


@given(few_claims())
def test_the_unbounded_adversary_tells_apart_all_that_differs(encoded):
    """A class is who has the same labels and the same claims, each as often."""
    released = Released.everything(encoded).without_claims(np.arange(encoded.n_claims) % 3 == 2)
    levels = (0, 1, 0)
    seen = [oracle.everything_released(patient) for patient in plainly(released, levels)]
    counts = Counter(seen)

    assert [counts[one] for one in seen] == unbounded_class_sizes(released, levels).tolist()


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
