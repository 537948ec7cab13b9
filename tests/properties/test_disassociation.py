"""Disassociation over random code sets: nobody is found out, and the parts are what their definitions say."""

from collections import Counter
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables_with_codes import in_class
from tests.oracles import disassociation as oracle

from cloister.errors import NoSafeRelease
from cloister.kernels.verpart import Rule
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest, InferenceCheck, RecordClasses, Refine
from cloister.shapes.disassociation.format.ties import count_ties
from cloister.shapes.disassociation.method.protect import (
    disassociate,
    encode_request,
    partition_horizontally,
    partition_vertically,
)
from cloister.shapes.disassociation.method.release import ItemSupport, reconstruct
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify


@dataclass(frozen=True)
class Policy:
    """Constraints as they stand."""

    constraints: tuple


CODES = "abcdefg"


@st.composite
def code_sets(draw, most=14, repeats=False):
    """Records of some of a few codes, some codes more frequent than others."""
    weighted = draw(st.sampled_from([CODES, "aaabbcdefg", "aabbccd", "abc"]))
    record = st.lists(st.sampled_from(weighted), min_size=1, max_size=5)
    records = draw(st.lists(record, min_size=2, max_size=most))
    return records if repeats else [sorted(set(codes)) for codes in records]


@st.composite
def policies(draw):
    """No policy, or some codes in one constraint and some of the others in a second one."""
    order = draw(st.permutations(CODES))
    first, second = sorted(draw(st.tuples(st.integers(0, 5), st.integers(0, 7))))
    constraints = (frozenset(order[:first]), frozenset(order[first:second]))
    return Policy(tuple(constraint for constraint in constraints if constraint)) if first else None


@st.composite
def requests(draw, most_k=6, sensitive=True):
    """Settings of all kinds."""
    k = draw(st.integers(2, most_k))
    return DisassociationRequest(
        k=k,
        m=draw(st.integers(1, 4)),
        max_cluster_size=draw(st.sampled_from([None, k + 1, k + 2])),
        policy=draw(policies()),
        refine=draw(st.sampled_from([Refine.TREE, Refine.TREE, Refine.PAPER, Refine.OFF])),
        inference_check=draw(st.sampled_from(list(InferenceCheck))),
        inference_threshold=draw(st.sampled_from([1.0, 0.75])),
        sensitive=draw(st.sampled_from([(), (), ("a",), ("c",)])) if sensitive else (),
        diversity=draw(st.integers(1, 3)),
    )


def protect(records, request, repeats=False):
    """Code sets and what becomes of them; examples without a safe release are left out."""
    codes = CodeSets.from_records(records, repeats=repeats)
    names = {code.partition("#")[0] for code in codes.vocabulary}
    assume(set(request.sensitive) <= names)
    try:
        return codes, disassociate(codes, request)
    except NoSafeRelease:
        assume(False)


def sets_of(codes):
    """The records of code sets as sets."""
    bounds = zip(codes.offsets[:-1], codes.offsets[1:])
    return [frozenset(codes.vocabulary[item] for item in codes.items[begin:end]) for begin, end in bounds]


@examples(60)
@given(code_sets(), requests(most_k=2), st.booleans())
def test_somebody_who_knows_m_codes_has_k_candidates(records, request, repeats):
    """For any m codes of any record there is a data set that the release may stand for with k records that have them.

    All data sets are searched by an exact solver, those aside that have more of a sensitive code than is published.
    """
    codes, protected = protect(records, request, repeats)
    release = oracle.written(protected.released)
    sensitive = frozenset(codes.vocabulary[item] for item in protected.released.sensitive.tolist())
    bound = {"sensitive": sensitive, "diversity": request.diversity}

    assert oracle.unprotected(sets_of(codes), release, request.k, request.m, repeats, **bound) == {}


@examples(60)
@given(code_sets(most=12), st.integers(2, 3), st.integers(2, 4), st.sampled_from(["a", "b", "ab", "ag"]))
def test_sensitive_codes_take_no_candidates_away(records, k, diversity, sensitive):
    """However few records may hold the sensitive codes, whoever knows two other codes has k candidates."""
    request = DisassociationRequest(k, 2, 2 * k + 3, sensitive=tuple(sensitive), diversity=diversity)
    codes, protected = protect(records, request)
    release = oracle.written(protected.released)

    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of, diversity)).failures == ()
    assert oracle.unprotected(sets_of(codes), release, k, 2, sensitive=frozenset(sensitive), diversity=diversity) == {}


@examples(100)
@given(code_sets(most=40, repeats=True), requests(), st.booleans())
def test_what_is_released_passes_the_verifier(records, request, repeats):
    """Whatever the data and settings: the verifier accepts, without and with the original."""
    codes, protected = protect(records, request, repeats)
    found = verify(protected.released, DisassociationSecret(codes, protected.cluster_of))

    assert found.failures == ()
    assert verify(protected.released).holds


def arrays(value):
    """All arrays of a record, those of the records in it included, as lists."""
    if is_dataclass(value):
        return [arrays(getattr(value, part.name)) for part in fields(value)]
    return value.tolist() if isinstance(value, np.ndarray) else value


@examples(60)
@given(code_sets(most=30), requests(), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(records, request, random):
    """Records in another order give the same release, and every patient's cluster moves along."""
    _, protected = protect(records, request)
    order = random.sample(range(len(records)), len(records))
    _, again = protect([records[row] for row in order], request)

    assert arrays(protected.released) == arrays(again.released)


@examples(80)
@given(code_sets(most=40), requests(sensitive=False))
def test_clusters_are_those_of_the_definition(records, request):
    """Horizontal partitioning gives the clusters that the recursion gives, in its order."""
    assume(len(records) >= request.k)
    encoded = encode_request(CodeSets.from_records(records), request)
    split = partition_horizontally(encoded.records, request.k, request.cluster_limit)
    constraints = request.policy.constraints if request.policy else ()
    tree = oracle.horizontal([frozenset(r) for r in records], request.k, request.cluster_limit, constraints)
    expected = oracle.leaves(tree)

    parts = [split.order[begin:end] for begin, end in zip(split.starts[:-1], split.starts[1:])]
    found = [sorted(sorted(records[row]) for row in part) for part in parts]
    assert [sorted(sorted(record) for record in cluster) for cluster in expected] == found


@examples(80)
@given(code_sets(most=12), requests(sensitive=False))
def test_chunks_are_those_of_the_definition(records, request):
    """Vertical partitioning with repair puts every code where its definition puts it."""
    assume(len(records) >= request.k)
    encoded = encode_request(codes := CodeSets.from_records(records), request)
    split = partition_horizontally(encoded.records, request.k, len(records) + 1)
    entries = partition_vertically(encoded.records, split, encoded.unit, Rule(request.k, request.m, 2.0)).entries
    constraints = request.policy.constraints if request.policy else ()
    sets = [frozenset(record) for record in records]
    domains, items = oracle.vertical(sets, request.k, request.m, constraints)
    domains, items = oracle.repaired(sets, request.k, request.m, domains, items, constraints)

    names = np.array(codes.vocabulary)[entries.code]
    assert items == set(names[entries.place < 0])
    assert set(domains) == {
        frozenset(names[entries.place == place]) for place in set(entries.place[entries.place >= 0])
    }


@examples(40)
@given(code_sets(most=12), st.integers(2, 3), st.integers(1, 3))
def test_the_omitted_condition_is_enough(records, k, m):
    """A cluster of k^m-anonymous chunks that meets the condition hides everyone, and one we release meets it."""
    assume(len(records) >= k)
    sets = [frozenset(record) for record in records]
    domains, items = oracle.vertical(sets, k, m)
    chunks = tuple(tuple(oracle.project(sets, domain)) for domain in domains)
    cluster = oracle.Cluster(len(sets), chunks, items)
    unprotected = oracle.unprotected(sets, oracle.Written((cluster,), ()), k, m)

    if oracle.leaves_none_empty(len(sets), chunks, k, m, bool(items)):
        assert unprotected == {}
    elif m == 2:
        assert unprotected != {} or len(domains) < 2


@examples(80)
@given(code_sets(most=40), st.integers(2, 4), st.integers(1, 3), policies())
def test_shared_chunks_stand_where_the_definition_puts_them(records, k, m, policy):
    """Refining climbs the tree as its definition says: each code is shared by as many records, as often."""
    assume(len(records) >= k)
    constraints = policy.constraints if policy else ()
    tree = oracle.horizontal([frozenset(record) for record in records], k, k + 1, constraints)
    pooled, needs_item = {}, {}
    for cluster in oracle.leaves(tree):
        counts = oracle.supports(cluster)
        domains, items = oracle.vertical(cluster, k, m, constraints)
        chunks = [oracle.project(cluster, domain) for domain in domains]
        pooled[id(cluster)] = {code: counts[code] for code in items}
        needs_item[id(cluster)] = bool(items) and not oracle.leaves_none_empty(len(cluster), chunks, k, m, False)
    places = oracle.shared_places(tree, lambda cluster: pooled[id(cluster)], k)
    told = {(id(c), code) for code, (_, found) in places.items() for members in found for c in members}
    for cluster, codes in pooled.items():  # else a code would have to stay behind
        assume(not needs_item[cluster] or any((cluster, code) not in told for code in codes))
    expected = Counter(
        (sum(map(len, members)), code, sum(pooled[id(c)].get(code, 0) for c in members))
        for code, (_, found) in places.items()
        for members in found
    )
    _, protected = protect(records, DisassociationRequest(k, m, k + 1, policy=policy))
    release = oracle.written(protected.released)

    assert expected == Counter(
        (
            sum(release.clusters[cluster].size for cluster in chunk.members),
            code,
            sum(code in subrecord for subrecord in chunk.subrecords),
        )
        for chunk in release.shared
        for code in chunk.domain
    )


@examples(60)
@given(code_sets(most=30), requests(sensitive=False).map(lambda one: replace(one, refine=Refine.TREE)))
def test_every_frequent_code_is_counted(records, request):
    """A code of k patients is published with its count, short by fewer than k, unless it is kept back."""
    codes, protected = protect(records, request)
    assume(not protected.figures.repaired)
    released = protected.released
    told = np.bincount(
        np.concatenate([released.record_chunks.items, released.shared_chunks.items]), minlength=codes.n_codes
    )
    short = codes.supports() - told

    assert np.all(short >= 0)
    bare = np.flatnonzero(short >= request.k)
    held = [set(released.item_chunk_of(cluster)) for cluster in range(released.n_clusters)]
    assert all(any(chunk == {code} for chunk in held) for code in bare.tolist())


@examples(60)
@given(code_sets(most=30), requests(), st.sampled_from(list(ItemSupport)), st.integers(0, 3), st.booleans())
def test_a_reconstruction_is_one_that_the_release_stands_for(records, request, support, seed, repeats):
    """Its records are not empty, as many as there were, and have every code as often as the chunks say, or more."""
    _, protected = protect(records, request, repeats)
    released = protected.released
    rebuilt = reconstruct(released, seed, support)
    told = np.bincount(
        np.concatenate([released.record_chunks.items, released.shared_chunks.items]), minlength=rebuilt.n_codes
    )
    hidden = np.bincount(released.item_chunks, minlength=rebuilt.n_codes)

    assert released.n_records == rebuilt.n_records
    assert np.diff(rebuilt.offsets).min() > 0
    assert all(len(record) == len(set(record)) for record in sets_of(rebuilt))
    assert np.all(rebuilt.supports() >= told + hidden)
    assert np.all(rebuilt.supports()[hidden == 0] == told[hidden == 0])
    assert arrays(rebuilt) == arrays(reconstruct(released, seed, support))


@examples(60)
@given(code_sets(most=30), requests())
def test_enforced_no_code_gives_another_away(records, request):
    """With the check enforced, no pair of a chunk reaches the threshold."""
    request = replace(request, inference_check=InferenceCheck.ENFORCE)
    _, protected = protect(records, request)

    assert count_ties(protected.released, request.inference_threshold).pairs == 0


@examples(60)
@given(code_sets(most=30), requests(sensitive=False), st.data())
def test_classes_are_disassociated_each_by_itself(records, request, data):
    """What is told of a class is what would be told if it were all there is."""
    numbers = data.draw(st.lists(st.integers(0, 2), min_size=len(records), max_size=len(records)))
    labels = sorted(set(numbers))
    own = [[codes for codes, number in zip(records, numbers) if number == label] for label in labels]
    assume(min(map(len, own)) >= request.k)
    class_of = np.array([labels.index(number) for number in numbers], dtype=np.int64)
    classes = RecordClasses(("class",), tuple((str(label),) for label in labels), class_of)

    protected = disassociate(CodeSets.from_records(records), request, classes)
    released = oracle.written(protected.released)

    assert (
        verify(protected.released, DisassociationSecret(CodeSets.from_records(records), protected.cluster_of)).failures
        == ()
    )
    for number, members in enumerate(own):
        alone = disassociate(CodeSets.from_records(members), request).released
        assert oracle.written(alone) == in_class(released, protected.released.class_of, number)
