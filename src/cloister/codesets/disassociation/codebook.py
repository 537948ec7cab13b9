"""What the columns and codes of a release of code sets mean. Says nothing that ``clusters.json`` does not."""

import polars as pl

from ..data_file import CODES, ID
from ..encode import MARK, plain_code
from .data import Disassociation
from .places import codes_counted_exactly

Row = tuple[str, str, None, None, str | None, str]

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
EXACT = "as recorded; the chunks tell how many patients have it"
PARTLY = "as recorded; in some clusters it is not told how many patients have it"
SENSITIVE = "as recorded; sensitive: it is not told how many patients have it"
NUMBER = "number of a reconstructed record, which is no patient's"


def codebook(released: Disassociation, *, numbered: bool) -> pl.DataFrame:
    """Return one row for each code, as ``clusters.json`` writes it, and one for the id."""
    counted = codes_counted_exactly(released)
    sensitive = set(released.sensitive.tolist())
    rows: list[Row] = [(ID, "identifier", None, None, None, NUMBER)] if numbered else []
    for item, code in enumerate(released.vocabulary):
        meaning = SENSITIVE if item in sensitive else EXACT if counted[item] else PARTLY
        rows.append((CODES, "codes", None, None, code, meaning + _occurrence(code, released.repeats)))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def _occurrence(code: str, repeats: bool) -> str:
    if not repeats:
        return ""
    name = plain_code(code, repeats=repeats)
    return f" ({name}, occurrence {code.removeprefix(name + MARK)})"
