"""Repeated codes, generalized: whoever knows how often a patient has some codes is left with k records, or none."""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.generalized import ABOVE, CODES, request_for, terms_of
from tests.oracles import generalization as oracle

import cloister as cl
from cloister.errors import NoSafeRelease
from cloister.release.manifest import parse_manifest
from cloister.report.sentences import guarantee_sentences
from cloister.shapes.generalization.format.data import GeneralizationMethod, TermLoss, Uncovered
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy
from cloister.shapes.generalization.method.protect import generalize, released_as
from cloister.shapes.generalization.verify.verify import GeneralizationGuarantee, GeneralizationSecret, verify

FEW = CODES[:5]
RECORDS = st.lists(st.lists(st.sampled_from(FEW), min_size=1, max_size=6), min_size=5, max_size=16)
K = st.integers(2, 4)
BY_SETS = st.sampled_from([GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP])
ORACLES = {GeneralizationMethod.CBA: oracle.cba, GeneralizationMethod.UGACLIP: oracle.ugaclip}
GROUPS = st.lists(st.integers(-1, 1), min_size=len(FEW), max_size=len(FEW))


def numbered(records):
    """Records as sets of numbered occurrences, and the code sets that they are."""
    codes = cl.CodeSets.from_records(records, repeats=True)
    names, bounds = codes.vocabulary, codes.offsets.tolist()
    sets = [frozenset(names[item] for item in codes.items[a:b].tolist()) for a, b in pairwise(bounds)]
    return sets, codes


def protect(codes, request):
    """What is released; None where everything would be suppressed."""
    try:
        return generalize(codes, request)
    except NoSafeRelease:
        return None


@examples(200)
@given(RECORDS, K, st.integers(1, 3), st.sampled_from(GeneralizationMethod), GROUPS, st.sampled_from(Uncovered))
def test_who_knows_how_often_finds_k_or_none(records, k, m, method, numbers, uncovered):
    """By brute force over all knowledge of up to m codes, each any number of times; the release is verified."""
    sets, codes = numbered(records)
    present = {code for record in records for code in record}
    groups = [[c for c, n in zip(FEW, numbers) if n == number and c in present] for number in range(2)]
    privacy = PrivacyPolicy.all_combinations(codes, m)
    found = protect(codes, request_for(k, privacy, method, [group for group in groups if group], uncovered))
    if found is None:
        return

    assert oracle.rare_knowledge(sets, terms_of(found.released), k, m) == []
    assert (
        verify(found.released, GeneralizationGuarantee(), GeneralizationSecret(found.original, found.origin)).failures
        == ()
    )


@examples(300)
@given(RECORDS, st.data(), K, BY_SETS, st.sampled_from(Uncovered), st.sampled_from(TermLoss))
def test_methods_are_those_of_the_definition(records, data, k, method, uncovered, loss):
    """CBA and UGACLIP end with the terms of the plain algorithms on sets with all earlier occurrences; all is safe."""
    sets, codes = numbered(records)
    some = st.frozensets(st.sampled_from(codes.vocabulary), min_size=1, max_size=3)
    known = data.draw(st.lists(some, min_size=1, max_size=6))
    closed = [oracle.with_earlier(each) for each in known]
    above = {code: ABOVE[oracle.plain(code)] for code in codes.vocabulary}
    everything = frozenset(codes.vocabulary)
    groups = [everything] if uncovered is Uncovered.GENERALIZE else [frozenset([code]) for code in everything]
    expected = oracle.protect(sets, closed, above, groups, k, ORACLES[method], loss is TermLoss.UL)
    privacy = PrivacyPolicy.of(known)
    found = protect(codes, request_for(k, privacy, method, uncovered=uncovered, loss=loss))
    if found is None:
        assert sum(any(record & term for term in expected) for record in sets) < k
        return

    assert expected == terms_of(found.released)
    assert oracle.is_protected(sets, expected, closed, k)
    assert (
        verify(
            found.released, GeneralizationGuarantee(privacy), GeneralizationSecret(found.original, found.origin)
        ).failures
        == ()
    )


@examples(60)
@given(RECORDS, K, st.integers(1, 2))
def test_apriori_is_that_of_the_definition(records, k, m):
    """AA with the code itself as one more node above its occurrences."""
    sets, codes = numbered(records)
    above = {code: [f"={oracle.plain(code)}", *ABOVE[oracle.plain(code)]] for code in codes.vocabulary}
    found = generalize(codes, request_for(k, PrivacyPolicy.all_combinations(codes, m), GeneralizationMethod.APRIORI))

    assert oracle.apriori(sets, above, k, m) == terms_of(found.released)


@examples(200)
@given(RECORDS, K, st.integers(1, 3), st.lists(st.integers(-1, 3), min_size=12, max_size=12))
def test_what_passes_the_verifier_is_safe(records, k, m, numbers):
    """Terms drawn at will: those that are not refused leave whoever knows how often with k records or with none."""
    sets, codes = numbered(records)
    drawn = (numbers * 4)[: codes.n_codes]
    term_of = np.array([-1 if n < 0 else drawn.index(n) for n in drawn], dtype=np.int32)
    request = request_for(k, PrivacyPolicy.all_combinations(codes, m))
    split, _ = released_as(codes, term_of, request)
    if not len(split.terms) or not verify(split, GeneralizationGuarantee()).holds:
        return

    assert oracle.rare_knowledge(sets, terms_of(split), k, m) == []


def test_occurrences_join_once():
    """Two later occurrences are merged before the first: it joins them, and nothing is counted twice."""
    sets, codes = numbered([["a"], ["a"], ["a", "a", "a", "c"], ["a", "b"], ["c", "c"]])
    known = [oracle.with_earlier(["a#2", "c#1"])]
    above = {code: ABOVE[oracle.plain(code)] for code in codes.vocabulary}
    expected = oracle.protect(sets, known, above, [frozenset(codes.vocabulary)], 2, oracle.cba)
    found = generalize(codes, request_for(2, PrivacyPolicy.of(known)))

    assert expected == terms_of(found.released)
    assert len(expected) == 1


APART = [["250.00"], ["250.01", "401.9", "401.9"], ["V58", "250.00"], ["401.1", "401.1"], ["401.1", "V58", "401.1"]]


@pytest.mark.parametrize("method", GeneralizationMethod)
def test_occurrences_that_ended_apart(method, tmp_path):
    """401.9#2 was in a term with another code and 401.9#1 was not, so that one record had the terms of both."""
    sets, codes = numbered(APART)
    privacy = PrivacyPolicy.all_combinations(codes, 1)
    release = cl.protect_codes(codes, k=3, privacy=privacy, method=str(method), accept_empty=True)
    release.write(tmp_path / "release")

    assert oracle.rare_knowledge(sets, terms_of(release.generalized), 3, 1) == []
    (sentence,) = guarantee_sentences(parse_manifest(release.summary()))
    assert "one code of a patient, and at least how often it was recorded, finds" in sentence
    assert cl.verify_folder(tmp_path / "release").holds


def test_terms_that_keep_occurrences_apart_are_refused():
    """The release that protected nobody: each term has three records, the two of 401.9 together have one."""
    _, codes = numbered(APART)
    merged = [["250.00#1", "250.01#1", "401.9#1"], ["401.1#1", "401.1#2", "401.9#2"]]
    place = {code: number for number, code in enumerate(codes.vocabulary)}
    term_of = np.full(codes.n_codes, -1, dtype=np.int32)
    for term in merged:
        term_of[[place[code] for code in term]] = place[term[0]]
    split, _ = released_as(codes, term_of, request_for(3, PrivacyPolicy.all_combinations(codes, 1)))
    told = "not so: whoever has the term of an occurrence of a code has those of all earlier ones (2 violations)"

    assert split.supports().tolist() == [3, 3]
    assert verify(split, GeneralizationGuarantee()).failures == (told,)


def test_a_policy_by_sets_may_name_more_occurrences(tmp_path):
    """The ninth occurrence of a code that nobody has more than twice tells of the first two."""
    _, codes = numbered([["a", "a"], ["a", "a"], ["a", "a", "b"], ["b"], ["b", "b"]])
    privacy = PrivacyPolicy.of([["a#9", "b"]])
    cl.protect_codes(codes, k=2, privacy=privacy, accept_empty=True, method="cba").write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release", privacy=privacy).holds
    assert cl.verify_folder(tmp_path / "release", privacy=PrivacyPolicy.of([["a#9"]])).holds


@examples(40)
@given(RECORDS, K, st.sampled_from(["cba", "ugaclip", "apriori"]), st.booleans())
def test_folders_hold(records, k, method, by_level):
    """A release of repeated codes is written, read back and checked again from its files."""
    real = dict(zip(FEW, ["250.00", "250.01", "401.9", "E936.1", "other"]))
    _, codes = numbered([[real[code] for code in record] for record in records])
    try:
        policy = cl.UtilityPolicy.by_level(codes, 1) if by_level else None
        release = cl.protect_codes(codes, k=k, method=method, policy=policy, accept_empty=True)
    except (cl.NoSafeRelease, cl.InputError):
        return
    with tempfile.TemporaryDirectory() as folder:
        release.write(Path(folder, "release"))

        assert cl.verify_folder(Path(folder, "release")).holds
