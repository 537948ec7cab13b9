"""Laws of releases of generalized code sets: whatever the records, what is written holds and reads back."""

import tempfile
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.shapes.generalization.format.data import Generalization, Sets
from cloister.shapes.generalization.format.released import data_frame, read_released
from cloister.shapes.generalization.method.losses import queried_sets
from cloister.utility import Reading

CODES = ["001", "250.00", "250.01", "401.9", "E936.1", "V58", "other"]
RECORDS = st.lists(st.lists(st.sampled_from(CODES), min_size=1, max_size=6), min_size=4, max_size=40)
SETTINGS = st.fixed_dictionaries(
    {
        "k": st.integers(1, 6),
        "method": st.sampled_from(["cba", "ugaclip", "apriori"]),
        "uncovered": st.sampled_from(["generalize", "suppress"]),
        "loss": st.sampled_from(["ilm", "ul"]),
    }
)
POLICIES = st.sampled_from([None, "level", "similar"])
PRIVACY = st.sampled_from(["1", "2", "3", "records", "sets"])


def released(records, options, policy=None, privacy="2"):
    """The codes, the privacy policy and the release; no release where nothing safe is left."""
    codes = cl.CodeSets.from_records(records)
    utility = {"level": cl.UtilityPolicy.by_level, "similar": cl.UtilityPolicy.similar}.get(policy)
    sets = None
    if privacy == "records":
        sets = cl.PrivacyPolicy.records(codes)
    elif privacy == "sets":
        sets = cl.PrivacyPolicy.of([records[0], records[1], ["nowhere", *records[2]]])
    by_sets = options["method"] != "apriori"
    known = (
        sets
        if by_sets and sets is not None
        else cl.PrivacyPolicy.all_combinations(codes, int(privacy) if privacy.isdigit() else 2)
    )
    try:
        made = None if utility is None else utility(codes, 2 if policy == "similar" else 1)
        return known, cl.protect_codes(codes, privacy=known, policy=made, **options, accept_empty=True)
    except (cl.NoSafeRelease, cl.InputError):
        return known, None


@examples(60)
@given(RECORDS, SETTINGS, POLICIES, PRIVACY)
def test_folders_hold_on_their_own(records, options, policy, privacy):
    """Every release is written, read back as it was, and passes its check; one by sets needs its privacy policy."""
    known, release = released(records, options, policy, privacy)
    if release is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "release")
        release.write(place)

        assert release.verify().holds
        assert cl.verify_folder(place, privacy=None if known.m else known).holds
        if known.m is None:
            assert [name for name, _ in cl.verify_folder(place).unchecked] == ["privacy"]
            with pytest.raises(cl.InputError, match="privacy policy"):
                cl.open(place)


@examples(60)
@given(RECORDS, SETTINGS, POLICIES)
def test_what_is_told_follows_from_the_data_file(records, options, policy):
    """Two originals with the same records released and as many codes suppressed are told of alike."""
    _, release = released(records, options, policy)
    if release is None:
        return
    manifest, texts = release.summary(), release.frame["codes"].to_list()
    tokens = {token for text in texts if text for token in text.split(" ")}

    assert manifest["records"]["released"] == len(texts)
    assert manifest["utility"]["terms"] == len(tokens)
    assert manifest["risk"]["smallest_term"] == min(
        sum(token in (text or "").split(" ") for text in texts) for token in tokens
    )
    assert (manifest["utility"]["ilm"] is None) == (manifest["utility"]["suppressed_codes"] > 0)
    assert not 0 < texts.count(None) < options["k"]
    if len(records) - len(texts) > 0:
        assert manifest["records"] == {
            "in": f"<{len(texts) + options['k']}",
            "released": len(texts),
            "suppressed": f"<{options['k']}",
        }


@examples(60)
@given(RECORDS, SETTINGS, POLICIES)
def test_the_data_file_reads_as_what_was_released(records, options, policy):
    """Terms and records come back from their text, without the suppressed codes."""
    _, release = released(records, options, policy)
    if release is None:
        return
    found = read_released(release.frame["codes"], options["k"], 2, repeats=False)

    assert found.named_records() == release.generalized.named_records()
    assert set(found.vocabulary) == {code for term in release.generalized.named_terms() for code in term}
    assert data_frame(found, numbered=False).equals(release.frame)


def brute_force(terms, records, query, reading):
    """The expected number of records that hold all codes of a query, over all subsets that each term may stand for."""
    total = Fraction(0)
    for record in records:
        meant = [list(meanings(terms[number], reading)) for number in record]
        for chosen in product(*meant):
            held = frozenset().union(*(subset for subset, _ in chosen))
            chance = Fraction(1)
            for _, share in chosen:
                chance *= share
            total += chance * (query <= held)
    return total


def meanings(term, reading):
    """The subsets that a term may stand for, with their chances."""
    size = len(term)
    for length in range(size + 1):
        for subset in combinations(term, length):
            if reading is Reading.SUBSETS:
                yield frozenset(subset), Fraction(int(length > 0), 2**size - 1)
            else:
                yield frozenset(subset), Fraction(1, size) ** length * (1 - Fraction(1, size)) ** (size - length)


@examples(100)
@given(
    st.lists(st.integers(-1, 3), min_size=6, max_size=6),
    st.lists(st.frozensets(st.integers(0, 3), max_size=3), min_size=1, max_size=6),
    st.frozensets(st.integers(0, 5), min_size=1, max_size=4),
    st.sampled_from(Reading),
)
def test_expected_answers_are_those_of_the_definition(group, records, query, reading):
    """By brute force over all that the terms of each record may stand for, both readings."""
    terms = [tuple(code for code in range(6) if group[code] == number) for number in range(4)]
    terms = sorted(term for term in terms if term)
    records = [frozenset(number for number in record if number < len(terms)) for record in records]
    gone = [code for code in range(6) if group[code] < 0]
    whole = Generalization(
        1, tuple("abcdef"), Sets.of(terms), np.array(gone, dtype=np.int32), Sets.of(sorted(map(sorted, records)))
    )
    found = queried_sets(whole).answers([tuple(sorted(query))], reading)

    assert float(brute_force(terms, records, query, reading)) == pytest.approx(float(found[0]), rel=1e-12)


def test_answers_for_large_terms_do_not_overflow():
    """A term of thousands of codes is half as likely as its records to hold any one of them."""
    assert [Reading.SUBSETS.chance(5000, queried) for queried in (1, 2)] == [0.5, 0.25]
    assert Reading.INVERSE_SIZE.chance(5000, 1) == 1 / 5000


@pytest.mark.parametrize("spec", ["level:1", "level:9", "sim:2", "gwas", "mine"])
def test_words_that_make_another_policy(tmp_path, spec):
    """Whoever calls sets of their own as others are called has a release that holds: the words are left out."""
    codes = cl.CodeSets.from_records([["250.00", "401.9"]] * 6 + [["001", "250.01"]] * 6)
    policy = cl.UtilityPolicy.of({"mine": ["250.00", "001"], "rest": ["401.9"]}, spec)
    release = cl.protect_codes(codes, k=3, policy=policy, accept_empty=True, method="cba")
    release.write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release").holds
    assert release.summary()["settings"]["policy"] == ("mine" if spec == "mine" else "given")


@examples(60, quick=15)
@given(RECORDS, SETTINGS, st.data())
def test_attributes_stay_with_their_patients(records, options, data):
    """Each record stands beside its patient's attributes, in an order that follows from both, and the folder holds."""
    sites = data.draw(st.lists(st.sampled_from(["a", "b", None]), min_size=len(records), max_size=len(records)))
    ids = pl.Series("id", [f"P{number}" for number in range(len(records))])
    attributes = pl.DataFrame({"id": ids, "site": pl.Series(sites, dtype=pl.String)}).sample(fraction=1, shuffle=True)
    codes = cl.CodeSets.from_records(records, ids)
    try:
        release = cl.protect_codes(codes, **options, attributes=attributes, accept_empty=True)
    except (cl.NoSafeRelease, cl.InputError):
        return
    origin = [int(name[1:]) for name in release.custody.crosswalk["original"]]
    frame = release.frame.select("codes", "site")

    assert frame["site"].to_list() == [sites[patient] for patient in origin]
    assert frame.equals(frame.sort("codes", "site"))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "release")
        release.write(place)
        assert cl.verify_folder(place).holds
