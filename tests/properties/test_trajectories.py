"""Laws of anonymized trajectories: what is found is what looking at everything finds, and what is released is true."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.trajectories import cases, covered, detailed_cases, numbered, setting, trees
from tests.oracles import trajectories as slow

from cloister.errors import InputError, NoSafeRelease
from cloister.hierarchy import suppress
from cloister.shapes.trajectories.format.data import (
    Attributes,
    CodeSetConstraint,
    Cost,
    Diversity,
    Method,
    TrajectoriesRequest,
)
from cloister.shapes.trajectories.method.problem import build_problem, cut
from cloister.shapes.trajectories.method.protect import anonymize_under


def asked(k, weights, **options):
    """A request whose hierarchies are not looked at."""
    return TrajectoriesRequest(k, suppress(), suppress(), weights=weights, **options)


def found_clusters(records, found):
    """Members and sequence of each cluster, as the oracle has them, in any order."""
    released, alignment = found.released, found.alignment
    clusters = []
    for cluster in range(released.n_clusters):
        here = slice(int(released.offsets[cluster]), int(released.offsets[cluster + 1]))
        columns = [[covered(tree, node) for node in nodes[here].tolist()] for tree, nodes in released.columns]
        members = [records[patient] for patient in np.flatnonzero(alignment.cluster_of == cluster).tolist()]
        clusters.append((sorted(members), tuple(zip(*columns))))
    return clusters


def by_text(clusters):
    """Clusters in an order of their own, for comparison."""
    return sorted((sorted(members), [tuple(map(sorted, pair)) for pair in sequence]) for members, sequence in clusters)


@examples(100)
@given(cases(), st.sampled_from(Method), st.sampled_from(Cost), st.integers(1, 4))
def test_clusters_are_those_of_the_exhaustive_scan(case, method, cost, k):
    """Bounds and abandoned alignments change nothing: clusters, sequences and losses are those of the definition."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    sets = (frozenset([0, 1]),) if len(codes[0]) > 2 else ()
    rules = tuple(CodeSetConstraint("one", frozenset(f"c{code}" for code in each)) for each in sets)
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


@examples(100)
@given(detailed_cases(), st.sampled_from(Method), st.sampled_from(Cost), st.integers(1, 4))
def test_clusters_with_details_are_those_of_the_exhaustive_scan(case, method, cost, k):
    """A third attribute has its own hierarchy, weight and loss: all are those of the definition, and labels cover."""
    records, levels, weights = case
    k, sizes = min(k, len(records)), [len(each[0]) for each in levels]
    original = numbered(records, *sizes)
    oracle = setting(*levels[:2], weights, levels[2], exact=cost is Cost.EXACT, baseline=method is Method.BASELINE)
    request = asked(k, weights, method=method, cost=cost, detail_hierarchy=suppress())
    found = anonymize_under(original, request, trees(*levels))
    expected = slow.clusters(oracle, records, k)

    assert by_text(expected) == by_text(found_clusters(records, found))
    losses = found.losses.ilm, found.losses.alm, found.losses.dlm
    assert losses == pytest.approx([float(each) for each in slow.accumulated(oracle, expected)], abs=1e-12)
    lost = [0.0] * 3
    begin = np.repeat(found.released.offsets[found.alignment.cluster_of], list(map(len, records)))
    for pair, first, place in zip((one for record in records for one in record), begin, found.alignment.position):
        for at, (value, (tree, nodes), size) in enumerate(zip(pair, found.released.columns, sizes)):
            node = covered(tree, int(nodes[first + place])) if place >= 0 else frozenset(range(size))
            assert value in node
            lost[at] += 1 if place < 0 else slow.leaves(node) / size
    exact = found.losses.ilm_exact, found.losses.alm_exact, found.losses.dlm_exact
    assert [each / original.n_pairs for each in lost] == pytest.approx(exact)


@examples(60)
@given(cases(), st.sampled_from(Method), st.sampled_from(Cost), st.integers(1, 4), st.booleans())
def test_what_is_released_is_true(case, method, cost, k, drop_empty):
    """Clusters have k to 2 k - 1 patients, every pair is released as what covers it, in order, or suppressed."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    found = anonymize_under(
        numbered(records, len(codes[0]), len(ages[0])),
        asked(k, weights, method=method, cost=cost, drop_empty_pairs=drop_empty),
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


def test_a_trajectory_too_long_to_align_is_refused_at_once():
    """What would need the memory of a cluster of machines is said before it is tried, with what to do."""
    records = [[(at % 300, at // 300) for at in range(90_000)]] * 2
    hierarchy = [["x"] * 300]

    with pytest.raises(InputError, match=r"90,000 and 90,000 pairs; .* 202 GB of memory.*Remove such patients"):
        anonymize_under(numbered(records, 300, 300), asked(1, (Fraction(1), Fraction(0))), trees(hierarchy, hierarchy))


@examples(80)
@given(cases(most=20), st.integers(1, 3), st.integers(2, 4), st.sampled_from(Cost), st.data())
def test_sensitive_side_values_are_spread(case, k, share, cost, data):
    """Of the patients of a cluster, at most one in l has any one sensitive value; missing is none; nobody is lost."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    values = data.draw(st.lists(st.integers(-1, 3), min_size=len(records), max_size=len(records)))
    attributes = Attributes(np.array(values, dtype=np.int64), np.array(values, dtype=np.int32))
    request = asked(k, weights, cost=cost, diversity=Diversity(share, column="diagnosis"))
    most = max(Counter(value for value in values if value >= 0).values(), default=0)
    original, bound = numbered(records, len(codes[0]), len(ages[0])), trees(codes, ages)
    if most * share > len(records):
        with pytest.raises(NoSafeRelease):
            anonymize_under(original, request, bound, attributes)
        return
    found = anonymize_under(original, request, bound, attributes)

    for cluster, size in enumerate(found.released.sizes.tolist()):
        own = np.array(values)[found.alignment.cluster_of == cluster]
        assert size == own.size >= k
        assert all(count * share <= size for value, count in Counter(own.tolist()).items() if value >= 0)
    check_pairs(records, found)


@examples(60)
@given(cases(most=20), st.integers(1, 3), st.integers(2, 4))
def test_sensitive_codes_are_not_given_away(case, k, share):
    """Of the patients of a cluster, at most one in l has a sensitive code behind a released one."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    request = asked(k, weights, diversity=Diversity(share, codes=frozenset(["c0", "c1"])))
    found = anonymize_under(numbered(records, len(codes[0]), len(ages[0])), request, trees(codes, ages))
    told, at = Counter(), 0
    for record, cluster in zip(records, found.alignment.cluster_of.tolist()):
        places = found.alignment.position[at : at + len(record)].tolist()
        at += len(record)
        told[cluster] += any(place >= 0 and code in (0, 1) for (code, _), place in zip(record, places))

    assert all(count * share <= found.released.sizes[cluster] for cluster, count in told.items())
    check_pairs(records, found)


@examples(60)
@given(cases(), st.sampled_from(Method), st.integers(1, 4))
def test_constraints_are_kept(case, method, k):
    """No released code covers one of a set and one beyond it, and what the sets lost is counted."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    rules = (CodeSetConstraint("first", frozenset(["c0", "c1"])), CodeSetConstraint("second", frozenset(["c2"])))
    request = asked(k, weights, method=method, constraints=rules)
    found = anonymize_under(numbered(records, len(codes[0]), len(ages[0])), request, trees(codes, ages))
    flat = [code for record in records for code, _ in record]
    lost = found.alignment.position < 0

    for outcome, one in zip(found.outcomes, (frozenset([0, 1]), frozenset([2]))):
        nodes = [covered(found.released.code_tree, node) for node in found.released.codes.tolist()]
        assert outcome.kept
        assert not any(slow.is_mixed(node, [one]) for node in nodes)
        assert (outcome.pairs, outcome.suppressed) == (
            sum(code in one for code in flat),
            sum(code in one and gone for code, gone in zip(flat, lost.tolist())),
        )


@examples(60)
@given(cases(most=40), st.integers(1, 3), st.integers(0, 12), st.randoms(use_true_random=False))
def test_blocks_do_not_depend_on_the_order(case, k, more, random):
    """Every content is in one block, blocks have k patients or more; other orders, other threads: the same release."""
    records, codes, ages, weights = case
    k = min(k, len(records))
    request = asked(k, weights, block=3 * k + more)
    shuffled = list(records)
    random.shuffle(shuffled)
    found = []
    for rows, threads in ((records, 1), (shuffled, 2)):
        original, bound = numbered(rows, len(codes[0]), len(ages[0])), trees(codes, ages)
        problem = build_problem(original, bound, request)
        blocks = cut(problem, request.block, k)
        assert sorted(np.concatenate(blocks).tolist()) == list(range(problem.first.size))
        assert all(problem.counts()[block].sum() >= k for block in blocks)
        found.append(anonymize_under(original, request, bound, threads=threads))
        assert found[-1].blocks == len(blocks)
        assert all(k <= size < 2 * k for size in found[-1].released.sizes.tolist())
        check_pairs(rows, found[-1])

    assert found[0].released.sizes.tolist() == found[1].released.sizes.tolist()
    assert found[0].released.codes.tolist() == found[1].released.codes.tolist()
    assert found[0].released.ages.tolist() == found[1].released.ages.tolist()


def check_pairs(records, found):
    """Every patient is in one cluster, every pair is released as what covers it, in order, or suppressed."""
    released, alignment = found.released, found.alignment
    at = 0
    assert Counter(alignment.cluster_of.tolist()) == dict(enumerate(released.sizes.tolist()))
    for record, cluster in zip(records, alignment.cluster_of.tolist()):
        places = alignment.position[at : at + len(record)].tolist()
        at += len(record)
        begin, end = released.offsets[cluster : cluster + 2].tolist()
        assert [place for place in places if place >= 0] == list(range(end - begin))
        for (code, age), place in zip(record, places):
            assert place < 0 or code in covered(released.code_tree, int(released.codes[begin + place]))
            assert place < 0 or age in covered(released.age_tree, int(released.ages[begin + place]))
