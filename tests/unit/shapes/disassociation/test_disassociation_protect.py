"""Disassociation, step by step, on code sets small enough to see what should come out."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.oracles.disassociation import unprotected, written

import cloister as cl
from cloister.errors import InputError, NoSafeRelease
from cloister.kernels.parts import Entries
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest, InferenceCheck, Refine
from cloister.shapes.disassociation.format.ties import count_ties
from cloister.shapes.disassociation.method.protect import disassociate, neighbour_tree
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify


@dataclass(frozen=True)
class Policy:
    """Constraints as they stand."""

    constraints: tuple


def protect(records, k=2, m=2, repeats=False, **settings):
    """What becomes of records; checked against the original."""
    codes = CodeSets.from_records([list(record) for record in records], repeats=repeats)
    protected = disassociate(codes, DisassociationRequest(k, m, **settings))
    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of)).failures == ()
    return protected


def shared_of(protected):
    """Members, codes and number of subrecords of each shared chunk."""
    return [
        (shared.members, "".join(sorted(shared.domain)), len(shared.subrecords))
        for shared in written(protected.released).shared
    ]


def test_a_code_is_shared_by_the_smallest_joint_cluster_that_can():
    """Code x occurs once in each of two clusters that were split last, and is told for these two alone."""
    records = ["abx", "ab", "abc", "acx", "ac", "ac", "d", "dy", "dz"]
    protected = protect(records, k=2, max_cluster_size=4)
    release = written(protected.released)

    assert [(found.domain, len(found.subrecords)) for found in release.shared] == [(frozenset("x"), 2)]
    with_a = {cluster for cluster, found in enumerate(release.clusters) if found.chunks[0][0] >= {"a"}}
    assert set(release.shared[0].members) == with_a


def test_what_is_left_of_a_code_brings_its_shared_chunk_up():
    """Two clusters share x, a third has one more: all three share it then, and its number is told in full."""
    records = ["abx", "ab", "abc", "acx", "ac", "ac", "dx", "dy", "dz"]
    protected = protect(records, k=2, max_cluster_size=4)

    assert [(found[1], found[2]) for found in shared_of(protected)] == [("x", 3)]
    assert protected.released.joint_sizes.tolist() == [9]


def test_codes_that_arrive_together_stay_together():
    """Codes x and y, always together, are told in one shared chunk: their pair survives."""
    records = ["abxy", "ab", "ab", "cxy", "c", "c"]
    protected = protect(records, max_cluster_size=4)

    assert shared_of(protected) == [((0, 1), "xy", 2)]


def test_a_foreign_code_stands_alone():
    """Code y is in a record chunk of one member: it gets a shared chunk of its own, without x."""
    records = ["abxy", "abxy", "ab", "cxy", "c", "c", "dy", "dx", "d"]
    protected = protect(records, max_cluster_size=4)

    assert all(len(domain) == 1 for _, domain, _ in shared_of(protected))
    assert unprotected(records, written(protected.released), 2, 2) == {}


def test_without_refining_nothing_is_shared():
    """Item chunks stay as vertical partitioning left them."""
    records = ["abxy", "ab", "ab", "cxy", "c", "c"]
    protected = protect(records, max_cluster_size=4, refine=Refine.OFF)

    assert shared_of(protected) == []
    assert protected.figures.in_item_chunks == 4


def test_neighbours_are_joined_in_pairs():
    """The paper's way: of four parts, the pairs that hold a code k times together are joined, then the pairs of pairs.

    Code 0 brings the first two together, code 1 the pair and the third; the fourth has nothing in common.
    """
    entries = Entries(
        np.array([0, 2, 3, 4, 5], dtype=np.int64),
        np.array([0, 1, 0, 1, 2], dtype=np.int32),
        np.array([1, 1, 1, 1, 1], dtype=np.int32),
        np.full(5, -1, dtype=np.int32),
    )

    found = neighbour_tree(entries, np.arange(3, dtype=np.int32), 2, np.zeros(3, dtype=np.bool_))
    apart = neighbour_tree(entries, np.arange(3, dtype=np.int32), 2, np.array([True, False, False]))

    assert found.tolist() == [1, 0, -1]
    assert apart[0] == -1


def test_a_cluster_that_needs_its_item_chunk_keeps_a_code():
    """Three records of three codes that occur nowhere else twice: refining must not leave them without any code."""
    records = ["ab", "ab", "ax", "by", "xy", "cx", "cy", "c", "c"]
    protected = protect(records, k=2, max_cluster_size=3)
    release = written(protected.released)

    assert all(cluster.items or cluster.chunks for cluster in release.clusters)
    assert unprotected(records, release, 2, 2) == {}


def test_constraints_are_kept_together():
    """With a policy the two codes of a constraint are in one chunk, although a third would fit with one of them."""
    records = ["abz", "abz", "abz", "ay", "by", "z", "az", "bz"]
    policy = Policy((frozenset("ab"),))
    protected = protect(records, k=2, m=2, policy=policy, max_cluster_size=20)
    chunks = [set().union(*chunk) for cluster in written(protected.released).clusters for chunk in cluster.chunks]

    assert any({"a", "b"} <= domain for domain in chunks)


def test_repeated_diagnoses_stay_together():
    """Code a occurs twice in few records: all its occurrences go where the rarest one can, and nobody is found out."""
    records = ["aab", "aab", "ab", "ab", "b", "ac", "aac", "c", "c", "bc"]
    protected = protect(records, repeats=True, max_cluster_size=4)
    numbered = [["a#1", "a#2", "b#1"]] * 2 + [["a#1", "b#1"]] * 2 + [["b#1"], ["a#1", "c#1"]]
    numbered += [["a#1", "a#2", "c#1"], ["c#1"], ["c#1"], ["b#1", "c#1"]]

    assert unprotected(numbered, written(protected.released), 2, 2, repeats=True) == {}


def test_sensitive_codes_stay_in_item_chunks():
    """However frequent, a sensitive code is in no chunk, and in at most one of l records of each cluster."""
    records = ["ab", "ab", "ab", "abs", "c", "c", "cs", "c", "cd", "cd"]
    protected = protect(records, sensitive=("s",), diversity=3, max_cluster_size=4)
    released = protected.released
    code = released.vocabulary.index("s")
    told = [*released.record_chunks.domain.tolist(), *released.shared_chunks.domain.tolist()]
    has_code = np.array(["s" in record for record in records])
    held = np.bincount(protected.cluster_of, weights=has_code, minlength=released.n_clusters)

    assert code not in told
    assert np.all(held * 3 <= released.sizes)


def test_clusters_are_merged_until_the_bound_holds():
    """Four records of a cluster of four have s: only together with the others is s in one of two records."""
    records = ["abs", "abs", "abs", "abs", "c", "c", "c", "c"]
    merged = protect(records, sensitive=("s",), diversity=2, max_cluster_size=3)

    assert merged.released.sizes.tolist() == [8]


def test_a_sensitive_code_that_is_too_frequent_has_no_release():
    """More than one of l of all records: no merging helps."""
    with pytest.raises(NoSafeRelease, match="one of 3 records"):
        protect(["as", "as", "b", "b"], sensitive=("s",), diversity=3)


def test_a_cluster_of_sensitive_codes_alone_is_merged():
    """Records that hold nothing but sensitive codes do not become a cluster of their own."""
    records = ["ab", "ab", "ab", "ab", "s", "t", "s", "t"]
    protected = protect(records, sensitive=("s", "t"), diversity=2, max_cluster_size=3)

    assert protected.released.sizes.tolist() == [8]


def test_sensitive_codes_alone_have_no_release():
    """Where every code is sensitive, there is nothing that could be told."""
    with pytest.raises(NoSafeRelease, match="All codes are sensitive"):
        protect(["s", "t", "s", "t"], sensitive=("s", "t"))


def test_ties_of_shared_chunks_count_and_are_removed():
    """Codes x and y, always together, tell each other in a shared chunk; enforced, each gets a chunk of its own."""
    records = ["abxy", "ab", "ab", "cxy", "c", "c"]
    reported = protect(records, max_cluster_size=4, inference_check=InferenceCheck.REPORT)
    enforced = protect(records, max_cluster_size=4, inference_check=InferenceCheck.ENFORCE)

    ties = count_ties(reported.released)
    assert ties.pairs - ties.by_cluster.sum() == 2
    assert count_ties(enforced.released).pairs == 0
    assert [(domain, n) for _, domain, n in shared_of(enforced)] == [("x", 2), ("y", 2)]
    assert reported.figures.in_item_chunks == enforced.figures.in_item_chunks


def test_ties_are_not_counted_if_nobody_asks():
    """With ``safe`` off nothing is said of ties."""
    release = cl.protect_codes(cl.CodeSets.from_records(["ab", "ab"]), k=2, inference_check="off")

    assert release.summary()["risk"] == {"tied_pairs": None, "tied_codes": None}
    assert release.custody.figures["ties"] is None


def test_a_lower_threshold_finds_more_ties():
    """Of four records with a three have b: a tells b with confidence 0.75."""
    protected = protect(["ab", "ab", "ab", "a", "b"], k=3, m=1)

    assert count_ties(protected.released, 1.0).pairs == 0
    assert count_ties(protected.released, 0.75).pairs == 2


def test_every_patient_goes_to_one_cluster():
    """The secret map has one cluster a record, and as many records of each as its size says."""
    records = ["ab", "ac", "bc", "abc", "d", "de", "e", "ae"]
    protected = protect(records, max_cluster_size=3)

    assert protected.released.sizes.tolist() == np.bincount(protected.cluster_of).tolist()


def test_identical_records_make_one_cluster():
    """A thousand times the same record: one cluster, one chunk, whatever its largest size."""
    protected = protect(["abc"] * 1000, k=5, m=3)

    assert protected.released.sizes.tolist() == [1000]
    assert written(protected.released).clusters[0].chunks == ((frozenset("abc"),) * 1000,)


def test_a_vocabulary_of_one():
    """One code in all records is told as it is."""
    protected = protect(["a"] * 7, k=5)

    assert protected.figures.in_item_chunks == 0
    assert protected.released.vocabulary == ("a",)


@pytest.mark.parametrize("m", [2, 3])
def test_records_with_very_many_codes(m):
    """Six records with a thousand codes each, ten apart, are dealt with in a moment."""
    codes = [f"{number:04d}" for number in range(1010)]
    records = [[code for code in codes if int(code) % 10 != row] for row in range(6)]
    protected = protect(records, k=3, m=m)

    assert protected.released.sizes.tolist() == [6]


def test_fewer_records_than_k_have_no_release():
    """Two records cannot hide among three."""
    with pytest.raises(NoSafeRelease, match="k is 3, but there are 2 records"):
        protect(["a", "b"], k=3)


def test_no_records_are_refused():
    """Nothing can be released of nothing."""
    with pytest.raises(InputError, match="no records"):
        protect([])


def test_unknown_sensitive_codes_are_refused():
    """A sensitive code that occurs nowhere is a slip of the pen; the message does not repeat it."""
    with pytest.raises(InputError, match="1 of 1 sensitive codes") as raised:
        protect(["ab", "ab"], sensitive=("zz",))
    assert "zz" not in str(raised.value)


def test_occurrences_without_the_first_one_are_refused():
    """Numbered occurrences must begin with the first."""
    codes = CodeSets(("a#2",), np.array([0, 1, 2]), np.array([0, 0], dtype=np.int32), repeats=True)
    with pytest.raises(InputError, match="occurrence whose first one is there"):
        disassociate(codes, DisassociationRequest(2))


@pytest.mark.parametrize(
    "settings", [{"k": 0}, {"k": 2, "m": 0}, {"k": 2, "max_cluster_size": 2}, {"k": 2, "diversity": 0}, {"k": True}]
)
def test_impossible_settings_are_refused(settings):
    """k and m are 1 or more, and clusters must have room for one record more than k."""
    with pytest.raises(InputError, match="must be a whole number"):
        DisassociationRequest(**settings)


@pytest.mark.parametrize("name", ["k", "m", "max_cluster_size", "diversity"])
def test_numbers_too_large_to_count_with_are_refused(name):
    """The largest number is 2,147,483,647, as of records; it is dealt with."""
    with pytest.raises(InputError, match=f"{name} must be a whole number from . to 2,147,483,647"):
        DisassociationRequest(**{"k": 2, name: 2**31})


def test_the_largest_numbers_are_dealt_with():
    """With m, cluster size and l as large as they may be, there is one cluster, safe whatever is known."""
    most = 2**31 - 1
    protected = protect(["ab", "ab", "a", "bc"], m=most, max_cluster_size=most, diversity=most)

    assert protected.released.m == most
    assert verify(protected.released).holds
    with pytest.raises(NoSafeRelease, match=f"one of {most} records"):
        protect(["ab", "ab", "as"], sensitive=("s",), diversity=most)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, float("nan")])
def test_impossible_thresholds_are_refused(threshold):
    """A confidence is above 0 and at most 1."""
    with pytest.raises(InputError, match="inference_threshold must be a number above 0 and at most 1"):
        DisassociationRequest(2, inference_threshold=threshold)


def test_nothing_shows_values():
    """What is printed of any of these objects has counts only."""
    codes = CodeSets.from_records([["MARKER", "OTHER"], ["MARKER"]])
    protected = disassociate(codes, DisassociationRequest(2))
    shown = f"{codes!r} {protected!r} {protected.released!r} {protected.released.record_chunks!r}"

    assert "MARKER" not in shown
    assert "array" not in shown


@pytest.mark.parametrize("m", [5, 8, 30])
def test_many_codes_with_much_in_common_take_no_exponential_time(m):
    """Where too many sets of records would have to be looked at, codes go to chunks of their own, and all holds."""
    generator = np.random.default_rng(1)
    rows = [[f"c{code:02d}" for code in range(40) if generator.random() < 0.7] for _ in range(60)]
    codes = CodeSets.from_records(rows * 5)

    protected = disassociate(codes, DisassociationRequest(5, m, max_cluster_size=1000))

    assert protected.released.n_clusters == 1
    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of)).failures == ()
