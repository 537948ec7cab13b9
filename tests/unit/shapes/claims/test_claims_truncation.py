"""Step 7: which claims go first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_data import encoded
from tests.oracles import claims_steps as oracle

from cloister.shapes.claims.method.choice import truncation
from cloister.shapes.claims.method.matching import ReleasedClaims

claim = st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(["x", "y", None]))
patients = st.lists(st.lists(claim, max_size=6), min_size=1, max_size=7).filter(any)


@given(patients, st.sampled_from([99, 97.5, 95, 90, 60, 50]))
def test_truncation_keeps_what_its_definition_keeps(people, percentile):
    """Each patient keeps the claims with the lowest scores, as many as the percentile allows."""
    found = truncation(encoded(people))
    kept = found.mark_kept(percentile)
    offsets = np.cumsum([0, *map(len, people)])

    for i, scores in enumerate(oracle.truncated(people, percentile)):
        rows = slice(offsets[i], offsets[i + 1])
        assert pytest.approx([float(score) for score in scores]) == sorted(found.scores[rows][kept[rows]].tolist())


@given(patients)
def test_nothing_is_truncated_at_none(people):
    """Without a percentile every claim stays, and no patient is flagged."""
    claims = encoded(people)
    found = truncation(claims)

    assert found.limit(100) is None
    assert found.mark_kept(100).all()
    assert not ReleasedClaims.everything(claims, found.mark_kept(100)).truncated.any()


def test_the_rarest_claim_goes_first():
    """A value that no other patient has is dropped before a common one, whatever the rest of its claim is."""
    people = [[("a", "x"), ("rare", "x")], [("a", "x")], [("a", "x")]]
    claims = encoded(people)
    found = truncation(claims)

    assert pytest.approx(found.scores[:2].tolist()) == [1 - 2 / 3, 1.0]
    assert found.mark_kept(50).tolist() == [True, False, True, True]
    assert ReleasedClaims.everything(claims, found.mark_kept(50)).truncated.tolist() == [True, False, False]


def test_missing_values_do_not_count():
    """A missing value is no rare one; a claim without any value is the last to go."""
    found = truncation(encoded([[(None, "x"), (None, None)], [("a", "x")], [("b", "x")]]))

    assert pytest.approx(found.scores[:2].tolist()) == [1 - 2 / 3, 0.0]


def test_truncation_per_year_counts_years_apart():
    """Claims of another year do not use up what a patient may keep."""
    people = [[("a",), ("a",), ("a",)], [("a",)]]
    by_year = truncation(encoded(people, years=[2008, 2009, 2009, 2008]))

    assert by_year.counts.tolist() == [1, 1, 2]
    assert by_year.mark_kept(60).tolist() == [True, True, False, True]


def test_ties_are_broken_by_content():
    """Of claims with one score those first in the order of content stay, so input order plays no part."""
    assert truncation(encoded([[("a",), ("b",)], [("a",), ("b",)]])).ranks.tolist() == [0, 1, 0, 1]
