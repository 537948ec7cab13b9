"""Hierarchies as trees."""

from hypothesis import given
from tests.made.trajectories import FIGURE_3, hierarchies, nodes_above, tree_of

from cloister.hierarchy import hierarchy_rows, icd9
from cloister.shapes.trajectories.format.domain import ValueTree


def test_nodes_are_where_values_meet():
    """Labels over one value are left out, the finest of several over the same values stands, the root is last."""
    tree = tree_of(FIGURE_3, [33, 34, 35, 39])

    assert tree.labels == ("33", "34", "35", "39", "[33-34]", "[33-36]", "*")
    assert tree.leaves.tolist() == [0, 0, 0, 0, 2, 3, 4]
    assert tree.parent.tolist() == [4, 4, 5, 6, 5, 6, -1]


def test_a_recorded_code_beside_finer_ones_is_released_as_the_coarse():
    """401 and 401.1 are two leaves; what is written 401 is the node above both, and costs what that costs."""
    tree = tree_of(icd9(), ["401", "401.1", "780"])
    coarse = tree.meet(0, 1)

    assert tree.labels[0] == tree.labels[coarse] == "401"
    assert coarse == tree.released[0] == tree.released[coarse]
    assert tree.leaves[coarse] == 2
    assert tree.released[1] == 1


def test_equal_labels_in_different_places_are_released_as_what_covers_them():
    """A label that stands for two sets of values is told as the node above both sets."""
    tree = ValueTree.from_levels(list("abcd"), [["x", "x", "c", "d"], ["x1", "x1", "x", "x"]])

    assert {"*"} == {tree.labels[tree.released[node]] for node in range(4, tree.n_nodes)}


def test_a_single_value_has_a_root_that_nothing_meets_in():
    """A domain of one value is a leaf and a root."""
    tree = tree_of(hierarchy_rows([["401", "*"]]), ["401"])

    assert (tree.n_nodes, tree.meet(0, 0), tree.leaves[tree.root]) == (2, 0, 1)


@given(hierarchies("x", 6))
def test_meeting_is_the_smallest_node_above_both(levels):
    """The lowest common ancestor covers what the definition says."""
    n = len(levels[0])
    tree = ValueTree.from_levels([str(value) for value in range(n)], levels)
    above = nodes_above(levels)
    for one in range(n):
        for other in range(n):
            expected = min((node for node in above[one] if other in node), key=len)
            assert expected == frozenset(tree.leaves_below(tree.meet(one, other)))


def test_a_recorded_label_over_a_single_node_is_released_as_what_covers_both():
    """`A` is over `a` alone and no node; a code `A` that stands elsewhere is not told under that label."""
    tree = ValueTree.from_levels(["a.1", "a.2", "A"], [["a", "a", None], ["A", "A", None]])

    assert [tree.labels[tree.released[node]] for node in range(tree.n_nodes)] == ["a.1", "a.2", "*", "a", "*"]


def test_many_values_under_one_node_are_numbered():
    """Nodes stand by size, then by smallest leaf, however many values there are."""
    n = 20_000
    tree = ValueTree.from_levels(list(map(str, range(n))), [[f"x{value // 2 % (n // 4)}" for value in range(n)]])

    assert tree.labels[n : n + 2] == ("x0", "x1")
    assert tree.leaves[n:].tolist() == [4] * (n // 4) + [n]
