"""What recipients ask of a release of each shape, from its folder alone."""

import itertools
import random
import sys
from datetime import date

import numpy as np
import polars as pl
import pytest
from tests.made.claims_files import write_files

import cloister as cl
from cloister.recipients.answers import TermAnswers, TrajectoryAnswers
from cloister.release.codebook import codebook_of
from cloister.shapes.generalization.format.data import Generalization, Sets
from cloister.testing import hospital as made_hospital

PATIENTS = [("F", 31 + n % 9, "250.00 401.9") for n in range(6)] + [("M", 51 + n % 9, "401.9 414.01") for n in range(6)]
PATIENTS += [("F", 35, ""), ("F", 36, ""), ("F", 37, "")]


@pytest.fixture(scope="module")
def hospital():
    """A hundred and fifty made-up patients."""
    return made_hospital(seed=3, n=150)


@pytest.fixture
def both(tmp_path):
    """A table with codes, opened."""
    frame = pl.DataFrame(PATIENTS, ["sex", "age", "codes"], orient="row")
    quasi = {"age": "interval:10", "sex": "suppress"}
    cl.protect_table(frame, qi=quasi, rule=["k-anonymity=3"], codes="codes").write(tmp_path / "out")
    return cl.open(tmp_path / "out")


def test_a_table_answers_conditions(hospital, tmp_path):
    """Counts by labels as recorded are exact, counts of ranges bound the truth, suppressed records may count above."""
    frame = hospital.patients.select("age", "sex", "diagnosis")
    quasi = {"age": "interval:5,10", "sex": "suppress"}
    cl.protect_table(frame, qi=quasi, rule=["k-anonymity=5"], sensitive=["diagnosis"], suppression=0.1).write(
        tmp_path / "out"
    )
    release = cl.open(tmp_path / "out")

    for low, high in itertools.combinations(range(0, 90, 7), 2):
        found = release.answer({"age": (low, high), "sex": "F"})
        truth = frame.filter(pl.col("age").is_between(low, high) & (pl.col("sex") == "F")).height
        assert found.lower <= truth <= found.upper
        assert found.lower <= found.expected <= found.upper
    assert release.facts.k == 5
    assert release.facts.rules == release.guarantee.rules
    with pytest.raises(cl.InputError, match="A column 'weight' is asked for"):
        release.answer({"weight": 3})
    with pytest.raises(cl.InputError, match="Codes are asked for"):
        release.count(["401.9"])


def test_bounds_of_labels_are_columns(tmp_path):
    """Labels of numbers and dates get their bounds as columns; open ends, * and missing values have none."""
    ages, days = [31, 33, 38, 52, 55, 57, None, None, None], [date(2020, 1, day) for day in range(1, 10)]
    frame = pl.DataFrame({"age": ages, "day": days, "sex": ["F"] * 9})
    quasi = {"age": "interval:10", "day": "date:month", "sex": "suppress"}
    cl.protect_table(frame, qi=quasi, k=3).write(tmp_path / "out")
    release = cl.open(tmp_path / "out")

    found = release.frame(bounds=True)
    assert found.columns == ["age", "age_lower", "age_upper", "day", "day_lower", "day_upper", "sex"]
    ends = found.select("age_lower", "age_upper", "day_lower", "day_upper").unique().sort("age_lower").rows()
    month = date(2020, 1, 1), date(2020, 1, 31)
    assert ends == [(None, None, *month), (30.0, 39.0, *month), (50.0, 59.0, *month)]
    assert found.select(release.frame().columns).equals(release.frame())


def test_disassociated_codes_are_counted_and_rebuilt(hospital, tmp_path):
    """Bounds hold the truth, reconstructions lie within them, and several pool to one estimate."""
    codes = cl.CodeSets.from_records([text.split() for text in hospital.codes["codes"]])
    cl.protect_codes(codes, k=3).write(tmp_path / "out")
    release = cl.open(tmp_path / "out")
    sets = [set(text.split()) for text in hospital.codes["codes"]]
    rebuilt = release.reconstruct(n=4, seed=1)

    for query in (["401.9"], ["401.9", "250.00"], ["401.9", "272.4", "250.00"]):
        found = release.count(query)
        assert found.lower <= sum(set(query) <= record for record in sets) <= found.upper
        counts = [sum(set(query) <= record for record in _records(one)) for one in rebuilt]
        assert all(found.lower <= count <= found.upper for count in counts)
        assert found.lower <= cl.pool(counts).estimate <= found.upper
    assert [*_records(rebuilt[0])] == [*_records(release.reconstruct(seed=1)[0])]
    assert release.answer({"codes": "401.9"}) == release.count(["401.9"])
    for wrong in ({"n": 0}, {"n": True}, {"seed": -1}):
        with pytest.raises(cl.InputError):
            release.reconstruct(**wrong)


def _records(codes):
    for first, last in itertools.pairwise(codes.offsets.tolist()):
        yield {codes.vocabulary[item] for item in codes.items[first:last]}


def test_codes_are_counted_by_classes_of_their_table(both):
    """Bounds of classes add up to those of the release, and conditions choose classes."""
    whole, parts = both.count(["401.9"]), both.count_by(["401.9"], "sex")

    assert (whole.lower, whole.upper) == (parts["lower"].sum(), parts["upper"].sum()) == (12, 12)
    assert both.count(["250.00", "401.9"], where={"sex": "F"}) == both.count(["250.00", "401.9"])
    assert both.count(["401.9"], where={"age": (30, 59)}).is_exact
    assert both.count(["401.9"], where={"age": (35, 59)}).lower == 6
    assert both.answer({"sex": "F"}).lower == 9
    with pytest.raises(cl.InputError, match="A column 'weight' is asked for"):
        both.count_by(["401.9"], "weight")


def test_codes_may_be_asked_by_the_name_of_their_column_too(tmp_path):
    """Codes under both names are one question, of which none is forgotten."""
    frame = pl.DataFrame(PATIENTS, ["sex", "age", "dx"], orient="row")
    asked = {"qi": {"age": "interval:10", "sex": "suppress"}, "rule": ["k-anonymity=3"], "codes": "dx"}
    cl.protect_table(frame, **asked).write(tmp_path / "out")
    release = cl.open(tmp_path / "out")

    assert release.answer({"dx": "401.9"}) == release.count(["401.9"])
    assert release.answer({"codes": ["401.9"], "dx": "250.00"}) == release.count(["401.9", "250.00"])
    assert release.count(["401.9", "250.00"]) != release.count(["401.9"])


def test_a_forged_cluster_is_not_counted(tmp_path):
    """Bounds rely on all that is promised: even without verifying, clusters that break it are refused."""
    codes = cl.CodeSets.from_records([["a", "b"]] * 6)
    cl.protect_codes(codes, k=3).write(tmp_path / "out")
    place = tmp_path / "out" / "clusters.json"
    place.write_text(place.read_text().replace('"size": 6', '"size": 7'))

    with pytest.raises(cl.GuaranteeViolation):
        cl.open(tmp_path / "out", verify=False).count(["a"])


@pytest.mark.parametrize("seed", range(40))
def test_bounds_from_terms_are_those_of_all_data_sets(seed):
    """Every choice of a non-empty subset for each term, such that each code occurs, is counted."""
    rng = random.Random(seed)
    vocabulary = tuple("abcd"[: rng.randint(2, 4)])
    cut = sorted(rng.sample(range(1, len(vocabulary)), rng.randint(0, len(vocabulary) - 1)))
    terms = Sets.of(range(first, last) for first, last in itertools.pairwise([0, *cut, len(vocabulary)]))
    records = [[term for term in range(len(terms)) if rng.random() < 0.6] for _ in range(rng.randint(1, 3))]
    for term in range(len(terms)):
        if not any(term in record for record in records):
            rng.choice(records).append(term)
    released = Generalization(1, vocabulary, terms, np.zeros(0, np.int32), Sets.of(records))
    worlds = [world for world in _worlds(released, records) if set().union(*world) == set(vocabulary)]
    answers = TermAnswers(released, False, 0)

    for query in itertools.chain.from_iterable(itertools.combinations(vocabulary, size) for size in (1, 2, 3)):
        counts = [sum(set(query) <= record for record in world) for world in worlds]
        found = answers.count(query)
        assert (found.lower, found.upper) == (min(counts), max(counts)), query
    assert answers.count(["z"]).upper == 0
    assert TermAnswers(released, True, 2).count(["z"]).upper == len(records) + 2


def _worlds(released, records):
    choices = []
    for record in records:
        parts = []
        for term in record:
            codes = [released.vocabulary[code] for code in released.terms.members(term)]
            parts.append([set(s) for n in range(1, len(codes) + 1) for s in itertools.combinations(codes, n)])
        choices.append([set().union(*chosen) for chosen in itertools.product(*parts)])
    return itertools.product(*choices)


def test_generalized_codes_answer_as_in_the_paper(hospital, tmp_path):
    """The expected count is that of all non-empty subsets alike; bounds hold the truth."""
    codes = cl.CodeSets.from_records([text.split() for text in hospital.codes["codes"]])
    privacy = cl.PrivacyPolicy.all_combinations(codes, m=2)
    policy = cl.UtilityPolicy.by_level(codes, level=1)
    made = cl.protect_codes(codes, method="cba", k=5, privacy=privacy, policy=policy)
    made.write(tmp_path / "out")
    release = cl.open(tmp_path / "out")
    sets = [set(text.split()) for text in hospital.codes["codes"]]

    for query in (["401.9"], ["401.9", "250.00"], ["V58.61"]):
        found = release.count(query)
        assert found.lower <= sum(set(query) <= record for record in sets) <= found.upper
    with pytest.raises(cl.InputError, match="has no disassociated codes"):
        release.reconstruct()
    with pytest.raises(cl.InputError, match="A column 'sex' is asked for"):
        release.count(["401.9"], where={"sex": "F"})


def test_trajectories_answer_codes_at_ages(hospital, tmp_path):
    """Codes count with what is below them; suppressed pairs may count above, as many as the losses allow."""
    hospital.trajectories.write_csv(tmp_path / "visits.csv")
    given = cl.Trajectories.read(tmp_path / "visits.csv", id="patient_id")
    cl.protect_trajectories(given, k=3).write(tmp_path / "out")
    release = cl.open(tmp_path / "out")

    for code, ages in itertools.product(["401", "401.9", "250"], [None, (40, 69), (60, None)]):
        found = release.count([code], ages=ages)
        here = hospital.trajectories.filter(pl.col("code").str.starts_with(code))
        here = here if ages is None else here.filter(pl.col("age").is_between(ages[0], ages[1] or 200))
        assert found.lower <= here["patient_id"].n_unique() <= found.upper
    assert release.answer({"codes": ["401"], "age": (40, 69)}) == release.count(["401"], ages=(40, 69))


def test_nothing_suppressed_means_exact():
    """Pairs as recorded, without any loss, leave as much room as rounding of the loss does."""
    frame = pl.DataFrame({"id": ["1", "2"], "code": ["401.9", "250.00"], "age": ["40", "41"]})
    rows = [("code", "", "icd9", None, code, "") for code in ("401.9", "250.00")]
    answers = TrajectoryAnswers(frame, codebook_of(rows, {"code": "text"}), {"code": cl.icd9()}, (0.0, 0.0))
    assert answers.answer({"codes": ["401.9"]}).is_exact
    with pytest.raises(cl.InputError, match="hierarchy of codes is a file"):
        TrajectoryAnswers(frame, answers.codebook, {}, (0.0, 0.0)).answer({"codes": ["401.9"]})


def test_frames_are_of_the_kind_that_is_asked(both):
    """Polars, pandas or PyArrow, with labels in order; anything else is refused."""
    assert both.frame().equals(both.data)
    assert list(both.frame("pandas").columns) == list(both.frame("arrow").column_names) == both.data.columns
    with pytest.raises(cl.InputError, match="not 'spark'"):
        both.frame("spark")
    with pytest.raises(cl.InputError, match="There are: data"):
        both.frame(table="claims")


def test_pandas_needs_no_pyarrow(both, monkeypatch):
    """A frame of pandas is made where PyArrow is not installed, and what lacks is named with its cure."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert both.frame("pandas").shape == both.data.shape
    monkeypatch.setattr("cloister.api.open.find_spec", lambda _: None)
    with pytest.raises(cl.InputError, match="pip install pyarrow"):
        both.frame("arrow")


def test_claims_say_what_can_be_counted(tmp_path):
    """Neither question sends to the other: the files of claims are counted as they are."""
    write_files(tmp_path)
    plan = cl.ClaimsPlan.read(tmp_path / "plan.toml")
    claims = cl.Claims.read(tmp_path / "patients.csv", tmp_path / "claims.csv", plan)
    cl.protect_claims(claims).write(tmp_path / "out")
    release = cl.open(tmp_path / "out")
    for ask in (lambda: release.count(["401.9"]), lambda: release.answer({"sex": "F"})):
        with pytest.raises(cl.InputError, match=r"its own files: patients\.csv, claims\.csv"):
            ask()


def test_what_must_not_be_concluded_is_said(both):
    """Each shape says in words what its release cannot tell."""
    assert any("at random" in sentence for sentence in both.risk_of_use())
