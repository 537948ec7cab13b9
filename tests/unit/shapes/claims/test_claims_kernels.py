"""Wrappers of the kernels of claims refuse arrays that do not fit together, and loading them runs."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.made.claims_risk import ConstantPower, attacked, risk_plan
from tests.made.encoded_claims import claims_of, column, constant_power, many_claims, text_at, written

from cloister.errors import InternalError
from cloister.kernels.claim_draws import Recoding, draw_patients, draw_values, ordered_class_sizes
from cloister.kernels.claim_leeway import make_leeway
from cloister.kernels.claim_matches import are_contained, class_sizes
from cloister.kernels.compiling import must_compile
from cloister.kernels.postings import make_postings, with_bits
from cloister.report.page import assumed_words
from cloister.shapes.claims.format.facts import class_size_of_patient
from cloister.shapes.claims.format.population import PeopleCounted, people_of, voter_list
from cloister.shapes.claims.method import adversaries
from cloister.shapes.claims.method.adversaries import HospitalStays, attacks_on, in_population
from cloister.shapes.claims.method.adversary_draws import REPEAT, DrawnKnowledge, chosen_draws, interleave_draws
from cloister.shapes.claims.method.matching import Matching, ReleasedClaims
from cloister.shapes.claims.method.protect import load_kernels
from cloister.shapes.claims.method.risk import NodeRisk, maximum_likelihood_risk, release_risk

LEVELS = (3, 1, 2, 2, 1, 1)


@pytest.fixture
def encoded():
    """A hundred patients."""
    return many_claims(100, mean_claims=5, sizes=(12, 6))


def test_loading_the_kernels_leaves_them_compiled():
    """After loading nothing has to be compiled."""
    load_kernels()

    assert not must_compile("claims")


def test_draws_of_a_patient_are_the_same_in_any_company(encoded):
    """What is drawn of a patient follows from seed, number and patient, not from who else is asked about."""
    knowledge = DrawnKnowledge(encoded, constant_power(encoded, 3), 5)
    together = knowledge.of_patients(np.arange(20), 4)
    alone = knowledge.of_patients(np.array([7]), 4)
    mine = chosen_draws(together, together.patients == 7)

    assert alone.values.tolist() == mine.values.tolist()
    assert (alone.starts - alone.starts[0, 0]).tolist() == mine.starts.tolist()


def test_later_samples_go_on_where_earlier_ones_ended(encoded):
    """Samples 4 to 6 of a patient are the last three of seven."""
    knowledge = DrawnKnowledge(encoded, constant_power(encoded, 2), 5)
    seven = knowledge.of_patients(np.array([3]), 7)
    three = knowledge.of_patients(np.array([3]), 3, 4)

    assert seven.values[-three.values.size :].tolist() == three.values.tolist()


def test_a_lower_power_draws_the_beginning_of_a_sample(encoded):
    """With more power the same values are known, and more."""
    few = DrawnKnowledge(encoded, constant_power(encoded, 1), 9).repeat(0)
    more = DrawnKnowledge(encoded, constant_power(encoded, 2), 9).repeat(0)

    for d in range(200):
        for h in range(2):
            a = few.values[few.starts[d, h] : few.starts[d, h + 1]].tolist()
            b = more.values[more.starts[d, h] : more.starts[d, h + 1]].tolist()
            assert set(a) <= set(b)


def test_every_set_of_values_is_drawn_equally_often():
    """Of four values two are drawn: each of the six pairs in a sixth of 30,000 draws."""
    encoded = claims_of([(0,)], [[(0,), (1,), (2,), (3,)]])
    knowledge = DrawnKnowledge(encoded, constant_power(encoded, 2), 1)
    pairs = np.concatenate([knowledge.repeat(number).values.reshape(-1, 2) for number in range(3)])
    _, counts = np.unique(pairs, axis=0, return_counts=True)

    assert counts.size == 6
    assert np.all(np.abs(counts - 5000) < 4 * 65)


def test_patients_are_drawn_equally_often(encoded):
    """Each of fifty eligible patients in a fiftieth of the draws, and no other."""
    drawn = draw_patients(3, 0, 50_000, np.arange(0, 100, 2))
    counts = np.bincount(drawn, minlength=100)

    assert counts[1::2].sum() == 0
    assert np.all(np.abs(counts[::2] - 1000) < 4 * 32)


def test_draws_put_together_patient_by_patient(encoded):
    """Rounds over the same patients become runs of draws of one patient."""
    knowledge = DrawnKnowledge(encoded, constant_power(encoded, 2), 5)
    rounds = [knowledge.of_patients(np.arange(5), 1, number) for number in range(3)]
    whole = interleave_draws(rounds)

    assert np.repeat(np.arange(5), 3).tolist() == whole.patients.tolist()
    for d in range(15):
        part = rounds[d % 3]
        own = part.values[part.starts[d // 3, 0] : part.starts[d // 3, -1]]
        assert own.tolist() == whole.values[whole.starts[d, 0] : whole.starts[d, -1]].tolist()


def test_what_does_not_fit_is_refused(encoded):
    """Wrong shapes and numbers out of range are errors before anything is counted."""
    power = constant_power(encoded, 2)
    knowledge = DrawnKnowledge(encoded, power, 0)
    matching = Matching(ReleasedClaims.everything(encoded), 2)
    draws = knowledge.of_patients(np.arange(4), 1)
    levels = [0] * 6
    recoding, cells = matching.lists(levels).recoding, matching.cells(levels)
    question = matching._question(levels, draws, cells)
    lists = np.array([0, 1]), np.array([0], dtype=np.int32)

    with pytest.raises(ValueError, match="power"):
        draw_values(knowledge.known, power[:3], 0, 0, np.arange(2))
    with pytest.raises(ValueError, match="patients"):
        draw_values(knowledge.known, power, 0, 0, np.array([100]))
    with pytest.raises(ValueError, match="a patient to draw"):
        draw_patients(0, 0, 5, np.array([], dtype=np.int64))
    with pytest.raises(ValueError, match="draws"):
        are_contained(question, (0, 5), np.zeros(4, dtype=np.bool_))
    with pytest.raises(ValueError, match="cell"):
        class_sizes(question._replace(wanted=np.full(4, 10**6)), (0, 4), np.zeros(4, dtype=np.int64))
    with pytest.raises(ValueError, match="neighbours"):
        make_postings(np.array([0, 3]), np.array([0, 1, 2], dtype=np.int32), np.array([0, 1, 0]), 2, 5)
    with pytest.raises(ValueError, match="values"):
        make_postings(np.array([0, 1]), np.array([4], dtype=np.int32), np.array([0, 1, 1]), 2, 5)
    with pytest.raises(ValueError, match="starts"):
        with_bits(np.array([0, 1]), np.array([0, 2]), lists[1], 4)
    with pytest.raises(ValueError, match="room"):
        make_leeway(cells.of, np.zeros((2, 3), dtype=np.int32))
    fewer = Recoding(recoding.labels, recoding.at[:1])
    with pytest.raises(ValueError, match="columns"):
        ordered_class_sizes(knowledge.known, cells, draws, fewer, (0, 4), np.zeros(4, dtype=np.int64))
    with pytest.raises(ValueError, match="more often"):
        NodeRisk(matching, DrawnKnowledge(encoded, constant_power(encoded, 3), 0), 5)


def test_encoded_claims_that_do_not_fit_are_our_defect():
    """Levels that are not nested, values out of range and runs of claims that are none are internal errors."""
    good = claims_of([(0,)], [[(0,), (1,)]])
    with pytest.raises(InternalError, match="nested"):
        claims_of([(0,)], [[(0,), (1,)]], [(), ((0, 0), (0, 1))])
    with pytest.raises(InternalError, match="do not fit"):
        type(good)(good.patients, good.claims, np.array([0, 1]))
    with pytest.raises(InternalError, match="run of rows"):
        type(good)(good.patients, good.claims, np.array([0, 2, 1]))
    with pytest.raises(InternalError, match="years"):
        type(good)(good.patients, good.claims, good.offsets, np.array([2008], dtype=np.int32))
    assert text_at(column("any", [0, None]), 0) == ["any-0-0", None]


def test_all_adversaries_at_once(encoded):
    """The table of step 12 names each adversary once, and knowing all of a column is no less risk than one value."""
    release = attacked(ReleasedClaims.everything(encoded), LEVELS, constant_power(encoded, 2), risk_plan())
    people = PeopleCounted(("age",), *[np.full(encoded.n_patients, 3)] * 3)
    attacks = attacks_on(
        release,
        release_risk(release, release.samples, 1),
        maximum_likelihood_risk(release),
        ConstantPower(release.power),
        when=np.arange(encoded.n_claims, dtype=np.int32),
        stays=HospitalStays((0, 1), np.ones(encoded.n_claims, dtype=np.bool_)),
    )
    attacks.append(in_population(release, people, np.arange(encoded.n_patients)))
    rows = [attack.as_json() for attack in attacks]
    voters, means = voter_list(people, 20, is_population=True), {one.name: one.figures.mean for one in attacks}
    said = {assumed_words(name, SimpleNamespace(attacks=rows, voter_list=voters)) for name in means}
    files, form = written(release.released, LEVELS)
    own = files.patients.drop("id")

    assert len(means) == len(attacks) == len(said) == 18
    assert all(sentence.endswith(".") for sentence in said)
    assert means["one value of each column"] <= means["all values"] <= np.mean(1 / class_size_of_patient(files, form))
    assert means["power up to 5"] == means["five values of each column"]
    assert means["flags believed"] == means["counted in the population"] == means["patients and claims together"]
    assert any("all of the released patients" in sentence for sentence in said)
    assert voters.exact == round(1 / 3, 6)
    alone = voter_list(people_of(own, own), 20, is_population=False)
    assert alone.observed == pytest.approx(means["patients alone"], abs=0.02)


def test_order_is_looked_at_in_fewer_draws_where_cells_are_large(encoded, monkeypatch):
    """As many of the draws as can be afforded, the first ones, with any number of threads."""
    found = []
    for work, threads in ((adversaries.WORK, 1), (1, 1), (1, 2)):
        monkeypatch.setattr(adversaries, "WORK", work)
        power, everything = constant_power(encoded, 1), ReleasedClaims.everything(encoded)
        release = attacked(everything, LEVELS, power, risk_plan(), threads=threads)
        found.append(adversaries.exact_order(release, np.arange(encoded.n_claims, dtype=np.int32)))

    assert [figures.draws for figures in found] == [REPEAT, adversaries.FEWEST, adversaries.FEWEST]
    assert found[1] == found[2]
    assert found[0].mean == pytest.approx(found[1].mean, abs=4 * found[1].deviation / adversaries.FEWEST**0.5)
