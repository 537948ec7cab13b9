"""What the checking wrapper of horizontal partitioning refuses, and how classes stand in its result."""

import numpy as np
import pytest

from cloister.kernels.horpart import Records, split_records

RECORDS = Records(
    np.array([0, 1, 2, 3, 4], dtype=np.int64),
    np.array([0, 1, 0, 1], dtype=np.int32),
    np.full(2, -1, dtype=np.int32),
    np.zeros(2, dtype=np.bool_),
)


@pytest.mark.parametrize(
    ("classes", "words"),
    [([0, 0, 1], "one number"), ([0, -1, 0, 0], "from 0 on"), ([0, 2, 2, 0], "every class must have records")],
)
def test_classes_that_do_not_fit(classes, words):
    """Classes are numbered from 0 without gaps, one for each record."""
    with pytest.raises(ValueError, match=words):
        split_records(RECORDS, 1, 2, np.array(classes, dtype=np.int64))


def test_parts_stand_by_class():
    """Records come class by class in their order, and the border between classes is in no tree."""
    split = split_records(RECORDS, 2, 9, np.array([1, 0, 1, 0]))

    assert split.order.tolist() == [1, 3, 0, 2]
    assert split.starts.tolist() == [0, 2, 4]
    assert split.depths.tolist() == [-1]
