"""A utility policy of 18 diseases that genome-wide association studies look into.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, Tables I and II; where the codes come from is told in
``data/README.md``.
"""

import csv
from functools import lru_cache

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import plain_code
from cloister.codesets.policy import UtilityPolicy


@lru_cache(maxsize=1)
def gwas_diseases() -> dict[str, tuple[str, ...]]:
    """Return the beginnings of the ICD-9-CM codes of each disease, without dot."""
    from importlib.resources import files  # slow to import, and only this policy needs it

    text = files("cloister.codesets.generalization").joinpath("data", "gwas_diseases.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["disease"]: tuple(row["prefixes"].replace(".", "").split()) for row in rows}


def gwas_policy(codes: CodeSets) -> UtilityPolicy:
    """Return for each disease the codes of the data that are its own; diseases that nobody has are left out.

    Examples
    --------
    >>> gwas_policy(CodeSets.from_records([["296.00", "401.9"], ["493"]])).names
    ('Asthma', 'Bipolar I disorder')
    """
    held = (codes.supports() > 0).tolist()
    present = [code for code, occurs in zip(codes.vocabulary, held, strict=True) if occurs]
    names = dict.fromkeys(plain_code(code, repeats=codes.repeats) for code in present)
    found = {
        disease: [name for name in names if name.upper().replace(".", "").startswith(beginnings)]
        for disease, beginnings in gwas_diseases().items()
    }
    return UtilityPolicy.of({disease: own for disease, own in found.items() if own}, "gwas")
