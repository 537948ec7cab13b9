"""18 diseases that genome-wide association studies look into, as beginnings of ICD-9-CM codes.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, Tables I and II; where the codes come from is told in
``diseases/README.md``.
"""

import csv
from functools import lru_cache


@lru_cache(maxsize=1)
def gwas_diseases() -> dict[str, tuple[str, ...]]:
    """Return the beginnings of the ICD-9-CM codes of each disease, without dot."""
    from importlib.resources import files  # slow to import, and only this policy needs it

    text = files("cloister.codesets").joinpath("diseases", "gwas_diseases.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["disease"]: tuple(row["prefixes"].replace(".", "").split()) for row in rows}
