"""Counting sets of released terms: exact, and not by all sets where a few say the same."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import generalization as oracle

import cloister as cl
from cloister.shapes.generalization.format.data import Sets
from cloister.shapes.generalization.format.privacy_policy import CodePostings, maximal_parts, rare_parts
from cloister.shapes.generalization.verify.verify import has_rare_part

SMALL = st.lists(st.frozensets(st.integers(0, 7), max_size=8), min_size=1, max_size=20)


def arrays(records):
    """Records as the verifier gets them."""
    found = Sets.of(map(sorted, records))
    return found.offsets, found.items


@examples(300)
@given(SMALL, st.lists(st.frozensets(st.integers(0, 7), min_size=1), min_size=1, max_size=5), st.integers(1, 5))
def test_rare_parts_are_found(records, sets, k):
    """By brute force over all parts of all sets."""
    width = max(map(len, sets))
    wanted = np.array([sorted(each) + [-1] * (width - len(each)) for each in sets], dtype=np.int32)
    safe = oracle.is_protected(records, [frozenset([code]) for code in range(8)], sets, k)

    assert has_rare_part(*arrays(records), 8, wanted, k) == (not safe)


@examples(200)
@given(SMALL, st.frozensets(st.integers(0, 7), min_size=1), st.integers(1, 5))
def test_parts_are_those_of_the_definition(records, codes, k):
    """The largest parts that occur, and those of few records of what each record has."""
    found = Sets.of(map(sorted, records))
    holders, members = CodePostings.of(found, 8), np.array(sorted(codes), dtype=np.int32)

    largest, rare = maximal_parts(members, holders), rare_parts(members, holders, k)
    assert oracle.maximal(codes & record for record in records) == named(largest)
    assert oracle.rare_among(records, codes, k) == named(rare)
    assert len(largest) == len(named(largest))
    assert len(rare) == len(named(rare))


def named(sets):
    """Sets as frozen sets."""
    return {frozenset(sets.items[start:end].tolist()) for start, end in pairwise(sets.offsets.tolist())}


def test_one_set_of_all_codes():
    """Thousands of patients with as many distinct sets, and one set of all codes: each record is a part of it."""
    drawn = np.random.default_rng(5)
    records = [[f"{code:03d}" for code in drawn.integers(1, 400, drawn.integers(2, 12)).tolist()] for _ in range(3000)]
    codes = cl.CodeSets.from_records(records)
    privacy = cl.PrivacyPolicy.of([codes.vocabulary])
    release = cl.protect_codes(
        codes, k=3, privacy=privacy, policy=cl.UtilityPolicy.similar(codes, 60), accept_empty=True, method="cba"
    )

    found = {frozenset(terms) for terms in release.generalized.named_records()} - {frozenset()}
    every = [frozenset(terms) for terms in release.generalized.named_records()]

    assert len(found) > 50
    assert min(sum(one <= other for other in every) for one in found) >= 3
