"""Tables in which a patient has several records: k counts patients, and nothing joins their records across classes."""

from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.attacks.table import Targets
from cloister.io import Tally
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.verify.verify import verify

K = 3
ROWS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(20, 59), st.sampled_from("FM"), st.sampled_from(["a", "b", None])),
    min_size=12,
    max_size=60,
)


def frame_of(rows):
    """Visits: whose, age, sex, diagnosis."""
    columns = {"whose": pl.String, "age": pl.Int64, "sex": pl.String, "dx": pl.String}
    return pl.DataFrame([(f"p{one}", *others) for one, *others in rows], schema=columns, orient="row")


def release_of(frame, **settings):
    """A release in which k patients share each class."""
    asked = {"rule": [f"k-anonymity={K}"], "suppression": 0.4, "sensitive": ["dx"], "patient": "whose"} | settings
    return cl.protect_table(frame, qi={"age": cl.intervals(5, 20, 40), "sex": cl.suppress()}, accept=["dx"], **asked)


def patients_by_class(release, frame):
    """Brute force: the patients whose records are in each class, by the positions that the crosswalk would tell."""
    found = defaultdict(set)
    for age, sex, whose in release.data.select("age", "sex", "whose").rows():
        found[age, sex].add(whose)
    return found


@given(rows=ROWS, seed=st.integers(0, 3), sex_level=st.integers(0, 1))
@examples(40)
def test_an_attack_finds_what_brute_force_does(rows, seed, sex_level):
    """Who knows all of one record of a patient finds the patients of the classes that cover it, and at least k."""
    frame = frame_of(rows)
    try:
        release = release_of(frame, levels={"age": 2, "sex": sex_level})
    except cl.NoSafeRelease:
        return
    found = cl.attack(release, frame, seed=seed)
    classes, last = patients_by_class(release, frame), found.levels[-1]

    def covers(labels, age, sex):
        low, high = map(int, labels[0].strip("[]").split("-"))
        return low <= age <= high and labels[1] in ("*", sex)

    known = frame["age", "sex"].rows()
    looked_for = [known[row] for row in Targets.of(frame, "whose", seed).record]
    matches = [sum(len(who) for labels, who in classes.items() if covers(labels, *one)) for one in looked_for]
    alone = [frame.filter(pl.col("age") == age, pl.col("sex") == sex)["whose"].n_unique() for age, sex in looked_for]
    predicates = {*release.data["age", "sex", "dx"].rows()}
    isolated = [
        {who for who, age, sex, dx in frame.rows() if dx == other and covers((label, star), age, sex)}
        for label, star, other in predicates
    ]
    assert found.holds
    assert last.known == "all 2 quasi-identifiers of one record"
    assert (last.released.targets, last.released.none) == (frame["whose"].n_unique(), matches.count(0))
    assert (last.released.least, last.released.fewer) == (min(filter(None, matches), default=0), 0)
    assert last.released.rate == pytest.approx(sum(1 / one for one in matches if one) / len(matches))
    assert last.original.alone == alone.count(1)
    assert found.predicates.isolating == sum(len(who) == 1 for who in isolated)


@given(ages=st.lists(st.integers(20, 59), min_size=12, max_size=40))
@examples(30)
def test_patients_with_one_record_each_are_attacked_alike(ages):
    """Counting patients changes no figure of matches where each has one record."""
    frame = frame_of([(place, age, "FM"[age % 2], "ab"[place % 2]) for place, age in enumerate(ages)])
    counted = {"patient": "whose"}, {"patient": None, "id": "whose"}
    found = []
    for settings in counted:
        try:
            found.append(cl.attack(release_of(frame, levels={"age": 2, "sex": 1}, suppression=1, **settings), frame))
        except cl.NoSafeRelease:
            return
    several, single = (one.levels[-1] for one in found)

    assert found[0].predicates == found[1].predicates
    assert several.original == single.original
    assert (several.released.targets, several.released.least, several.released.none) == (
        single.released.targets, single.released.least, single.released.none,
    )  # fmt: skip


def test_an_attack_needs_to_see_who_is_who_in_a_class():
    """Without the numbers of patients a release does not show how many patients match."""
    release = release_of(VISITS, ids="drop")
    with pytest.raises(cl.InputError, match="does not show which are of one patient"):
        cl.attack(release, VISITS)


@pytest.mark.parametrize("settings", [{}, {"method": "full-domain"}, {"method": "cluster"}, {"local_recoding": True}])
@given(rows=ROWS)
@examples(40)
def test_every_class_holds_k_patients(settings, rows):
    """By any method each class has k patients, numbered 1, 2, 3 ..., and a table without k of them is refused."""
    frame = frame_of(rows)
    try:
        release = release_of(frame, **settings)
    except cl.NoSafeRelease:
        return
    for numbers in patients_by_class(release, frame).values():
        assert numbers == set(range(1, len(numbers) + 1))
        assert len(numbers) >= K
    assert release.verify().holds


@given(rows=ROWS)
@examples(40)
def test_names_and_order_change_nothing(rows):
    """Other names of the patients, or rows in another order, give the same file."""
    frame = frame_of(rows)
    other = frame.with_columns(whose=pl.lit("z") + pl.col("whose").str.reverse()).sample(
        fraction=1, shuffle=True, seed=1
    )
    try:
        release = release_of(frame)
    except cl.NoSafeRelease:
        with pytest.raises(cl.NoSafeRelease):
            release_of(other)
        return
    assert release.data.equals(release_of(other).data)


VISITS = frame_of(
    [(one, 20 + one // 2, "FM"[one % 2], "ab"[visit % 2]) for one in range(40) for visit in range(1 + one % 3)]
)


@pytest.mark.parametrize(
    "change",
    [
        pl.lit(1, dtype=pl.Int64),
        pl.int_range(1, pl.len() + 1),
        pl.when(pl.col("whose") == 1).then(2).when(pl.col("whose") == 2).then(1).otherwise("whose"),
    ],
    ids=["one patient", "every record another patient", "two exchanged"],
)
def test_other_numbers_do_not_hold(change):
    """Numbers that say of other patients are refused, also where the order of the records fits them."""
    release = release_of(VISITS)
    guarantee = guarantee_of(release.manifest)
    other = release.frame.with_columns(change.cast(pl.Int64).alias("whose")).sort("age", "sex", "dx", "whose")

    assert verify(Tally(release.frame), guarantee).holds
    assert not verify(Tally(other), guarantee).holds


def test_without_numbers_only_the_original_tells(tmp_path):
    """Where the column is not released the recipient is told that patients were not counted again."""
    release_of(VISITS, ids="drop").write(tmp_path / "release")
    alone = cl.verify_folder(tmp_path / "release")
    compared = cl.verify_folder(tmp_path / "release", original=VISITS)

    assert "whose" not in pl.read_csv(tmp_path / "release/data.csv").columns
    accepted = cl.verify_folder(tmp_path / "release", accept_unchecked=["k-patients"])

    assert not alone.holds
    assert compared.holds
    assert accepted.holds
    assert "the release does not say whose records they are" in alone.problem()
    with pytest.raises(cl.InputError, match="nothing unchecked of the name l-diversity"):
        cl.verify_folder(tmp_path / "release", accept_unchecked=["l-diversity"])


def test_risk_is_that_of_patients():
    """Risk is counted by patients: a class of many records of k patients has a risk of one in k."""
    rows = [(one, 30, "F", "a") for one in range(K) for _ in range(9)]

    assert release_of(frame_of(rows)).summary()["risk"]["highest"] == 1 / K


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ids": "hmac", "id_key": b"k" * 32}, "across classes"),
        ({"id": "dx", "sensitive": []}, "Two columns"),
        ({"rule": ["k-anonymity=3", "average-risk=0.3"]}, "counts records as people"),
    ],
)
def test_what_would_count_records_is_refused(settings, words):
    """Keyed ids, two columns of patients and rules that count records as people are refused."""
    with pytest.raises(cl.InputError, match=words):
        release_of(VISITS, **settings)


def test_ids_that_repeat_are_not_left_out_in_silence():
    """A column left out whose name and values say patients is refused, until it is named, or accepted by name."""
    frame, settings = VISITS.rename({"whose": "PatientId"}), {"patient": None, "drop": ["PatientId"]}
    with pytest.raises(cl.InputError, match=r'patient="PatientId".*accept=\["PatientId"\]'):
        release_of(frame, **settings)

    accepted = cl.protect_table(
        frame,
        qi={"age": cl.intervals(5, 20, 40), "sex": cl.suppress()},
        rule=["k-anonymity=3"],
        sensitive=["dx"],
        drop=["PatientId"],
        accept=["PatientId"],
    )

    assert accepted.summary()["guarantee"]["accepted"] == [
        {"column": "PatientId", "why": "several records of a patient"}
    ]


def test_ids_that_repeat_are_not_recorded_in_silence():
    """A number of patients that is released as recorded is refused like one that is dropped."""
    frame = VISITS.rename({"whose": "subject"})
    with pytest.raises(cl.InputError, match="'subject' repeats"):
        release_of(frame, patient=None, sensitive=["dx", "subject"])


@pytest.mark.parametrize(
    ("spec", "secret"), [("rare:3", "Martian"), ("similar:dx", "Martian"), ("quantile:4,2", "9000")]
)
def test_hierarchies_of_the_records_count_patients(spec, secret):
    """A value that one patient has in many records names no category and no cut point of the release."""
    is_number = spec.startswith("quantile")
    kinds = [str(place) for place in range(10, 18)] if is_number else ["White", "Black", "Asian", "Other"]
    rows = [(f"p{place}", kinds[place % len(kinds)], "ab"[place % 2]) for place in range(80)]
    rows += [("one", secret, "a")] * 100
    frame = pl.DataFrame(rows, schema=["whose", "kind", "dx"], orient="row")
    made = cl.protect_table(
        frame,
        qi={"kind": spec},
        rule=[f"k-anonymity={K}"],
        patient="whose",
        drop=["dx"],
        suppression=0.9,
        accept_empty=True,
    )

    assert secret not in str(made.summary())
    assert made.summary()["settings"]["hierarchies"]["kind"].startswith(("keep:", "groups:", "interval:cuts="))


def test_a_person_left_out_who_has_several_of_the_patients_is_refused():
    """With stays as patients, the column of persons that is left out is named; with persons as patients, nothing is."""
    stays = [(f"S{n}", f"P{n // 3:03}", "FM"[n // 3 % 2], 30 + n // 3 % 40, f"W{n % 4}") for n in range(180)]
    frame = pl.DataFrame(stays, ["stay", "person_id", "sex", "age", "ward"], orient="row")
    asked = {"qi": {"sex": "suppress", "age": "interval:20"}, "rule": ["k-anonymity=3"]}

    with pytest.raises(cl.InputError, match="person_id"):
        cl.protect_table(frame, **asked, patient="stay", drop=["person_id", "ward"])
    assert cl.protect_table(frame, **asked, patient="person_id", drop=["stay", "ward"]).data.height
    assert cl.protect_table(
        frame, **asked, patient="stay", drop=["person_id", "ward"], accept=["person_id"]
    ).data.height
