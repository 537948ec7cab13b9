"""What analysts can still do with a release, as its custodian is told."""

import numpy as np
import polars as pl
import pytest

import cloister as cl

N = 400
RNG = np.random.default_rng(5)
AGE = RNG.integers(20, 80, N)
PATIENTS = pl.DataFrame({"age": AGE, "sex": RNG.choice(["F", "M"], N), "ill": np.where(AGE > 50, "yes", "no")})
ASKED = {
    "qi": {"age": "interval:5,20,40", "sex": "suppress"},
    "rule": ["k-anonymity=3"],
    "accept": ["ill"],
    "suppression": 0,
}


def useful(**more):
    """What is told of a release of the patients."""
    return cl.protect_table(PATIENTS, **ASKED, **{"keep": ["ill"], **more}).custody.figures.get("usefulness", {})


@pytest.mark.parametrize(
    ("levels", "share"), [({"age": 1, "sex": 0}, 1.0), ({"age": 2, "sex": 0}, 0.0), ({"age": 1, "sex": 1}, 0.0)]
)
def test_rates_by_age_and_sex(levels, share):
    """A record counts where its labels say age to ten years, and sex."""
    assert useful(levels=levels) == {"by_age_and_sex": share}


def test_a_model_of_the_target():
    """The area under the curve is whole where labels decide the target, and by chance where they say nothing."""
    told = useful(target="ill", keep=[], levels={"age": 1, "sex": 0}, purpose="one-coding")
    assert told["auc_as_recorded"] == pytest.approx(1.0, abs=0.01)
    assert told["auc"] > 0.97
    nothing = useful(target="ill", keep=[], levels={"age": 4, "sex": 0}, purpose="one-coding")
    assert nothing["auc"] == pytest.approx(0.5, abs=0.06)


def test_auc_is_that_of_pairs():
    """The figure is the share of pairs, one with the outcome and one without, that the scores put in order."""
    frame = PATIENTS.with_columns(ill=pl.Series(RNG.choice(["yes", "no"], N, p=[0.6, 0.4])))
    release = cl.protect_table(frame, **ASKED, target="ill", levels={"age": 2, "sex": 0}, purpose="one-coding")
    half = np.random.default_rng(0).permutation(N) % 2 == 0
    # Released records are sorted; those of the original have the labels of a level of 20 years.
    label = [f"{age // 20}{sex}" for age, sex in frame.select("age", "sex").rows()]
    columns = [[one[0] for one in label], [one[1] for one in label]]
    truth = (frame["ill"] == "yes").to_numpy()
    total = 0.0
    for learnt, tested in ((half, ~half), (~half, half)):
        score = np.zeros(N)
        for column in columns:
            for value in set(column):
                has = np.array([one == value for one in column])
                odds = (has & learnt & truth).sum() + truth.mean(), (has & learnt & ~truth).sum() + 1 - truth.mean()
                score[has] += np.log(odds[0] / odds[1])
        pairs = [(score[i], score[j]) for i in np.flatnonzero(tested & truth) for j in np.flatnonzero(tested & ~truth)]
        total += np.mean([1.0 if i > j else 0.5 if i == j else 0.0 for i, j in pairs])

    assert release.custody.figures["usefulness"]["auc"] == pytest.approx(total / 2, abs=1e-4)
    assert "usefulness" not in release.summary()
