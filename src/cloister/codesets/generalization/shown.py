"""What the report shows of generalized code sets beside their manifest: the most frequent terms."""

import polars as pl

from cloister.codesets.encode import plain_code
from cloister.report_figures import Counted, Shown

from .data import Generalization, term_text

DATA, CODES = "data", "codes"


def shown_of(released: Generalization) -> Shown:
    """Return what is shown of code sets.

    Whoever has one of the codes of a term has the term, and is released: as many as before.
    """
    supports = released.supports()
    counts: dict[str | None, int] = {}
    for codes, support in zip(released.named_terms(), supports.tolist(), strict=True):
        # Of the occurrences of one code the most frequent is how many have it at all.
        name = term_text([plain_code(code, repeats=released.repeats) for code in codes])
        counts[name] = max(support, counts.get(name, 0))
    return Shown(
        k=released.k,
        sizes=pl.Series(supports, dtype=pl.Int64),
        of="terms",
        by="the number of patients who have them",
        columns=(Counted(DATA, CODES, "patients", counts),),
        files={},
        members=False,
    )
