"""What the report shows of disassociated code sets beside their manifest: the most frequent codes, and clusters."""

import polars as pl

from cloister.report_figures import Counted, Counts, Shown

from ..encode import MARK, plain_code
from .data import Disassociation
from .places import codes_counted_exactly, supports_told

CODES = "codes"


def shown_of(released: Disassociation) -> Shown:
    """Return what is shown of code sets."""
    return Shown(
        k=released.k,
        sizes=pl.Series(released.sizes, dtype=pl.Int64),
        of="patients",
        by="the size of their cluster",
        columns=(counted(released, CODES),),
        files={},
    )


def counted(released: Disassociation, column: str) -> Counted:
    """Return how many patients have each code, as far as the chunks tell; of occurrences, the first counts."""
    told, is_exact = supports_told(released), codes_counted_exactly(released)
    first = [place for place, code in enumerate(released.vocabulary) if _is_first(code, repeats=released.repeats)]
    named = {place: plain_code(released.vocabulary[place], repeats=released.repeats) for place in first}
    after: Counts = {name: int(told[place]) for place, name in named.items()}
    least = frozenset(name for place, name in named.items() if not is_exact[place])
    return Counted("clusters", column, "patients", after, least=least)


def _is_first(code: str, *, repeats: bool) -> bool:
    return not repeats or code.endswith(f"{MARK}1")
