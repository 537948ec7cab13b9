"""Masking of small counts, against its definition."""

from itertools import chain, combinations

from hypothesis import example, given
from hypothesis import strategies as st

from cloister.release.masking import WITHHELD, is_masked_count, mask_small_count, total_needs_suppression

COUNTS = st.integers(0, 40)
KS = st.integers(2, 12)


@example(4, 5, None)
@example(5, 5, None)
@example(7, 5, 4)
@given(COUNTS, KS, st.none() | COUNTS)
def test_nothing_of_fewer_than_k_patients_is_told(count, k, patients):
    """A count is published as it is, or of fewer than k patients as a bound or not at all."""
    found = mask_small_count(count, k, patients)
    few = 0 < (count if patients is None else patients) < k

    assert (found == count) is not few
    assert not few or found == (f"<{k}" if count < k else WITHHELD)
    assert patients is not None or is_masked_count(found, k)


def test_only_what_is_published_so_is_a_masked_count():
    """Numbers below k, bounds of another k, truths and texts are none."""
    assert [
        value for value in (0, 5, "<5", WITHHELD, 3, -1, "<3", True, 5.0, None, "5") if is_masked_count(value, 5)
    ] == [*(0, 5, "<5", WITHHELD)]


@example(30, [20, 3], 5)
@example(30, [14, 12], 5)
@given(COUNTS, st.lists(COUNTS, max_size=5), KS)
def test_a_total_that_is_told_gives_no_small_count_away(total, counts, k):
    """No sum of published parts is within k - 1 of a total that is published, and no part alone is masked."""
    parts = {str(number): count for number, count in enumerate(counts)}
    shown = [count for count in counts if count >= k]
    sums = {sum(some) for some in chain.from_iterable(combinations(shown, n) for n in range(len(shown) + 1))}
    masked = [count for count in counts if 0 < count < k]

    if not total_needs_suppression(total, parts, k, {}):
        assert not shown or all(not 0 < abs(total - one) < k for one in sums)
        assert len(masked) != 1
        assert not masked or total - sum(shown) >= k


def test_claims_of_few_patients_are_no_part_of_a_total():
    """Where parts count claims, the total is told if no part is masked, and none overlaps."""
    assert not total_needs_suppression(30, {"a": 10, "b": 20}, 5, {"a": 5, "b": 9}, 12)
    assert total_needs_suppression(30, {"a": 10, "b": 20}, 5, {"a": 4, "b": 9}, 12)
    assert total_needs_suppression(29, {"a": 10, "b": 20}, 5, {"a": 5, "b": 9}, 12)
    assert total_needs_suppression(30, {"a": 10, "b": 20}, 5, {"a": 5, "b": 9}, 4)
