"""Row numbers by content, and lists of such numbers with the same sort order."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io.columns import code_texts

RowNumbers = NDArray[np.int64]


def numbers_by_content(keys: pl.DataFrame) -> RowNumbers:
    """Number the rows by content: equal rows have equal numbers, in the order of the content.

    Missing comes first, texts are in the order of UTF-8 bytes.
    """
    numbers, size = np.zeros(keys.height, dtype=np.int64), 1
    for column in keys.get_columns() if keys.height else ():
        codes, n_codes = _codes_in_order(column)
        # columns become digits of one number, which is sorted at once, as long as a number has room for another
        if size * n_codes > MOST_CONTENTS:
            numbers, size = _ranks(numbers)
        numbers, size = numbers * n_codes + codes, size * n_codes
    return _ranks(numbers)[0] + 1 if keys.width else numbers


def _codes_in_order(column: pl.Series) -> tuple[RowNumbers, int]:
    """Numbers from 0 in the order of the values of a column, 0 for missing, and how many there may be."""
    if not column.dtype.is_integer():
        texts, places = code_texts(column)
        return places.astype(np.int64) + 1, len(texts) + 1
    numbers = column.cast(pl.Int64)  # of ours, from -1 to the number of rows or labels
    codes = (numbers - numbers.min() + 1).fill_null(0).to_numpy()
    return codes, int(codes.max(initial=0)) + 1


def _ranks(numbers: RowNumbers) -> tuple[RowNumbers, int]:
    """The rank of each number among the different ones, from 0, and how many these are."""
    order = np.argsort(numbers)
    ranks = np.empty_like(numbers)
    ranks[order] = np.cumsum(np.diff(numbers[order], prepend=numbers[order[:1]]) != 0)
    return ranks, int(ranks.max(initial=-1)) + 1


def sorted_numbers(owners: RowNumbers, numbers: RowNumbers, n: int) -> list[bytes]:
    """Return the sorted numbers of each of n owners, as bytes with the same sort order."""
    width = int(numbers.max(initial=0)) + 1
    text = (np.sort(owners * width + numbers) % width).astype(">u4").tobytes()
    ends = np.cumsum(np.bincount(owners, minlength=n)) * 4
    return [text[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


MOST_CONTENTS = 1 << 62
"""Numbers that rows may have by their content before they are numbered by it."""
