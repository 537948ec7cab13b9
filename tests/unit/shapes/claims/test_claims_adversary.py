"""Step 8: what the adversary knows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_data import encoded
from tests.oracles import claims_steps as oracle

from cloister.shapes.claims.format.plan import AdversaryPlan
from cloister.shapes.claims.method.adversary_draws import AdversaryPower

claim = st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(["x", "y", None]))
patients = st.lists(st.lists(claim, max_size=8), min_size=1, max_size=7).filter(any)
GOLDEN = ["AMI", "AMI", "AMI", "UTI", "RENAL3", "RENAL3"]


def adversary_power(claims, power=5, rounding="ceil"):
    """The powers of an adversary, by the values of a node alone."""
    return AdversaryPower(claims, AdversaryPlan(power=power, rounding=rounding, basis="node"))


def test_simpson_index_of_the_paper():
    """Three AMI, one UTI and two RENAL3 have the index 8/30 (section 4.1)."""
    found = adversary_power(encoded([[(value,) for value in GOLDEN]]))

    assert Fraction(8, 30) == oracle.simpson(GOLDEN)
    assert pytest.approx(8 / 30, abs=1e-15) == found.simpson(0)[0]
    assert pytest.approx(22 / 30, abs=1e-15) == 1 - found.simpson(0)[0]


@given(patients, st.integers(1, 9), st.sampled_from(["ceil", "floor", "round"]))
def test_power_is_what_equation_1_says(people, highest, rounding):
    """The power of each patient and quasi-identifier is that of the definition."""
    found = adversary_power(encoded(people), highest, rounding)

    for h in range(2):
        assert oracle.power(people, h, highest, rounding) == found.at()[:, h].tolist()


@given(patients)
def test_simpson_is_what_its_definition_says(people):
    """The index is the chance that two values are the same, and not a number where there is no value."""
    found = adversary_power(encoded(people))

    for h in range(2):
        values = [[row[h] for row in claims if row[h] is not None] for claims in people]
        expected = [float(oracle.simpson(known)) if known else float("nan") for known in values]
        assert pytest.approx(expected, nan_ok=True) == found.simpson(h).tolist()


def test_more_is_known_of_patients_with_many_claims_that_vary_little():
    """The four quadrants of figure 1: many similar claims above few similar, those above or beside varied ones."""
    few_similar = [("a",), ("a",), ("b",)]
    people = [few_similar, few_similar * 4, [("a",), ("b",), ("c",)], [(v,) for v in "abcdefghijkl"]]
    power = adversary_power(encoded(people), 9).at()[:, 0].tolist()

    assert power[1] == 9
    assert power[2] <= power[0] <= power[1]
    assert power[2] <= power[3] <= power[1]


def test_nobody_knows_more_values_than_there_are():
    """Where nothing varies the power is the highest, but at most the patient's values that are not missing."""
    found = adversary_power(encoded([[("a",)] * 9, [("a",), (None,)], [(None,)], []]), 5)

    assert found.at()[:, 0].tolist() == [5, 1, 0, 0]


def test_extreme_numbers_of_claims_are_capped():
    """Claims beyond mean + 2 standard deviations add nothing."""
    people = [[("a",), ("b",)]] * 30 + [[("a",), ("b",)] * 100]
    found = adversary_power(encoded(people))

    assert found.eta.max() == found.cap < 200


def test_correlations_are_of_patients_with_both():
    """The table is symmetric, 1 on the diagonal, and not a number where a diversity does not vary."""
    people = [[("a", "x"), ("b", "x")], [("a", "x"), ("a", "x")], [("a", "x"), ("a", "x"), ("b", None)]]
    table = adversary_power(encoded(people)).correlations()

    assert table[0, 0] == pytest.approx(1.0)
    assert np.isnan(table[0, 1])
    assert np.isnan(table[1, 1])


def test_power_at_a_level_is_that_of_the_generalized_values():
    """At the root nothing varies, so that the adversary knows the most."""
    people = [[("a",), ("b",), ("c",), ("a",), ("b",), ("c",)], [("a",), ("a",)]]

    assert adversary_power(encoded(people)).at([1])[:, 0].tolist() == [5, 2]
