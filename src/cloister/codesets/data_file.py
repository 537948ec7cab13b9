"""Code sets as a table of one record a line: what ``data.csv`` of a release holds."""

import numpy as np
import polars as pl

from .data import CodeSets
from .encode import plain_code

ID, CODES = "id", "codes"
RECORDS_AT_ONCE = 1 << 18


def data_frame(codes: CodeSets, *, numbered: bool) -> pl.DataFrame:
    """Return one row a record, its codes separated by spaces, in the order of the UTF-8 bytes of that text.

    Parameters
    ----------
    codes : where they are numbered occurrences, the numbers are left out: a code stands as often as it occurs
    numbered : add a column ``id`` that numbers the rows

    Examples
    --------
    >>> data_frame(CodeSets.from_records([["b", "a"], ["a"]]), numbered=True).rows()
    [(1, 'a'), (2, 'a b')]
    """
    column = code_texts(codes).sort().alias(CODES)
    if not numbered:
        return column.to_frame()
    return pl.DataFrame([pl.Series(ID, np.arange(1, len(column) + 1)), column])


def code_texts(codes: CodeSets) -> pl.Series:
    """Return the codes of each record as text, separated by spaces."""
    return pl.concat([_lines(codes, start) for start in range(0, codes.n_records, RECORDS_AT_ONCE)])


def _lines(codes: CodeSets, start: int) -> pl.Series:
    """The text of some records from one on."""
    bounds = codes.offsets[start : start + RECORDS_AT_ONCE + 1]
    names = [plain_code(code, repeats=codes.repeats) for code in codes.vocabulary]
    tokens = np.array([name + ending for name in names for ending in (" ", "\n")], dtype=object)
    is_last = np.zeros(int(bounds[-1] - bounds[0]), dtype=np.int64)
    is_last[bounds[1:] - bounds[0] - 1] = 1
    words = tokens[codes.items[bounds[0] : bounds[-1]] * np.int64(2) + is_last].tolist()
    return pl.Series("".join(words).split("\n")[:-1], dtype=pl.String)
