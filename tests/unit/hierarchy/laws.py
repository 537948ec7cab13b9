"""What every ladder of every builder keeps, written from the definition of `BoundHierarchy` and nothing else."""

from collections.abc import Sequence

from cloister.hierarchy import BoundHierarchy, Hierarchy


def assert_lawful(ladder: BoundHierarchy) -> None:
    """Shapes fit, levels nest, leaves add up and never shrink, one root covers all."""
    n_values = len(ladder.values)
    assert ladder.leaves.shape == (ladder.n_levels, n_values)
    assert all(len(level) == n_values for level in ladder.labels)
    assert ladder.labels[0] == ladder.values
    assert list(ladder.values) == in_order(ladder.values)
    assert ladder.n_leaves >= 1
    assert len(set(ladder.labels[-1])) <= 1
    for level in range(ladder.n_levels):
        _assert_level(ladder, level)
    assert (ladder.leaves[0] == 1).all()
    assert (ladder.leaves[-1] == ladder.n_leaves).all()


def assert_missing_apart(ladder: BoundHierarchy) -> None:
    """Missing is a leaf of its own at every level below the root."""
    if None in ladder.values:
        for level, labels in enumerate(ladder.labels[:-1]):
            assert [position for position, label in enumerate(labels) if label is None] == [len(labels) - 1]
            assert ladder.leaves[level][-1] == 1


def assert_order_free(hierarchy: Hierarchy, values: Sequence[str | None]) -> None:
    """The ladder does not depend on the order of the values, and the values stay as they were."""
    given = list(values)
    forward, backward = hierarchy.bind("c", given), hierarchy.bind("c", given[::-1])
    assert given == list(values)
    assert (forward.values, forward.labels, forward.n_leaves) == (backward.values, backward.labels, backward.n_leaves)
    assert (forward.leaves == backward.leaves).all()


def in_order(values: Sequence[str | None]) -> list[str | None]:
    """Texts by their UTF-8 bytes, missing last."""
    return sorted(values, key=lambda value: (value is None, (value or "").encode()))


def _assert_level(ladder: BoundHierarchy, level: int) -> None:
    labels, leaves = ladder.labels[level], ladder.leaves[level].tolist()
    groups: dict[str | None, set[int]] = {}
    for label, covered in zip(labels, leaves, strict=True):
        groups.setdefault(label, set()).add(covered)
    assert all(len(covered) == 1 for covered in groups.values())
    assert sum(covered.pop() for covered in groups.values()) <= ladder.n_leaves
    if level + 1 < ladder.n_levels:
        above = set(zip(labels, ladder.labels[level + 1], strict=True))
        assert len(above) == len(groups)
        assert (ladder.leaves[level] <= ladder.leaves[level + 1]).all()
