"""The promises of generalized code sets as SQL: what ``verify.sql`` checks, from the released file alone.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, section III.D. Codes of one term cannot be told apart, so
that sets of terms are all that anybody can look for.
"""

from cloister.release.head import DATA
from cloister.shapes.codes.data import CODES, ID, MARK
from cloister.shapes.generalization.format.manifest import GeneralizationManifest
from cloister.verification.script import Script, names_in_sql

TEMPLATE = "shapes/generalization/verify/verify.sql.j2"

FOLDER = "shapes/generalization/verify"
"""Where the template is: no released column has a name of its views in SQL."""


def script_of(manifest: GeneralizationManifest) -> Script:
    """Return the script that checks a release of generalized code sets."""
    names, settings = names_in_sql(manifest.roles(), FOLDER), manifest.settings
    facts = {
        "file": next(name for name in DATA if name in manifest.files),
        "names": names,
        "delimiter": settings.delimiter,
        "codes": names[CODES],
        "id": names.get(ID) if manifest.columns.id is not None else None,
        "attributes": [] if manifest.attributes is None else [names[name] for name in manifest.attributes.columns],
        "k": settings.k,
        "m": settings.m,
        "repeats": settings.repeats,
        "mark": MARK,
    }
    return Script(TEMPLATE, facts)
