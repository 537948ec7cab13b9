"""What the verifier of generalized code sets refuses, and what it can do without."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.made.generalized import code_sets, request_for

import cloister as cl
from cloister import CodeSets, UtilityPolicy
from cloister.shapes.generalization.format.data import GeneralizationRequest, Sets, Uncovered
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy
from cloister.shapes.generalization.method.protect import generalize
from cloister.shapes.generalization.verify.statements import find_broken
from cloister.shapes.generalization.verify.verify import GeneralizationGuarantee, GeneralizationSecret, verify

RECORDS = [*["ab"] * 2, *["ac"] * 2, "bc", "bd", *["d"] * 3, "ef", "e", "f"]
GROUPS = ["abc", "ef"]


@pytest.fixture
def codes():
    """Twelve patients with six codes."""
    return code_sets(RECORDS)


@pytest.fixture
def found(codes):
    """What CBA releases of them with k = 3 and all pairs."""
    return generalize(codes, request_for(3, PrivacyPolicy.all_combinations(codes, 2), groups=GROUPS))


def promised(codes):
    """What the request asked for."""
    return GeneralizationGuarantee(
        PrivacyPolicy.all_combinations(codes, 2), UtilityPolicy.of({group: group for group in GROUPS})
    )


def failures(codes, released, **parts):
    """What the verifier says of a release with some parts changed."""
    return "; ".join(verify(replace(released, **parts), promised(codes), GeneralizationSecret(codes)).failures)


def test_a_release_passes(codes, found):
    """With its original, with the order of the records or without."""
    assert verify(found.released, promised(codes), GeneralizationSecret(codes, found.origin)).holds
    assert failures(codes, found.released) == ""
    assert max(map(len, found.released.named_terms())) > 1


@pytest.mark.parametrize(("n_empty", "is_told"), [(0, False), (1, True), (2, True), (3, False)])
def test_few_records_without_terms_are_refused(codes, found, n_empty, is_told):
    """They are those of the few who have suppressed codes alone; k of them may be."""
    records = found.released.records
    left = Sets(records.offsets[int(np.sum(records.sizes == 0)) - n_empty :], records.items)
    verdict = verify(replace(found.released, records=left), promised(codes))

    assert any("records without any term" in failure for failure in verdict.failures) is is_told


def test_a_term_put_back_is_refused(codes, found):
    """The codes of a term released one by one have pairs that fewer than k patients have."""
    whole = generalize(codes, request_for(1, PrivacyPolicy.all_combinations(codes, 2))).released

    assert "set of up to 2 terms" in failures(codes, replace(whole, k=3, m=2))
    assert "set of the privacy policy" in failures(codes, replace(whole, k=3, m=None))


def test_a_set_that_meets_only_after_generalization_is_refused():
    """Nobody has a and b; the terms of both meet in one record, so whoever takes them for a and b finds one."""
    records = [["a"], ["b"], ["c"], ["d"], ["c", "d"], *[["a"]] * 2, *[["b"]] * 2]
    codes = code_sets(records)
    privacy = PrivacyPolicy.of([["a", "b"]])
    request = request_for(2, privacy, groups=[["a", "c"], ["b", "d"]], uncovered=Uncovered.SUPPRESS)
    whole = generalize(codes, request).released
    terms, merged = Sets.of([[0, 2], [1, 3]]), [[0], [0], [0], [0], [0, 1], [1], [1], [1], [1]]
    forged = replace(whole, terms=terms, records=Sets.of(merged), suppressed=np.empty(0, dtype=np.int32))

    assert verify(whole, GeneralizationGuarantee(privacy), GeneralizationSecret(codes)).holds
    assert verify(forged, GeneralizationGuarantee(privacy), GeneralizationSecret(codes)).failures == (
        "not so: every set of the privacy policy, and every part of one, is held by no record or by 2 or more",
    )


def test_terms_across_utility_constraints_are_refused(codes, found):
    """Definition 3.2; codes of no set may share a term only if that was asked for."""
    crossing = UtilityPolicy.of({"ab": "ab", "c": "c"})
    told = "not so: the codes of each term are in one set of the utility policy"
    apart = GeneralizationGuarantee(promised(codes).privacy, UtilityPolicy.of({"d": "d"}), uncovered_together=False)

    assert told in verify(found.released, replace(promised(codes), utility=crossing)).failures
    assert told in verify(found.released, apart).failures
    assert told not in verify(found.released, replace(apart, uncovered_together=True)).failures


def test_changed_forms_are_refused(codes, found):
    """Overlapping terms, codes in no term, records out of order, terms that nobody has, other vocabularies."""
    released = found.released
    terms = [released.terms.members(number).tolist() for number in range(len(released.terms))]
    records = [released.records.members(number).tolist() for number in range(len(released.records))]

    assert "every code is in one term" in failures(codes, released, terms=Sets.of([terms[0], [terms[0][1], *terms[1]]]))
    assert "every code is in one term" in failures(codes, released, suppressed=np.array([0], dtype=np.int32))
    assert "records are in the order" in failures(codes, released, records=Sets.of(records[::-1]))
    assert "records are sets of terms" in failures(codes, released, records=Sets.of([*records[:-1], [len(terms)]]))
    assert "held by some record" in failures(codes, released, records=Sets.of([[0]] * len(records)))
    assert "the codes are in order" in failures(codes, released, vocabulary=released.vocabulary[::-1])
    assert "k and m are 1" in failures(codes, released, m=0)
    assert "at least 100 records" in failures(codes, released, k=100)


def test_records_that_are_not_the_originals_are_refused(codes, found):
    """A record with one term more, records of another number, other codes, an order that is none."""
    released = found.released
    records = [released.records.members(number).tolist() for number in range(len(released.records))]
    longer = sorted([*records[1:], sorted({*records[0], len(released.terms) - 1})])
    told = "every record has the terms of its codes"

    assert told in failures(codes, released, records=Sets.of(longer))
    assert "number of records" in failures(codes, released, records=Sets.of(records[1:]))
    assert "the codes and the number" in "".join(
        verify(released, GeneralizationGuarantee(), GeneralizationSecret(code_sets(["ab"] * 12))).failures
    )
    same = np.zeros(len(records), dtype=np.int64)
    assert told in "".join(verify(released, GeneralizationGuarantee(), GeneralizationSecret(codes, same)).failures)


def test_without_a_policy_nothing_is_promised(codes, found):
    """A release that states no m needs the policy to be checked."""
    assert "privacy policy is known" in "".join(
        verify(replace(found.released, m=None), GeneralizationGuarantee()).failures
    )


def test_numbered_occurrences_are_verified():
    """Where diagnoses repeat, utility constraints and policies name codes without their number."""
    codes = CodeSets.from_records([["a", "a", "b"], ["a", "b"], ["a", "a"], ["b"], ["c"]], repeats=True)
    policy = UtilityPolicy.of({"ab": ["a", "b"]})
    privacy = PrivacyPolicy.of([["a", "b"], ["c"], ["a#2"]])
    found = generalize(codes, GeneralizationRequest(2, privacy, policy=policy))

    assert (
        verify(
            found.released, GeneralizationGuarantee(privacy, policy), GeneralizationSecret(codes, found.origin)
        ).failures
        == ()
    )
    assert [codes.vocabulary[code] for code in found.released.suppressed] == ["c#1"]


def test_sets_of_several_terms_are_counted():
    """Pairs are frequent, one set of three terms is not."""
    records = [["a", "b"], ["a", "c"], ["b", "c"], ["a", "b", "c"]]
    frame = pl.DataFrame({"codes": sorted(map(" ".join, records))})

    assert [one.violations for one in find_broken(frame, 2, 2) if one.violations] == []
    assert [one.promise for one in find_broken(frame, 2, 3) if one.violations] == [
        "every set of up to 3 terms that a record has is that of at least 2 records (k^m-anonymity)"
    ]


def test_policies_may_be_given_as_objects(tmp_path):
    """From Python a folder is checked with the policies that it was made with, and not with others."""
    codes = CodeSets.from_records([["250.00", "001"], ["250.01", "001"], ["250.02"]] * 2)
    privacy = PrivacyPolicy.of([["250.00"], ["250.01", "001"]])
    policy = UtilityPolicy.of({"diabetes": ["250.00", "250.01", "250.02"]})
    cl.protect_codes(codes, k=3, privacy=privacy, policy=policy, method="cba").write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release", privacy=privacy, policy=policy).holds
    with pytest.raises(cl.GuaranteeViolation, match="every part of one"):
        cl.verify_folder(tmp_path / "release", privacy=privacy, policy=policy, k=9)
    with pytest.raises(cl.GuaranteeViolation, match=r"utility in release\.json does not follow"):
        cl.verify_folder(
            tmp_path / "release", privacy=privacy, policy=UtilityPolicy.of({"a": ["250.00"], "b": ["001"]})
        )
