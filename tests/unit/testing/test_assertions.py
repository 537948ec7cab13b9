"""Assertions for users' own tests: they hold where the promise does, fail where not, and never tell a value."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.testing import (
    assert_cannot_be_joined,
    assert_combinations_are_shared,
    assert_every_patient_shares,
    assert_k_anonymous,
    assert_l_diverse,
    assert_nothing_of,
    hospital_patients,
    strategies,
)

SECRET = "zanzibar"
FRAME = pl.DataFrame(
    {
        "id": ["1", "2", "3", "4", "5"],
        "age": [30, 30, None, None, 50],
        "sex": ["F", "F", "M", "M", SECRET],
        "diagnosis": ["a", "b", "c", None, "d"],
    }
)


def test_k_anonymity_and_diversity_by_hand():
    """Two classes of two and one of one; missing makes a class, and does not count as a sensitive value."""
    pair = FRAME.head(4)
    assert_k_anonymous(pair, ["age", "sex"], 2)
    assert_l_diverse(pair.head(2), ["age", "sex"], "diagnosis", 2)
    for refused, told in (
        (
            lambda: assert_k_anonymous(FRAME, ["age", "sex"], 2),
            "1 of 3 combinations of age, sex have fewer than 2 rows",
        ),
        (
            lambda: assert_l_diverse(pair, ["age", "sex"], "diagnosis", 2),
            "1 of 2 .* 2 values of diagnosis .*smallest 1",
        ),
        (lambda: assert_k_anonymous(FRAME.clear(), ["age"], 1), "There are no combinations of age"),
        (lambda: assert_l_diverse(FRAME.clear(), ["age"], "sex", 1), "There are no"),
    ):
        with pytest.raises(AssertionError, match=told) as failed:
            refused()
        assert SECRET not in str(failed.value)
    for columns in ([], ["nobody"]):
        with pytest.raises(ValueError, match=r"at least|'nobody'"):
            assert_k_anonymous(FRAME, columns, 1)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": [1.5, 1.5, np.nan, np.nan], "sex": ["F", "F", None, np.nan]}),
        pd.DataFrame({"age": pd.array([1, 1, None, None], dtype="Int64"), "sex": ["F", "F", "M", "M"]}),
        pl.DataFrame({"age": [1.5, 1.5, None, float("nan")], "sex": ["F", "F", "M", "M"]}).to_arrow(),
    ],
)
def test_missing_is_one_value_in_every_dataframe(frame):
    """None, null and NaN are the same missing value, in pandas, Polars and PyArrow."""
    assert_k_anonymous(frame, ["age", "sex"], 2)
    with pytest.raises(AssertionError):
        assert_k_anonymous(frame, ["age", "sex"], 3)


def test_sequences_and_joins():
    """The order of a patient's rows counts; what leads from one frame to few of the other is found."""
    visits = pl.DataFrame(
        {"id": ["1", "1", "2", "2", "3", "3"], "code": ["a", "b", "a", "b", "b", "a"], "age": [1, 2, 1, 2, 1, 2]}
    )
    assert_every_patient_shares(visits.head(4), "id", 2)
    assert_every_patient_shares(visits, "id", 3, columns=["age"])
    with pytest.raises(AssertionError, match="1 of 2 sequences have fewer than 2 patients"):
        assert_every_patient_shares(visits, "id", 2)
    assert_cannot_be_joined(FRAME.head(4), FRAME.head(2), ["sex"], 2)
    assert_cannot_be_joined(FRAME.head(2), FRAME.tail(1), ["sex"], 2)
    with pytest.raises(AssertionError, match="1 of 3 combinations of sex in both"):
        assert_cannot_be_joined(FRAME, FRAME, ["sex"], 2)
    with pytest.raises(AssertionError, match="no rows in one"):
        assert_cannot_be_joined(FRAME, FRAME.clear(), ["sex"], 2)


def test_values_in_files(tmp_path):
    """Whole words are found in any file of a folder, however deep, and not told."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "data.csv").write_text(f"id\n{SECRET}\nM10\n")
    assert_nothing_of(["M1", "", "zanzi"], tmp_path)
    with pytest.raises(AssertionError, match=r"Of 2 values .* there are 1 in data\.csv\.") as failed:
        assert_nothing_of([SECRET, "other"], tmp_path)
    assert SECRET not in str(failed.value)
    with pytest.raises(AssertionError, match="no files"):
        assert_nothing_of([SECRET], tmp_path / "nowhere")


@given(strategies.code_sets(), st.integers(1, 3), st.integers(1, 4))
def test_combinations_by_definition(records, m, k):
    """k^m-anonymity as it is defined: each set of codes of a record, looked for in all records."""
    known = {frozenset(own) for record in records for size in range(1, m + 1) for own in combinations(record, size)}
    holds = all(sum(own <= set(record) for record in records) >= k for own in known)
    try:
        assert_combinations_are_shared(records, m, k)
        found = True
    except AssertionError:
        found = False

    assert holds == found


@examples(20)
@given(strategies.tables(missing=True), st.integers(2, 4))
def test_releases_of_made_up_tables_keep_the_promise(made, k):
    """What `protect_table` releases of any table that the strategy makes is k-anonymous by this definition too."""
    hierarchies = {name: cl.hierarchy_rows(rows) for name, rows in made.hierarchies.items()}
    try:
        release = cl.protect_table(made.frame, qi=hierarchies, rule=[cl.KAnonymity(k)], suppression=0.5)
    except cl.NoSafeRelease:
        return
    assert_k_anonymous(release.data, list(hierarchies), k)


@examples(15)
@given(strategies.trajectories(), strategies.code_sets())
def test_releases_of_made_up_codes_keep_the_promise(timelines, records):
    """Trajectories are shared by k patients, generalized codes by k records, whatever the strategies make."""
    k = 2
    if len(timelines) >= k:
        release = cl.protect_trajectories(cl.Trajectories.from_records(timelines), k=k)
        assert_every_patient_shares(release.frame, "id", k)
    sets = cl.CodeSets.from_records(records)
    try:
        made = cl.protect_codes(sets, k=k, privacy=cl.PrivacyPolicy.all_combinations(sets, m=2), method="cba")
    except cl.NoSafeRelease:
        return
    kept = [codes.split(" ") for codes in made.frame["codes"].drop_nulls() if codes]
    assert_combinations_are_shared(kept, 2, k)


@examples(10)
@given(strategies.claims())
def test_made_up_claims_fit_their_plan(tmp_path_factory, made):
    """The plan that comes with the strategy reads what it makes."""
    folder = tmp_path_factory.mktemp("claims")
    made.patients.write_csv(folder / "patients.csv")
    made.claims.write_csv(folder / "claims.csv")
    (folder / "plan.toml").write_text(strategies.CLAIMS_PLAN)
    found = cl.Claims.read(folder / "patients.csv", folder / "claims.csv", cl.ClaimsPlan.read(folder / "plan.toml"))

    assert (found.n_patients, found.n_claims) == (made.patients.height, made.claims.height)


def test_a_release_of_the_hospital_has_nothing_of_its_patients(tmp_path):
    """Record numbers and names of the example hospital do not leave with a release."""
    patients = hospital_patients(n=300)
    release = cl.protect_table(
        patients,
        qi={"age": cl.intervals(10, 20), "sex": cl.suppress()},
        rule=[cl.KAnonymity(5)],
        suppression=0.05,
        id="mrn",
        undecided="drop",
    )
    release.write(tmp_path / "release")

    assert_k_anonymous(release.data, ["age", "sex"], 5)
    assert_nothing_of([*patients["mrn"], *patients["name"]], tmp_path / "release")
