"""Parts of code sets, disassociated each by itself and put together: the promise holds, and the order tells nothing."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import disassociation as oracle

from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.canonical import join_parts
from cloister.shapes.disassociation.format.clusters_file import same_release
from cloister.shapes.disassociation.format.data import DisassociationRequest
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify

RECORDS = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4), min_size=2, max_size=8)


def chosen(codes, rows):
    """Some of the records, in numbers of the whole vocabulary."""
    items = [codes.items[codes.offsets[row] : codes.offsets[row + 1]] for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in items])]).astype(np.int64)
    return CodeSets(codes.vocabulary, offsets, np.concatenate(items))


@examples(40)
@given(st.lists(RECORDS, min_size=1, max_size=3), st.integers(1, 2), st.integers(1, 3), st.randoms())
def test_joined_parts_keep_the_promise(lots, k, m, random):
    """Whoever knows m codes of a record has k candidates, found by an exact solver; parts may come in any order."""
    records = [sorted(record) for lot in lots for record in lot]
    codes = CodeSets.from_records(records)
    ends = np.cumsum([0, *map(len, lots)]).tolist()
    rows = [np.arange(begin, end) for begin, end in pairwise(ends)]
    request = DisassociationRequest(k, m, max_cluster_size=k + 1)
    protected = [disassociate(chosen(codes, own), request) for own in rows]
    joined, numbers_of = join_parts([part.released for part in protected])
    order = random.sample(range(len(protected)), len(protected))
    other, _ = join_parts([protected[place].released for place in order])
    cluster_of = [numbers[part.cluster_of] for numbers, part in zip(numbers_of, protected)]
    secret = DisassociationSecret(codes, np.concatenate(cluster_of).astype(np.int32), 1)

    assert verify(joined, secret).failures == ()
    assert oracle.unprotected([frozenset(record) for record in records], oracle.written(joined), k, m) == {}
    assert same_release(joined, other)
