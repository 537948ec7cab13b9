"""What the columns and terms of a release of generalized code sets mean. Says nothing that the data file does not."""

import polars as pl

from cloister.codesets.data_file import CODES, ID
from cloister.codesets.encode import MARK

from .data import Generalization, term_text

Row = tuple[str, str, None, None, str | None, str]

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
ALONE = "as recorded"
NUMBER = "number of the record in this file"


def codebook(released: Generalization, *, numbered: bool) -> pl.DataFrame:
    """Return one row for each term, as the data file writes it, and one for the id."""
    rows: list[Row] = [(ID, "identifier", None, None, None, NUMBER)] if numbered else []
    for codes in released.named_terms():
        rows.append((CODES, "codes", None, None, term_text(codes), _meaning(codes, released.repeats)))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def _meaning(codes: tuple[str, ...], repeats: bool) -> str:
    what = ALONE if len(codes) == 1 else f"one or more of these {len(codes)} codes"
    return f"{what}; {MARK}n is the n-th occurrence of a code" if repeats else what
