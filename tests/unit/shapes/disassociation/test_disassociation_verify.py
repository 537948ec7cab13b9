"""The verifier of code sets: every breach of the promise is refused, from the release alone or with the original."""

import copy

import numpy as np
import pytest
from tests.made.plain_clusters import Chunk, Plain, packed, unpack
from tests.oracles.disassociation import is_anonymous

from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.verify.chunks import rare_chunks
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify

A, B, C, D, E, F = range(6)


def sound():
    """Clusters of five and six with a shared chunk, k = 3, m = 2; what the tests break, one thing at a time."""
    return Plain(
        3,
        2,
        tuple("abcdef"),
        [5, 6],
        [Chunk(0, [A, B], [[A], [A, B], [A, B], [A, B]]), Chunk(1, [C], [[C], [C], [C]])],
        [[D], [A, D]],
        [[0, 1]],
        [Chunk(0, [E, F], [[E], [E, F], [E, F], [E, F]])],
    )


def failures(plain):
    """What the verifier says is not so."""
    return [failure.removeprefix("not so: ") for failure in verify(plain.pack()).failures]


def test_a_sound_release_holds():
    """Nothing fails where nothing is broken, and plain lists are the release again."""
    assert failures(sound()) == []
    assert unpack(sound().pack()) == Plain(**{**vars(sound()), "joint_sizes": [11]})


def broken(change):
    """The sound release with one change."""
    plain = copy.deepcopy(sound())
    change(plain)
    return plain


def small_cluster(plain):
    """Small cluster."""
    plain.sizes[1] = 2
    plain.chunks.pop()
    plain.shared[0].subrecords = [[E, F]] * 3


def one_code_twice(plain):
    """One code twice."""
    plain.items[0] = [B, D]


def rare_code(plain):
    """Rare code."""
    plain.chunks[1].subrecords.pop()


def rare_pair(plain):
    """Rare pair."""
    plain.chunks[0].subrecords = [[A], [A], [A, B], [A, B], [B]]


def rare_shared_pair(plain):
    """Rare shared pair."""
    plain.shared[0].subrecords = [[E], [E], [E, F], [E, F], [F]]


def too_many_subrecords(plain):
    """Too many subrecords."""
    plain.chunks[1].subrecords = [[C]] * 7


def too_many_shared_subrecords(plain):
    """Too many shared subrecords."""
    plain.shared[0].subrecords = [[E, F]] * 12


def bare_item_chunk(plain):
    """Bare item chunk."""
    plain.items[0] = []


def bare_item_chunk_beside_two_chunks(plain):
    """Bare item chunk beside two chunks, which fill all records, but need k more."""
    plain.items[0] = []
    plain.chunks.insert(1, Chunk(0, [D], [[D]] * 3))


def foreign_code(plain):
    """Foreign code."""
    plain.items[1] = [A, D, E]


def foreign_code_in_a_record_chunk(plain):
    """Foreign code in a record chunk."""
    plain.chunks[1] = Chunk(1, [E], [[E]] * 3)


def two_shared_chunks_of_a_code(plain):
    """Two shared chunks of a code."""
    plain.shared.append(Chunk(0, [E], [[E]] * 3))


def no_room_for_shared_subrecords(plain):
    """No room for shared subrecords."""
    plain.items[1] = [A, C, D]
    plain.chunks[1] = Chunk(1, [E], [[E]] * 3)
    plain.shared[0] = Chunk(0, [E], [[E]] * 6)


def joint_of_one(plain):
    """Joint of one."""
    plain.joints[0] = [0]


def joints_of_none(plain):
    """Joints of none."""
    plain.joints, plain.joint_sizes, plain.shared = [[], []], [11, 11], []


def two_parents(plain):
    """Two parents."""
    plain.joints.append([0, 1])


def child_that_comes_later(plain):
    """Child that comes later."""
    plain.joints = [[0, 3], [1, 2]]
    plain.joint_sizes = [11, 11]


def wrong_joint_size(plain):
    """Wrong joint size."""
    plain.joint_sizes = [12]


def order_of_the_patients(plain):
    """Order of the patients."""
    plain.chunks[0].subrecords = [[A, B], [A], [A, B], [A, B]]


def code_outside_the_domain(plain):
    """Code outside the domain."""
    plain.chunks[1].subrecords[-1] = [C, D]


def code_that_no_subrecord_has(plain):
    """Code that no subrecord has."""
    plain.chunks[1].domain = [C, E]


def empty_subrecord(plain):
    """Empty subrecord."""
    plain.chunks[1].subrecords.insert(0, [])


def unknown_code(plain):
    """Unknown code."""
    plain.items[0] = [D, 6]


def told_sensitive_code(plain):
    """Told sensitive code."""
    plain.sensitive = (C,)


def sensitive_item_chunk(plain):
    """Item chunk of a sensitive code alone."""
    plain.sensitive = (D,)


def unsorted_vocabulary(plain):
    """Unsorted vocabulary."""
    plain.vocabulary = tuple("abcdfe")


BREACHES = {
    small_cluster: "clusters have k records or more",
    one_code_twice: "in each cluster every code is in one place",
    rare_code: "all record chunks are k^m-anonymous",
    rare_pair: "all record chunks are k^m-anonymous",
    rare_shared_pair: "all shared chunks are k^m-anonymous",
    too_many_subrecords: "no chunk has more subrecords than there are records",
    too_many_shared_subrecords: "no chunk has more subrecords than there are records",
    bare_item_chunk: "no reconstructed record needs to be empty",
    bare_item_chunk_beside_two_chunks: "no reconstructed record needs to be empty",
    foreign_code: "shared chunks of several codes have no foreign code",
    foreign_code_in_a_record_chunk: "shared chunks of several codes have no foreign code",
    two_shared_chunks_of_a_code: "on any path of joint clusters a code has one shared chunk at most",
    no_room_for_shared_subrecords: "shared subrecords find records that do not hold their code elsewhere",
    joint_of_one: "joint clusters are made of clusters and earlier joint clusters",
    joints_of_none: "joint clusters are made of clusters and earlier joint clusters",
    two_parents: "joint clusters are made of clusters and earlier joint clusters",
    child_that_comes_later: "joint clusters are made of clusters and earlier joint clusters",
    wrong_joint_size: "joint clusters have the records of their members",
    order_of_the_patients: "subrecords are in the order of their codes",
    code_outside_the_domain: "subrecords hold the codes of their chunk, each at least once",
    code_that_no_subrecord_has: "subrecords hold the codes of their chunk, each at least once",
    empty_subrecord: "chunks are in order, each with codes and subrecords that are not empty",
    unknown_code: "each cluster has an item chunk in order",
    told_sensitive_code: "sensitive codes are in item chunks only",
    sensitive_item_chunk: "no reconstructed record needs to be empty",
    unsorted_vocabulary: "the codes are in order",
}


@pytest.mark.parametrize("change", BREACHES, ids=lambda change: change.__name__)
def test_a_breach_of_the_promise_is_refused(change):
    """The release alone shows that the promise does not hold, and which part of it."""
    assert BREACHES[change] in failures(broken(change))


def test_a_foreign_code_of_a_single_is_allowed():
    """A shared chunk of one code may have members that hold the code elsewhere."""
    plain = sound()
    plain.chunks[1] = Chunk(1, [E], [[E]] * 3)
    plain.items[1] = [A, C, D]
    plain.shared[0] = Chunk(0, [E], [[E]] * 5)

    assert failures(plain) == []


def ordered():
    """Four clusters in three joint clusters, the last around the first two, that hold what the order is made of."""
    chunks = [Chunk(cluster, [code], [[code]] * 3) for cluster in range(4) for code in (A, B)]
    shared = [Chunk(0, [C], [[C]] * 3), Chunk(0, [D], [[D]] * 3), Chunk(1, [E], [[E]] * 3), Chunk(2, [F], [[F]] * 3)]
    joints = [[0, 1], [2, 3], [4, 5]]
    vocabulary = (*"abcdef", "x")
    return Plain(3, 2, vocabulary, [5, 6, 7, 8], chunks, [[6]] * 4, joints, shared, [11, 15, 26])


def moved(chunks, owner):
    """Chunks with owners renumbered, in the order of these."""
    return sorted((Chunk(owner[c.owner], c.domain, c.subrecords) for c in chunks), key=lambda chunk: chunk.owner)


def clusters_reversed(plain):
    """Clusters from the last to the first, and all that names them."""
    plain.sizes, plain.items = plain.sizes[::-1], plain.items[::-1]
    plain.chunks = moved(plain.chunks, [3, 2, 1, 0])
    plain.joints = [[2, 3], [0, 1], [4, 5]]


def joints_reversed(plain):
    """The two inner joint clusters change places."""
    plain.joints, plain.joint_sizes = [[2, 3], [0, 1], [4, 5]], [15, 11, 26]
    plain.shared = moved(plain.shared, [1, 0, 2])


def record_chunks_reversed(plain):
    """Record chunks of the first cluster the other way round."""
    plain.chunks[:2] = plain.chunks[1::-1]


def shared_chunks_reversed(plain):
    """Shared chunks of the first joint cluster the other way round."""
    plain.shared[:2] = plain.shared[1::-1]


def equal_clusters_crossed(plain):
    """Clusters with the same contents, of which the first stands in the later joint cluster."""
    plain.sizes, plain.joint_sizes = [5, 5, 5, 5], [10, 10, 20]
    plain.joints = [[0, 2], [1, 3], [4, 5]]


ORDERS = {
    clusters_reversed: "clusters are in the order of their contents",
    joints_reversed: "joint clusters are in the order of their contents",
    record_chunks_reversed: "chunks are in the order of their smallest code",
    shared_chunks_reversed: "chunks are in the order of their smallest code",
    equal_clusters_crossed: "clusters are in the order of their contents",
}


@pytest.mark.parametrize("change", ORDERS, ids=lambda change: change.__name__)
def test_another_order_is_refused(change):
    """Everything stands where its contents put it, and in another order could tell something of the patients."""
    plain = ordered()
    assert failures(plain) == []
    change(plain)

    assert failures(plain) == [ORDERS[change]]


def test_long_clusters_are_compared_to_their_end():
    """Clusters that differ in their last code alone stand in its order."""
    codes = list(range(100))
    names = tuple(f"{code:03d}" for code in range(102))
    chunks = [Chunk(cluster, codes, [codes] * 5) for cluster in range(2)]
    plain = Plain(3, 2, names, [5, 5], chunks, [[100], [101]])
    assert failures(plain) == []
    plain.items.reverse()

    assert failures(plain) == ["clusters are in the order of their contents"]


@pytest.mark.parametrize(
    ("vocabulary", "expected"),
    [(("x#1", "x#2"), []), (("x#1", "x#3"), ["occurrences of a code stand together, from the first on"])],
)
def test_occurrences_of_a_code_stand_together(vocabulary, expected):
    """Where diagnoses repeat, the second occurrence needs the first in the same place."""
    plain = Plain(2, 2, vocabulary, [3], [Chunk(0, [0, 1], [[0], [0, 1], [0, 1]])], [[]], repeats=True)

    assert failures(plain) == expected


def test_occurrences_of_a_code_in_two_places_are_refused():
    """The first occurrence in a record chunk and the second in the item chunk would tell who has two."""
    plain = Plain(2, 2, ("x#1", "x#2"), [3], [Chunk(0, [0], [[0], [0], [0]])], [[1]], repeats=True)

    assert failures(plain) == ["occurrences of a code stand together, from the first on"]


RECORDS = ["abe", "abe", "ab", "ac", "bce", "de", "dfe", "dfc", "df", "dg", "abg", "cdh"]


@pytest.fixture(scope="module")
def protected():
    """Twelve records, released, with what is secret."""
    codes = CodeSets.from_records([list(record) for record in RECORDS])
    found = disassociate(codes, DisassociationRequest(2, 2, max_cluster_size=4))
    return found.released, DisassociationSecret(codes, found.cluster_of)


def test_the_original_is_accepted(protected):
    """With the original nothing fails either, and the release has all kinds of chunks."""
    released, secret = protected

    assert verify(released, secret).failures == ()
    assert min(len(released.record_chunks), len(released.shared_chunks), released.item_chunks.size) > 0


def one_change_each(plain):
    """Releases that keep the promise of their files but are not made of these records, as far as one change can."""
    for number, chunk in enumerate(plain.chunks):
        other = copy.deepcopy(plain)
        other.chunks[number].subrecords = sorted([*chunk.subrecords, chunk.subrecords[0]])
        yield other
    for number, chunk in enumerate(plain.shared):
        other = copy.deepcopy(plain)
        other.shared[number].subrecords = sorted(chunk.subrecords[1:])
        yield other
    for cluster, items in enumerate(plain.items):
        for code in items:
            other = copy.deepcopy(plain)
            other.items[cluster] = [item for item in items if item != code]
            yield other
            promoted = copy.deepcopy(other)
            promoted.chunks = sorted(
                [*promoted.chunks, Chunk(cluster, [code], [[code]] * plain.k)], key=lambda chunk: chunk.owner
            )
            yield promoted
        other = copy.deepcopy(plain)
        missing = next(code for code in range(len(plain.vocabulary)) if code not in items)
        other.items[cluster] = sorted([*items, missing])
        yield other


def test_any_change_is_refused_with_the_original(protected):
    """A subrecord more or less, a code moved, told or left out: the projection is not that of the records."""
    released, secret = protected
    changed = list(one_change_each(unpack(released)))

    assert len(changed) > 10
    assert [other for other in changed if verify(other.pack(), secret).holds] == []


def test_a_moved_subrecord_is_refused(protected):
    """Two records that change places between clusters are noticed, although all sizes stay the same."""
    released, secret = protected
    tried = 0
    for one in range(len(RECORDS)):
        for other in range(one):
            if secret.cluster_of[one] != secret.cluster_of[other] and RECORDS[one] != RECORDS[other]:
                cluster_of = secret.cluster_of.copy()
                cluster_of[[one, other]] = cluster_of[[other, one]]
                tried += 1
                assert not verify(released, DisassociationSecret(secret.codes, cluster_of)).holds
    assert tried > 10


def test_a_split_cluster_is_refused(protected):
    """A cluster cut in two does not fit the map of records to clusters."""
    released, secret = protected
    plain = unpack(released)
    plain.sizes = [*plain.sizes[:-1], plain.sizes[-1] - 2, 2]
    plain.items.append([0])
    plain.joints, plain.shared, plain.joint_sizes = [], [], None

    assert "not so: every record of the original is in one cluster" in verify(plain.pack(), secret).failures


@pytest.mark.parametrize(("diversity", "holds"), [(4, True), (5, False)])
def test_the_bound_on_sensitive_codes_is_checked(diversity, holds):
    """One of four records has the sensitive code: that is one of four, and not one of five."""
    plain = Plain(2, 2, ("a", "s"), [4], [Chunk(0, [0], [[0]] * 4)], [[1]], sensitive=(1,))
    codes = CodeSets.from_records([["a"], ["a"], ["a"], ["a", "s"]])

    assert holds is verify(plain.pack(), DisassociationSecret(codes, np.zeros(4, dtype=np.int32), diversity)).holds


def test_a_chunk_of_very_many_short_subrecords():
    """Half a million subrecords of one code, or of a few, are counted; with 499,999 of a code, k = 500,000 fails."""
    one = Chunk(0, [A], [[A]] * 499_999)
    several = Chunk(1, [A, B, C, D, E], [[A, B, C, D, E]] * 250_000)
    chunks = packed([one, several])

    assert rare_chunks(chunks, 250_000, 3).tolist() == []
    assert rare_chunks(chunks, 250_001, 3).tolist() == [1]
    assert rare_chunks(chunks, 500_000, 2).tolist() == [0, 1]


def test_very_large_numbers_are_compared():
    """Whatever k and m somebody asks for, the answer is a verdict: more is known of nobody than all codes."""
    plain = sound()
    plain.m = 10**21
    assert failures(plain) == []
    plain.k = 10**21

    assert "clusters have k records or more" in failures(plain)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_rare_sets_are_found_either_way(m, monkeypatch):
    """Counting sets and intersecting records find the same chunks, those that the definition finds."""
    random = np.random.default_rng(m)
    chunks = []
    for owner in range(60):
        subrecords = [np.flatnonzero(random.random(4) < 0.7).tolist() for _ in range(9)]
        subrecords = sorted(subrecord for subrecord in subrecords if subrecord)
        chunks.append(Chunk(owner, sorted({code for subrecord in subrecords for code in subrecord}), subrecords))
    expected = [chunk.owner for chunk in chunks if not is_anonymous([frozenset(s) for s in chunk.subrecords], 2, m)]
    counted = rare_chunks(packed(chunks), 2, m).tolist()
    monkeypatch.setattr("cloister.shapes.disassociation.verify.chunks.MANY_SETS", 0)
    monkeypatch.setattr("cloister.shapes.disassociation.verify.chunks.SETS_A_SUBRECORD", 0)

    assert 5 < len(expected) < 60 or m == 1
    assert expected == counted == rare_chunks(packed(chunks), 2, m).tolist()
