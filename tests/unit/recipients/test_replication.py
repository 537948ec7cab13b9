"""Researchers' analyses of the original and of a release."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.errors import InputError
from cloister.recipients.models import design_of, independent
from cloister.recipients.replication import overlap
from cloister.settings.analyses import Analysis

pytest.importorskip("lifelines")
ENDS = st.tuples(st.floats(-9, 9), st.floats(-9, 9)).map(sorted).map(tuple)


def patients(n=400, seed=3):
    """Patients whose survival depends on age, sex and stage."""
    draw = np.random.default_rng(seed)
    age, sex, stage = draw.integers(40, 80, n), draw.choice(["F", "M"], n), draw.choice(["I", "II", "III"], n)
    risk = np.exp(0.05 * (age - 60) + 0.7 * (sex == "M") + 0.5 * (stage == "III"))
    days, end = np.ceil(draw.exponential(800 / risk)), draw.integers(200, 2000, n)
    frame = pl.DataFrame({"age": age, "sex": sex, "stage": stage, "days": np.minimum(days, end)})
    return frame.with_columns(pl.Series("died", (days <= end).astype(int)), pl.col("days").cast(int))


def release_of(folder, frame, **options):
    """A release of patients, opened."""
    qi = {"age": cl.intervals(10, 20), "sex": cl.suppress(), "stage": cl.suppress()}
    recorded = ["days", "died"]
    cl.protect_table(frame, qi=qi, sensitive=recorded, accept=recorded, **options).write(folder / "release")
    return cl.open(folder / "release")


ALL = (
    "cox: Surv(days, died) ~ age + sex + stage",
    "logistic: died ~ age*sex + C(stage)",
    "linear: days ~ poly(age, 2) + sex",
    "poisson: died ~ log(age) + sex",
    "kaplan-meier: Surv(days, died) ~ sex",
    "table: died ~ stage + sex",
)


def test_what_is_released_as_recorded_is_replicated(tmp_path):
    """Where every label is the recorded value, all estimates are those of the original."""
    frame = pl.concat([patients(60)] * 5)
    found = release_of(tmp_path, frame, k=5).replicate(frame, ALL, n=2)
    released = found.terms.filter(pl.col("data") != "original")

    # rows have another order, and a fit ends when its step is small enough
    assert released["overlap"].min() == pytest.approx(1, abs=1e-4)
    assert released["is_inside"].all()
    assert released["is_replicated"].drop_nulls().all()
    assert found.analyses["failed"].unique().to_list() == [""]
    assert found.analyses.height == 2 * len(ALL)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pandas, by lifelines
def test_the_estimates_of_the_original_are_those_of_the_libraries(tmp_path):
    """Coefficients and intervals are what lifelines and statsmodels print for the same formula."""
    from lifelines import CoxPHFitter, KaplanMeierFitter
    from statsmodels.formula.api import logit

    frame = patients()
    terms = release_of(tmp_path, frame, k=5).replicate(frame, ALL[:2] + ALL[4:5], n=2).terms
    own = terms.filter(pl.col("data") == "original")
    plain = frame.to_pandas()
    cox = CoxPHFitter().fit(plain, "days", "died", formula="age + sex + stage")
    logistic = logit("died ~ age*sex + C(stage)", plain).fit(disp=0)
    women = plain[plain.sex == "F"]
    at = float(frame["days"].quantile(0.5))
    alive = KaplanMeierFitter().fit(women.days, women.died).survival_function_at_times(at).item()

    of_cox = {row["term"]: row for row in own.filter(model="cox").iter_rows(named=True)}
    assert of_cox["sex[T.M]"]["estimate"] == pytest.approx(cox.params_["sex[T.M]"], abs=1e-6)
    assert of_cox["age"]["lower"] == pytest.approx(cox.confidence_intervals_.loc["age"].iloc[0], abs=1e-6)
    of_logit = {row["term"]: row["estimate"] for row in own.filter(model="logistic").iter_rows(named=True)}
    assert of_logit == pytest.approx(dict(logistic.params), abs=1e-6)
    shares = {row["term"]: row["estimate"] for row in own.filter(model="kaplan-meier").iter_rows(named=True)}
    assert shares[f"alive at {at:g} if sex=F"] == pytest.approx(alive)


def test_a_category_that_is_nowhere_in_the_release_is_not_replicated(tmp_path):
    """A term that cannot be estimated has no estimate, no overlap, and counts against the release."""
    frame = patients(60).with_columns(pl.Series("stage", ["I"] * 30 + ["II"] * 28 + ["III"] * 2))
    found = release_of(tmp_path, frame, k=8, suppression=0.2).replicate(frame, ["table: died ~ stage", ALL[0]], n=2)
    gone = found.terms.filter(pl.col("term").str.contains("III"), pl.col("data") == "labels")

    assert gone["overlap"].to_list() == [0, 0]
    assert gone["estimate"].null_count() == 2
    assert gone.filter(model="cox")["is_replicated"].to_list() == [False]
    assert "of 4 terms" in repr(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("died ~ age", "MODEL: FORMULA"),
        ("forest: died ~ age", "no model 'forest'"),
        ("cox: died ~ age", "Surv(TIME, EVENT)"),
        ("logistic: Surv(days, died) ~ age", "OUTCOME ~"),
        ("logistic: died", "OUTCOME ~"),
        ("table: died ~ age*sex", "those of columns"),
        ("logistic: died ~ os.system('x')", "calls os.system"),
        ("logistic: died ~ __import__(age)", "calls __import__"),
        ("logistic: died ~ {age}", "has a sign"),
        ("logistic: died ~ age['x']", "has a sign"),
        ("logistic: died ~ agee", "Did you mean age?"),
        ("logistic: stage ~ age", "has 3 values"),
        ("linear: sex ~ age", "numbers in 'sex'"),
        ("cox: Surv(sex, died) ~ age", "numbers in 'sex'"),
        ("table: died ~ days", "more than 50 groups"),
        ("logistic: died ~ poly(sex, 2)", "cannot be evaluated"),
        ("logistic: died ~ age +", "cannot be evaluated"),
    ],
)
def test_what_is_no_analysis_is_refused(text, words, tmp_path):
    """The message names what is wrong; a formula runs nothing but its functions."""
    frame = patients(200)
    release = release_of(tmp_path, frame, k=5)

    with pytest.raises(InputError) as refused:
        release.replicate(frame, [text], n=2)
    assert words in refused.value.message


def test_names_with_dots_and_in_backticks():
    """As in R, a name may have dots; others are written in backticks."""
    assert Analysis.parse("linear: y ~ sample.yr + `a b`").columns == ("y", "sample.yr", "a b")
    assert Analysis.parse("linear: y ~ sample.yr").right == "`sample.yr`"
    frame = pl.DataFrame({"y": [1.0, 2.0, 2.5, 4.5], "sample.yr": [1.0, 2.0, 3.0, 4.0], "a b": [0.0, 1.0, 1.0, 0.0]})
    assert [*design_of(Analysis.parse("linear: y ~ sample.yr + `a b`"), frame).fit(frame).terms] == [
        "Intercept",
        "sample.yr",
        "a b",
    ]


@examples(100)
@given(values=st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=6))
def test_independent_columns_have_the_rank_of_all(values):
    """As many columns are kept as the rank, and each kept one raises it."""
    matrix = np.array(values, dtype=float)
    kept = independent(matrix)

    assert len(kept) == np.linalg.matrix_rank(matrix)
    assert [np.linalg.matrix_rank(matrix[:, : place + 1]) for place in kept] == [*range(1, len(kept) + 1)]


@examples(100)
@given(one=ENDS, other=ENDS)
def test_overlap_is_a_share(one, other):
    """It is from 0 to 1, the same from both sides, and 1 of equal intervals."""
    assert 0 <= overlap(one, other) <= 1
    assert overlap(one, other) == overlap(other, one)
    assert overlap(one, one) == 1
