"""The guarantee of generalized code sets as SQL: ``verify.sql`` checks it from the released file only.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, section III.D. Nobody can distinguish the codes of
one term, so an adversary can only look for sets of terms.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from cloister.release.head import DATA
from cloister.shapes.codes.data import CODES, ID, MARK
from cloister.shapes.generalization.format.manifest import GeneralizationManifest
from cloister.verification.script import Finding, Script, names_in_sql

TEMPLATE = "shapes/generalization/verify/verify.sql.j2"

FOLDER = "shapes/generalization/verify"
"""Where the template is: no released column has a name of its views in SQL."""


def script_of(manifest: GeneralizationManifest) -> Script:
    """Return the script that checks a release of generalized code sets."""
    names, settings = names_in_sql(manifest.roles(), FOLDER), manifest.settings
    attributes = [] if manifest.attributes is None else [*manifest.attributes.columns]
    promised = {"k": settings.k, "m": settings.m, "repeats": settings.repeats, "delimiter": settings.delimiter}
    return _script(manifest.data_file, names, attributes, promised, has_ids=manifest.columns.id is not None)


def find_broken(frame: pl.DataFrame, k: int, m: int | None, *, repeats: bool = False) -> tuple[Finding, ...]:
    """Return the findings of the promises on generalized code sets in memory; the frame contains their text."""
    promised = {"k": k, "m": m, "repeats": repeats, "delimiter": None}
    return _script(DATA[0], names_in_sql(frame.columns, FOLDER), (), promised).run_on({DATA[0]: frame})


def _script(
    name: str,
    names: Mapping[str, str],
    attributes: Sequence[str],
    promised: Mapping[str, object],
    *,
    has_ids: bool = False,
) -> Script:
    facts = {
        **promised,
        "file": name,
        "names": names,
        "codes": names[CODES],
        "id": names.get(ID) if has_ids else None,
        "attributes": [names[column] for column in attributes],
        "mark": MARK,
    }
    return Script(TEMPLATE, facts)
