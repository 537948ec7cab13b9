"""What was lost is told as far as the chunks tell it; bounds hold; errors are those of the definitions."""

import json
import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.unit.shapes.disassociation.test_disassociation_clusters_file import FIGURE_10

from cloister import CodeSets, UtilityPolicy
from cloister.errors import InputError
from cloister.shapes.codes.request import frequent_workload, index_codes, parse_workload, random_workload
from cloister.shapes.disassociation.format import ties
from cloister.shapes.disassociation.format.clusters_file import read_clusters
from cloister.shapes.disassociation.format.data import DisassociationRequest, InferenceCheck, Refine
from cloister.shapes.disassociation.format.facts import count_sets, facts_of
from cloister.shapes.disassociation.format.manifest import NO_SETS, MethodSettings, method_settings
from cloister.shapes.disassociation.format.ties import count_ties, ties_of_repeats
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.method.release import lost_codes, measure_accuracy, reconstruct
from cloister.utility import error_histogram, lost_top_itemsets, matching_errors, query_errors, share_within

NAMES = "abcdefg"
RECORDS = st.lists(st.sets(st.sampled_from(NAMES), min_size=1, max_size=5), min_size=4, max_size=40)


@pytest.fixture
def figure_10(tmp_path):
    """The release of Fig. 10."""
    (tmp_path / "clusters.json").write_text(json.dumps(FIGURE_10))
    return read_clusters(tmp_path / "clusters.json")


def utility_of(released):
    """What the clusters of a release without a policy say of what was lost."""
    settings = MethodSettings.model_validate(method_settings(DisassociationRequest(released.k, released.m), None))
    return facts_of(released, settings, NO_SETS).utility


def items(released, *codes):
    """Item numbers of codes."""
    return tuple(sorted(released.vocabulary.index(code) for code in codes))


@examples(60)
@given(RECORDS, st.integers(2, 3), st.sampled_from(list(Refine)), st.sampled_from(["ab", "abc", "cdefg", "a"]))
def test_constraints_said_to_be_exact_are(records, k, refine, constraint):
    """A constraint that is counted exactly is matched as often in every reconstruction as in the original."""
    codes = CodeSets.from_records([sorted(record) for record in records])
    chosen = [tuple(item for item, code in enumerate(codes.vocabulary) if code in constraint)]
    released = disassociate(codes, DisassociationRequest(k, 2, refine=refine)).released
    if chosen[0] and count_sets(released, chosen).constraints_preserved:
        true = index_codes(codes).matches(chosen).tolist()
        for seed in range(3):
            assert true == index_codes(reconstruct(released, seed, "any")).matches(chosen).tolist()


def test_utility_of_figure_10(figure_10):
    """Counts of what is told, and of the constraints of Fig. 3b that can be counted."""
    constraints = [
        items(figure_10, "294.10", "295.04", "296.00", "296.01", "296.02", "296.03"),
        items(figure_10, "692.71", "695.10"),
        items(figure_10, "401.0", "404.00"),
        items(figure_10, "480.1"),
        items(figure_10, "834.0", "944.01"),
    ]
    utility = utility_of(figure_10)

    assert (utility.codes, utility.codes_counted_exactly) == (13, 10)
    assert utility.occurrences_counted == 13 + 7 + 12 + 8
    assert count_sets(figure_10, constraints).counts() == (5, 3, 3)
    assert [count_sets(figure_10, [each]).constraints_preserved for each in constraints] == [1, 1, 0, 0, 1]


def test_occurrences_without_a_number_are_bounded_by_the_clusters(figure_10):
    """Three codes of item chunks in clusters of five: fifteen occurrences at most, beside forty that are told."""
    assert utility_of(figure_10).occurrences_in_item_chunks == 15 / (15 + 40)


@examples(60)
@given(RECORDS, st.integers(2, 3), st.sampled_from(list(Refine)))
def test_the_share_without_a_number_is_a_bound(records, k, refine):
    """The true share of occurrences in item chunks is never above the one that is told."""
    codes = CodeSets.from_records([sorted(record) for record in records])
    protected = disassociate(codes, DisassociationRequest(k, 2, refine=refine))
    told = utility_of(protected.released).occurrences_in_item_chunks

    assert protected.figures.in_item_chunks / codes.items.size <= told


@examples(60)
@given(RECORDS, st.integers(2, 3), st.sampled_from(list(Refine)), st.sampled_from([1.0, 0.9, 2 / 3, 0.5, 0.05]))
def test_ties_are_counted(records, k, refine, threshold):
    """Codes that give others away are those of the pairs, one by one, whichever way they are counted."""
    codes = CodeSets.from_records([sorted(record) for record in records])
    released = disassociate(codes, DisassociationRequest(k, 2, refine=refine)).released
    tied = [
        x
        for chunks in (released.record_chunks, released.shared_chunks)
        for chunk in range(len(chunks))
        for x, y in permutations(chunks.domain_of(chunk), 2)
        if sum({x, y} <= set(subrecord) for subrecord in chunks.subrecords_of(chunk))
        >= threshold * sum(x in subrecord for subrecord in chunks.subrecords_of(chunk))
    ]
    with pytest.MonkeyPatch.context() as patch:
        for block, many, by_subrecord in ((500_000, 1e6, 16), (3, 1e6, 16), (3, 40, 0), (500_000, -1, 0)):
            patch.setattr(ties, "TIES_BLOCK", block)
            patch.setattr(ties, "MANY_PAIRS", many)
            patch.setattr(ties, "PAIRS_A_SUBRECORD", by_subrecord)
            found = count_ties(released, threshold)
            assert (len(tied), len(set(tied))) == (found.pairs, found.codes)


def test_occurrences_of_one_code_may_give_each_other_away():
    """With ``safe=enforce`` pairs are left where diagnoses repeat, and all are occurrences of one code."""
    codes = CodeSets.from_records([["a"]] * 2 + [["a", "a", "a"]] * 2 + [["a", "b"]] * 3, repeats=True)
    released = disassociate(codes, DisassociationRequest(2, 1, inference_check=InferenceCheck.ENFORCE)).released

    assert count_ties(released, 1.0).pairs == ties_of_repeats(released, 1.0) > 0
    assert ties_of_repeats(replace(released, repeats=False), 1.0) == 0


def test_query_errors():
    """The mean of the estimates against the truth; queries answered by nobody are left out and counted."""
    queries = [(0,), (1,), (0, 1), (2,)]
    estimates = [np.array([8, 6, 0, 5]), np.array([8, 2, 2, 0])]
    errors = query_errors(np.array([10, 4, 2, 0]), estimates, queries)

    assert math.isclose(errors.average_relative_error, (0.2 + 0 + 0.5) / 3)
    assert (errors.answered, errors.unanswerable) == (3, 1)
    assert {size: (round(e, 9), n) for size, (e, n) in errors.by_size.items()} == {1: (0.1, 2), 2: (0.5, 1)}
    assert math.isclose(errors.deviation, abs((0.2 + 0.5 + 1) / 3 - (0.2 + 0.5 + 0) / 3) / 2)


def test_matching_errors_and_their_histogram():
    """Signed: positive where too few are found; an interval holds its lower end."""
    errors = matching_errors(
        np.array([100, 100, 40, 200]), [np.array([100, 105, 39, 160]), np.array([100, 105, 39, 160])]
    )

    assert [round(error, 12) for error in errors.tolist()] == [0.0, -0.05, 0.025, 0.2]
    histogram = error_histogram(errors)
    assert {name: count for name, count in histogram.items() if count} == {
        "[-5.0%, -2.5%)": 1,
        "[+0.0%, +2.5%)": 1,
        "[+2.5%, +5.0%)": 1,
        "+10.0% and above": 1,
    }
    assert share_within(errors, 0.05) == 0.75


def test_lost_itemsets_and_codes(figure_10):
    """tKd is the share of frequent sets that are not found; tlost that of common codes in item chunks alone."""
    one = index_codes(CodeSets.from_records([["a", "b"], ["a", "b"], ["c", "d"]]))
    other = index_codes(CodeSets.from_records([["a", "b"], ["a", "d"], ["c", "b"]]))
    codes = CodeSets(figure_10.vocabulary, np.arange(14), np.arange(13, dtype=np.int32))

    assert lost_top_itemsets(one, one) == 0.0
    assert lost_top_itemsets(one, other) == 0.5
    assert lost_codes(codes, figure_10) == 0.0  # no code is held by 3 patients
    more = CodeSets(figure_10.vocabulary, np.arange(0, 40, 1), np.repeat(np.arange(13, dtype=np.int32), 3))
    assert lost_codes(more, figure_10) == 3 / 13


def test_accuracy_of_a_release():
    """Ten reconstructions are compared with the original; where all is in one chunk, nothing is off."""
    codes = CodeSets.from_records([["a", "b"], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "c"], ["c", "a", "b"]] * 20)
    released = disassociate(codes, DisassociationRequest(3, 2)).released
    constraints = UtilityPolicy.of({"x": ["a", "b"], "y": ["c"]}).item_numbers(codes)
    accuracy = measure_accuracy(
        codes, released, workload=frequent_workload(codes, 5), constraints=constraints, itemsets=True
    )

    assert accuracy.queries.by_size[1] == (0.0, 3)
    assert sum(accuracy.matching.values()) == 2
    assert accuracy.within == 1.0
    assert accuracy.tlost == 0.0


def test_workloads():
    """Frequent sets of up to four codes, or as many random sets of each size from one to four."""
    codes = CodeSets.from_records([list("abcde")] * 19 + [["f", "g"]])
    frequent = frequent_workload(codes, 50)
    drawn = random_workload(codes, 8, seed=1)

    assert len(frequent.queries) == 5 + 10 + 10 + 5
    assert [len(query) for query in drawn.queries] == [1, 2, 3, 4, 1, 2, 3, 4]
    assert set(drawn.queries[0]) < set(drawn.queries[1]) < set(drawn.queries[2]) < set(drawn.queries[3])
    assert drawn == parse_workload("random:8", codes, seed=1)
    assert frequent == parse_workload("frequent:50", codes)
    assert random_workload(codes, 8, seed=2) != drawn


@pytest.mark.parametrize(
    "spec", ["random:0", "random:1.5", "random:", "frequent:0", "frequent:x", "all", "random:1e9", "random:nan"]
)
def test_refused_workloads(spec):
    """Words that are no workload are refused."""
    with pytest.raises(InputError):
        parse_workload(spec, CodeSets.from_records([["a"]]))
