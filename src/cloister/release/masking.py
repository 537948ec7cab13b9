"""Masking of counts below k: the count, and all numbers from which it could be computed, are hidden.

Masking a small count (primary suppression) is not enough if a total and the other counts are published: their
difference is the masked count. Then the total is withheld, too (complementary suppression).
"""

from collections.abc import Mapping

WITHHELD = "withheld"
"""Stands for a count from which a masked one could be worked out."""


def must_mask(patients: int, k: int) -> bool:
    """Return whether a count of so many patients, and the numbers that reveal it, are masked for the recipient."""
    return 0 < patients < k


def below(bound: int) -> str:
    """Return a masked count as text: it states only an upper bound."""
    return f"<{bound}"


def mask_total(released: int, suppressed: int | str) -> int | str:
    """Return the total number of records; if the number of suppressed records is masked, the total is masked too."""
    return suppressed + released if isinstance(suppressed, int) else below(released + int(suppressed[1:]))


def mask_small_count(count: int, k: int, patients: int | None = None) -> int | str:
    """Return a count, masked if it covers fewer than k patients: ``<k``, or withheld for k or more claims of so few.

    ``patients``: how many patients it counts, if not one each

    Examples
    --------
    >>> mask_small_count(3, 5), mask_small_count(0, 5), mask_small_count(7, 5, patients=2)
    ('<5', 0, 'withheld')
    """
    if not must_mask(count if patients is None else patients, k):
        return count
    return below(k) if count < k else WITHHELD


def is_masked_count(value: object, k: int) -> bool:
    """Return whether a value is a valid published count: masked, zero, or at least k."""
    return value in (below(k), WITHHELD) or (type(value) is int and (value == 0 or value >= k))


def total_needs_suppression(
    total: int, counts: Mapping[str, int], k: int, patients: Mapping[str, int], patients_in_all: int | None = None
) -> bool:
    """Return whether a total must be withheld, as subtracting published parts reveals a masked or small count.

    Parts overlap: 25 and 30 of 54 patients are one who has both, 30 and 30 of 32 are two who have the second alone. Of
    claims that have both nobody knows how many patients they are of.

    ``patients``: how many patients each part counts, where it counts something else; empty where it counts patients
    """
    shown = [count for part, count in counts.items() if patients.get(part, count) >= k]
    n_hidden = sum(count > 0 for count in counts.values()) - len(shown)
    if n_hidden and (n_hidden == 1 or patients or total - sum(shown) < k):
        return True
    if patients and total != sum(shown):
        return True
    if patients_in_all is not None and 0 < patients_in_all < k:
        return True
    if not shown:
        return False
    sums = 1  # bit n: some of the counts sum up to n
    for count in shown:
        sums |= sums << count
    around = (sums << k) >> (total + 1)  # bit k - 1: the total itself; k - 1 bits below and above it
    return bool(around & ((1 << (2 * k - 1)) - 1) & ~(1 << (k - 1)))
