"""Lists of patients by label and count equal what counting patient by patient finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.claims import patients_by_label

from cloister.kernels.postings import make_postings

VALUES = st.lists(st.lists(st.integers(0, 9), max_size=8).map(sorted), min_size=1, max_size=80)


@examples(60)
@given(VALUES, st.lists(st.booleans(), min_size=10, max_size=10), st.integers(1, 5))
def test_lists_are_those_of_counting_patient_by_patient(values, ends, cap):
    """For every label and count; where a list has bits, those of its patients alone are set."""
    labels = np.cumsum([0, *ends[1:]]).astype(np.int64)
    starts = np.cumsum([0, *map(len, values)]).astype(np.int64)
    flat = np.array([value for own in values for value in own], dtype=np.int32)
    found = make_postings(starts, flat, labels, int(labels[-1]) + 1, cap)

    lists, bits = {}, {}
    for label in range(int(labels[-1]) + 1):
        for one in range(int(found.first[label]), int(found.first[label + 1])):
            key = (label, one - int(found.first[label]) + 1)
            lists[key] = found.members[found.starts[one] : found.starts[one + 1]].tolist()
            if found.dense[one] >= 0:
                row = found.bits[found.dense[one]].view(np.uint8)
                bits[key] = np.flatnonzero(np.unpackbits(row, bitorder="little")).tolist()
    assert lists == patients_by_label(values, labels.tolist(), cap)
    assert bits == {key: lists[key] for key in bits}
