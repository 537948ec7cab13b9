"""Laws of the baseline Partition over random records: k of them are equal, and each code is below one node."""

from benchmarks.papers.partition import Nodes, Partition, broken
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.utility import Reading

CODES = "abcdef"
LEVELS = [["A", "A", "B", "B", "B", None], ["X", "X", "X", "X", "X", "Y"]]
RECORDS = st.lists(st.frozensets(st.sampled_from(CODES), min_size=1), min_size=3, max_size=12)


@examples(400)
@given(RECORDS, st.integers(1, 3))
def test_partition_gives_each_record_k_equals(records, k):
    """Every result passes the slow check, which refuses it for more patients than its smallest partition has."""
    partition = Partition(records, Nodes.of(LEVELS, CODES), k)
    released = partition.released
    smallest = min(sum(len(rows) for rows, nodes in released if nodes == shown) for _, shown in released)

    assert broken(records, released, k) == []
    assert broken(records, released, smallest + 1) == ["fewer than k records are equal"]
    assert 0 <= partition.ncp() <= 1
    assert partition.answers([[]], Reading.SUBSETS) == [len(records)]


def test_partition_by_hand():
    """Two records of one leaf each are told apart from two of the other branch; NCP is that of the generalized pair."""
    records = [frozenset(codes) for codes in ("a", "b", "f", "f")]
    partition = Partition(records, Nodes.of(LEVELS, CODES), 2)

    assert sorted((rows, sorted(map(sorted, nodes))) for rows, nodes in partition.released) == [
        ([0, 1], [["a", "b"]]),
        ([2, 3], [["f"]]),
    ]
    assert partition.ncp() == (2 + 2) / 6 / 4
    assert partition.answers(["a", "ab", "f"], Reading.SUBSETS) == [2 * 2 / 3, 2 / 3, 2]


def test_a_forged_partition_is_refused():
    """A record that is lost, a node without its codes and a code below no node are found."""
    records, wrong = [frozenset("a"), frozenset("f")], frozenset([frozenset("f")])

    assert broken(records, [([0], frozenset([frozenset("a")]))], 1) == ["a record is missing, or released twice"]
    assert broken(records, [([0, 1], wrong)], 1) == [
        "a code is not below exactly one node",
        "a node stands for no code",
    ]
