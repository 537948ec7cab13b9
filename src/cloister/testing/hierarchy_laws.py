"""The laws of every hierarchy, written from the definition of `BoundHierarchy` and nothing else."""

from collections.abc import Sequence

from cloister.hierarchy import BoundHierarchy, Hierarchy


def assert_lawful_hierarchy(hierarchy: Hierarchy, values: Sequence[str | None]) -> None:
    """Assert all laws of a hierarchy for these distinct values, None being a missing one.

    Levels nest up to one root, leaves add up, missing values stay apart, and the order of values makes no difference.

    Examples
    --------
    >>> from cloister.hierarchy import prefix
    >>> assert_lawful_hierarchy(prefix(3), ["813", "814", None])
    """
    bound = hierarchy.bind("column", values)
    assert_lawful(bound)
    assert_missing_apart(bound)
    assert_order_free(hierarchy, values)


def assert_lawful(hierarchy: BoundHierarchy) -> None:
    """Shapes fit, levels nest, leaves add up and never shrink, one root covers all."""
    n_values = len(hierarchy.values)
    assert hierarchy.leaves.shape == (hierarchy.n_levels, n_values)
    assert all(len(level) == n_values for level in hierarchy.labels)
    beyond = [label != value for label, value in zip(hierarchy.labels[0], hierarchy.values, strict=True)]
    above = list(zip(beyond, hierarchy.labels[0], hierarchy.labels[1], hierarchy.leaves.T.tolist(), strict=True))
    assert all(low == high and leaves[0] == leaves[1] for is_beyond, low, high, leaves in above if is_beyond)
    in_order = sorted(hierarchy.values, key=lambda value: (value is None, (value or "").encode()))
    assert list(hierarchy.values) == in_order  # by UTF-8 bytes, missing last
    assert hierarchy.n_leaves >= 1
    assert len(set(hierarchy.labels[-1])) <= 1
    for level in range(hierarchy.n_levels):
        _assert_level(hierarchy, level)
    assert all(leaves[0] == 1 for is_beyond, _, _, leaves in above if not is_beyond)
    assert (hierarchy.leaves[-1] == hierarchy.n_leaves).all()


def assert_missing_apart(hierarchy: BoundHierarchy) -> None:
    """Missing is a leaf of its own at every level below the root."""
    if None in hierarchy.values:
        for level, labels in enumerate(hierarchy.labels[:-1]):
            assert [position for position, label in enumerate(labels) if label is None] == [len(labels) - 1]
            assert hierarchy.leaves[level][-1] == 1


def assert_order_free(hierarchy: Hierarchy, values: Sequence[str | None]) -> None:
    """The hierarchy does not depend on the order of the values, and the values stay as they were."""
    given = list(values)
    forward, backward = hierarchy.bind("c", given), hierarchy.bind("c", given[::-1])
    assert given == list(values)
    assert (forward.values, forward.labels, forward.n_leaves) == (backward.values, backward.labels, backward.n_leaves)
    assert (forward.leaves == backward.leaves).all()


def _assert_level(hierarchy: BoundHierarchy, level: int) -> None:
    labels, leaves = hierarchy.labels[level], hierarchy.leaves[level].tolist()
    groups: dict[str | None, set[int]] = {}
    for label, covered in zip(labels, leaves, strict=True):
        groups.setdefault(label, set()).add(covered)
    assert all(len(covered) == 1 for covered in groups.values())
    assert sum(covered.pop() for covered in groups.values()) <= hierarchy.n_leaves
    if level + 1 < hierarchy.n_levels:
        above = set(zip(labels, hierarchy.labels[level + 1], strict=True))
        assert len(above) == len(groups)
        assert (hierarchy.leaves[level] <= hierarchy.leaves[level + 1]).all()
