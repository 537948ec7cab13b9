"""Who is picked among candidates, and which labels are too rare to be released, as plain counting has it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_by_hand import every_draw, matching_of, plain
from tests.made.claims_risk import attacked, chooser_of, risk_plan
from tests.made.encoded_claims import claims_of, constant_power, few_claims, many_claims
from tests.made.examples import examples
from tests.oracles import claims as oracle

from cloister.errors import NoSafeRelease
from cloister.shapes.claims.format.plan import AdversaryPlan
from cloister.shapes.claims.method.adversary_draws import AdversaryPower, DrawnKnowledge
from cloister.shapes.claims.method.matching import ReleasedClaims
from cloister.shapes.claims.method.protect import choose_and_suppress
from cloister.shapes.claims.method.risk import maximum_likelihood_risk, release_risk
from cloister.shapes.claims.method.suppression import suppress, without_rare_labels


@st.composite
def releases(draw):
    """A few patients, of whom some claims, cells or whole records are not released."""
    encoded = draw(few_claims())
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    shown = random.random((2, encoded.n_claims)) < 0.8
    return ReleasedClaims(
        encoded, random.random(encoded.n_patients) < 0.9, random.random(encoded.n_claims) < 0.8, shown
    )


@examples(40)
@given(releases(), st.integers(0, 3))
def test_candidates_are_those_of_the_oracle(released, p):
    """For every sample and node: how many are the likeliest, and how many lack least, with the patient among them."""
    power = constant_power(released.encoded, p)
    draws, plainly = every_draw(released, power)
    matching = matching_of(released, power)
    for levels in product(*(range(column.n_levels) for column in released.encoded.columns)):
        tables = plain(released, levels)
        wanted = [(i, tables.labels(i, sample)) for i, sample in plainly]
        nobody = np.array([tables.class_size(i, need) == 0 for i, need in wanted], dtype=np.bool_)
        nearest = [tables.nearest_size(i, need) if none else 0 for (i, need), none in zip(wanted, nobody)]

        assert [tables.likeliest_size(i, need) for i, need in wanted] == matching.likeliest(levels, draws).tolist()
        assert nearest == matching.nearest(levels, draws, nobody).tolist()


@examples(60)
@given(releases(), st.integers(1, 3), st.integers(0, 1), st.integers(0, 2))
def test_labels_of_too_few_patients_go_and_no_others(released, k, own, other):
    """Cells of claims, and patients, as plain counting leaves them; after it every label has k patients."""
    levels = (own, other, 0)
    expected = oracle.without_rare_labels(plain(released, levels), k)
    found = without_rare_labels(released, levels, k)
    tables = plain(found, levels)

    assert expected.present == tables.present
    for j in np.flatnonzero(found.patients).tolist():
        assert [[x for x in own if x is not None] for own in expected.released[j]] == [
            [x for x in own if x is not None] for own in tables.released[j]
        ]


@pytest.fixture(scope="module")
def loaded():
    """A hundred patients with a claim each, and ten who have all values twice: who fits is rarely one of these."""
    few, many = [[(v,)] for v in range(100)], [[(v,) for v in range(100)] * 2] * 10
    return claims_of([(0,)] * 110, few + many)


def test_whoever_picks_the_likeliest_is_measured_and_limited_where_asked(loaded):
    """One in eleven at random, nearly always right by the likeliest; limited, no choice of levels will do."""
    power = constant_power(loaded, 1)
    asked = risk_plan(threshold=0.1, repeats=5, draws=2000, max_sup=0.4, most_removed=0.5)
    released = ReleasedClaims.everything(loaded)
    risk = release_risk(attacked(released, (0, 0), power, asked), DrawnKnowledge(loaded, power, 1, None, 2000), 5)
    found = suppress(attacked(released, (0, 0), power, asked))
    bounded = replace(asked, adversary=AdversaryPlan(likeliest="bounded"))

    assert risk.exact.mean == pytest.approx(1 / 11, abs=0.002)
    assert maximum_likelihood_risk(attacked(released, (0, 0), power, asked)).mean == pytest.approx(100 / 110, abs=0.03)
    assert found.risk.holds(asked)
    assert found.likeliest.mean > 0.85
    with pytest.raises(NoSafeRelease, match="picks the most likely"):
        suppress(attacked(released, (0, 0), power, bounded))
    assert suppress(attacked(released, (0, 1), power, bounded)).likeliest.mean_interval.high <= 0.1

    class Finer:
        levels, truncation, released = (0, 0), 100.0, ReleasedClaims.everything(loaded)

    class Coarser(Finer):
        levels = (0, 1)

    chooser = chooser_of(loaded, power, bounded)
    chooser.choose = lambda max_sup: Finer if max_sup > 0.3 else Coarser
    _, found, max_sup = choose_and_suppress(chooser)
    assert (max_sup, found.levels) == (0.2, (0, 1))


def test_who_lacks_fewest_values_is_found_where_many_are_truncated():
    """Each of sixty has six values of his own, two released: all are tolerated alike, but one lacks fewer."""
    encoded = claims_of([(0,)] * 60, [[(6 * i + c,) for c in range(6)] for i in range(60)])
    released = ReleasedClaims.everything(encoded).without_claims(np.arange(encoded.n_claims) % 6 > 1)
    knowledge = DrawnKnowledge(encoded, constant_power(encoded, 3), 1, None, 2000)
    asked, waived = risk_plan(threshold=0.1), risk_plan(threshold=0.1, is_flag_aware_waived=True)
    risk = release_risk(attacked(released, (0, 0), knowledge.power, asked), knowledge, 2)

    assert risk.flag_aware.mean == pytest.approx(1 / 60)
    assert risk.nearest.mean > 0.75
    assert risk.believing_flags == risk.nearest.mean_interval.high
    assert not risk.holds(asked)
    assert risk.holds(waived) is (risk.exact.mean_interval.high <= 0.1)


def test_the_power_is_at_least_that_by_the_labels_released():
    """Codes that all differ and one patient who has one alone: by groups most know the most, by codes few do."""
    codes = [[(4 * (i % 3) + c,) for c in (0, 1, 2, 3)] for i in range(12)]
    codes.append([(0,)] * 11 + [(1,)])
    encoded = claims_of([(0,)] * 13, codes, [(), ([v // 4 for v in range(12)],)])
    by_level, highest = (AdversaryPower(encoded, AdversaryPlan(basis=basis)) for basis in ("node", "raw"))
    base, by_group = by_level.at([0]), by_level.at([1])

    assert base[0, 0] < by_group[0, 0]
    assert np.array_equal(highest.at(), base)
    assert np.array_equal(highest.at([1]), np.maximum(base, by_group))


def test_a_release_has_no_label_of_fewer_than_k_patients():
    """One cell alone of a hundred thousand does not show in the mean, and still does not appear."""
    encoded = many_claims(300, mean_claims=3, seed=2, sizes=(300, 3))
    encoded = replace(encoded, patients=encoded.patients[1:2])
    settings = risk_plan(threshold=0.2, repeats=5, most_removed=0.5, most_treated=1.0)
    found = suppress(attacked(ReleasedClaims.everything(encoded), (0, 1, 0), constant_power(encoded, 1), settings))
    tables = plain(found.released, (0, 1, 0))
    labels = {label for j in np.flatnonzero(found.released.patients) for label in tables.released[j][0] if label}

    assert found.cells[0].any()
    assert min(len(tables.holders(0, label)) for label in labels) >= settings.risk.k
