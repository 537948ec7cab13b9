"""Laws of anonymized trajectories: what is found is what looking at everything finds, and what is released is true."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import trajectories as slow
from tests.trajectories import cases, covered, numbered, setting, trees

from cloister.hierarchy import suppress
from cloister.trajectories.data import Constraint, Cost, Method, TrajectoriesRequest
from cloister.trajectories.protect import anonymize_under


def asked(k, weights, **options):
    """A request whose hierarchies are not looked at."""
    return TrajectoriesRequest(k, suppress(), suppress(), weights=weights, **options)


def found_clusters(records, found):
    """Members and sequence of each cluster, as the oracle has them, in any order."""
    released, alignment = found.released, found.alignment
    clusters = []
    for cluster in range(released.n_clusters):
        here = slice(int(released.offsets[cluster]), int(released.offsets[cluster + 1]))
        codes = [covered(released.code_tree, node) for node in released.codes[here].tolist()]
        ages = [covered(released.age_tree, node) for node in released.ages[here].tolist()]
        members = [records[patient] for patient in np.flatnonzero(alignment.cluster_of == cluster).tolist()]
        clusters.append((sorted(members), tuple(zip(codes, ages))))
    return clusters


def by_text(clusters):
    """Clusters in an order of their own, for comparison."""
    return sorted(
        (sorted(members), [(sorted(code), sorted(age)) for code, age in sequence]) for members, sequence in clusters
    )


@settings(max_examples=150)
@given(cases(), st.sampled_from(Method), st.sampled_from(Cost), st.integers(1, 4))
def test_clusters_are_those_of_the_exhaustive_scan(case, method, cost, k):
    """Bounds and abandoned alignments change nothing: clusters, sequences and losses are those of the definition."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    sets = (frozenset([0, 1]),) if len(codes[0]) > 2 else ()
    rules = tuple(Constraint("one", frozenset(f"c{code}" for code in each)) for each in sets)
    oracle = setting(codes, ages, weights, exact=cost is Cost.EXACT, baseline=method is Method.BASELINE, sets=sets)
    found = anonymize_under(
        numbered(records, len(codes[0]), len(ages[0])),
        asked(k, weights, method=method, cost=cost, constraints=rules),
        trees(codes, ages),
    )
    expected = slow.clusters(oracle, records, k)

    assert by_text(expected) == by_text(found_clusters(records, found))
    ilm, alm = slow.accumulated(oracle, expected)
    assert (found.losses.ilm, found.losses.alm) == pytest.approx((float(ilm), float(alm)), abs=1e-12)


@settings(max_examples=60)
@given(cases(), st.sampled_from(Method), st.sampled_from(Cost), st.integers(1, 4), st.booleans())
def test_what_is_released_is_true(case, method, cost, k, drop_empty):
    """Clusters have k to 2 k - 1 patients, every pair is released as what covers it, in order, or suppressed."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    found = anonymize_under(
        numbered(records, len(codes[0]), len(ages[0])),
        asked(k, weights, method=method, cost=cost, drop_empty=drop_empty),
        trees(codes, ages),
    )
    released, alignment = found.released, found.alignment
    assert Counter(alignment.cluster_of.tolist()) == dict(enumerate(released.sizes.tolist()))
    assert all(k <= size < 2 * k for size in released.sizes.tolist())
    at = 0
    lost = [0.0, 0.0]
    for record, cluster in zip(records, alignment.cluster_of.tolist()):
        places = alignment.position[at : at + len(record)].tolist()
        at += len(record)
        length = int(released.offsets[cluster + 1] - released.offsets[cluster])
        assert [place for place in places if place >= 0] == list(range(length))
        for (code, age), place in zip(record, places):
            if place < 0:
                lost = [lost[0] + 1, lost[1] + 1]
                continue
            pair = int(released.offsets[cluster]) + place
            code_nodes = covered(released.code_tree, int(released.codes[pair]))
            age_nodes = covered(released.age_tree, int(released.ages[pair]))
            assert code in code_nodes
            assert age in age_nodes
            lost[0] += slow.leaves(code_nodes) / len(codes[0])
            lost[1] += slow.leaves(age_nodes) / len(ages[0])
    total = sum(map(len, records))
    assert [lost[0] / total, lost[1] / total] == pytest.approx([found.losses.ilm_exact, found.losses.alm_exact])


@settings(max_examples=40)
@given(cases(), st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_order_of_patients_tells_nothing(case, k, random):
    """Patients in another order give the same clusters in the same order."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    shuffled = list(records)
    random.shuffle(shuffled)
    one, other = (
        anonymize_under(numbered(rows, len(codes[0]), len(ages[0])), asked(k, weights), trees(codes, ages))
        for rows in (records, shuffled)
    )

    assert one.released.sizes.tolist() == other.released.sizes.tolist()
    assert one.released.codes.tolist() == other.released.codes.tolist()
    assert one.released.ages.tolist() == other.released.ages.tolist()
    assert one.losses == other.losses
    assert found_clusters(records, one) == found_clusters(shuffled, other)
