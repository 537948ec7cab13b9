"""Who is treated first, against plain counting; and a lower MaxSup where suppression does not suffice."""

from collections import defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_by_hand import labels_drawn, plain
from tests.made.claims_risk import attacked, chooser_of, risk_plan
from tests.made.encoded_claims import constant_power, few_claims, many_claims
from tests.made.examples import examples
from tests.oracles.claims import fewest_who_make_up, risk_of_draw

from cloister.errors import NoSafeRelease
from cloister.shapes.claims.method import suppression
from cloister.shapes.claims.method.adversary_draws import DrawnKnowledge
from cloister.shapes.claims.method.matching import ReleasedClaims
from cloister.shapes.claims.method.protect import choose_and_suppress
from cloister.shapes.claims.method.risk import ReleaseRisk, RiskFigures
from cloister.shapes.claims.method.suppression import (
    GLANCE,
    PATIENT_DRAWS,
    SCREEN,
    Excess,
    PatientJudge,
    Screening,
    most_at_risk,
    patient_risks,
    suppress,
)

EIGHTHS = st.lists(st.integers(0, 8).map(lambda n: n / 8), max_size=8)


@given(EIGHTHS, st.integers(-4, 40).map(lambda n: n / 8))
def test_the_fewest_at_most_risk_make_up_for_an_excess(figures, excess):
    """Highest figures first, lower numbers first among equal ones, until the sum is reached; nobody without any."""
    chosen = most_at_risk(np.array(figures), excess)

    assert fewest_who_make_up(figures, excess) == set(np.flatnonzero(chosen).tolist())


@examples(20)
@given(few_claims(), st.integers(0, 5), st.booleans())
def test_figures_of_patients_are_those_of_their_draws(encoded, seed, is_waived):
    """Screening and the close look give the shares of plainly counted draws, by classes below k; few draws first."""
    random = np.random.default_rng(seed)
    shown = random.random((2, encoded.n_claims)) < 0.8
    released = ReleasedClaims(
        encoded, random.random(encoded.n_patients) < 0.8, random.random(encoded.n_claims) < 0.9, shown
    )
    levels, power = (0, int(random.integers(0, 3)), 1), constant_power(encoded, 2)
    settings = risk_plan(threshold=0.4, is_flag_aware_waived=is_waived)
    knowledge = DrawnKnowledge(encoded, power, seed, released.patients)
    judge = PatientJudge(attacked(released, levels, power, settings), knowledge)
    screening = Screening(encoded.n_patients)
    screening.renew(judge)
    # figures are sums of thirds and the like, so that excess is asked with room for rounding
    wanted = Excess(*(0.9 * screening.figures.sum(axis=1)))
    people = patient_risks(judge, screening.figures, wanted)
    tables, k = plain(released, levels), settings.risk.k
    everybody = np.flatnonzero(released.patients)

    def means(patients, n_draws, first):
        found = np.zeros((3, encoded.n_patients))
        for i, labels in labels_drawn(knowledge.of_patients(patients, n_draws, first), released, levels):
            exact, flag_aware = risk_of_draw(tables, i, labels, k)
            found[:, i] += float(exact > 0), float(exact), 0.0 if is_waived else float(flag_aware)
        return found / n_draws

    seen = means(everybody, GLANCE, 0).any(axis=0)
    assert np.allclose(np.where(seen, means(everybody, SCREEN, 0), 0), screening.figures)
    looked = np.flatnonzero(people.looked_at)
    close = means(looked, PATIENT_DRAWS, SCREEN)
    assert np.allclose(close, [people.flag_rates, people.mean_risks, people.flag_aware_risks])
    assert close[0].sum() * PATIENT_DRAWS == pytest.approx(sum(len(own.patients) for own in people.flagged))
    assert people.is_short == any(close.sum(axis=1) < np.array(wanted))


@pytest.fixture(scope="module")
def hospital():
    """Three hundred patients; one column of patients and two of claims."""
    encoded = many_claims(300, mean_claims=6, seed=3, sizes=(30, 12))
    return type(encoded)(encoded.patients[:1], encoded.claims, encoded.offsets)


def settings(**changes):
    """Settings of a small release: classes of five."""
    asked = {"threshold": 0.2, "max_sup": 0.4, "truncation": (100.0, 90.0), "repeats": 10, "most_treated": 1.0}
    return risk_plan(**(asked | changes))


def test_only_as_many_are_looked_at_as_are_asked_for(hospital):
    """A small excess takes a few patients, those at most risk; more of it takes more of them, and nobody else."""
    power, asked = constant_power(hospital, 2), settings()
    release = attacked(ReleasedClaims.everything(hospital), (2, 1, 1), power, asked)
    judge = PatientJudge(release, DrawnKnowledge(hospital, power, 1))
    screening = Screening(hospital.n_patients)
    screening.renew(judge)
    total = screening.figures[0].sum()
    looks = [patient_risks(judge, screening.figures, Excess(share * total)) for share in (0.05, 0.4, 2.0)]
    sizes = [int(one.looked_at.sum()) for one in looks]

    assert sizes[0] < sizes[1] < sizes[2] == np.count_nonzero(screening.figures[0])
    assert [one.is_short for one in looks] == [False, False, True]
    assert looks[0].flag_rates.sum() >= 0.05 * total
    assert not (looks[0].looked_at & ~looks[1].looked_at).any()


def test_suppression_is_the_same_on_any_number_of_threads(hospital):
    """With many to treat."""
    power, everything = constant_power(hospital, 2), ReleasedClaims.everything(hospital)
    found = [
        suppress(attacked(everything, (3, 1, 2), power, settings(most_removed=0.9), threads=threads))
        for threads in (1, 3)
    ]

    assert found[0].rounds == found[1].rounds >= 1
    assert np.array_equal(found[0].released.cells, found[1].released.cells)
    assert np.array_equal(found[0].released.patients, found[1].released.patients)
    assert found[0].risk == found[1].risk


def test_one_chooser_serves_any_max_suppression(hospital):
    """What is kept from one MaxSup to the next changes nothing."""
    power = constant_power(hospital, 2)
    chooser = chooser_of(hospital, power, settings())
    for max_sup in (0.3, 0.15, 0.3):
        kept = chooser.choose(max_sup)
        fresh = chooser_of(hospital, power, settings()).choose(max_sup)
        assert (kept.levels, kept.loss, kept.tried, kept.around) == (
            fresh.levels,
            fresh.loss,
            fresh.tried,
            fresh.around,
        )


@pytest.mark.parametrize("max_sup", [0.3, 0.15])
def test_by_the_miss_test_of_the_paper_alone_no_node_that_loses_less_passes(hospital, max_sup):
    """All nodes of a small lattice tried; where base values decide as well, the choice never loses less."""
    power, bounds = (
        constant_power(hospital, 2),
        [(column.n_levels - 2, column.n_levels - 1) for column in hospital.columns],
    )
    alone = chooser_of(hospital, power, settings(is_node_alone=True, truncation=(100.0,)), bounds=bounds)
    both = chooser_of(hospital, power, settings(truncation=(100.0,)), bounds=bounds)
    level, found = alone.level(100.0), alone.choose(max_sup)
    passing = [
        round(level.losses.of(node), 12)
        for node in product(*(range(low, high + 1) for low, high in bounds))
        if level.by_node(node).is_candidate(node, max_sup)
    ]

    assert round(found.loss, 12) == min(passing)
    assert found.loss <= both.choose(max_sup).loss


def test_max_suppression_is_lowered_until_suppression_suffices(hospital):
    """Levels chosen by 0.4 flag more patients than may be treated; those by less do not."""
    power, limited = constant_power(hospital, 2), settings(most_treated=0.02)
    chooser = chooser_of(hospital, power, limited)
    first = chooser.choose(0.4)
    with pytest.raises(NoSafeRelease, match=r"treating at most a share of 0\.02 "):
        suppress(attacked(first.released, first.levels, power, limited))
    choice, suppressed, max_sup = choose_and_suppress(chooser)

    assert max_sup in (0.2, 0.1, 0.05)
    assert choice.levels == chooser.choose(max_sup).levels != first.levels
    assert suppressed.risk.holds(limited)
    assert suppressed.treated.mean() <= 0.02


def test_nothing_is_released_where_no_max_suppression_suffices(hospital):
    """Half of it four times, each choice of levels tried once, and an error that says so; no node at all is its own."""
    power, limited = constant_power(hospital, 2), settings(most_treated=0.0, most_removed=0.0)
    chooser = chooser_of(hospital, power, limited)
    fixed = chooser.choose(0.4)
    asked = defaultdict(int)

    def choose(max_sup):
        asked[max_sup] += 1
        if max_sup < 0.04:
            raise NoSafeRelease("no node")
        return fixed if max_sup > 0.1 else replace(fixed, levels=(2, 1, 1))

    chooser.choose = choose
    with pytest.raises(NoSafeRelease, match=r"each of 2 choices of levels, with risk.max_flag_rate from 0.4 down"):
        choose_and_suppress(chooser)
    assert asked == {0.4: 1, 0.2: 1, 0.1: 1, 0.05: 1, 0.025: 1}
    chooser.choose = lambda _: choose(0.01)
    with pytest.raises(NoSafeRelease, match="no node"):
        choose_and_suppress(chooser)


def test_suppression_without_progress_is_given_up(hospital, monkeypatch):
    """Where the risk stays as it is, two rounds are enough to see it; near the threshold all are gone through."""
    power = constant_power(hospital, 2)
    rounds = []

    def measured(high):
        share = RiskFigures(10_000, int(10_000 * high), 0, 0.01, 0.0)
        return lambda *given: (rounds.append(given[-1]), ReleaseRisk(share, share, share, share))[1]

    for high, message, last in ((0.5, "hardly lowers the risk: after 2 rounds", 2), (0.21, "After 12 rounds", 12)):
        rounds.clear()
        monkeypatch.setattr(suppression, "_measure_release", measured(high))
        monkeypatch.setattr(
            suppression, "_round", lambda judge, *_: (judge.attacked.released, np.zeros(300, dtype=bool))
        )
        with pytest.raises(NoSafeRelease, match=message):
            suppress(attacked(ReleasedClaims.everything(hospital), (3, 1, 2), power, settings()))
        assert rounds == [*range(last + 1)]
