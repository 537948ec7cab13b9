"""Generalized code sets: the methods are those of the definitions, nothing is below k, and the verifier agrees."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.generalized import ABOVE, CODES, HIERARCHY, code_sets, protect, request_for, terms_of
from tests.oracles import generalization as oracle

from cloister.errors import NoSafeRelease
from cloister.hierarchy import hierarchy_rows
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.generalization.format.data import GeneralizationMethod, Sets, Status, TermLoss, Uncovered
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy, combinations_in, constraints_on, maximal
from cloister.shapes.generalization.method.protect import generalize, released_as, without_few_empty
from cloister.shapes.generalization.verify.verify import GeneralizationGuarantee, GeneralizationSecret, verify

RECORDS = st.lists(st.frozensets(st.sampled_from(CODES), min_size=1, max_size=5), min_size=5, max_size=24)
SETS = st.lists(st.frozensets(st.sampled_from([*CODES, "zz"]), min_size=1, max_size=4), min_size=1, max_size=8)
GROUPS = st.lists(st.integers(-1, 2), min_size=len(CODES), max_size=len(CODES))
K = st.integers(2, 5)
SEED = st.integers(0, 2**32)
BY_SETS = st.sampled_from([GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP])
ORACLES = {GeneralizationMethod.CBA: oracle.cba, GeneralizationMethod.UGACLIP: oracle.ugaclip}


def policy_of(numbers, records):
    """Utility constraints of codes that occur; -1 is in none."""
    codes = frozenset().union(*records)
    groups = [frozenset(c for c, n in zip(CODES, numbers) if n == number and c in codes) for number in range(3)]
    return [group for group in groups if group]


def all_groups(groups, records, uncovered):
    """The constraints, and what codes of none are in."""
    rest = frozenset().union(*records) - frozenset().union(*groups)
    implicit = [rest] if uncovered is Uncovered.GENERALIZE else [frozenset([code]) for code in rest]
    return [*groups, *implicit]


def agree(records, sets, numbers, k, method, uncovered, loss):
    """Whether a method ends with the terms of its definition."""
    assume(oracle.required(records, sets))
    groups = policy_of(numbers, records)
    expected = oracle.protect(
        records, sets, ABOVE, all_groups(groups, records, uncovered), k, ORACLES[method], loss is TermLoss.UL
    )
    found = protect(records, request_for(k, PrivacyPolicy.of(sets), method, groups, uncovered, loss))
    with_a_term = sum(any(record & term for term in expected) for record in records)
    return with_a_term < k if found is None else expected == terms_of(found.released)


@examples(150)
@given(RECORDS, SETS, GROUPS, K, BY_SETS, st.sampled_from(Uncovered), st.sampled_from(TermLoss))
def test_methods_by_sets_are_those_of_the_definition(records, sets, numbers, k, method, uncovered, loss):
    """CBA and UGACLIP end with the terms of the plain algorithms, whatever the sets, losses and constraints."""
    assert agree(records, sets, numbers, k, method, uncovered, loss)


def drawn(seed, n_records, longest):
    """Sets of codes, some of which are more frequent than others; small numbers are not more likely, as elsewhere."""
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(len(CODES), 0.7)) + 1e-6
    sizes = generator.integers(1, longest + 1, n_records)
    chosen = [generator.choice(list(CODES), size, replace=False, p=shares / shares.sum()) for size in sizes]
    return [frozenset(codes.tolist()) for codes in chosen]


@examples(300)
@given(SEED, K, BY_SETS, st.sampled_from(Uncovered), st.sampled_from(TermLoss))
def test_methods_by_sets_are_those_of_the_definition_on_more_records(seed, k, method, uncovered, loss):
    """The same on 30 records and a dozen sets drawn evenly."""
    numbers = np.random.default_rng(seed).integers(-1, 3, len(CODES)).tolist()

    assert agree(drawn(seed, 30, 4), drawn(seed + 1, 12, 4), numbers, k, method, uncovered, loss)


@examples(200)
@given(SEED, K, st.integers(1, 3))
def test_apriori_is_that_of_the_definition(seed, k, m):
    """AA ends with the terms of the plain algorithm."""
    records = drawn(seed, 25, 4)
    codes = code_sets(records)
    found = generalize(codes, request_for(k, PrivacyPolicy.all_combinations(codes, m), GeneralizationMethod.APRIORI))

    assert oracle.apriori(records, ABOVE, k, m) == terms_of(found.released)


@examples(100)
@given(RECORDS, SETS, GROUPS, K, BY_SETS, st.sampled_from(Uncovered))
def test_no_set_and_no_part_of_one_is_below_k(records, sets, numbers, k, method, uncovered):
    """By brute force over all parts of all sets; terms keep to constraints, supports never fall; it is verified."""
    assume(oracle.required(records, sets))
    groups = policy_of(numbers, records)
    privacy = PrivacyPolicy.of(sets)
    request = request_for(k, privacy, method, groups, uncovered)
    found = protect(records, request)
    if found is None:
        return
    terms = terms_of(found.released)

    assert oracle.is_protected(records, terms, sets, k)
    assert all(any(term <= group for group in all_groups(groups, records, uncovered)) for term in terms)
    assert found.figures.statuses[Status.VIOLATED] == 0
    for codes in oracle.required(records, sets):
        mapped = [term for term in terms if term & codes]
        after = sum(all(record & term for term in mapped) for record in records)
        assert after >= oracle.support(records, codes)
    promise = GeneralizationGuarantee(privacy, request.policy, uncovered is Uncovered.GENERALIZE)
    assert verify(found.released, promise, GeneralizationSecret(found.original, found.origin)).failures == ()


@examples(60)
@given(RECORDS, K, st.integers(1, 3), st.sampled_from(GeneralizationMethod))
def test_no_itemset_of_terms_is_below_k(records, k, m, method):
    """With all sets of up to m codes as the policy, every set of up to m terms that occurs has k records."""
    codes = code_sets(records)
    found = generalize(codes, request_for(k, PrivacyPolicy.all_combinations(codes, m), method))
    released = [frozenset(terms) for terms in found.released.named_records()]

    assert oracle.rare_itemsets(released, k, m) == set()
    assert verify(found.released, GeneralizationGuarantee(), GeneralizationSecret(codes, found.origin)).failures == ()


@examples(100)
@given(RECORDS, SETS, K, BY_SETS)
def test_the_verifier_decides_by_the_definition(records, sets, k, method):
    """With one term put back to its codes, it rejects what brute force finds unsafe, and nothing else."""
    assume(oracle.required(records, sets))
    request = request_for(k, PrivacyPolicy.of(sets), method)
    found = protect(records, request)
    if found is None:
        return
    for term in oracle_terms_of_several(found):
        term_of = smallest(found.released)
        term_of[[found.original.vocabulary.index(code) for code in term]] = [
            found.original.vocabulary.index(code) for code in sorted(term)
        ]
        split, origin = without_few_empty(*released_as(found.original, term_of, request))
        safe = oracle.is_protected(records, terms_of(split), sets, k)

        assert (
            safe
            == verify(
                split, GeneralizationGuarantee(request.privacy), GeneralizationSecret(found.original, origin)
            ).holds
        )


def oracle_terms_of_several(found):
    """Terms that hold more than one code, each as a sorted list."""
    return [sorted(term) for term in terms_of(found.released) if len(term) > 1]


def smallest(released):
    """The smallest code of the term of each code, as it was while terms were made."""
    term_of = released.term_of()
    first = released.terms.items[released.terms.offsets[:-1]]
    return np.where(term_of >= 0, first[term_of], -1).astype(np.int32)


@examples(60)
@given(RECORDS, SETS, GROUPS, K, BY_SETS, st.randoms(use_true_random=False))
def test_the_order_of_records_and_the_names_of_codes_do_not_matter(records, sets, numbers, k, method, random):
    """The same release from shuffled records, and the renamed one from codes with other names in the same order."""
    assume(oracle.required(records, sets))
    groups = policy_of(numbers, records)
    found = protect(records, request_for(k, PrivacyPolicy.of(sets), method, groups))
    shuffled = random.sample(records, len(records))
    again = protect(shuffled, request_for(k, PrivacyPolicy.of(sets), method, groups))
    if found is None:
        assert again is None
        return

    def renamed(all_sets):
        return [frozenset(f"q{code}" for code in codes) for codes in all_sets]

    hierarchy = hierarchy_rows([[f"q{row[0]}", *row[1:]] for row in HIERARCHY.rows])
    request = request_for(k, PrivacyPolicy.of(renamed(sets)), method, renamed(groups))
    other = protect(renamed(records), replace(request, hierarchy=hierarchy))

    assert found.released.named_records() == again.released.named_records()
    assert set(renamed(terms_of(found.released))) == terms_of(other.released)
    assert found.figures == other.figures


@given(RECORDS, SETS, GROUPS, K, st.sampled_from(Uncovered))
def test_losses_are_those_of_the_definition(records, sets, numbers, k, uncovered):
    """ILM, the exponential loss and NCP, term by term and occurrence by occurrence."""
    assume(oracle.required(records, sets))
    groups = policy_of(numbers, records)
    found = protect(records, request_for(k, PrivacyPolicy.of(sets), groups=groups, uncovered=uncovered))
    if found is None:
        return
    terms = terms_of(found.released)
    exponential = oracle.log_exponential_loss(records, terms, ABOVE)

    assert float(oracle.information_loss(records, terms, ABOVE)) == pytest.approx(found.figures.ilm, rel=1e-12)
    assert float(oracle.certainty_penalty(records, terms)) == pytest.approx(found.figures.ncp, rel=1e-12)
    assert (-np.inf if exponential is None else exponential) == pytest.approx(found.figures.log_ul, abs=1e-9)


WEIGHTS = st.lists(st.sampled_from([1, 10, 25, 60, 100]), min_size=2, max_size=2).map(lambda two: (*sorted(two), 100))


@examples(24)
@given(RECORDS, SETS, GROUPS, K, st.sampled_from(GeneralizationMethod), WEIGHTS)
@pytest.mark.full
def test_weights_of_the_user_are_those_of_the_loss(records, sets, numbers, k, method, weights):
    """ILM counts each term by the weight stated for the height at which its codes meet, whatever the method."""
    assume(oracle.required(records, sets))
    m = 2 if method is GeneralizationMethod.APRIORI else None
    privacy = PrivacyPolicy.of(sets) if m is None else PrivacyPolicy.all_combinations(code_sets(records), m)
    found = protect(records, request_for(k, privacy, method, policy_of(numbers, records), code_weights=weights))
    if found is None:
        return
    shares = [weight / 100 for weight in weights]

    expected = oracle.information_loss(records, terms_of(found.released), ABOVE, shares)
    assert float(expected) == pytest.approx(found.figures.ilm, rel=1e-12)


@given(RECORDS, GROUPS, K, st.sampled_from(GeneralizationMethod), st.sampled_from(Uncovered))
def test_utility_constraints_are_judged_by_the_definition(records, numbers, k, method, uncovered):
    """A set is satisfied if no term of its codes reaches beyond it, and preserved if nothing is suppressed either."""
    groups = policy_of(numbers, records)
    codes = code_sets(records)
    found = protect(records, request_for(k, PrivacyPolicy.all_combinations(codes, 2), method, groups, uncovered))
    if found is None:
        return
    terms = terms_of(found.released)
    kept = frozenset().union(*terms)

    satisfied = [all(term <= group for term in terms if term & group) for group in groups]
    assert satisfied == [outcome.satisfied for outcome in found.figures.outcomes]
    assert [len(group - kept) for group in groups] == [outcome.suppressed for outcome in found.figures.outcomes]
    for group, outcome in zip(groups, found.figures.outcomes):
        before = sum(bool(record & group) for record in records)
        after = sum(any(term & record and term & group for term in terms) for record in records)
        assert before == after or not outcome.fully_preserved


@given(RECORDS, SETS)
def test_a_policy_asks_for_the_largest_parts_that_occur(records, sets):
    """Sets that no record holds are replaced by what records have of them, before sets in others are left out."""
    codes = code_sets(records)
    asked = constraints_on(PrivacyPolicy.of(sets), codes).required

    expected = sorted(map(sorted, oracle.required(records, sets)))
    assert expected == [[codes.vocabulary[item] for item in asked.members(n).tolist()] for n in range(len(asked))]


@given(RECORDS, st.integers(1, 4))
def test_all_combinations_are_those_of_the_definition(records, m):
    """Every set of up to m codes that occurs, without those that are part of another."""
    policy = PrivacyPolicy.all_combinations(code_sets(records), m)
    found = {frozenset(policy.vocabulary[item] for item in policy.sets.members(n)) for n in range(len(policy))}

    assert oracle.maximal(oracle.all_combinations(records, m)) == found


@given(RECORDS, st.integers(1, 4))
def test_combinations_do_not_depend_on_how_many_are_enumerated_at_once(records, size):
    """The same sets in the same order, block by block and whatever the width of their numbers."""
    from cloister.shapes.generalization.format import privacy_policy as module

    codes = code_sets(records)
    held = Sets(codes.offsets, codes.items)
    whole = combinations_in(held, size, codes.n_codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", 3)
        assert whole.tolist() == combinations_in(held, size, codes.n_codes).tolist()
    assert whole.tolist() == combinations_in(held, size, 2**30).tolist()


@given(st.lists(st.frozensets(st.integers(0, 6), max_size=5), max_size=12))
def test_maximal_sets_are_those_of_the_definition(sets):
    """Those that are part of no other, in order, each once."""
    found = maximal(Sets.of(sets))

    assert sorted(map(sorted, oracle.maximal(sets))) == [found.members(n).tolist() for n in range(len(found))]


def test_nothing_is_released_where_everything_would_be_suppressed():
    """No code can be released: NoSafeRelease, not an empty table."""
    records = [["a"], ["b"], ["c"]]
    request = request_for(2, PrivacyPolicy.of([["a"], ["b"], ["c"]]), uncovered=Uncovered.SUPPRESS)

    with pytest.raises(NoSafeRelease, match="every code would have to be suppressed"):
        generalize(code_sets(records), request)
    with pytest.raises(NoSafeRelease, match="there are 3"):
        generalize(code_sets(records), request_for(4, PrivacyPolicy.of([["a"]])))


def test_the_utility_policy_is_the_users_own():
    """A policy given by name is told by name, and is not changed."""
    records = [["a", "b"], ["a"], ["b"], ["c"]]
    policy = UtilityPolicy.of({"ab": ["a", "b"]})
    request = replace(request_for(2, PrivacyPolicy.of([["a", "b"]])), policy=policy)
    found = generalize(code_sets(records), request)

    assert [(outcome.name, outcome.fully_preserved) for outcome in found.figures.outcomes] == [("ab", True)]
    assert policy == UtilityPolicy.of({"ab": ["a", "b"]})
