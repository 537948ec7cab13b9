"""Histograms: every record is in one bar, and marks are round numbers inside the axis."""

import math

from hypothesis import given
from hypothesis import strategies as st

from cloister.report.histogram import HEIGHT, histogram_of

NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6).map(lambda number: round(number, 3))


@given(st.dictionaries(NUMBERS.map(str), st.integers(1, 50), min_size=3, max_size=60))
def test_bars_cover_all_numbers_and_marks_are_inside(records):
    """The axis holds every number; heights follow the number of records; the highest bar has full height."""
    found = histogram_of(records)
    if found is None:
        assert len({float(value) for value in records}) < 3
        return
    numbers = [float(value) for value in records]
    assert found.low <= min(numbers) <= max(numbers) <= found.high
    assert math.isclose(max(height for _, _, height in found.bars), 0.95 * HEIGHT, abs_tol=0.1)
    assert all(found.left <= x <= found.right for _, x in found.marks)
    assert 2 <= len(found.marks) <= 12
    assert found.counts[0] == ("0", HEIGHT)
    assert 2 <= len(found.counts) <= 8
    assert all(0 < y <= HEIGHT for _, y in found.counts)


def test_texts_and_too_few_numbers_have_no_histogram():
    """Columns of words, of one number, and of missing values alone."""
    assert histogram_of({"a": 5, "1": 1, "2": 1, "3": 1}) is None
    assert histogram_of({"1": 5, "": 3}) is None
    assert histogram_of({"": 3}) is None
    assert histogram_of({"1e308": 1, "-1e308": 1, "0": 1}) is None
    assert histogram_of({f"{10**14 + n}": 1 for n in range(5)}) is None
    assert histogram_of({"1": 9, "2": 9, "inf": 1}) is None
